"""Making vectors of a benchmark's panels, each distinct image or region once.

Every finished batch is synced to a log, so that a run killed at any moment continues with the next batch and ends in
the same file in the benchmark's folder. (Vectors of texts: `texts`.)
"""

from __future__ import annotations

import hashlib
import math
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict, replace
from functools import lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veridical.benchmark import Benchmark
from veridical.benchmark.tables import panels_from
from veridical.common.addresses import is_address
from veridical.common.files import only_one
from veridical.common.pictures import stored_picture
from veridical.encoders import store
from veridical.encoders.encoder import Encoder, one_thread_each, open_encoder, unit
from veridical.encoders.spread import stays_here
from veridical.encoders.store import About, Features, VectorLog, feature_path, key_hash, region_key
from veridical.engine import run
from veridical.engine.progress import Progress
from veridical.errors import UserError
from veridical.options.running import Workers
from veridical.records import Box

if TYPE_CHECKING:
    from PIL import Image


_AHEAD = 1  # batches that wait beside those under way
_THREADS = 16
_AT_ONCE = 4  # images that a processor's core does at a time: more do not fit its cache (32 took twice as long)
_BLOCK = 64 << 20  # bytes copied at a time when the file is put together

Place = tuple[str, Box | None]  # content address and region
Wanted = dict[str, Place]  # by key
Known = Sequence[tuple[Mapping[bytes, int], np.ndarray]]  # where vectors lie by key hash, and the vectors


def extract(
    benchmark: Benchmark | Path | str,
    encoder: str | Encoder,
    *,
    splits: Sequence[str] | None = None,
    views: bool = False,
    objects: bool = False,
    normalise: bool = False,
    batch_size: int = 32,
    device: str | None = None,
    reuse: Sequence[Path | str] = (),
    workers: Workers = Workers(),
) -> Features:
    """Make the vectors of a benchmark's panels and store them with it; what is already there is kept.

    `splits` limits it to the panels of some splits, `views` adds the whole pictures of views (NLVR's permutations),
    `objects` adds a vector for each object's box, `normalise` stores vectors of length 1, `reuse` names other
    benchmarks that may share images. On this machine threads share one network; other `workers` have one each.
    """
    opened = benchmark if isinstance(benchmark, Benchmark) else Benchmark(benchmark)
    if batch_size < 1:
        raise UserError(f"A batch of {batch_size} images is none.", "Use a --batch-size of 1 or more.")
    ready = open_encoder(encoder, device=device)
    wanted = _wanted(opened, splits, views, objects)
    path = store.vectors_path(opened, ready)
    with only_one(path.with_suffix(".lock"), f"Another process is extracting {path.name}."):
        header = {**asdict(ready.identity), "kind": "image", "normalised": normalise}
        digest = hashlib.sha256(repr(sorted(header.items())).encode()).hexdigest()[:12]
        log = VectorLog(path.with_suffix(f".{digest}.part"), header)
        earlier = _earlier(ready, normalise, [path, *(_lent(place, ready) for place in reuse)])
        known = [({key_hash(k): row for row, k in enumerate(e.keys.to_pylist())}, e.matrix) for e in earlier]
        batches = _missing(wanted, [log.read()[0], *(places for places, _ in known)], batch_size)
        _compute(opened, ready, wanted, batches, log, normalise, workers)
        here = {address for table in opened.image_tables for address in table["address"].to_pylist()}
        old = {key for e in earlier if e.path == path for key in e.keys.to_pylist() if key.partition("@")[0] in here}
        about = About(ready.identity, store.images_hash(opened), normalise, "")
        _put_together(path, sorted(old | wanted.keys()), [log.read(), *known], about)
        for part in path.parent.glob(path.stem + ".*.part"):
            part.unlink()
    return store.load(opened, ready)


def _wanted(opened: Benchmark, splits: Sequence[str] | None, views: bool, objects: bool) -> Wanted:
    """Every distinct image or region to encode, sorted: regions of one image follow each other."""
    table = opened.panels_table(["id", "image", "region"] + (["objects"] if objects else []))
    shown: list[str] = []
    if splits is not None or views:
        parts = [opened.items_table(s, c) for c, s in _parts(opened, splits)]
        if splits is not None:
            ids = [pc.list_flatten(t["panels"]) for t in parts]
            ids += [pc.struct_field(pc.list_flatten(t["candidates"]), "panel") for t in parts]
            used = pc.unique(pa.chunked_array([c for column in ids for c in column.chunks], pa.string()))
            table = table.filter(pc.is_in(table["id"], value_set=used))
        if views:
            images = [pc.struct_field(pc.list_flatten(t["views"]), "image").drop_null() for t in parts]
            shown = [address for column in images for address in pc.unique(column).to_pylist()]
    found: Wanted = {region_key(address): (address, None) for address in shown}
    for address, region in zip(table["image"].to_pylist(), table["region"].to_pylist(), strict=True):
        if address is not None:
            box = None if region is None else (region[0], region[1], region[2], region[3])
            found[region_key(address, box)] = (address, box)
    if objects:
        found.update(_object_keys(table))
    if not found:
        raise UserError(
            f"{opened.name} has no images to encode: its {len(table):,} panels are only addresses."
            if len(table)
            else f"{opened.name} has no panels to encode.",
            "Import it again with its images, or encode its texts.",
        )
    return dict(sorted(found.items()))


def _object_keys(table: pa.Table) -> Iterator[tuple[str, tuple[str, Box]]]:
    empty = {"width": pa.int32(), "height": pa.int32(), "uri": pa.string(), "phash": pa.string()}
    for name, kind in empty.items():
        table = table.append_column(name, pa.nulls(len(table), kind))
    for panel in panels_from(table):
        if panel.image is not None:
            for box in store.object_regions(panel):
                yield region_key(panel.image, box), (panel.image, box)


def _parts(opened: Benchmark, splits: Sequence[str] | None) -> list[tuple[str, str]]:
    """The (scheme, split) pairs that are asked for."""
    if splits is None:
        return opened.parts
    names = {split for _, split in opened.parts}
    if unknown := sorted(set(splits) - names):
        raise UserError(f"{opened.name} has no split {unknown[0]!r}.", f"It has: {', '.join(sorted(names))}.")
    return [(scheme, split) for scheme, split in opened.parts if split in splits]


def _lent(place: Path | str, encoder: Encoder) -> Path:
    """Where another benchmark has its vectors."""
    return store.vectors_path(Benchmark(place), encoder) if is_address(place) else feature_path(Path(place), encoder)


def _earlier(encoder: Encoder, normalise: bool, paths: Iterable[Path]) -> list[Features]:
    """Vectors of earlier runs by the same encoder, proved whole."""
    found = [store.open_features(path) for path in paths if path.exists()]
    out = [one for one in found if one.identity == encoder.identity and one.about.normalised == normalise]
    for one in out:
        one.verify()
    return out


def _compute(
    opened: Benchmark,
    encoder: Encoder,
    wanted: Wanted,
    missing: Sequence[Sequence[str]],
    log: VectorLog,
    normalise: bool,
    workers: Workers,
) -> None:
    """Make the missing vectors, and write down each batch as it comes."""
    left, label = sum(map(len, missing)), f"Encoding with {encoder.name}"
    if stays_here(workers) or not left:
        with Progress(label, len(wanted), "images") as progress:
            progress.advance(len(wanted) - left, skipped=True)
            for batch, vectors in _vectors(opened, encoder, wanted, missing) if left else ():
                log.append([key_hash(key) for key in batch], unit(vectors) if normalise else vectors)
                progress.advance(len(batch))
        return
    places = [[wanted[key] for key in batch] for batch in missing]
    found = run(partial(encode_places, encoder, opened.address), places, workers=workers, label=label)
    for batch, vectors in zip(missing, found, strict=True):
        log.append([key_hash(key) for key in batch], unit(vectors) if normalise else vectors)


def _missing(wanted: Wanted, done: Sequence[Mapping[bytes, int]], size: int) -> list[list[str]]:
    """Batches of what is still to be encoded.

    They are cut before finished ones are left out, so that a continued run sees the same batches as a whole one.
    """
    hashes, keys = {key: key_hash(key) for key in wanted}, list(wanted)
    batches = [keys[start : start + size] for start in range(0, len(keys), size)]
    missing = [[key for key in batch if not any(hashes[key] in places for places in done)] for batch in batches]
    return [batch for batch in missing if batch]


_opened = lru_cache(maxsize=2)(Benchmark)  # of a worker process


def encode_places(encoder: Encoder, benchmark: str, places: Sequence[Place]) -> np.ndarray:
    """The vectors of images or regions of a benchmark, in a worker: (B, D)."""
    stacked = _pixels_of(_opened(benchmark), encoder, places)
    return encoder.images(stacked) if not encoder.on_processor else _on_processor(encoder, stacked)


def _pixels_of(opened: Benchmark, encoder: Encoder, places: Sequence[Place]) -> np.ndarray:
    """Images or regions as the network wants them: (B, 3, H, W)."""
    pixels = []
    for address, group in groupby(places, key=lambda place: place[0]):
        picture = decode(memoryview(opened.image(address)), address)
        pixels += [encoder.prepare(part) for part in cut(picture, [region for _, region in group], address)]
    return _stack(pixels, encoder)


def _on_processor(encoder: Encoder, stacked: np.ndarray) -> np.ndarray:
    return np.concatenate([encoder.images(stacked[n : n + _AT_ONCE]) for n in range(0, len(stacked), _AT_ONCE)])


def _vectors(
    opened: Benchmark, encoder: Encoder, wanted: Wanted, batches: Sequence[Sequence[str]]
) -> Iterator[tuple[Sequence[str], np.ndarray]]:
    """Batches with their vectors: (B, D).

    On a processor, a thread does a whole batch, network included, with one thread of torch's own: no thread waits
    for another. On an accelerator, threads decode ahead and the network runs here.
    """
    from PIL import Image

    encoder.images(encoder.prepare(Image.new("RGB", (32, 32)))[None])  # loads what it needs; fails now if it cannot see
    opened.image(wanted[batches[0][0]][0])  # the index of images is built before threads ask for it
    here = not encoder.on_processor

    def work(batch: Sequence[str]) -> np.ndarray:
        stacked = _pixels_of(opened, encoder, [wanted[key] for key in batch])
        return stacked if here else _on_processor(encoder, stacked)

    threads = min(os.cpu_count() or 1, _THREADS)
    with one_thread_each(threads) as pool:
        waiting: deque[Future[np.ndarray]] = deque(pool.submit(work, batch) for batch in batches[: threads + _AHEAD])
        try:
            for number, batch in enumerate(batches):
                found = waiting.popleft().result()
                if number + threads + _AHEAD < len(batches):
                    waiting.append(pool.submit(work, batches[number + threads + _AHEAD]))
                yield batch, encoder.images(found) if here else found
        finally:
            pool.shutdown(cancel_futures=True)


def _stack(pixels: list[np.ndarray], encoder: Encoder) -> np.ndarray:
    if len({array.shape for array in pixels}) > 1:
        raise UserError(
            f"The encoder {encoder.name} gives images of different shapes different sizes: they do not fit one batch.",
            "Use --batch-size 1, or a checkpoint of a fixed image size.",
        )
    return np.stack(pixels)


def _put_together(path: Path, keys: Sequence[str], known: Known, about: About) -> None:
    """Write the file: what was wanted now, and what earlier runs made of images that are still here."""
    hashes = [key_hash(key) for key in keys]
    size = next(vectors.shape[1] for places, vectors in known if hashes[0] in places)
    raw = path.with_suffix(".raw")
    try:
        matrix = np.memmap(raw, np.float32, "w+", shape=(len(keys), size))
        step = max(1, _BLOCK // (size * 4))
        for start in range(0, len(keys), step):
            part = hashes[start : start + step]
            for places, vectors in reversed(known):  # the first in the list has the last word
                rows = [(n, places[h]) for n, h in enumerate(part) if h in places]
                if rows:
                    to, source = np.array(rows).T
                    matrix[start + to] = vectors[source]
        store.write_features(path, keys, matrix, replace(about, vectors=store.vectors_hash(keys, matrix)))
    finally:
        raw.unlink(missing_ok=True)


def decode(data: bytes | memoryview, address: str) -> Image.Image:
    """An image in RGB; what is transparent becomes white."""
    from PIL import Image

    image = stored_picture(data, address)
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    return image.convert("RGB")


def cut(image: Image.Image, regions: Sequence[Box | None], address: str) -> list[Image.Image]:
    """Regions of an image: whole pixels, within the image. None is all of it."""
    return [image if region is None else image.crop(_pixels(image.size, region, address)) for region in regions]


def _pixels(size: tuple[int, int], region: Box, address: str) -> tuple[int, int, int, int]:
    """
    >>> _pixels((400, 100), (150.0, -2.5, 250.5, 130.0), "9f2c")
    (150, 0, 251, 100)
    """
    left, top = max(math.floor(region[0]), 0), max(math.floor(region[1]), 0)
    right, bottom = min(math.ceil(region[2]), size[0]), min(math.ceil(region[3]), size[1])
    if left >= right or top >= bottom:
        raise UserError(
            f"Region {region} of image {address} is empty: the image has {size[0]} x {size[1]} pixels.",
            "Regions are left, top, right, bottom in pixels; build the benchmark again without that panel.",
        )
    return left, top, right, bottom
