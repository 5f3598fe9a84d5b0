"""Looking at every photograph of a source once: what is in it, its perceptual hash, its embedding.

The pictures go through worker processes in batches and are not kept; what was finished when a build was killed is
remembered. `annotations` is an embedding of what is annotated, for sources whose annotations are all there is to see;
every other name is an encoder of `features`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path

import numpy as np

from veridical.builders.nlvr2.visible import visible
from veridical.builders.nlvr2.work import Seen
from veridical.encoders import open_encoder
from veridical.encoders.encoder import unit
from veridical.encoders.hashes import near_pairs, perceptual_hash
from veridical.engine import run
from veridical.errors import UserError
from veridical.language.writing.pairs.doubts import sure
from veridical.options.building import NLVR2Options
from veridical.options.running import Workers
from veridical.sources import Coverage, Photograph, Source, open_source
from veridical.sources.icons.worlds import IconSeries

ANNOTATIONS = "annotations"  # the embedding of what is annotated
BATCH = 32
ICON_SETS = 250
SLACK = 1.2  # series of icons for each set wanted: not every series is found whole
SAMPLED = 20_000  # pairs of photographs whose similarity says what is usual
CATEGORIES = 512  # the most common ones, of which vectors are made
FEW = 128  # photographs that are made without worker processes
_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")
# relationships that say where something is, not what it does
_PLACES = frozenset(
    {"left of", "right of", "to the left of", "to the right of", "above", "below", "under", "near", "next to", "by"}
    | {"beside", "behind", "in front of", "has", "of", "with", "at", "in", "on", "on top of", "over", "around"}
)
# attributes and tags that say what is there or going on
_SPOKEN = frozenset({"action", "activity", "pose", "synset", "label", "keywords", "title"})


def open_photographs(config: NLVR2Options, cache: Path, workers: Workers) -> Source | None:
    """The source of a build; with a detector, what it finds is in the photographs that have no objects."""
    if config.source == "none":
        return None
    if config.source == "icons":
        return IconSeries(round(SLACK * (config.sets or ICON_SETS)) + 1, config.seed)
    source = open_source(config.source)
    if config.detector is None:
        return source
    from veridical.sources.detections import Detections

    return Detections(source, config.detector, threshold=config.threshold, cache=cache, workers=workers)


# of a worker process
_open = lru_cache(maxsize=2)(open_source)
_encoder = lru_cache(maxsize=2)(open_encoder)


def opened(reader: Source | str) -> Source:
    """A source, in a worker process too: opened by its name, or the one that was handed over."""
    return _open(reader) if isinstance(reader, str) else reader


def look(
    source: Source,
    reader: Source | str,
    encoder: str,
    coverage: Coverage | None = None,
    *,
    workers: Workers = Workers(),
    work: Path | None = None,
) -> tuple[list[Seen], np.ndarray]:
    """Every photograph, and a vector of length 1 for each: (N, D). With a `coverage`, only what can be seen counts."""
    batches: Iterable[Sequence[Photograph | int]]
    if (count := source.count) is not None:
        batches = [range(i, min(i + BATCH, count)) for i in range(0, count, BATCH)]
    else:
        photographs = source.photographs()
        batches = iter(lambda: list(islice(photographs, BATCH)), [])
    function = partial(_look_batch, reader, encoder, coverage)
    seen: list[Seen] = []
    vectors: list[np.ndarray] = []
    for found in run(function, batches, workers=workers, work=work, label="looking at photographs"):
        for one, vector in found:
            seen.append(one)
            vectors.append(vector)
    if not seen:
        raise UserError("The source has no photographs.", "Give one that has some.")
    if encoder == ANNOTATIONS:
        return seen, annotation_vectors(seen)
    size = max(len(v) for v in vectors)
    looks = unit(np.stack([v if len(v) else np.zeros(size, np.float32) for v in vectors]))
    return seen, looks if coverage is None else unit(np.hstack([looks, category_vectors(seen)]))


def _look_batch(
    reader: Source | str, encoder: str, coverage: Coverage | None, batch: Sequence[Photograph | int]
) -> list[tuple[Seen, np.ndarray]]:
    from veridical.encoders.extract import decode

    source = opened(reader)
    network = None if encoder == ANNOTATIONS else _encoder(encoder)
    seen: list[Seen] = []
    pixels: list[np.ndarray] = []
    usable: list[int] = []
    for one in batch:
        photograph = source.at(one) if isinstance(one, int) else one
        problem, phash = "", None
        try:
            image = decode(source.picture(photograph), photograph.panel.id)
        except UserError as error:
            problem = error.problem
        else:
            phash = f"{perceptual_hash(image):016x}"
            if network is not None:
                pixels.append(network.prepare(image))
                usable.append(len(seen))
        shown = photograph if coverage is None else visible(photograph, coverage)
        seen.append(describe(shown, phash, problem))
    vectors = [np.zeros(0, np.float32) for _ in seen]
    if network is not None and pixels:
        for place, vector in zip(usable, network.images(np.stack(pixels)), strict=True):
            vectors[place] = vector.astype(np.float32)
    return list(zip(seen, vectors, strict=True))


def describe(photograph: Photograph, phash: str | None = None, problem: str = "") -> Seen:
    """What a search and the named rules know of a photograph: things that may count or not are not known."""
    panel = photograph.panel
    certain = sure(panel).objects
    texts = [panel.id.rpartition("/")[0]]  # the folders that somebody sorted photographs into
    texts += [*photograph.captions, *(region.phrase for region in photograph.regions)]
    texts += [r.predicate for r in photograph.relationships if r.predicate.lower() not in _PLACES]
    texts += [value for name, value in photograph.tags if name in _SPOKEN]
    texts += [value for one in certain for name, value in one.attributes if name in _SPOKEN]
    words = {word for text in texts for word in _WORD.findall(text.lower())}
    return Seen(
        id=panel.id,
        uri=panel.uri,
        licence=photograph.licence,
        phash=phash,
        objects=dict(sorted(Counter(one.category for one in certain).items())),
        words=tuple(sorted(words)),
        touching=tuple(sorted(_touching(photograph))),
        crowd=any(one.attribute("crowd") == "true" for one in panel.objects),
        problem=problem,
    )


def _touching(photograph: Photograph) -> set[str]:
    """Categories with an instance that overlaps one of another category, or that does something to another object."""
    objects = sure(photograph.panel).objects
    category = {one.id: one.category for one in objects}
    acts = [r for r in photograph.relationships if r.predicate.lower() not in _PLACES]
    out = {category[name] for r in acts for name in (r.subject, r.object) if name in category}
    boxed = [(one.category, one.box) for one in objects if one.box is not None]
    for i, (a, box) in enumerate(boxed):
        for b, other in boxed[:i]:
            apart = box[0] >= other[2] or other[0] >= box[2] or box[1] >= other[3] or other[1] >= box[3]
            if a != b and not apart:
                out |= {a, b}
    return out


def annotation_vectors(seen: Sequence[Seen]) -> np.ndarray:
    """What is annotated as vectors of length 1: rarer things weigh more, the tenth instance less than the second."""
    terms: list[dict[str, float]] = []
    for one in seen:
        things = {f"object {category}": float(np.log1p(count)) for category, count in one.objects.items()}
        terms.append(things | {f"word {word}": 0.5 for word in one.words})
    documents = Counter(term for row in terms for term in row)
    places = {term: place for place, term in enumerate(sorted(documents))}
    out = np.zeros((len(seen), max(len(places), 1)), np.float32)
    for vector, row in zip(out, terms, strict=True):
        for term, weight in row.items():
            vector[places[term]] = weight * np.log(1 + len(seen) / documents[term])
    return unit(out)


def category_vectors(seen: Sequence[Seen]) -> np.ndarray:
    """What can be seen in photographs, as vectors of length 1: (N, at most `CATEGORIES`). Beside those of an encoder,
    they bring photographs together that have the same things to count."""
    holders = Counter(category for one in seen for category in one.objects)
    common = [name for name, _ in sorted(holders.items(), key=lambda pair: (-pair[1], pair[0]))[:CATEGORIES]]
    places = {name: place for place, name in enumerate(common)}
    out = np.zeros((len(seen), max(len(places), 1)), np.float32)
    for vector, one in zip(out, seen, strict=True):
        for category, count in one.objects.items():
            if category in places:
                vector[places[category]] = np.log1p(count) * np.log(1 + len(seen) / holders[category])
    return unit(out)


def _fetch_batch(source: Source, names: Sequence[str]) -> list[Photograph]:
    return [source.find(name) for name in names]


def fetch(source: Source, ids: Iterable[str], workers: Workers = Workers()) -> dict[str, Photograph]:
    """Photographs by id: made by worker processes where the source can, otherwise found in one pass."""
    wanted = set(ids)
    if source.count is not None:
        names = sorted(wanted)
        if len(names) <= FEW:  # not worth a process
            return {name: source.find(name) for name in names}
        batches = [names[i : i + BATCH] for i in range(0, len(names), BATCH)]
        made = run(partial(_fetch_batch, source), batches, workers=workers, label="fetching photographs")
        return {one.panel.id: one for batch in made for one in batch}
    return {one.panel.id: one for one in source.photographs() if one.panel.id in wanted}


def near_duplicates(seen: Sequence[Seen], distance: int) -> dict[str, str]:
    """Photographs whose perceptual hash is (nearly) that of an earlier one -> that one."""
    hashed = [one for one in seen if one.phash is not None]
    values = np.array([int(one.phash or "0", 16) for one in hashed], np.uint64)
    out: dict[str, str] = {}
    for a, b in sorted((min(p), max(p)) for p in near_pairs(values, distance).tolist()):
        if hashed[a].id not in out:  # an image that itself goes is no reason for another to go
            out.setdefault(hashed[b].id, hashed[a].id)
    return out


def usual_similarity(vectors: np.ndarray, rng: np.random.Generator) -> float:
    """The median cosine of two photographs: what is less similar than this is not similar at all."""
    if len(vectors) < 2:
        return 0.0
    a = rng.integers(len(vectors), size=SAMPLED)
    b = (a + rng.integers(1, len(vectors), size=SAMPLED)) % len(vectors)  # another one
    return round(float(np.median(np.einsum("ij,ij->i", vectors[a], vectors[b]))), 4)
