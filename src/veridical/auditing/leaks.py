"""Leaks between splits: origins, identical and near-duplicate pictures, scenes, and texts.

Leaks are counted, not sampled: what is here is seen. Only near-duplicates can be missed; their control makes copies of
the benchmark's own pictures (smaller, compressed as JPEG) or texts (a letter less) and counts how many are found.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from veridical.auditing.data import AuditData, AuditItem, normal
from veridical.auditing.findings import (
    CRITICAL,
    EXAMPLES,
    FAIL,
    FAIL_LEAK,
    Finding,
    Part,
    Verdict,
    WorstExample,
    advantage,
    graded,
    not_applicable,
    real,
)
from veridical.auditing.near_duplicates import PictureHashes, near_texts, text_control
from veridical.auditing.pictures import scene_signature
from veridical.benchmark.splits import blocks
from veridical.common.intervals import Estimate
from veridical.evaluation.bootstrap import resample, stream
from veridical.options.running import AuditOptions

Keys = Callable[[AuditItem], Iterable[Hashable]]
_ONE = "There is only one split."


Places = dict[Hashable, dict[str, list[AuditItem]]]  # key -> split -> items


def _places(data: AuditData, keys: Keys) -> Places:
    """Where each key occurs."""
    seen: Places = {}
    for row in data.rows:
        for key in set(keys(row)):
            seen.setdefault(key, {}).setdefault(row.split, []).append(row)
    return seen


def _shared(places: Places) -> Places:
    """What occurs in several splits."""
    return {key: where for key, where in places.items() if len(where) > 1}


def _size(data: AuditData, row: AuditItem) -> int:
    """How many objects an item shows: simple scenes coincide more often than rich ones."""
    panels = data.benchmark.panels
    return sum(len(panels[p].objects) for p in row.item.panels if p in panels)


def coincidence(
    data: AuditData, places: Places, size: Callable[[AuditData, AuditItem], int] = _size
) -> dict[str, float]:
    """The share of each split's items that would have something in common with another split by chance.

    Where pictures are drawn from a small space (towers of blocks), some are the same by chance, within a split as often
    as between splits: only what goes beyond that is a leak. The rate is that of the largest split with itself, among
    items that no chain of origins connects (a photograph that is used again is no coincidence), for items of one size.
    """
    largest = data.splits[data.largest]
    own = data.of_split(largest)
    connected = blocks([[*("o" + o for o in r.item.origins), "g" + r.group] for r in own])
    block = {r.item.id: int(b) for r, b in zip(own, connected, strict=True)}
    touched: set[str] = set()
    for where in places.values():
        rows = where.get(largest, [])
        if len({block[r.item.id] for r in rows}) > 1:
            touched.update(r.item.id for r in rows)
    if not touched:
        return {}
    seen: dict[int, list[bool]] = {}
    for row in own:
        seen.setdefault(size(data, row), []).append(row.item.id in touched)
    rate = {number: sum(flags) / len(flags) for number, flags in seen.items()}
    return {s: float(np.mean([rate.get(size(data, r), 0.0) for r in data.of_split(s)])) for s in data.splits}


def _leak(
    name: str,
    title: str,
    noun: str,
    data: AuditData,
    places: Places,
    do: str,
    by_chance: dict[str, float] | None = None,
) -> Finding:
    """The verdict of things that are in several splits, by the share of a split's items that they touch."""
    shared = _shared(places)
    sizes = {split: len(data.of_split(split)) for split in data.splits}
    touched: dict[str, set[str]] = {split: set() for split in data.splits}
    for where in shared.values():
        for split, rows in where.items():
            touched[split].update(r.item.id for r in rows)
    shares = {split: len(ids) / max(sizes[split], 1) for split, ids in touched.items()}
    expected = (by_chance or {}) if shared else {}
    split, worst = max(shares.items(), key=lambda pair: pair[1] - expected.get(pair[0], 0.0))
    chance = expected.get(split, 0.0)
    n = max(sizes[split], 1)
    e = resample(
        np.array([[1, 1]] * len(touched[split]) + [[1, 0]] * (n - len(touched[split]))), 1000, stream(0, name)
    ).ratio(1, 0)
    verdict = graded(worst, 0.0, FAIL_LEAK)
    if by_chance and shared:
        verdict = graded(worst - chance, 0.0, FAIL_LEAK) if _beyond(data, split, worst, chance) else "pass"
    says = f"{len(shared):,} {noun} are in more than one split"
    says += f"; they touch {100 * worst:.1f}% of the items of {split}." if shared else "."
    if by_chance and shared:
        says += f" As they coincide within a split, {100 * chance:.1f}% would by chance."
    ranked = list(shared.items())[:EXAMPLES]
    return Finding(
        name, title, verdict, says, worst, e.low, e.high, chance, "share", "by chance" if chance else "none",
        examples=tuple(_example(key, where) for key, where in ranked),
        do=do if verdict in ("warn", "fail") else "",
        parts=tuple(Part(s, v, reference=expected.get(s, 0.0)) for s, v in shares.items()),
        details={"shared": len(shared), "items": {s: len(ids) for s, ids in touched.items()}, "coincidence": chance},
    )  # fmt: skip


def _beyond(data: AuditData, split: str, share: float, chance: float) -> bool:
    """Whether a share is really more than the rate within the largest split; groups count, not items."""
    sizes = {s: len({r.group for r in data.of_split(s)}) for s in data.splits}
    own, largest = sizes[split], max(sizes.values())
    pooled = (own * share + largest * chance) / (own + largest)
    return real(share - chance, (pooled * (1 - pooled) * (1 / own + 1 / largest)) ** 0.5)


def _example(key: Hashable, where: dict[str, list[AuditItem]]) -> WorstExample:
    ids = "; ".join(f"{split}: {rows[0].item.id}" for split, rows in sorted(where.items()))
    name = str(key[0] if isinstance(key, tuple) else key)[:80]
    return WorstExample(name, _text(where), ids)


def _text(where: dict[str, list[AuditItem]]) -> str:
    return " / ".join(sorted({rows[0].query for rows in where.values() if rows[0].query}))[:200]


def origin_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """Origins (presentations, image sets, movies, photographs) in several splits."""
    title = "Origins in several splits"
    if len(data.splits) < 2:
        return not_applicable(name, title, _ONE)
    places = _places(data, lambda r: r.item.origins)
    return _leak(name, title, "origins", data, places, "Deal whole origins to splits (`veridical.benchmark.splits`).")


def image_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """The same picture (bytes, or address where only that is known; or the same objects) in several splits."""
    title = "Identical pictures in several splits"
    if len(data.splits) < 2:
        return not_applicable(name, title, _ONE)
    panels = data.benchmark.panels

    def keys(row: AuditItem) -> Iterable[Hashable]:
        own = [panels[p] for p in row.item.panels if p in panels]
        own += [panels[c] for c in row.item.candidates if isinstance(c, str) and c in panels]
        yield from (p.image for p in own if p.image)
        yield from (v.image for v in row.item.views if v.image)
        yield from (p.uri for p in own if p.uri and not p.image)
        signature = scene_signature([panels[p] for p in row.item.panels if p in panels])
        if signature:
            yield "scene", signature

    places = _places(data, keys)
    do = "Remove the copies from one of the splits."
    return _leak(name, title, "pictures", data, places, do, coincidence(data, places))


def near_image_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """Pictures in different splits that look the same."""
    title = "Near-duplicate pictures in several splits"
    if len(data.splits) < 2:
        return not_applicable(name, title, _ONE)
    pictures = PictureHashes(data)
    if not len(pictures.hashes):
        return not_applicable(name, title, "Neither pixels nor perceptual hashes are in the benchmark.")
    by_id = {r.item.id: r for r in data.rows}
    places: Places = {}
    for a, b in pictures.near(data.largest):
        where: dict[str, list[AuditItem]] = {}
        for item in {*pictures.items[a], *pictures.items[b]}:
            where.setdefault(by_id[item].split, []).append(by_id[item])
        places[f"{pictures.names[a][:24]} ~ {pictures.names[b][:24]}"] = where
    do = "Look at them, and keep each in one split only."
    found = _leak(name, title, "pairs of pictures", data, places, do, coincidence(data, places))
    power = pictures.control(options.seed)
    verdict: Verdict = (
        "cannot tell" if found.verdict == "pass" and power is not None and not power.ok else found.verdict
    )
    return replace(found, verdict=verdict, power=power, details=found.details | {"pictures": len(pictures.hashes)})


def text_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """Texts in several splits, and what remembering their labels from training is worth."""
    title = "Texts in several splits"
    if len(data.splits) < 2 or data.task == "matrix":
        return not_applicable(name, title, _ONE if len(data.splits) < 2 else "Matrices have no texts.")
    exact = _shared(_places(data, lambda r: [r.query] if r.query else []))
    places = _places(data, lambda r: [normal(r.query)] if normal(r.query) else [])
    shared = _shared(places)
    found = _leak(name, title, "texts", data, places, "Keep items with one text in one split, or report them apart.")
    says = f"{len(exact):,} texts are in more than one split as they are,"
    says += f" {len(shared):,} but for case, spacing and final signs."
    memory = _remembered(data, shared, options)
    verdict: Verdict = "warn" if shared else "pass"
    details = found.details | {"exact": len(exact), "normal": len(shared)}
    if memory is not None:
        says += memory.says("Remembering their training labels", "such items")
        details["memory"] = memory.to_json()
        if memory.is_real and memory.advantage >= FAIL:
            verdict = "fail"
    return replace(found, verdict=verdict, says=says, details=details)


def near_text_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """Texts in different splits that are the same but for a letter or two."""
    title = "Near-identical texts in several splits"
    if len(data.splits) < 2 or data.task == "matrix":
        return not_applicable(name, title, _ONE if len(data.splits) < 2 else "Matrices have no texts.")
    rows: dict[str, list[AuditItem]] = {}
    for row in data.rows:
        if normal(row.query):
            rows.setdefault(normal(row.query), []).append(row)
    texts = sorted(rows)
    named = {split: number for number, split in enumerate(data.splits)}
    homes = [{named[r.split] for r in rows[t]} for t in texts]
    split = np.array([min(h) if len(h) == 1 else -1 - k for k, h in enumerate(homes)], np.int64)  # below 0: in several
    places: Places = {}
    for pair in sorted(near_texts(texts, split, data.largest), key=lambda p: -p.likeness):
        where: dict[str, list[AuditItem]] = {}
        for row in (*rows[texts[pair.one]], *rows[texts[pair.other]]):
            where.setdefault(row.split, []).append(row)
        places[f"{100 * pair.likeness:.0f}% alike", texts[pair.one], texts[pair.other]] = where
    do = "Keep items whose texts differ by a slip in one split, or report them apart."
    chance = coincidence(data, places, lambda data, row: min(len(row.query.split()), 20))
    found = _leak(name, title, "pairs of texts", data, places, do, chance or dict.fromkeys(data.splits, 0.0))
    memory = _remembered(data, _shared(places), options)
    verdict, says, details = found.verdict, found.says, found.details | {"texts": len(texts)}
    if memory is not None:
        says += memory.says("Remembering the other's label", "cases")
        details["memory"] = memory.to_json()
        if memory.is_real:
            verdict = "fail" if memory.advantage >= FAIL and found.verdict == "fail" else "warn"
    power = text_control(texts, options.seed)
    if verdict == "pass" and not power.ok:
        verdict = "cannot tell"
    return replace(found, verdict=verdict, says=says, power=power, details=details)


@dataclass(frozen=True)
class Memory:
    """What it is worth to remember the most common training label of the same text."""

    accuracy: Estimate
    reference: float  # always the same label
    error: float  # the standard error of the difference
    items: int

    @property
    def is_real(self) -> bool:
        return self.accuracy.value - self.reference > CRITICAL * self.error

    @property
    def advantage(self) -> float:
        return advantage(self.accuracy.value, self.reference)

    def says(self, what: str, noun: str) -> str:
        right = f" {what} is right in {100 * self.accuracy.value:.1f}% of {self.items:,} {noun};"
        return f"{right} always the same label in {100 * self.reference:.1f}%."

    def to_json(self) -> dict[str, float]:
        return {**self.accuracy.to_json(), "reference": self.reference, "items": self.items}


def _remembered(data: AuditData, shared: Places, options: AuditOptions) -> Memory | None:
    """The accuracy on items whose text training has, too."""
    if data.task != "statement" or "train" not in data.splits:
        return None
    right, base, group = [], [], []
    y = [r.answer for r in data.labelled() if r.split == "train"]
    majority = int(np.bincount(y).argmax()) if y else 1
    for where in shared.values():
        known = [r.answer for r in where.get("train", []) if r.answer >= 0]
        tested = [r for split, rows in where.items() if split != "train" for r in rows if r.answer >= 0]
        if not known or not tested:
            continue
        share = float(np.mean(known))
        guess = majority if share == 0.5 else int(share > 0.5)
        right += [r.answer == guess for r in tested]
        base += [r.answer == majority for r in tested]
        group += [r.group for r in tested]
    if not right:
        return None
    _, code = np.unique(np.array(group), return_inverse=True)
    sums = [np.bincount(code, weights=w).astype(np.int64) for w in (np.ones(len(right)), right, base)]
    drawn = resample(np.stack(sums, 1), 2000, stream(options.seed, "memory"))
    differences = (drawn.drawn[:, 1] - drawn.drawn[:, 2]) / drawn.drawn[:, 0]
    return Memory(drawn.ratio(1, 0), max(float(np.mean(base)), 0.5), float(differences.std()), len(right))


def identical_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """Whole items in several splits: one text with the same pictures, or one question with the same answer."""
    title = "Identical items in several splits"
    if len(data.splits) < 2:
        return not_applicable(name, title, _ONE)

    def keys(row: AuditItem) -> Iterable[Hashable]:
        pictures = _picture_key(data, row)
        if pictures:
            yield normal(row.query), pictures, tuple(map(normal, row.candidates))
        if row.item.task == "choice" and row.answer >= 0:
            yield normal(row.query), normal(row.candidates[row.answer])

    places = _places(data, keys)
    do = "Remove the copies from one of the splits."
    return _leak(name, title, "items", data, places, do, coincidence(data, places))


def _picture_key(data: AuditData, row: AuditItem) -> tuple[Hashable, ...]:
    panels = [data.benchmark.panels[p] for p in row.item.panels if p in data.benchmark.panels]
    keys = [p.image or p.uri or "" for p in panels]
    if panels and all(keys):
        return tuple(sorted(keys))
    signature = scene_signature(panels)
    return (signature,) if signature else ()
