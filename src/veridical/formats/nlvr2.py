"""NLVR2: JSON lines with two photograph addresses each; the photographs, their hashes and annotations where they are.

An identifier is `split-set-pair-sentence`; the photographs of a pair are `split-set-pair-img0` and `-img1`, which are
the panel ids. Everything is done in columns: some thousand lines are decoded at a time and become columns at once, so
that all 107,292 items need little memory. Beside `dev.json` these files are used: `balanced_dev.json`,
`unbalanced_dev.json`, `dev_hashes.json`, `annotated_dev_examples.txt`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veridical.benchmark import tables
from veridical.engine.progress import Progress
from veridical.formats import columns
from veridical.formats.images import BadImage, ImageFile, read_image, walk
from veridical.formats.lines import Problems, TextFile, decode_one, raw_table, read_text
from veridical.formats.nlvr2_lines import Names, Rows, check_rows, differences, encode, first_places, read_rows
from veridical.formats.releases import Format, ReleaseSplit, Request, Writer, find_files

SPLITS = frozenset({"train", "dev", "val", "test", "test1", "test2", "test-p", "test-u"})
SUBSETS = ("balanced", "unbalanced")
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg")


@dataclass
class _Files:
    """The files of one split."""

    main: Path
    subsets: dict[str, Path] = field(default_factory=dict)
    hashes: Path | None = None
    annotated: Path | None = None
    images: Path | None = None


@dataclass
class _NLVR2Split:
    """One split of NLVR2, read and found whole."""

    split: str
    labelled: bool
    rows: Rows
    names: Names
    files: _Files
    request: Request
    subsets: dict[str, Rows] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    phenomena: dict[str, tuple[str, ...]] = field(default_factory=dict)
    others: list[TextFile] = field(default_factory=list)  # files kept whole

    @property
    def ids(self) -> list[str]:
        return list(self.rows.table["identifier"].to_pylist())

    @property
    def panels(self) -> list[str]:
        return list(self.names.pair.unique().to_pylist())  # two photographs of each pair, named after it

    def write(self, writer: Writer, problems: Problems) -> Mapping[str, int]:
        writer.add_raw(self.split, self.rows.file.raw(self.rows.dropped))
        writer.add_items(self.split, self._items())
        panels, photographs, missing = self._panels(writer, problems)
        writer.add_panels(panels)
        for name, kind in (("validation", "validation"), ("extra_validations", "extra")):
            judged = self.rows[name]  # of each item a list of judgements
            items, flat = self.rows["identifier"].take(pc.list_parent_indices(judged)), judged.flatten()
            verdicts = pc.if_else(pc.equal(flat.field("verdict"), "True"), "1", "0")
            writer.add_judgements(columns.judgements(items, flat.field("worker"), verdicts, kind))
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
        pairs, first = codes.dictionary, first_places(codes)
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
        wanted = set(keys)
        for file in walk(folder, "" if prefix == "." else prefix, IMAGE_SUFFIXES):
            if (stem := file.path.stem) in wanted and (other := here.setdefault(stem, file)) is not file:
                problems.found(file.name, None, f"the same photograph is here as {other.name}.")
        out: list[tuple[str, str, tuple[int, int]] | None] = []
        with Progress(f"{self.split} photographs", len(here), "images") as progress:
            for key, line in zip(keys, lines, strict=True):
                out.append(None)
                if (photograph := here.get(key)) is None:
                    continue
                progress.advance()
                try:
                    data, size = read_image(photograph.path, photograph.outside)
                except BadImage as error:
                    where = f"It belongs to line {line} of {self.rows.file.name}."
                    problems.found(photograph.name, None, f"{error} {where}")
                    continue
                out[-1] = (photograph.name, writer.add_image(data), size)
        return out


def read(request: Request, problems: Problems) -> list[ReleaseSplit]:
    """All splits of a release."""
    missing = "NLVR2 split: no train.json, dev.json or test1.json"
    mains = request.files(lambda path: path.stem in SPLITS, missing)
    return [_read_split(split, _beside(split, path, request), request, problems) for split, path in mains.items()]


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
    balance = np.where(used == 1, 0, np.where((trues == 0) | (trues == used), 1, 2))[codes]
    return pa.array(["neither", "unbalanced", "balanced"]).take(pa.array(balance))


def _beside(split: str, main: Path, request: Request) -> _Files:
    """What else the release has for a split, in the same folder or, of a whole release, anywhere in it."""
    stem = main.stem
    names = {f"{subset}_{stem}.json": subset for subset in SUBSETS}
    names |= {f"{stem}_hashes.json": "hashes", f"annotated_{stem}_examples.txt": "annotated"}
    depth = 3 if request.path.is_dir() else 0
    found: dict[str, Path] = {}
    for path in find_files(request.root, names.__contains__, depth):
        found.setdefault(names[path.name], path)
    base = request.images or request.root / "images"
    places = [base / split, base, *([request.root / split] if request.images is None else [])]
    images = next((place for place in places if place.is_dir()), None)
    subsets = {name: found[name] for name in SUBSETS if name in found}
    return _Files(main, subsets, found.get("hashes"), found.get("annotated"), images)


def _read_split(split: str, files: _Files, request: Request, problems: Problems) -> _NLVR2Split:
    rows = read_rows(read_text(files.main, request.name_of(files.main)), problems)
    labelled = not len(rows) or rows["label"].null_count < len(rows)
    out = _NLVR2Split(split, labelled, rows, check_rows(rows, labelled, problems), files, request)
    for name, path in files.subsets.items():
        subset = read_rows(read_text(path, request.name_of(path)), problems)
        subset.drop(differences(subset, rows), problems)
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


def _known(addresses: pa.Array) -> pa.Array:
    """Addresses, null where a text is empty (photographs that came from no address)."""
    return pc.if_else(pc.equal(addresses, ""), pa.scalar(None, pa.string()), addresses)


FORMAT = Format("nlvr2", "NLVR2", "statement", "CC-BY-4.0", read, encode)
