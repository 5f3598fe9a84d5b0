"""`veridical check`: prove that a benchmark is whole, and that nothing hidden lies in what is public.

Every check yields `Problem`s: errors (the benchmark must not be used) and warnings (worth knowing: official releases
share photographs between splits, for instance). The order is from the outside in: files, tables, images, secrets.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from veridical.benchmark.store import Benchmark
from veridical.benchmark.writer import (
    HIDDEN_MANIFEST,
    MANIFEST,
    REVEALING_TAGS,
    content_address,
    file_hash,
    hidden_dir,
)
from veridical.errors import UserError
from veridical.records import JUDGEMENT_KINDS, TASKS

_EXAMPLES = 5  # how many ids a message names


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong."""

    kind: str  # a fixed word: hash, missing-file, image, duplicate-id, origin-leak, hidden-answer ...
    where: str  # file or split
    message: str
    severity: Literal["error", "warning"] = "error"


@dataclass(frozen=True)
class CheckReport:
    """What `check` found and how much it looked at."""

    benchmark: str
    hash: str
    files: int
    items: int
    images: int
    problems: tuple[Problem, ...] = field(default=())

    @property
    def ok(self) -> bool:
        return not any(p.severity == "error" for p in self.problems)

    def to_json(self) -> dict[str, Any]:
        return {"ok": self.ok, **asdict(self)}


def check(benchmark: Path | str, *, images: bool = True) -> CheckReport:
    """Check a benchmark: hashes, counts, ids, references, origins, every image, and that hidden answers are hidden.

    With `images=False`, images are only covered by the hashes of their files and not decoded one by one.
    """
    opened = Benchmark(benchmark)
    problems = list(_files(opened.directory, opened.manifest["files"], MANIFEST))
    damaged = {p.where for p in problems if p.severity == "error"}
    stages: list[Callable[[Benchmark], Iterator[Problem]]] = [_items, _judgements, _hidden, _hidden_folder]
    if images:
        stages.insert(1, _images)
    for stage in stages:
        try:
            problems.extend(stage(opened))
        except (UserError, pa.ArrowException, OSError, KeyError) as error:
            if not damaged:  # otherwise a file that is already reported could not be read again
                problems.append(Problem("unreadable", stage.__name__.strip("_"), str(error).splitlines()[0]))
    counts = opened.manifest["counts"]
    return CheckReport(
        benchmark=str(opened.directory),
        hash=opened.hash,
        files=len(opened.manifest["files"]),
        items=sum(n for splits in counts["items"].values() for n in splits.values()),
        images=counts["images"],
        problems=tuple(problems),
    )


def _files(folder: Path, listed: dict[str, dict[str, Any]], manifest: str) -> Iterator[Problem]:
    for name, facts in sorted(listed.items()):
        path = folder / name
        if not path.is_file():
            yield Problem("missing-file", name, "the manifest lists it, and it is not here")
        elif path.stat().st_size != facts["bytes"]:
            yield Problem(
                "size", name, f"{path.stat().st_size:,} bytes, expected {facts['bytes']:,}: cut off or changed"
            )
        elif file_hash(path) != facts["sha256"]:
            yield Problem("hash", name, "its bytes are not the ones that were written")
    for path in sorted(folder.iterdir()):
        if path.name not in listed and path.name != manifest and not path.name.startswith("features-"):
            yield Problem("unlisted-file", path.name, "not part of the benchmark", "warning")


def _items(opened: Benchmark) -> Iterator[Problem]:
    panels = opened.panels_table(["id"])["id"]
    yield from _duplicates(panels, "panels.parquet", "panel")
    for scheme in opened.schemes:
        parts = {s: opened.items_table(s, scheme) for s in opened.splits(scheme)}
        for split, table in parts.items():
            where = f"items-{scheme}-{split}.parquet"
            expected = opened.manifest["counts"]["items"][scheme][split]
            if len(table) != expected:
                yield Problem("count", where, f"{len(table):,} items, the manifest says {expected:,}")
            yield from _values(table, where, opened.is_hidden(split))
            yield from _references(table, where, panels)
        yield from _duplicates(pa.chunked_array([c for t in parts.values() for c in t["id"].chunks]), scheme, "item")
        yield from _origins(parts, scheme, official=bool(opened.manifest["official"]))


def _values(table: pa.Table, where: str, hidden: bool) -> Iterator[Problem]:
    bad_task = pc.invert(pc.is_in(table["task"], pa.array(TASKS)))
    if pc.any(bad_task).as_py():
        yield Problem("task", where, f"unknown task in {_some(table['id'].filter(bad_task))}")
    choices = pc.list_value_length(table["candidates"])
    if pc.any(pc.less(choices, 2)).as_py():
        yield Problem("candidates", where, f"fewer than two in {_some(table['id'].filter(pc.less(choices, 2)))}")
    answer = pc.cast(table["answer"], pa.int32())
    outside = pc.or_(pc.less(answer, 0), pc.greater_equal(answer, choices))
    if pc.any(outside).as_py():
        yield Problem(
            "answer-range", where, f"answer is not one of the candidates in {_some(table['id'].filter(outside))}"
        )
    if not hidden:
        none = pc.and_(pc.is_null(answer), pc.is_null(table["parent"]))
        if pc.any(none).as_py():
            yield Problem(
                "no-answer", where, f"no answer in a split that is not hidden: {_some(table['id'].filter(none))}"
            )


def _references(table: pa.Table, where: str, panels: pa.ChunkedArray) -> Iterator[Problem]:
    named = pc.list_flatten(table["panels"])
    candidates = pc.struct_field(pc.list_flatten(table["candidates"]), "panel").drop_null()
    for column in (named, candidates):
        unknown = pc.invert(pc.is_in(column, value_set=panels))
        if pc.any(unknown).as_py():
            yield Problem("missing-panel", where, f"no such panel: {_some(pc.unique(column.filter(unknown)))}")
    parents = table["parent"].drop_null()
    orphans = pc.invert(pc.is_in(parents, value_set=table["id"]))
    if pc.any(orphans).as_py():
        yield Problem("missing-parent", where, f"no such item: {_some(pc.unique(parents.filter(orphans)))}")


def _duplicates(ids: pa.ChunkedArray, where: str, noun: str) -> Iterator[Problem]:
    counts = pc.value_counts(ids)
    twice = counts.filter(pc.greater(pc.struct_field(counts, "counts"), 1))
    if len(twice):
        yield Problem(
            "duplicate-id", where, f"{noun} ids used more than once: {_some(pc.struct_field(twice, 'values'))}"
        )


def _origins(parts: dict[str, pa.Table], scheme: str, official: bool) -> Iterator[Problem]:
    where_seen: dict[str, str] = {}
    shared: dict[str, set[str]] = {}
    for split, table in parts.items():
        for origin in pc.unique(pc.list_flatten(table["origins"])).to_pylist():
            first = where_seen.setdefault(origin, split)
            if first != split:
                shared.setdefault(origin, {first}).add(split)
    if shared:
        origin, splits = next(iter(sorted(shared.items())))
        yield Problem(
            "origin-leak",
            scheme,
            f"{len(shared):,} origins are in more than one split, such as {origin!r} in {', '.join(sorted(splits))}",
            "warning" if official else "error",
        )


def _images(opened: Benchmark) -> Iterator[Problem]:
    bad: list[str] = []

    def look(entry: tuple[str, pa.LargeBinaryScalar]) -> tuple[str, str | None]:
        address, scalar = entry
        data = scalar.as_buffer()
        if content_address(memoryview(data)) != address:
            return address, "its bytes are not the ones it is named after"
        return address, _decoding_error(data.to_pybytes())

    addresses: list[pa.ChunkedArray] = []
    with ThreadPoolExecutor() as pool:  # Pillow's decoders and hashlib release the interpreter lock
        for table in opened.image_tables:
            addresses.append(table["address"])
            for batch in table.to_batches():
                entries = zip(batch["address"].to_pylist(), batch["data"], strict=True)
                bad.extend(f"{address[:16]} ({why})" for address, why in pool.map(look, entries) if why)
    for text in bad[:_EXAMPLES]:
        yield Problem("image", "images", text)
    if len(bad) > _EXAMPLES:
        yield Problem("image", "images", f"and {len(bad) - _EXAMPLES:,} more damaged images")
    stored = pa.chunked_array([c for a in addresses for c in a.chunks], type=pa.string())
    yield from _duplicates(stored, "images", "image")
    wanted = [opened.panels_table(["image"])["image"]]
    for scheme in opened.schemes:
        for split in opened.splits(scheme):
            views = pc.list_flatten(opened.items_table(split, scheme, ["views"])["views"])
            wanted.append(pc.struct_field(views, "image"))
    for column in wanted:
        named = pc.unique(column.drop_null())
        missing = named.filter(pc.invert(pc.is_in(named, value_set=stored)))
        if len(missing):
            yield Problem(
                "missing-image", "images", f"{len(missing):,} images are named and not stored: {_some(missing)}"
            )


def _decoding_error(data: bytes) -> str | None:
    """Why an image cannot be read, or None. A small decompression bomb is an error too."""
    from PIL import Image, UnidentifiedImageError

    if not data:
        return "it is empty"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(BytesIO(data)) as image:
                image.verify()  # reads a PNG to its last chunk, which decoding the pixels does not need
            with Image.open(BytesIO(data)) as image:
                image.load()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        return (
            "not an image that can be read"
            if isinstance(error, UnidentifiedImageError)
            else f"cannot be decoded: {error}"
        )
    return None


def _judgements(opened: Benchmark) -> Iterator[Problem]:
    table = opened.judgements_table()
    bad = pc.invert(pc.is_in(table["kind"], pa.array(JUDGEMENT_KINDS)))
    if pc.any(bad).as_py():
        yield Problem("judgement", "judgements.parquet", f"unknown kind for {_some(table['item'].filter(bad))}")
    bad = pc.invert(pc.match_substring_regex(table["verdict"], r"^(\d+|nonsense|skip)$"))
    if pc.any(bad).as_py():
        yield Problem("judgement", "judgements.parquet", f"unknown verdict for {_some(table['item'].filter(bad))}")


def _hidden(opened: Benchmark) -> Iterator[Problem]:
    """Nothing in the public folder may give an answer of a hidden split away."""
    for scheme in opened.schemes:
        for split in (s for s in opened.splits(scheme) if opened.is_hidden(s)):
            where = f"items-{scheme}-{split}.parquet"
            table = opened.items_table(split, scheme)
            for column in ("answer", "program"):
                told = pc.is_valid(table[column])
                if pc.any(told).as_py():
                    yield Problem(
                        f"hidden-{column}",
                        where,
                        f"the split is hidden, and {_some(table['id'].filter(told))} tells its {column}",
                    )
            names = pc.struct_field(pc.list_flatten(table["tags"]), "name")
            told_tags = pc.unique(names.filter(pc.is_in(names, pa.array(sorted(REVEALING_TAGS)))))
            if len(told_tags):
                yield Problem("hidden-tag", where, f"the split is hidden, and its tags tell {_some(told_tags)}")
            judged = opened.judgements_table()["item"]
            told = pc.is_in(judged, value_set=table["id"])
            if pc.any(told).as_py():
                yield Problem(
                    "hidden-judgement", "judgements.parquet", f"tells how {_some(judged.filter(told))} was judged"
                )
            yield from _hidden_candidates(opened, table)
            if (opened.directory / f"raw-{split}.parquet").exists():
                yield Problem(
                    "hidden-raw", f"raw-{split}.parquet", "original lines of a hidden split are in the public folder"
                )


def _hidden_candidates(opened: Benchmark, table: pa.Table) -> Iterator[Problem]:
    candidates = pc.struct_field(pc.list_flatten(table["candidates"]), "panel").drop_null()
    if len(candidates):
        panels = opened.panels_table(["id", "objects"])
        told = pc.and_(
            pc.is_in(panels["id"], value_set=candidates), pc.greater(pc.list_value_length(panels["objects"]), 0)
        )
        if pc.any(told).as_py():
            named = _some(panels["id"].filter(told))
            yield Problem("hidden-objects", "panels.parquet", f"tells what is in candidates of hidden items: {named}")


def _hidden_folder(opened: Benchmark) -> Iterator[Problem]:
    folder = hidden_dir(opened.directory)
    if not folder.is_dir():
        return
    path = folder / HIDDEN_MANIFEST
    if not path.is_file():
        yield Problem("missing-file", f"{folder.name}/{HIDDEN_MANIFEST}", "the hidden folder has no manifest")
        return
    manifest = json.loads(path.read_text())
    if manifest["benchmark"] != opened.hash:
        yield Problem("hidden-mismatch", folder.name, "belongs to another build of this benchmark")
    yield from (
        Problem(p.kind, f"{folder.name}/{p.where}", p.message, p.severity)
        for p in _files(folder, manifest["files"], HIDDEN_MANIFEST)
    )
    for scheme in opened.schemes:
        for split in (s for s in opened.splits(scheme) if opened.is_hidden(s)):
            answers = folder / f"answers-{scheme}-{split}.parquet"
            if answers.exists():
                known = pq.read_table(answers, columns=["id"], partitioning=None)["id"]
                ids = opened.items_table(split, scheme, ["id"])["id"]
                lost = ids.filter(pc.invert(pc.is_in(ids, value_set=known)))
                if len(lost):
                    yield Problem("hidden-count", answers.name, f"no hidden answer for {_some(lost)}")


def _some(values: pa.Array | pa.ChunkedArray) -> str:
    """The first few of many, for a message."""
    first = ", ".join(str(v) for v in values[:_EXAMPLES].to_pylist())
    return first if len(values) <= _EXAMPLES else f"{first} and {len(values) - _EXAMPLES:,} more"
