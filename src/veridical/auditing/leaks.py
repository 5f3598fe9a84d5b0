"""Leaks: origins, pictures, scenes and texts in several splits; and the benchmark itself in corpora that are given.

Leaks are counted, not sampled: what is here is seen. Only near-duplicates can be missed; their control makes copies of
the benchmark's own pictures (smaller, compressed as JPEG) or texts (a letter less) and counts how many are found.

In corpora the canary is looked for, and n-grams of eight words (the whole text where it is shorter, down to five): a
corpus is read once, line by line, and only hashes of the benchmark's n-grams are kept, so it may be of any size.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from veridical.auditing import findings
from veridical.auditing.data import AuditData, AuditItem, normal
from veridical.auditing.findings import Finding, Part, Verdict, WorstExample
from veridical.auditing.harness import drawn_error, over_groups, share_of
from veridical.auditing.near_duplicates import PictureHashes, near_texts, text_control
from veridical.auditing.pictures import scene_signature
from veridical.auditing.texts import words
from veridical.benchmark.splits import blocks
from veridical.common.intervals import Estimate
from veridical.errors import UserError
from veridical.evaluation.bootstrap import stream
from veridical.formats.card import canary
from veridical.options.running import AuditOptions

Keys = Callable[[AuditItem], Iterable[Hashable]]
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


def _leak(name: str, noun: str, data: AuditData, places: Places, by_chance: dict[str, float] | None = None) -> Finding:
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
    e = share_of(np.arange(max(sizes[split], 1)) < len(touched[split]), 1000, stream(0, name))
    verdict = findings.graded(worst - chance, 0.0, findings.FAIL_LEAK)
    says = f"{len(shared):,} {noun} are in more than one split"
    says += f"; they touch {100 * worst:.1f}% of the items of {split}." if shared else "."
    if by_chance and shared:  # a leak is what is really more than the rate within the largest split, counted in groups
        groups = {s: len({r.group for r in data.of_split(s)}) for s in data.splits}
        own, largest = groups[split], max(groups.values())
        pooled = (own * worst + largest * chance) / (own + largest)
        if not findings.real(worst - chance, (pooled * (1 - pooled) * (1 / own + 1 / largest)) ** 0.5):
            verdict = "pass"
        says += f" As they coincide within a split, {100 * chance:.1f}% would by chance."
    about = findings.ABOUT[name]
    ranked = list(shared.items())[: findings.EXAMPLES]
    return Finding(
        name, about.title, verdict, says, worst, e.low, e.high, chance, "share", "by chance" if chance else "none",
        examples=tuple(_example(key, where) for key, where in ranked),
        do=about.advice(verdict),
        parts=tuple(Part(s, v, reference=expected.get(s, 0.0)) for s, v in shares.items()),
        details={"shared": len(shared), "items": {s: len(ids) for s, ids in touched.items()}, "coincidence": chance},
    )  # fmt: skip


def _example(key: Hashable, where: dict[str, list[AuditItem]]) -> WorstExample:
    ids = "; ".join(f"{split}: {rows[0].item.id}" for split, rows in sorted(where.items()))
    name = str(key[0] if isinstance(key, tuple) else key)[:80]
    text = " / ".join(sorted({rows[0].query for rows in where.values() if rows[0].query}))
    return WorstExample(name, text[:200], ids)


def origin_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """Origins (presentations, image sets, movies, photographs) in several splits."""
    return _leak(name, "origins", data, _places(data, lambda r: r.item.origins))


def image_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """The same picture (bytes, or address where only that is known; or the same objects) in several splits."""
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
    return _leak(name, "pictures", data, places, coincidence(data, places))


def near_image_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """Pictures in different splits that look the same."""
    pictures = PictureHashes(data)
    if not len(pictures.hashes):
        return findings.not_applicable(name, "Neither pixels nor perceptual hashes are in the benchmark.")
    by_id = {r.item.id: r for r in data.rows}
    places: Places = {}
    for a, b in pictures.near(data.largest):
        where: dict[str, list[AuditItem]] = {}
        for item in {*pictures.items[a], *pictures.items[b]}:
            where.setdefault(by_id[item].split, []).append(by_id[item])
        places[f"{pictures.names[a][:24]} ~ {pictures.names[b][:24]}"] = where
    found = _leak(name, "pairs of pictures", data, places, coincidence(data, places))
    power = pictures.control(options.seed)
    verdict: Verdict = (
        "cannot tell" if found.verdict == "pass" and power is not None and not power.ok else found.verdict
    )
    return replace(found, verdict=verdict, power=power, details=found.details | {"pictures": len(pictures.hashes)})


def text_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """Texts in several splits, and what remembering their labels from training is worth."""
    exact = _shared(_places(data, lambda r: [r.query] if r.query else []))
    places = _places(data, lambda r: [normal(r.query)] if normal(r.query) else [])
    shared = _shared(places)
    found = _leak(name, "texts", data, places)
    says = f"{len(exact):,} texts are in more than one split as they are,"
    says += f" {len(shared):,} but for case, spacing and final signs."
    memory = _remembered(data, shared, options)
    verdict: Verdict = "warn" if shared else "pass"
    details = found.details | {"exact": len(exact), "normal": len(shared)}
    if memory is not None:
        says += memory.says("Remembering their training labels", "such items")
        details["memory"] = memory.to_json()
        if memory.is_real and memory.advantage >= findings.FAIL:
            verdict = "fail"
    return replace(found, verdict=verdict, says=says, details=details)


def near_text_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """Texts in different splits that are the same but for a letter or two."""
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
    chance = coincidence(data, places, lambda data, row: min(len(row.query.split()), 20))
    found = _leak(name, "pairs of texts", data, places, chance or dict.fromkeys(data.splits, 0.0))
    memory = _remembered(data, _shared(places), options)
    verdict, says, details = found.verdict, found.says, found.details | {"texts": len(texts)}
    if memory is not None:
        says += memory.says("Remembering the other's label", "cases")
        details["memory"] = memory.to_json()
        if memory.is_real:
            verdict = "fail" if memory.advantage >= findings.FAIL and found.verdict == "fail" else "warn"
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
        return self.accuracy.value - self.reference > findings.CRITICAL * self.error

    @property
    def advantage(self) -> float:
        return findings.advantage(self.accuracy.value, self.reference)

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
    drawn = over_groups(group, [np.ones(len(right)), right, base], 2000, stream(options.seed, "memory"))
    return Memory(drawn.ratio(1, 0), max(float(np.mean(base)), 0.5), drawn_error(drawn), len(right))


def identical_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """Whole items in several splits: one text with the same pictures, or one question with the same answer."""

    def keys(row: AuditItem) -> Iterable[Hashable]:
        panels = [data.benchmark.panels[p] for p in row.item.panels if p in data.benchmark.panels]
        pictures = [p.image or p.uri or "" for p in panels]
        key = "\n".join(sorted(pictures)) if panels and all(pictures) else scene_signature(panels)
        if key:
            yield normal(row.query), key, tuple(map(normal, row.candidates))
        if row.item.task == "choice" and row.answer >= 0:
            yield normal(row.query), normal(row.candidates[row.answer])

    places = _places(data, keys)
    return _leak(name, "items", data, places, coincidence(data, places))


# --- corpora ---------------------------------------------------------------------------------------------------------

WORDS = 8  # of an n-gram that counts as a trace
LEAST_WORDS = 5  # shorter texts are found anywhere


def canary_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """The canary stands in the benchmark's files, and in no corpus."""
    about, text = findings.ABOUT[name], canary(data.benchmark.manifest)
    texts = (p for p in data.benchmark.directory.iterdir() if p.suffix in {".md", ".json", ".txt", ".yaml"})
    files = sorted(p for p in texts if p.is_file())
    holders = [p.name for p in files if text.encode() in p.read_bytes()]
    found = [(str(path), n) for path in options.corpus for n, line in _lines(path) if text in line]
    verdict: Verdict = "fail" if found else "pass" if holders else "warn"
    says = f"The canary is in {', '.join(holders)}." if holders else "No file of the benchmark carries its canary."
    if found:
        says += f" It is also in a corpus: {found[0][0]}, line {found[0][1]:,}."
    elif options.corpus:
        says += " It is in none of the corpora."
    do = about.advice(verdict)
    if verdict == "warn":
        do = f"Put this line on the benchmark's card, so that its traces can be found: {text}"
    return Finding(
        name, about.title, verdict, says, float(len(found)), reference=0, unit="count", reference_name="none", do=do,
        examples=tuple(WorstExample(path, f"line {n:,}") for path, n in found[: findings.EXAMPLES]),
        details={"canary": text},
    )  # fmt: skip


def membership_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """Texts of the benchmark in the corpora given."""
    if not options.corpus:
        return findings.not_applicable(
            name, "No corpus was given: --corpus FILE searches one for the benchmark's texts."
        )
    texts = {
        t: r.item.id for r in data.rows for t in (r.query, *(r.candidates if r.item.task == "choice" else ())) if t
    }
    traces: dict[int, str] = {}
    searched = 0
    for text in texts:
        tokens = words(normal(text))
        if len(tokens) >= LEAST_WORDS:
            searched += 1
            for trace in _spans(tokens, min(WORDS, len(tokens))):
                traces.setdefault(trace, text)
    found: dict[str, str] = {}
    for path in options.corpus:
        for number, line in _lines(path):
            tokens = words(line)
            for size in range(LEAST_WORDS, WORDS + 1):
                for trace in _spans(tokens, size):
                    if trace in traces:
                        found.setdefault(traces[trace], f"{path}, line {number:,}")
    about, share = findings.ABOUT[name], len(found) / max(searched, 1)
    verdict = findings.graded(share, 0.0, findings.FAIL_LEAK)
    says = f"{len(found):,} of {searched:,} texts of {LEAST_WORDS} words or more are in the corpora"
    says += f" (or {WORDS} words of them)."
    return Finding(
        name, about.title, verdict, says, share, reference=0.0, unit="share", reference_name="none",
        examples=tuple(WorstExample(texts[t], t, where) for t, where in list(found.items())[:findings.EXAMPLES]),
        do=about.advice(verdict),
        details={"texts": searched, "found": len(found)},
    )  # fmt: skip


def _spans(tokens: list[str], size: int) -> Iterator[int]:
    """Hashes of all spans of so many words; 64 bits, so that two are not mistaken for each other."""
    for i in range(len(tokens) - size + 1):
        span = " ".join(tokens[i : i + size]).encode()
        yield zlib.crc32(span) << 32 | zlib.crc32(span[::-1])


def _lines(path: Path | str) -> Iterator[tuple[int, str]]:
    """The lines of a text file, or of the strings in a JSON-lines file; .gz is read as it is."""
    opener = gzip.open if Path(path).suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                yield number, _plain(line)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}.", "Give --corpus a text file.") from None


def _plain(line: str) -> str:
    if not line.startswith("{"):
        return line
    try:
        row = json.loads(line)
    except ValueError:
        return line
    return " \n ".join(v for v in row.values() if isinstance(v, str)) if isinstance(row, dict) else line
