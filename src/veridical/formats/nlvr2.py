"""NLVR2: JSON lines with two photograph addresses each; the photographs, their hashes and annotations where they are.

An identifier is `split-set-pair-sentence`; the photographs of a pair are `split-set-pair-img0` and `-img1`, which are
the panel ids. Everything is done in columns: an import of all 107,292 items makes no object per item but the decoded
line. Beside `dev.json` these files are used: `balanced_dev.json`, `unbalanced_dev.json`, `dev_hashes.json`,
`annotated_dev_examples.txt`.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veridical.benchmark import BenchmarkWriter, tables
from veridical.engine.progress import Progress
from veridical.errors import UserError
from veridical.formats import _columns as columns
from veridical.formats._format import Format, Part, Request, find_files, one_per_split
from veridical.formats._nlvr2_encode import encode
from veridical.formats.images import BadImage, ImageFile, leaves_folder, read_image, walk
from veridical.formats.lines import (
    Lines,
    Problems,
    TextFile,
    decode_lines,
    decode_one,
    find_duplicates,
    find_wrong,
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
class _Names:
    """What an identifier says, in columns."""

    id: pa.Array  # dev-850-0-1
    set: pa.Array  # dev-850
    pair: pa.Array  # dev-850-0
    group: pa.Array  # dev-850-1: the identifier without the pair


@dataclass
class _Split:
    """One split of NLVR2, read and found whole."""

    split: str
    labelled: bool
    lines: Lines[_Line]
    files: _Files
    request: Request
    subsets: dict[str, Lines[_Line]] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    phenomena: dict[str, tuple[str, ...]] = field(default_factory=dict)
    others: list[TextFile] = field(default_factory=list)  # files kept whole

    @property
    def ids(self) -> list[str]:
        return [line.identifier for line in self.lines.records]

    def write(self, writer: BenchmarkWriter, problems: Problems) -> Mapping[str, int]:
        records = self.lines.records
        names = _names(self.ids)
        left, right = pa.array([r.left_url for r in records]), pa.array([r.right_url for r in records])
        writer.add_raw(self.split, self.lines.raw())
        writer.add_items(self.split, self._items(names, left, right))
        panels, photographs, missing = self._panels(names, left, right, writer, problems)
        writer.add_panels(panels)
        for kind, judged in (
            ("validation", [r.validation for r in records]),
            ("extra", [r.extra_validations for r in records]),
        ):
            if any(judged):
                writer.add_judgements(_judgements(names.id, judged, kind))
        for lines in self.subsets.values():
            writer.add_raw(self.split, lines.raw())
        for file in self.others:
            writer.add_raw(self.split, file.raw())
        writer.add_raw(self.split, photographs)
        return {"missing_images": missing}

    def _items(self, names: _Names, left: pa.Array, right: pa.Array) -> pa.Table:
        records, n = self.lines.records, len(self.lines.records)
        true = pc.equal(pa.array([r.label for r in records], pa.string()), "True")
        images = [pc.binary_join_element_wise(names.pair, f"img{side}", "-") for side in range(2)]
        origins = columns.sparse_lists([names.set, _known(left), _known(right)], columns.ITEM["origins"])
        return columns.table(
            tables.ITEMS,
            n,
            {
                "id": names.id,
                "task": columns.constant("statement", pa.string(), n),
                "panels": columns.fixed(columns.interleave(images), 2, columns.ITEM["panels"]),
                "query": columns.texts([r.sentence for r in records]),
                "candidates": columns.constant(columns.TRUTH_ROW, columns.ITEM["candidates"], n),
                "answer": true.cast(pa.int8()),
                "group": names.group,
                "origins": origins,
                "writer": pa.array([r.writer for r in records], pa.string()),
                "tags": columns.sparse_pairs(self._tags(names, left, right, true)),
            },
        )

    def _tags(self, names: _Names, left: pa.Array, right: pa.Array, true: pa.Array) -> list[tuple[str, pa.Array]]:
        records = self.lines.records
        tags = [
            ("synset", pa.array([r.synset for r in records], pa.string())),
            ("query", pa.array([r.query for r in records], pa.string())),
        ]
        if self.labelled:
            balance = balance_of(left, right, true)
            for name, lines in self.subsets.items():
                listed = pc.is_in(names.id, value_set=pa.array([r.identifier for r in lines.records], pa.string()))
                balance = pc.if_else(listed, name, balance)
            tags.append(("balance", balance))
        if self.phenomena:
            found = [self.phenomena.get(r.sentence, ()) for r in records]
            for number in range(max(map(len, found), default=0)):
                values = [names[number] if number < len(names) else None for names in found]
                tags.append(("phenomenon", pa.array(values, pa.string())))
        return tags

    def _panels(
        self, names: _Names, left: pa.Array, right: pa.Array, writer: BenchmarkWriter, problems: Problems
    ) -> tuple[pa.Table, pa.Table, int]:
        """Two panels a pair, the rows that keep the photographs' file names, and how many photographs are not here."""
        codes = names.pair.dictionary_encode()
        first = np.unique(codes.indices.to_numpy(), return_index=True)[1]
        sides = [pc.binary_join_element_wise(codes.dictionary, f"img{side}", "-") for side in range(2)]
        ids = columns.interleave(sides)
        known: dict[str, pa.Array] = {}
        hashed = len(self.hashes) > 0
        if hashed or self.files.images is not None:
            keys = ids.to_pylist()
        if hashed:
            known["phash"] = pa.array([self.hashes.get(f"{key}.png") for key in keys], pa.string())
        raw = raw_table([])
        found = 0
        if self.files.images is not None:
            line_of = np.repeat(self.lines.numbers[first] + 1, 2)
            photographs = self._add_photographs(keys, line_of.tolist(), writer, problems)
            known["image"] = pa.array([p and p[1] for p in photographs], pa.string())
            known["width"] = pa.array([p and p[2][0] for p in photographs], pa.int32())
            known["height"] = pa.array([p and p[2][1] for p in photographs], pa.int32())
            here = [p for p in photographs if p]
            raw, found = raw_table([p[0] for p in here], images=[p[1] for p in here]), len(here)
        uris = columns.interleave([left.take(pa.array(first)), right.take(pa.array(first))])
        table = columns.table(tables.PANELS, len(ids), {"id": ids, "uri": _known(uris), **known})
        return table, raw, len(ids) - found

    def _add_photographs(
        self, keys: Sequence[str], lines: Sequence[int], writer: BenchmarkWriter, problems: Problems
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
                    where = f"It belongs to line {line} of {self.lines.file.name}."
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
    decoder = msgspec.json.Decoder(_Line)
    lines = decode_lines(read_text(files.main, request.name_of(files.main)), decoder, problems, _EXPECTED)
    labelled = any(line.label is not None for line in lines.records)
    _check(lines, labelled, problems)
    out = _Split(split, labelled, lines, files, request)
    main = {line.identifier: line for line in lines.records} if files.subsets else {}
    for name, path in files.subsets.items():
        subset = decode_lines(read_text(path, request.name_of(path)), decoder, problems, _EXPECTED)
        subset.drop(find_wrong(subset.records, lambda line: _differs(line, main, lines.file.name)), problems)
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


def _check(lines: Lines[_Line], labelled: bool, problems: Problems) -> None:
    """Leave out, or refuse, lines that have the right types and are wrong all the same."""
    if labelled and any(line.label is None for line in lines.records):
        lines.drop(find_wrong(lines.records, _no_label), problems)
    ids = [line.identifier for line in lines.records]
    good = pc.match_substring_regex(pa.array(ids, pa.string()), _IDENTIFIER)
    if not pc.all(good).as_py() and ids:
        what = "expected split-set-pair-sentence, such as dev-850-0-1."
        bad = np.flatnonzero(~good.to_numpy(zero_copy_only=False)).tolist()
        lines.drop({i: f"the identifier is {ids[i]!r}; {what}" for i in bad}, problems)
        ids = [line.identifier for line in lines.records]
    lines.drop(find_duplicates(ids, lines.numbers), problems)
    lines.drop(_other_addresses(lines), problems)


def _no_label(line: _Line) -> str | None:
    return "the field 'label' is missing; other lines have one." if line.label is None else None


def _other_addresses(lines: Lines[_Line]) -> dict[int, str]:
    """Lines whose pair has other addresses than on an earlier line."""
    records = lines.records
    pairs = _names([r.identifier for r in records]).pair.dictionary_encode().indices.to_numpy()
    first = np.unique(pairs, return_index=True)[1][pairs] if len(pairs) else pairs
    wrong = {}
    for index, before in enumerate(first.tolist()):
        line, other = records[index], records[before]
        if line.left_url != other.left_url or line.right_url != other.right_url:
            wrong[index] = f"the pair of {line.identifier} has other addresses on line {lines.numbers[before] + 1}."
    return wrong


def _differs(line: _Line, main: Mapping[str, _Line], file: str) -> str | None:
    whole = main.get(line.identifier)
    if whole is None:
        return f"{line.identifier!r} is not in {file}."
    return None if whole == line else f"{line.identifier!r} is not the same as in {file}."


def _names(ids: Sequence[str]) -> _Names:
    whole = pa.array(ids, pa.string())
    parts = pc.split_pattern(whole, "-", max_splits=2, reverse=True).flatten()
    start = np.arange(len(whole)) * 3
    image_set, pair, sentence = (parts.take(pa.array(start + k)) for k in range(3))
    return _Names(
        whole,
        image_set,
        pc.binary_join_element_wise(image_set, pair, "-"),
        pc.binary_join_element_wise(image_set, sentence, "-"),
    )


def _known(addresses: pa.Array) -> pa.Array:
    """Addresses, null where a text is empty (photographs that came from no address)."""
    return pc.if_else(pc.equal(addresses, ""), pa.scalar(None, pa.string()), addresses)


def _judgements(ids: pa.Array, judged: Sequence[Mapping[str, str]], kind: str) -> pa.Table:
    lengths = np.fromiter(map(len, judged), np.int64, len(judged))
    verdicts = pa.array(list(itertools.chain.from_iterable(one.values() for one in judged)), pa.string())
    n = len(verdicts)
    return columns.table(
        tables.JUDGEMENTS,
        n,
        {
            "item": ids.take(pa.array(np.repeat(np.arange(len(judged)), lengths))),
            "worker": pa.array(list(itertools.chain.from_iterable(judged)), pa.string()),
            "verdict": pc.if_else(pc.equal(verdicts, "True"), "1", "0"),
            "kind": columns.constant(kind, pa.string(), n),
        },
    )


FORMAT = Format("nlvr2", "NLVR2", "statement", "CC-BY-4.0 (annotations)", read, encode)
