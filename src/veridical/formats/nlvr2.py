"""NLVR2: JSON lines with two photograph addresses each; the photographs, their hashes and annotations where they are.

An identifier is `split-set-pair-sentence`; the photographs of a pair are `split-set-pair-img0` and `-img1`, which are
the panel ids. Everything is done in columns: some thousand lines are decoded at a time and become columns at once, so
that all 107,292 items need little memory. Beside `dev.json` these files are used: `balanced_dev.json`,
`unbalanced_dev.json`, `dev_hashes.json`, `annotated_dev_examples.txt`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from veridical.benchmark import tables
from veridical.engine.progress import Progress
from veridical.errors import UserError
from veridical.formats import _columns as columns
from veridical.formats._format import Format, Part, Request, Writer, find_files, one_per_split
from veridical.formats._nlvr2_encode import encode
from veridical.formats.images import BadImage, ImageFile, leaves_folder, read_image, walk
from veridical.formats.lines import (
    Problems,
    TextFile,
    decode_chunks,
    decode_one,
    find_duplicates,
    raw_table,
    read_text,
)

SPLITS = frozenset({"train", "dev", "val", "test", "test1", "test2", "test-p", "test-u"})
SUBSETS = ("balanced", "unbalanced")
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg")
_IDENTIFIER = r"^[A-Za-z0-9_.]+(-[A-Za-z0-9_.]+)*-\d+-\d+-\d+$"
_EXPECTED = {
    "label": '"True" or "False"',
    "validation": 'a judgement "True" or "False" for each worker',
    "extra_validations": 'a judgement "True" or "False" for each worker',
}

_Truth = Literal["True", "False"]


class _Line(msgspec.Struct, gc=False):
    identifier: str
    sentence: str
    left_url: str
    right_url: str
    label: _Truth | None = None
    writer: str | None = None
    synset: str | None = None
    query: str | None = None
    validation: dict[str, _Truth] = {}
    extra_validations: dict[str, _Truth] = {}
    directory: int | str | None = None  # the numbered folder of a training photograph; photographs are found by name


@dataclass
class _Files:
    """The files of one split."""

    main: Path
    subsets: dict[str, Path] = field(default_factory=dict)
    hashes: Path | None = None
    annotated: Path | None = None
    images: Path | None = None


@dataclass
class _Rows:
    """The lines of a file in columns: the fields, `line` (counted from 0), and lists of judgements."""

    file: TextFile
    table: pa.Table
    dropped: set[int]

    def __getitem__(self, name: str) -> pa.Array:
        return self.table[name].combine_chunks()

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def drop(self, wrong: Mapping[int, str], problems: Problems) -> None:
        """Report rows that are wrong, and leave their lines out."""
        if not wrong:
            return
        numbers = self["line"].to_pylist()
        for index in sorted(wrong):
            problems.found(self.file.name, numbers[index] + 1, wrong[index])
            self.dropped.add(numbers[index])
        keep = np.ones(len(self), bool)
        keep[list(wrong)] = False
        self.table = self.table.filter(pa.array(keep)).combine_chunks()


@dataclass
class _Names:
    """What the identifiers of a split say, in columns."""

    set: pa.Array  # dev-850
    pair: pa.Array  # dev-850-0
    group: pa.Array  # dev-850-1: the identifier without the pair


@dataclass
class _Split:
    """One split of NLVR2, read and found whole."""

    split: str
    labelled: bool
    rows: _Rows
    names: _Names
    files: _Files
    request: Request
    subsets: dict[str, _Rows] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    phenomena: dict[str, tuple[str, ...]] = field(default_factory=dict)
    others: list[TextFile] = field(default_factory=list)  # files kept whole

    @property
    def ids(self) -> list[str]:
        return self.rows.table["identifier"].to_pylist()

    def write(self, writer: Writer, problems: Problems) -> Mapping[str, int]:
        writer.add_raw(self.split, self.rows.file.raw(self.rows.dropped))
        writer.add_items(self.split, self._items())
        panels, photographs, missing = self._panels(writer, problems)
        writer.add_panels(panels)
        for name, kind in (("validation", "validation"), ("extra_validations", "extra")):
            writer.add_judgements(_judgements(self.rows["identifier"], self.rows[name], kind))
        for rows in self.subsets.values():
            writer.add_raw(self.split, rows.file.raw(rows.dropped))
        for file in self.others:
            writer.add_raw(self.split, file.raw())
        writer.add_raw(self.split, photographs)
        return {"missing_images": missing}

    def _items(self) -> pa.Table:
        rows, names, n = self.rows, self.names, len(self.rows)
        true = pc.equal(rows["label"], "True")
        images = [pc.binary_join_element_wise(names.pair, f"img{side}", "-") for side in range(2)]
        addresses = [_known(rows["left_url"]), _known(rows["right_url"])]
        return columns.table(
            tables.ITEMS,
            n,
            {
                "id": rows["identifier"],
                "task": columns.constant("statement", pa.string(), n),
                "panels": columns.fixed(columns.interleave(images), 2, columns.ITEM["panels"]),
                "query": columns.texts(rows["sentence"]),
                "candidates": columns.constant(columns.TRUTH_ROW, columns.ITEM["candidates"], n),
                "answer": true.cast(pa.int8()),
                "group": names.group,
                "origins": columns.sparse_lists([names.set, *addresses], columns.ITEM["origins"]),
                "writer": rows["writer"],
                "tags": columns.sparse_pairs(self._tags(true)),
            },
        )

    def _tags(self, true: pa.Array) -> list[tuple[str, pa.Array]]:
        rows = self.rows
        tags = [("synset", rows["synset"]), ("query", rows["query"])]
        if self.labelled:
            balance = balance_of(rows["left_url"], rows["right_url"], true)
            for name, subset in self.subsets.items():
                balance = pc.if_else(pc.is_in(rows["identifier"], value_set=subset["identifier"]), name, balance)
            tags.append(("balance", balance))
        if self.phenomena:
            found = [self.phenomena.get(sentence, ()) for sentence in rows["sentence"].to_pylist()]
            for number in range(max(map(len, found), default=0)):
                values = [some[number] if number < len(some) else None for some in found]
                tags.append(("phenomenon", pa.array(values, pa.string())))
        return tags

    def _panels(self, writer: Writer, problems: Problems) -> tuple[pa.Table, pa.Table, int]:
        """Two panels a pair, the rows that keep the photographs' file names, and how many photographs are not here."""
        codes = self.names.pair.dictionary_encode()
        pairs, first = codes.dictionary, _first(codes)
        ids = columns.interleave([pc.binary_join_element_wise(pairs, f"img{side}", "-") for side in range(2)])
        known: dict[str, pa.Array] = {}
        keys = ids.to_pylist() if self.hashes or self.files.images is not None else []
        if self.hashes:
            known["phash"] = pa.array([self.hashes.get(f"{key}.png") for key in keys], pa.string())
        raw, found = raw_table([]), 0
        if self.files.images is not None:
            line_of = np.repeat(self.rows["line"].to_numpy()[first] + 1, 2)
            photographs = self._add_photographs(keys, line_of.tolist(), writer, problems)
            known["image"] = pa.array([p and p[1] for p in photographs], pa.string())
            known["width"] = pa.array([p and p[2][0] for p in photographs], pa.int32())
            known["height"] = pa.array([p and p[2][1] for p in photographs], pa.int32())
            here = [p for p in photographs if p]
            raw, found = raw_table([p[0] for p in here], images=[p[1] for p in here]), len(here)
        uris = [self.rows[name].take(pa.array(first)) for name in ("left_url", "right_url")]
        table = columns.table(tables.PANELS, len(ids), {"id": ids, "uri": _known(columns.interleave(uris)), **known})
        return table, raw, len(ids) - found

    def _add_photographs(
        self, keys: Sequence[str], lines: Sequence[int], writer: Writer, problems: Problems
    ) -> list[tuple[str, str, tuple[int, int]] | None]:
        """File name, content address and size of each photograph that is here."""
        folder = self.files.images
        if folder is None:
            return [None] * len(keys)
        prefix = self.request.name_of(folder) if folder.is_relative_to(self.request.root) else "images"
        here: dict[str, ImageFile] = {}
        for file in walk(folder, "" if prefix == "." else prefix, IMAGE_SUFFIXES):
            here.setdefault(file.path.stem, file)
        out: list[tuple[str, str, tuple[int, int]] | None] = []
        with Progress(f"{self.split} photographs", sum(key in here for key in keys), "images") as progress:
            for key, line in zip(keys, lines, strict=True):
                out.append(None)
                if (photograph := here.get(key)) is None:
                    continue
                progress.advance()
                try:
                    if photograph.path.is_symlink() and leaves_folder(photograph.path, folder):
                        raise BadImage("the image is a link that leads out of the folder of images.")
                    data, size = read_image(photograph.path)
                except BadImage as error:
                    where = f"It belongs to line {line} of {self.rows.file.name}."
                    problems.found(photograph.name, None, f"{error} {where}")
                    continue
                out[-1] = (photograph.name, writer.add_image(data), size)
        return out


def read(request: Request, problems: Problems) -> list[Part]:
    """All splits of a release."""
    return [_read_split(split, files, request, problems) for split, files in _find(request).items()]


def read_phenomena(path: Path | str) -> dict[str, tuple[str, ...]]:
    """The hand-annotated phenomena of each sentence in a file such as `annotated_dev_examples.txt`.

    A block is a sentence, then one line `* phenomenon` for each; blocks are divided by empty lines.
    """
    path = Path(path)
    return _phenomena(read_text(path, path.name), Problems())


def _phenomena(file: TextFile, problems: Problems) -> dict[str, tuple[str, ...]]:
    out: dict[str, tuple[str, ...]] = {}
    sentence: str | None = None
    for number in range(len(file)):
        try:
            line = file.line(number).decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            problems.found(file.name, number + 1, f"byte {error.start + 1} is not UTF-8.")
            continue
        if not line.strip():
            sentence = None
        elif not line.startswith("* "):
            sentence = line
            out.setdefault(sentence, ())
        elif sentence is None:
            problems.found(file.name, number + 1, f"{line!r} has no sentence above it.")
        else:
            out[sentence] += (line.removeprefix("* ").strip(),)
    return out


def balance_of(left: pa.Array, right: pa.Array, true: pa.Array) -> pa.Array:
    """Each item's balance: its ordered pair of addresses is used with both labels (balanced), twice or more with one
    label (unbalanced), or once (neither)."""
    codes = pc.binary_join_element_wise(left, right, "\n").dictionary_encode().indices.to_numpy()
    labels = true.cast(pa.int8()).to_numpy()
    used, trues = np.bincount(codes), np.bincount(codes, weights=labels)
    kind = np.where(used == 1, 0, np.where((trues == 0) | (trues == used), 1, 2))[codes]
    return pa.array(["neither", "unbalanced", "balanced"]).take(pa.array(kind))


def _find(request: Request) -> dict[str, _Files]:
    if request.path.is_dir():
        found: dict[str, list[Path]] = {}
        for path in find_files(request.path, lambda name: name.endswith(".json")):
            if path.stem in SPLITS:
                found.setdefault(path.stem, []).append(path)
        if not found:
            raise UserError(
                f"{request.path} holds no NLVR2 split: no train.json, dev.json or test1.json.",
                "Give the folder that holds them, or one such file.",
            )
        mains = one_per_split(found, request)
    else:
        mains = {request.split or request.path.stem: request.path}
    return {split: _beside(split, path, request) for split, path in mains.items()}


def _beside(split: str, main: Path, request: Request) -> _Files:
    """What else the release has for a split, in the same folder or, of a whole release, anywhere in it."""
    stem = main.stem
    names = {f"{subset}_{stem}.json": subset for subset in SUBSETS}
    names |= {f"{stem}_hashes.json": "hashes", f"annotated_{stem}_examples.txt": "annotated"}
    depth = 3 if request.path.is_dir() else 0
    found: dict[str, Path] = {}
    for path in find_files(request.root, names.__contains__, depth):
        found.setdefault(names[path.name], path)
    return _Files(
        main,
        {name: found[name] for name in SUBSETS if name in found},
        found.get("hashes"),
        found.get("annotated"),
        _image_folder(split, request),
    )


def _image_folder(split: str, request: Request) -> Path | None:
    base = request.root / "images" if request.images is None else request.images
    if request.images is not None and not base.is_dir():
        raise UserError(f"{base} is not a folder of images.", "Give the folder with --images.")
    places = [base / split, base, request.root / split] if request.images is None else [base / split, base]
    return next((place for place in places if place.is_dir()), None)


def _read_split(split: str, files: _Files, request: Request, problems: Problems) -> _Split:
    rows = _read_rows(read_text(files.main, request.name_of(files.main)), problems)
    labelled = rows["label"].null_count < len(rows)
    out = _Split(split, labelled, rows, _check(rows, labelled, problems), files, request)
    for name, path in files.subsets.items():
        subset = _read_rows(read_text(path, request.name_of(path)), problems)
        subset.drop(_differences(subset, rows), problems)
        out.subsets[name] = subset
    if files.hashes is not None:
        file = read_text(files.hashes, request.name_of(files.hashes))
        hashes = decode_one(file, msgspec.json.Decoder(dict[str, str]), problems)
        if hashes is not None:
            out.hashes = hashes
            out.others.append(file)
    if files.annotated is not None:
        file = read_text(files.annotated, request.name_of(files.annotated))
        out.phenomena = _phenomena(file, problems)
        out.others.append(file)
    return out


_TEXTS = ("identifier", "sentence", "left_url", "right_url", "label", "writer", "synset", "query")
_JUDGED = pa.list_(pa.struct([("worker", pa.string()), ("verdict", pa.string())]))


def _read_rows(file: TextFile, problems: Problems) -> _Rows:
    schema = pa.schema([(name, pa.string()) for name in _TEXTS])
    schema = schema.append(pa.field("line", pa.int64()))
    for name in ("validation", "extra_validations"):
        schema = schema.append(pa.field(name, _JUDGED))
    parts, dropped = [], set()
    for lines in decode_chunks(file, msgspec.json.Decoder(_Line), problems, _EXPECTED):
        records = lines.records
        texts = (
            [r.identifier for r in records],
            [r.sentence for r in records],
            [r.left_url for r in records],
            [r.right_url for r in records],
            [r.label for r in records],
            [r.writer for r in records],
            [r.synset for r in records],
            [r.query for r in records],
        )
        arrays = [pa.array(values, pa.string()) for values in texts]
        arrays.append(pa.array(lines.numbers))
        arrays.append(_judged([r.validation for r in records]))
        arrays.append(_judged([r.extra_validations for r in records]))
        parts.append(pa.Table.from_arrays(arrays, schema=schema))
        dropped |= lines.dropped
    table = pa.concat_tables(parts).combine_chunks() if parts else schema.empty_table()
    return _Rows(file, table, dropped)


def _judged(judged: Sequence[dict[str, _Truth]]) -> pa.Array:
    """Judgements by worker as a list column."""
    workers = pa.array(list(itertools.chain.from_iterable(judged)), pa.string())
    verdicts = pa.array(list(itertools.chain.from_iterable(map(dict.values, judged))), pa.string())
    flat = pa.StructArray.from_arrays([workers, verdicts], fields=list(_JUDGED.value_type))
    return columns.lists(flat, np.fromiter(map(len, judged), np.int64, len(judged)), _JUDGED)


def _judgements(ids: pa.Array, judged: pa.Array, kind: str) -> pa.Table:
    """A list column of judgements as rows of the judgements table."""
    flat = judged.flatten()
    return columns.table(
        tables.JUDGEMENTS,
        len(flat),
        {
            "item": ids.take(pc.list_parent_indices(judged)),
            "worker": flat.field("worker"),
            "verdict": pc.if_else(pc.equal(flat.field("verdict"), "True"), "1", "0"),
            "kind": columns.constant(kind, pa.string(), len(flat)),
        },
    )


def _check(rows: _Rows, labelled: bool, problems: Problems) -> _Names:
    """Leave out, or refuse, lines that have the right types and are wrong all the same; what the others are called."""
    if labelled:
        rows.drop(
            _where(rows["label"].is_null(), lambda _: "the field 'label' is missing; other lines have one."), problems
        )
    ids = rows["identifier"]
    good = pc.match_substring_regex(ids, _IDENTIFIER)
    what = "expected split-set-pair-sentence, such as dev-850-0-1."
    rows.drop(_where(pc.invert(good), lambda i: f"the identifier is {ids[i].as_py()!r}; {what}"), problems)
    if pc.count_distinct(rows["identifier"]).as_py() != len(rows):
        rows.drop(find_duplicates(rows["identifier"].to_pylist(), rows["line"].to_numpy()), problems)
    names = _names(rows["identifier"])
    if wrong := _other_addresses(rows, names.pair):
        rows.drop(wrong, problems)
        names = _names(rows["identifier"])
    return names


def _where(wrong: pa.Array, problem: Callable[[int], str]) -> dict[int, str]:
    """What is wrong with each row that is marked."""
    return {index: problem(index) for index in np.flatnonzero(np.asarray(wrong)).tolist()}


def _other_addresses(rows: _Rows, pair: pa.Array) -> dict[int, str]:
    """Rows whose pair has other addresses than on an earlier line."""
    codes = pair.dictionary_encode()
    before = pa.array(_first(codes)).take(codes.indices)
    left, right = rows["left_url"], rows["right_url"]
    other = pc.or_(pc.not_equal(left, left.take(before)), pc.not_equal(right, right.take(before)))
    return _where(
        other,
        lambda i: (
            f"the pair {pair[i].as_py()} has other addresses on line {rows['line'][before[i].as_py()].as_py() + 1}."
        ),
    )


def _differences(subset: _Rows, whole: _Rows) -> dict[int, str]:
    """Rows of a subset's file that the split's file has not, or has otherwise."""
    place = pc.index_in(subset["identifier"], value_set=whole["identifier"])
    same = pc.is_valid(place)
    for name in ("sentence", "label", "left_url", "right_url"):
        same = pc.and_(same, pc.fill_null(pc.equal(subset[name], whole[name].take(place)), False))
    ids = subset["identifier"]
    return _where(
        pc.invert(same), lambda i: f"{ids[i].as_py()!r} is not in {whole.file.name}, or is not the same there."
    )


def _names(ids: pa.Array) -> _Names:
    parts = pc.split_pattern(ids, "-", max_splits=2, reverse=True).flatten()
    start = np.arange(len(ids)) * 3
    image_set, pair, sentence = (parts.take(pa.array(start + k)) for k in range(3))
    return _Names(
        image_set,
        pc.binary_join_element_wise(image_set, pair, "-"),
        pc.binary_join_element_wise(image_set, sentence, "-"),
    )


def _first(codes: pa.DictionaryArray) -> npt.NDArray[np.int64]:
    """Where each different value comes first."""
    first = np.empty(len(codes.dictionary), np.int64)
    first[codes.indices.to_numpy()[::-1]] = np.arange(len(codes))[::-1]
    return first


def _known(addresses: pa.Array) -> pa.Array:
    """Addresses, null where a text is empty (photographs that came from no address)."""
    return pc.if_else(pc.equal(addresses, ""), pa.scalar(None, pa.string()), addresses)


FORMAT = Format("nlvr2", "NLVR2", "statement", "CC-BY-4.0", read, encode)
