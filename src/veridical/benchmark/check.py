"""`veridical check`: prove that a benchmark is whole, and that nothing hidden lies in what is public.

Every check yields `Problem`s: errors (the benchmark must not be used) and warnings (worth knowing: official releases
share photographs between splits, for instance). The order is from the outside in: files, tables, images, secrets.
"""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from veridical.benchmark.check_items import (
    Problem,
    check_items,
    check_judgements,
    check_panels,
    duplicates,
    marked,
    some,
)
from veridical.benchmark.place import HIDDEN_MANIFEST, MANIFEST
from veridical.benchmark.store import Benchmark
from veridical.benchmark.tables import ITEMS, PANELS
from veridical.benchmark.writer import PUBLIC_TAGS, FileEntry, content_address, file_hash
from veridical.common.average_hash import average_hash
from veridical.common.pictures import DECODER_ERRORS, MAX_PIXELS
from veridical.common.result import Result, Table
from veridical.errors import UserError

_SHOWN = 5  # damaged images that are named
_TELLING = 0.1  # an id that tells the answer this much better than the majority is a leak


@dataclass(frozen=True)
class CheckReport(Result):
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

    @property
    def exit_code(self) -> int:
        return 0 if self.ok else 1

    def to_json(self) -> dict[str, object]:
        return {"ok": self.ok, **asdict(self)}

    def parts(self) -> Iterator[Table | str]:
        if self.problems:
            rows = [(p.severity, p.kind, f"{p.where}: {p.message}") for p in self.problems]
            yield Table("", ("severity", "problem", "where"), rows)
        errors = sum(p.severity == "error" for p in self.problems)
        verdict = "whole" if self.ok else f"{errors} errors"
        counts = (f"{self.files}", f"{self.items:,}", f"{self.images:,}")
        yield Table("", ("benchmark", "verdict", "files", "items", "images"), [(self.benchmark, verdict, *counts)])


def check(benchmark: Path | str, *, images: bool = True) -> CheckReport:
    """Check a benchmark: hashes, counts, ids, references, origins, every image, and that hidden answers are hidden.

    With `images=False`, images are only covered by the hashes of their files and not decoded one by one.
    """
    opened = Benchmark(benchmark)
    problems = list(_files(opened))
    opened.distrust(p.where for p in problems if p.severity == "error")
    problems += _columns(opened)
    damaged = [p.where for p in problems if p.severity == "error"]
    opened.distrust(damaged)
    tables, secrets = (check_items, check_panels, check_judgements), (_hidden, _hidden_folder)
    for stage in (*tables, *([_images] if images else []), *secrets):
        try:
            problems.extend(stage(opened))
        except (UserError, pa.ArrowException, OSError, KeyError) as error:
            text = str(error).splitlines()[0]
            if not any(name in text for name in damaged):  # otherwise it is reported already
                problems.append(Problem("unreadable", stage.__name__.strip("_"), text))
    counts, files = opened.manifest["counts"], len(opened.manifest["files"])
    items = sum(n for splits in counts["items"].values() for n in splits.values())
    return CheckReport(str(opened.directory), opened.hash, files, items, counts["images"], tuple(problems))


def decoding_error(data: bytes) -> str | None:
    """Why an image cannot be read, or None. A small decompression bomb is an error too."""
    found = _decode(data)
    return found if isinstance(found, str) else None


def _decode(data: bytes) -> tuple[int, int] | str:
    """An image's width and height, or why it cannot be read."""
    from PIL import Image, UnidentifiedImageError

    if not data:
        return "it is empty"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(BytesIO(data)) as image:
                if image.width * image.height > MAX_PIXELS:
                    return f"{image.width:,} x {image.height:,} pixels; at most {MAX_PIXELS:,} are decoded"
                image.verify()  # reads a PNG to its last chunk, which decoding the pixels does not need
            with Image.open(BytesIO(data)) as image:
                image.load()
                return image.size
    except UnidentifiedImageError:
        return "not an image that can be read"
    except (*DECODER_ERRORS, Image.DecompressionBombError) as error:
        return f"cannot be decoded: {error}"


def _files(opened: Benchmark) -> Iterator[Problem]:
    yield from _listed(opened.directory, opened.manifest["files"])
    counted = {f"items-{scheme}-{split}.parquet" for scheme, split in opened.parts}
    secret = {f"raw-{split}.parquet" for split in opened.manifest["hidden"]}
    for path in sorted(opened.directory.iterdir()):
        name = path.name
        is_features = name.startswith("features-") and name.endswith(".arrow")  # added later, tied to images by hash
        if name in secret or name.startswith("answers-") or name == HIDDEN_MANIFEST:
            yield Problem("hidden-file", name, "belongs into the hidden folder, and lies in the public one")
        elif name.startswith("items-") and name not in counted:
            yield Problem("count", name, "the manifest does not count it")
        elif name not in opened.manifest["files"] and name != MANIFEST and not is_features:
            yield Problem("unlisted-file", name, "not part of the benchmark", "warning")


def _columns(opened: Benchmark) -> Iterator[Problem]:
    """Every table has the columns of its format; one that cannot be read is found later, and why."""
    names = {f"items-{scheme}-{split}.parquet": ITEMS for scheme, split in opened.parts}
    for name, schema in {**names, "panels.parquet": PANELS}.items():
        try:
            found = pq.read_schema(opened.trusted(opened.directory / name))
        except (UserError, OSError, pa.ArrowException):
            continue
        if not found.equals(schema):
            yield Problem("columns", name, "its columns are not those of a benchmark of this format")


def _listed(folder: Path, files: dict[str, FileEntry]) -> Iterator[Problem]:
    for name, facts in sorted(files.items()):
        path = folder / name
        if not path.is_file():
            yield Problem("missing-file", name, "the manifest lists it, and it is not here")
        elif path.stat().st_size != facts["bytes"]:
            yield Problem("size", name, f"{path.stat().st_size:,} bytes, not {facts['bytes']:,}: cut off or changed")
        elif file_hash(path) != facts["sha256"]:
            yield Problem("hash", name, "its bytes are not the ones that were written")


def _images(opened: Benchmark) -> Iterator[Problem]:
    from PIL import Image

    sizes: dict[str, tuple[int, int]] = {}
    bad: list[str] = []
    published = _published_hashes(opened)
    other: list[str] = []  # addresses of images that are not the published ones

    def look(entry: tuple[str, pa.LargeBinaryScalar]) -> tuple[str, tuple[int, int] | str]:
        address, scalar = entry
        data = scalar.as_buffer()
        if content_address(memoryview(data)) != address:
            return address, "its bytes are not the ones it is named after"
        found = _decode(data.to_pybytes())
        if address in published and not isinstance(found, str):
            with Image.open(BytesIO(data.to_pybytes())) as image:
                if average_hash(image) not in published[address]:
                    other.append(address)
        return address, found

    with ThreadPoolExecutor() as pool:  # Pillow's decoders and hashlib release the interpreter lock
        for table in opened.image_tables:
            for batch in table.to_batches():
                entries = zip(batch["address"].to_pylist(), batch["data"], strict=True)
                for address, found in pool.map(look, entries):
                    if isinstance(found, str):
                        bad.append(f"{address[:16]}: {found}")
                    else:
                        sizes[address] = found
    yield from (Problem("image", "images", text) for text in bad[:_SHOWN])
    if len(bad) > _SHOWN:
        yield Problem("image", "images", f"and {len(bad) - _SHOWN:,} more damaged images")
    chunks = [c for t in opened.image_tables for c in t["address"].chunks]
    stored = pa.chunked_array(chunks, type=pa.string())
    if len(stored) != opened.manifest["counts"]["images"]:
        expected = opened.manifest["counts"]["images"]
        yield Problem("count", "images", f"{len(stored):,} images, the manifest says {expected:,}")
    yield from duplicates(stored, "images", "image")
    if other:
        text = (
            f"{len(other):,} images have another average hash than was published: {', '.join(sorted(other)[:_SHOWN])}"
        )
        yield Problem("average-hash", "images", text, "warning")
    yield from _wanted(opened, stored)
    yield from _regions(opened, sizes)


def _published_hashes(opened: Benchmark) -> dict[str, set[str]]:
    """What was published of the images that are whole panels, by address."""
    out: dict[str, set[str]] = {}
    for row in opened.panels_table(["image", "region", "phash"]).to_pylist():
        if row["image"] and row["phash"] and row["region"] is None:
            out.setdefault(row["image"], set()).add(row["phash"])
    return out


def _wanted(opened: Benchmark, stored: pa.ChunkedArray) -> Iterator[Problem]:
    """Every image that a panel or a view names is stored."""
    wanted = [opened.panels_table(["image"])["image"]]
    for scheme, split in opened.parts:
        views = pc.list_flatten(opened.items_table(split, scheme, ["views"])["views"])
        wanted.append(pc.struct_field(views, "image"))
    for column in wanted:
        named = pc.unique(column.drop_null())
        missing = named.filter(pc.invert(pc.is_in(named, value_set=stored)))
        if len(missing):
            text = f"{len(missing):,} images are named and not stored: {some(missing)}"
            yield Problem("missing-image", "images", text)


def _regions(opened: Benchmark, sizes: dict[str, tuple[int, int]]) -> Iterator[Problem]:
    """A panel's region lies in its image."""
    outside = []
    panels = opened.panels_table(["id", "image", "region"])
    for panel, image, region in zip(*(panels[c].to_pylist() for c in panels.column_names), strict=True):
        if region is not None and image in sizes and len(region) == 4:
            width, height = sizes[image]
            if min(region[:2]) < 0 or region[2] > width or region[3] > height:
                outside.append(panel)
    if outside:
        yield Problem("region", "panels.parquet", f"outside its image: {some(pa.array(outside))}")


def _hidden(opened: Benchmark) -> Iterator[Problem]:
    """Nothing in the public folder may give an answer of a hidden split away."""
    for scheme, split in [part for part in opened.parts if opened.is_hidden(part[1])]:
        where = f"items-{scheme}-{split}.parquet"
        table = opened.items_table(split, scheme)
        for column in ("answer", "program"):
            told = pc.is_valid(table[column])
            if pc.any(told).as_py():
                named = some(table["id"].filter(told))
                yield Problem(f"hidden-{column}", where, f"the split is hidden, and {named} tells its {column}")
        names = pc.struct_field(pc.list_flatten(table["tags"]), "name")
        told_tags = pc.unique(names.filter(pc.invert(pc.is_in(names, pa.array(sorted(PUBLIC_TAGS))))))
        if len(told_tags):
            yield Problem("hidden-tag", where, f"the split is hidden, and its tags may tell: {some(told_tags)}")
        judged = opened.judgements_table()["item"]
        told = pc.is_in(judged, value_set=table["id"])
        if pc.any(told).as_py():
            named = some(pc.unique(judged.filter(told)))
            yield Problem("hidden-judgement", "judgements.parquet", f"tells how {named} was judged")
        yield from _hidden_objects(opened, table)


def _hidden_objects(opened: Benchmark, table: pa.Table) -> Iterator[Problem]:
    """Objects of candidates are hidden; where the benchmark says so, those of all panels that hidden items show."""
    secret = pc.struct_field(pc.list_flatten(table["candidates"]), "panel").drop_null().to_pylist()
    if opened.manifest.get("hide_objects"):
        secret += pc.list_flatten(table["panels"]).to_pylist()
    if secret:
        panels = opened.panels_table(["id", "objects"])
        shown = pc.greater(pc.list_value_length(panels["objects"]), 0)
        told = pc.and_(pc.is_in(panels["id"], value_set=pa.array(sorted(set(secret)))), shown)
        text = "tells what is in panels of hidden items:"
        yield from marked(panels["id"], told, "hidden-objects", "panels.parquet", text)


def _hidden_folder(opened: Benchmark) -> Iterator[Problem]:
    """The hidden folder, where it is here: whole, of this build, an answer for every item."""
    folder = opened.hidden_directory
    if not folder.is_dir():
        return
    manifest = opened.hidden_manifest()
    if manifest is None:
        yield Problem("missing-file", f"{folder.name}/{HIDDEN_MANIFEST}", "the hidden folder has no manifest")
        return
    if manifest["benchmark"] != opened.hash:
        yield Problem("hidden-mismatch", folder.name, "belongs to another build of this benchmark")
    found = [
        Problem(p.kind, f"{folder.name}/{p.where}", p.message, p.severity) for p in _listed(folder, manifest["files"])
    ]
    yield from found
    if found:
        return
    for scheme, split in [part for part in opened.parts if opened.is_hidden(part[1])]:
        path = folder / f"answers-{scheme}-{split}.parquet"
        if path.exists():
            answers = pq.read_table(path, columns=["id", "answer"], partitioning=None)
            items = opened.items_table(split, scheme, ["id", "candidates", "parent"])
            yield from _answers(items, answers, f"{folder.name}/{path.name}", bool(opened.manifest["official"]))


def _answers(items: pa.Table, answers: pa.Table, where: str, official: bool) -> Iterator[Problem]:
    yield from duplicates(answers["id"], where, "answer")
    ids = items["id"]
    place = pc.index_in(ids, value_set=answers["id"].combine_chunks())
    answer = answers["answer"].take(place)
    lost = pc.and_(pc.is_null(answer), pc.is_null(items["parent"]))
    unknown = pc.and_(lost, pc.and_(pc.is_valid(place), official))  # those who published it did not say
    yield from marked(ids, pc.and_not(lost, unknown), "hidden-count", where, "no hidden answer for")
    if pc.any(unknown).as_py():
        yield Problem("hidden-count", where, f"no answer is known for {some(ids.filter(unknown))}", "warning")
    outside = pc.greater_equal(pc.cast(answer, pa.int32()), pc.list_value_length(items["candidates"]))
    yield from marked(ids, outside, "answer-range", where, "answer is not one of the candidates in")
    by_ending: dict[str, Counter[int]] = defaultdict(Counter)
    for item, right in zip(ids.to_pylist(), answer.to_pylist(), strict=True):
        if right is not None:
            by_ending[item.rpartition("-")[2]][right] += 1
    total = sum(sum(c.values()) for c in by_ending.values())
    if total >= 10 * len(by_ending):  # enough items behind each ending to learn from
        majority = max(sum(by_ending.values(), Counter()).values()) / total
        told = sum(map(_foretold, by_ending.values())) / total
        chance = 3 * (majority * (1 - majority) / total) ** 0.5  # what small splits show by accident
        if told > majority + max(_TELLING, chance):
            text = f"the end of the ids tells {told:.1%} of the answers (the most common answer: {majority:.1%})"
            yield Problem("hidden-id", where, text, "warning")


def _foretold(answers: Counter[int]) -> float:
    """How many answers the others of the same ending foretell: each is left out in its turn, ties count half."""
    right = 0.0
    for answer, count in answers.items():
        most = max((c for other, c in answers.items() if other != answer), default=0)
        right += count * ((count - 1 > most) + 0.5 * (count - 1 == most > 0))
    return right
