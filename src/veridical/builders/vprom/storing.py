"""What is written: crops as panels, matrices as items.

A crop is a region of a photograph that is stored once, with the objects that lie in it. Items are whole columns at a
time, since a benchmark has hundreds of thousands.

An item's id ends in a digest of its matrix: people's answers to another build are noticed.
"""

from __future__ import annotations

import hashlib
import math
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from veridical.benchmark import tables
from veridical.builders.vprom.elements import CELLS, SUBJECT_OF
from veridical.builders.vprom.matrices import CANDIDATES, PANELS, Matrices
from veridical.builders.vprom.mining import INSIDE
from veridical.builders.vprom.pool import Pool
from veridical.common.arrays import Bools
from veridical.engine import run
from veridical.engine.progress import Progress
from veridical.errors import UserError
from veridical.options.running import Workers
from veridical.records import Box, Panel, SceneObject
from veridical.sources import Photograph, Source
from veridical.sources.pictures import BadPhotograph

STORE_BATCH = 50  # photographs
WRITE_ROWS = 32_768  # items that are made and written at a time
TAGS = ("relation", "element", "kind", "property", "label", "held")


@dataclass(frozen=True, slots=True)
class Stored:
    """A photograph that matrices show: its picture and the panels that are crops of it, still without its address."""

    picture: bytes
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A photograph, by its number where the source can make it again, and the crops that are used of it."""

    photograph: Photograph | int
    crops: tuple[tuple[str, Box | None], ...]  # name and region


def crop_names(names: Sequence[str], photograph: np.ndarray, region: np.ndarray) -> list[str]:
    """The ids of all crops of a pool, in the order of their photographs: the photograph's where a crop is all of it."""
    number = np.arange(len(photograph)) - np.searchsorted(photograph, photograph)  # of its photograph's crops
    whole = np.isnan(region[:, 0])
    return [
        names[p] if all_of_it else f"{names[p]}-c{k}"
        for p, k, all_of_it in zip(photograph.tolist(), number.tolist(), whole.tolist(), strict=True)
    ]


def bad_pictures(source: Source, photographs: Iterable[Photograph]) -> dict[str, str]:
    """The photographs whose picture cannot be used, and why."""
    bad: dict[str, str] = {}
    for photograph in photographs:
        try:
            source.picture(photograph)
        except UserError as error:
            bad[photograph.panel.id] = error.reason if isinstance(error, BadPhotograph) else error.problem
    return bad


def store(source: Source, wanted: Sequence[Wanted]) -> list[Stored]:
    """The pictures and panels of some photographs."""
    out = []
    for one in wanted:
        photograph = source.at(one.photograph) if isinstance(one.photograph, int) else one.photograph
        panels = tuple(cut(photograph, name, region) for name, region in one.crops)
        out.append(Stored(source.picture(photograph), panels))
    return out


def stored(
    source: Source, pool: Pool, names: Sequence[str], used: Bools, workers: Workers, work: Path
) -> Iterator[Stored]:
    """Every photograph with a crop that is `used`; `names` are those of the crops."""
    wanted: dict[int, list[tuple[str, Box | None]]] = {}
    for k in np.flatnonzero(used).tolist():
        left, top, right, bottom = pool.region[k].tolist()
        region = None if np.isnan(left) else (left, top, right, bottom)
        wanted.setdefault(int(pool.photograph[k]), []).append((names[k], region))
    if source.count is not None:
        rows = [Wanted(number, tuple(parts)) for number, parts in sorted(wanted.items())]
        batches = [rows[k : k + STORE_BATCH] for k in range(0, len(rows), STORE_BATCH)]
        made = run(partial(store, source), batches, workers=workers, work=work, label="drawing panels")
        yield from chain.from_iterable(made)
        return
    with Progress("storing photographs", len(wanted), "photographs") as progress:
        for number, photograph in enumerate(source.photographs()):
            if number in wanted:
                try:
                    yield from store(source, [Wanted(photograph, tuple(wanted[number]))])
                except UserError as error:
                    shutil.rmtree(work, ignore_errors=True)  # it remembers that the picture was good
                    problem = f"A picture changed during the build. {error.problem}"
                    raise UserError(problem, "Build again: what cannot be used is left out.") from error
                progress.advance(1)


def cut(photograph: Photograph, name: str, region: Box | None) -> Panel:
    """A panel of a photograph; objects that lie in it move with it."""
    whole = photograph.panel
    if region is None:
        objects = tuple(replace(thing, polygons=()) for thing in whole.objects)
        return replace(whole, id=name, objects=objects)
    width, height = whole.width or math.ceil(region[2]), whole.height or math.ceil(region[3])
    left, top = math.floor(region[0]), math.floor(region[1])
    right, bottom = min(math.ceil(region[2]), width), min(math.ceil(region[3]), height)
    moved = (_moved(thing, (left, top, right, bottom), region) for thing in whole.objects)
    return replace(
        whole,
        id=name,
        region=(float(left), float(top), float(right), float(bottom)),
        width=right - left,
        height=bottom - top,
        objects=tuple(thing for thing in moved if thing is not None),
    )


def _moved(thing: SceneObject, frame: tuple[int, int, int, int], region: Box) -> SceneObject | None:
    """An object in the coordinates of a panel, or None where most of it lies outside."""
    if thing.box is None:
        return None
    x0, y0, x1, y1 = thing.box
    wide, high = min(x1, region[2]) - max(x0, region[0]), min(y1, region[3]) - max(y0, region[1])
    if max(wide, 0) * max(high, 0) < INSIDE * max((x1 - x0) * (y1 - y0), 1e-9):
        return None
    left, top, right, bottom = frame
    box = (max(x0, left) - left, max(y0, top) - top, min(x1, right) - left, min(y1, bottom) - top)
    return replace(thing, box=box, polygons=())


def item_names(matrices: Matrices, pool: Pool, photographs: pa.Array, part: tuple[str, str]) -> Iterator[str]:
    """The ids of items: scheme, side, number and a digest of what is shown, as in `neutral-test-000012-9f3ac0`.

    The same id is the same matrix of the same pool, so that answers to one build never count for another.
    """
    pooled = hashlib.blake2b(digest_size=16)
    elements = (f"Element(kind={e.type!r}, group={e.group!r}, name={e.name!r})" for e in pool.elements)
    named = [*photographs.to_pylist(), *elements]
    pooled.update("\n".join(named).encode("utf-8", "surrogateescape"))
    for values in (pool.photograph, np.nan_to_num(pool.region, nan=-1.0), pool.shows.starts, pool.shows.values):
        pooled.update(values.astype(values.dtype.newbyteorder("<")).tobytes())
    key, prefix = pooled.digest(), "-".join(part)
    rows = (row.astype("<i4").tobytes() for row in matrices.crops)
    digests = (hashlib.blake2b(row, digest_size=3, key=key).hexdigest() for row in rows)
    return (f"{prefix}-{number:06d}-{digest}" for number, digest in enumerate(digests))


def items_tables(
    matrices: Matrices, pool: Pool, crop_names: pa.Array, photographs: pa.Array, part: tuple[str, str], bound: Bools
) -> Iterator[pa.Table]:
    """The items of matrices, some rows at a time, however many there are.

    `crop_names` and `photographs` name the pool's crops and photographs, `part` is the scheme and the side; `bound` are
    the elements that the scheme has a rule about. Tags: relation, element (attribute, object, count), kind (as in
    Table 1), property (super-attribute), label (of the answer), held (whether the scheme's rule binds this matrix).
    """
    names = item_names(matrices, pool, photographs, part)
    for start in range(0, len(matrices), WRITE_ROWS):
        some = matrices.some(start, start + WRITE_ROWS)
        yield _items_table(some, list(islice(names, len(some))), pool, crop_names, photographs, bound)


def _items_table(
    matrices: Matrices, ids: list[str], pool: Pool, crop_names: pa.Array, photographs: pa.Array, bound: Bools
) -> pa.Table:
    size = len(matrices)
    context, candidates = matrices.crops[:, :PANELS], matrices.crops[:, PANELS:]
    names = crop_names.take(pa.array(candidates.ravel()))
    choice = tables.ITEMS.field("candidates").type.value_type
    nothing = pa.nulls(size * CANDIDATES, choice.field("raw").type)
    tokens = _empty(size * CANDIDATES, choice.field("tokens").type)
    columns = {
        "id": pa.array(ids, pa.string()),
        "task": pa.array(["matrix"] * size, pa.string()),
        "panels": _rows(crop_names.take(pa.array(context.ravel())), PANELS),
        "candidates": _rows(pa.StructArray.from_arrays([nothing, tokens, names], fields=list(choice)), CANDIDATES),
        "answer": pa.array(matrices.answer.astype(np.int8)),
        "origins": _rows(photographs.take(pa.array(pool.photograph[matrices.crops].ravel())), PANELS + CANDIDATES),
        "tags": _tags(matrices, pool, bound),
        "views": _empty(size, tables.ITEMS.field("views").type),
    }
    return pa.table([columns.get(f.name, pa.nulls(size, f.type)) for f in tables.ITEMS], schema=tables.ITEMS)


def _rows(values: pa.Array, length: int) -> pa.ListArray:
    """Lists of one length."""
    return pa.ListArray.from_arrays(np.arange(0, len(values) + 1, length, dtype=np.int32), values)


def _empty(size: int, type_: pa.ListType) -> pa.ListArray:
    return pa.ListArray.from_arrays(np.zeros(size + 1, np.int32), pa.array([], type_.value_type))


def _tags(matrices: Matrices, pool: Pool, bound: Bools) -> pa.ListArray:
    """Relation, element, kind (its type), property, label and held of each matrix."""
    words: list[str] = []

    def codes(values: list[str]) -> np.ndarray:
        words.extend(values)
        return np.arange(len(words) - len(values), len(words))

    relation = codes([r for r, _ in CELLS])[matrices.cell]
    element = codes([SUBJECT_OF[type_] for _, type_ in CELLS])[matrices.cell]
    type_ = codes([type_ for _, type_ in CELLS])[matrices.cell]
    group = codes([e.group for e in pool.elements])[matrices.label]
    label = codes([e.name for e in pool.elements])[matrices.label]
    held = codes(["no", "yes"])[bound[matrices.label].astype(int)]
    values = np.stack([relation, element, type_, group, label, held], axis=1)  # (N, 6)
    taken = pa.array(words, pa.string()).take(pa.array(values.ravel()))
    names = pa.array(TAGS, pa.string()).take(pa.array(np.tile(np.arange(len(TAGS)), len(matrices))))
    pair = tables.ITEMS.field("tags").type.value_type
    return _rows(pa.StructArray.from_arrays([names, taken], fields=list(pair)), len(TAGS))
