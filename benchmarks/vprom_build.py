"""235,000 matrices (V-PROM's size) over annotations of Visual Genome's size, beside a plain Python loop.

    python benchmarks/vprom_build.py [--matrices 235000] [--sample 5000] [--rounds 3] [--seed 0] [--alone]

The pool is made up: 108,000 photographs, crops and elements in Table 1's numbers, labels by a Zipf-like law, other
labels beside them. Both ways draw, check every matrix for ambiguity by the same rule and write items into a benchmark;
the plain loop is what anyone would write first (sets, `random`, one record at a time). Both are timed on the same
number of matrices, in turn, and the best round of each counts (others may use the machine); then ours makes all. What
both begin with (the pool, dealt to training and test; names; labels as sets for the loop) is made before the clock
starts, and the compiled kernels are loaded. Seconds of the processor stand beside those of the clock.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from veridical.benchmark import BenchmarkWriter
from veridical.builders.vprom.elements import (
    CATEGORY,
    CELLS,
    COUNT,
    HUMAN,
    OBJECT,
    RELATIONS,
    SUBJECT_OF,
    Element,
    count_element,
    in_order,
    read_lists,
)
from veridical.builders.vprom.matrices import AGAIN, TRIES, Deck, make_deck, make_matrices, plan
from veridical.builders.vprom.mining import MOST_LABELS
from veridical.builders.vprom.pool import SIDES, Lists2D, Pool, Scheme, make_scheme
from veridical.builders.vprom.storing import items_tables
from veridical.records import Item, pairs

PHOTOGRAPHS = 108_077  # of Visual Genome
CROPS = {OBJECT: 36_750, HUMAN: 12_249, CATEGORY: 82_905, COUNT: 11_730}  # Table 1
CATEGORIES = 346
CLASHES, PATIENCE = 60, 50  # as in _draw
RARE = "rare objects"  # labels that no matrix is about, and that may explain one


def visual_genome_like(rng: np.random.Generator) -> Pool:
    """Crops and labels in the numbers of Table 1."""
    lists = read_lists().attributes
    named: dict[str, list[Element]] = {
        kind: [Element(kind, group, name) for group, names in groups.items() for name in names]
        for kind, groups in ((OBJECT, lists.object), (HUMAN, lists.human))
    }
    named[CATEGORY] = [Element(CATEGORY, CATEGORY, f"object {n:03}") for n in range(CATEGORIES)]
    named[COUNT] = [count_element(n) for n in range(1, 11)]
    named[RARE] = [Element(CATEGORY, CATEGORY, f"rare {n:04}") for n in range(MOST_LABELS)]
    elements = in_order({e for own in named.values() for e in own})
    number = {e: k for k, e in enumerate(elements)}
    of = {kind: np.array([number[e] for e in rng.permutation(np.array(own, object))]) for kind, own in named.items()}
    of[COUNT] = np.array([number[e] for e in named[COUNT]])  # small counts are the common ones
    size = sum(CROPS.values())

    def zipf(kind: str, many: int) -> np.ndarray:
        weights = 1 / (np.arange(len(of[kind])) + 3) ** 0.8
        return of[kind][rng.choice(len(weights), many, p=weights / weights.sum())]

    main = np.concatenate([zipf(kind, many) for kind, many in CROPS.items()])
    kind_of = np.repeat(list(CROPS), list(CROPS.values()))
    # what else is annotated there: categories, common and rare, an attribute, now and then a count
    beside = {
        "category": np.where((kind_of != CATEGORY) | (rng.random(size) < 0.4), zipf(CATEGORY, size), -1),
        "more": np.where(rng.random(size) < 0.3, zipf(CATEGORY, size), -1),
        "attribute": np.where(rng.random(size) < 0.5, zipf(OBJECT, size), -1),
        "rare": np.where(rng.random(size) < 0.5, zipf(RARE, size), -1),
        "human": np.where(kind_of == HUMAN, zipf(HUMAN, size), -1),
        "count": np.where(rng.random(size) < 0.05, zipf(COUNT, size), -1),
    }
    all_labels = np.stack([main, *beside.values()], axis=1)
    order = rng.permutation(size)  # crops of one photograph follow each other
    rows = [tuple(sorted({e for e in row if e >= 0})) for row in all_labels[order].tolist()]
    photograph = np.sort(rng.integers(PHOTOGRAPHS, size=size)).astype(np.int32)
    region = np.tile([10.0, 10.0, 150.0, 150.0], (size, 1))
    depicts = Lists2D.of([(e,) for e in main[order].tolist()])
    return Pool(elements, photograph, region, Lists2D.of(rows), depicts, {}, PHOTOGRAPHS)


@dataclass(frozen=True)
class Ready:
    """What both ways begin with: the pool, dealt to training and test, and the names of its crops."""

    pool: Pool
    scheme: Scheme
    decks: dict[str, Deck]
    crops: pa.Array
    photographs: pa.Array

    @classmethod
    def of(cls, pool: Pool, seed: int) -> Ready:
        scheme = make_scheme("neutral", pool, read_lists().schemes, np.random.default_rng([seed, 1]))
        decks = {side: make_deck(pool, scheme.photographs(side), scheme.allowed(side)) for side in SIDES}
        names = [f"vg-{n}" for n in range(len(pool))], [f"photograph-{n}" for n in range(pool.photographs)]
        return cls(pool, scheme, decks, pa.array(names[0]), pa.array(names[1]))


def sizes(count: int) -> dict[str, int]:
    return {"train": count - count // 3, "test": count // 3}


def ours(ready: Ready, count: int, seed: int, out: Path) -> int:
    """Draw, check and write `count` matrices with the builder's own functions; how many were written."""
    made = 0
    with BenchmarkWriter(out, name="speed", task="matrix", seed=seed) as writer:
        for place, (side, size) in enumerate(sizes(count).items()):
            found = make_matrices(ready.pool, ready.decks[side], size, np.random.default_rng([seed, place]))
            part = "neutral", side
            for table in items_tables(found, ready.pool, ready.crops, ready.photographs, part, ready.scheme.bound):
                writer.add_items(side, table, "neutral")
            made += len(found)
    return made


# The plain loop.

Labels = list[dict[object, set[int]]]


def labels_by_property(pool: Pool) -> Labels:
    """crop -> property -> its labels; counts are numbers."""
    out: Labels = []
    for crop in range(len(pool)):
        own: dict[object, set[int]] = {}
        for e in pool.shows[crop].tolist():
            element = pool.elements[e]
            value = int(element.name) if element.type == COUNT else e
            own.setdefault(COUNT if element.type == COUNT else (element.type, element.group), set()).add(value)
        out.append(own)
    return out


def holds(relation: str, rows: list[list[set[int]]]) -> bool:
    """Whether a relation holds over the labels of one property."""
    if relation == "and":
        return all(a & b & c for a, b, c in rows)
    if relation == "or":
        return all(c & a or c & b for a, b, c in rows)
    if relation == "union":
        return any(
            len(set(three)) == 3
            and all(
                any(all(e in p for e, p in zip(o, row, strict=True)) for o in permutations(three)) for row in rows[1:]
            )
            for three in product(*rows[0])
        )
    return any(
        all(any(k + step in b and k + 2 * step in c for k in a) for a, b, c in rows) for step in range(-4, 5) if step
    )


def simplest(context: Labels, candidates: Labels) -> tuple[str | None, set[int]]:
    """The simplest relation that a candidate completes, and the candidates that do."""
    none: set[int] = set()
    shown = {name for panel in context for name in panel}
    for relation in RELATIONS:
        completing = set()
        for name in [COUNT] if relation == "progression" else shown:
            panels = [panel.get(name, none) for panel in context]
            if not holds(relation, [panels[0:3], panels[3:6]]):
                continue
            for k, candidate in enumerate(candidates):
                full = [*panels, candidate.get(name, none)]
                if holds(relation, [full[0:3], full[3:6], full[6:9]]):
                    completing.add(k)
        if completing:
            return relation, completing
    return None, set()


class Plain:
    """The same draws, one matrix at a time."""

    def __init__(self, pool: Pool, deck: Deck, labels: Labels, seen: list[set[int]], seed: int) -> None:
        self.pool, self.labels, self.random = pool, labels, random.Random(seed)
        self.crops = [deck.crops[k].tolist() for k in range(len(pool.elements))]
        self.photograph = pool.photograph.tolist()
        self.seen = seen
        self.groups = [
            [(deck.groups[g].tolist(), int(deck.spare[g])) for g in range(deck.cell_groups[c], deck.cell_groups[c + 1])]
            for c in range(len(CELLS))
        ]
        self.fill = [deck.fill[c].tolist() for c in range(len(CELLS))]
        self.count = [int(e.name) if e.type == COUNT else 0 for e in pool.elements]

    def matrix(self, cell: int, place: int) -> tuple[list[int], int] | None:
        """The crops of one matrix and the element of its answer: a candidate set, then contexts until one will do."""
        relation = CELLS[cell][0]
        found, failed = None, 0
        for turn in range(TRIES):
            if turn % AGAIN == 0:
                found = None
            found = found or self.candidates(cell, relation, failed)
            if found is None:
                failed += 1
                continue
            (chosen, crops), answer, own, beside = found
            e = chosen[answer]
            near = [x for x in own if x != e and x in chosen]
            far = [x for x in own if x not in chosen]
            self.random.shuffle(near)
            self.random.shuffle(far)
            context = self.context(relation, e, beside, near + far, own)
            panels = None if context is None else self.photographs(context, crops)
            if panels is None:
                continue
            distractors = crops[:answer] + crops[answer + 1 :]
            full = [*panels, *distractors[:place], crops[answer], *distractors[place:]]
            labels = [self.labels[k] for k in full]
            if simplest(labels[:8], labels[8:]) == (relation, {place}):
                return full, e
        return None

    def candidates(
        self, cell: int, relation: str, failed: int
    ) -> tuple[tuple[list[int], list[int]], int, list[int], int] | None:
        """Elements and crops of eight candidates, which is the answer, its group, and the other element of an Or."""
        last = 1 if relation == "or" else 0
        order = [(self.random.sample(group, len(group)), spare) for group, spare in self.groups[cell]]
        self.random.shuffle(order)
        first, _ = order[0]
        if len(first) - last >= 8:
            taken = [(e, first) for e in first[:8]]
        else:
            taken = [(e, group) for group, spare in order for e in group[: max(0, min(4, len(group) - spare))]][:8]
            taken += [(e, group) for group, spare in order for e in group[4 : max(4, len(group) - spare)]][
                : 8 - len(taken)
            ]
        chosen = [e for e, _ in taken]
        chosen += self.random.sample(self.fill[cell], min(8 - len(chosen), len(self.fill[cell])))
        if len(chosen) < 8 or not taken:
            return None
        unseen = [{e, group[-1]} if last else {e} for e, group in taken]
        crops = self.choices(chosen, set().union(*unseen))
        if crops is None:
            return None
        able = [
            k
            for k in range(len(taken))
            if not any(j != k and self.seen[crops[j]] & (unseen[k] - {chosen[j]}) for j in range(8))
        ]
        if len(able) < max(1, len(taken) - failed // PATIENCE):
            return None
        answer = self.random.choice(able)
        shuffled = self.random.sample(range(8), 8)
        sets = [chosen[k] for k in shuffled], [crops[k] for k in shuffled]
        group = taken[answer][1]
        return sets, shuffled.index(answer), group, group[-1]

    def choices(self, chosen: list[int], unseen: set[int]) -> list[int] | None:
        """A crop for each candidate, of eight photographs, that shows as little of the others' as can be."""
        crops: list[int] = []
        shown: set[int] = set()
        for e in chosen:
            best: tuple[int, int] | None = None
            for _ in range(CLASHES):
                crop = self.random.choice(self.crops[e])
                if self.photograph[crop] not in shown:
                    number = len(self.seen[crop] & unseen - {e})
                    best = (number, crop) if best is None or number < best[0] else best
                if best is not None and best[0] == 0:
                    break
            if best is None:
                return None
            crops.append(best[1])
            shown.add(self.photograph[best[1]])
        return crops

    def context(self, relation: str, e: int, beside: int, others: list[int], own: list[int]) -> list[int] | None:
        pick = self.random
        if relation == "and":
            second = others[min(1, len(others) - 1)]
            return [others[0]] * 3 + [second] * 3 + [e] * 2
        if relation == "union":
            three = [e, others[0], others[1]]
            return pick.sample(three, 3) + pick.sample(three, 3) + pick.sample(others[:2], 2)
        if relation == "progression":
            by_count = {self.count[x]: x for x in own}
            last = self.count[e]
            steps = [s for s in range(-4, 5) if s and last - s in by_count and last - 2 * s in by_count]
            if not steps:
                return None
            s = pick.choice(steps)
            ends = [c for c in by_count if c != last and c - s in by_count and c - 2 * s in by_count] or [last]
            pick.shuffle(ends)
            rows = [[by_count[c - 2 * s], by_count[c - s], by_count[c]] for c in (ends[0], ends[min(1, len(ends) - 1)])]
            return [*rows[0], *rows[1], by_count[last - 2 * s], by_count[last - s]]
        many = len(others)
        two = [[others[0], others[1 % many]], [others[2 % many], others[3 % many]]]
        if many == 1:
            two = [[e, beside], [beside, e]]
        out = []
        for row in two:
            pick.shuffle(row)
            out += [*row, pick.choice(row)]
        return out + pick.sample([e, beside], 2)

    def photographs(self, elements: list[int], candidates: list[int]) -> list[int] | None:
        crops: list[int] = []
        seen = {self.photograph[k] for k in candidates}
        for e in elements:
            for _ in range(CLASHES):
                crop = self.random.choice(self.crops[e])
                if self.photograph[crop] not in seen:
                    break
            else:
                return None
            seen.add(self.photograph[crop])
            crops.append(crop)
        return crops


def plain(ready: Ready, labels: Labels, seen: list[set[int]], count: int, seed: int, out: Path) -> int:
    """The same with sets and records, one matrix at a time."""
    made = 0
    with BenchmarkWriter(out, name="speed", task="matrix", seed=seed) as writer:
        for place, (side, size) in enumerate(sizes(count).items()):
            cells, places = plan(ready.decks[side], size, np.random.default_rng([seed, place]))
            loop = Plain(ready.pool, ready.decks[side], labels, seen, seed + place)
            items = list(plain_items(loop, ready.pool, cells.tolist(), places.tolist(), side, ready.scheme))
            writer.add_items(side, items, "neutral")
            made += len(items)
    return made


def plain_items(
    loop: Plain, pool: Pool, cells: list[int], places: list[int], side: str, scheme: Scheme
) -> Iterator[Item]:
    for n, (cell, place) in enumerate(zip(cells, places, strict=True)):
        found = loop.matrix(cell, place)
        if found is None:
            continue
        crops, label = found
        relation, kind = CELLS[cell]
        yield Item(
            id=f"neutral-{side}-{n:06d}",
            task="matrix",
            panels=tuple(f"vg-{k}" for k in crops[:8]),
            candidates=tuple(f"vg-{k}" for k in crops[8:]),
            answer=place,
            origins=tuple(f"photograph-{loop.photograph[k]}" for k in crops),
            tags=pairs(
                relation=relation,
                element=SUBJECT_OF[kind],
                kind=kind,
                property=pool.elements[label].group,
                label=pool.elements[label].name,
                held="yes" if scheme.bound[label] else "no",
            ),
        )


def processor() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def timed(function: Callable[[], int]) -> tuple[int, float, float]:
    """What a function returns, its seconds by the clock and of the processor."""
    start, cpu = time.perf_counter(), processor()
    result = function()
    return result, time.perf_counter() - start, processor() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matrices", type=int, default=235_000)
    parser.add_argument("--sample", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--alone", action="store_true", help="without the plain loop: what memory all of them take")
    options = parser.parse_args()
    pool = visual_genome_like(np.random.default_rng(options.seed))
    ready = Ready.of(pool, options.seed)
    if options.alone:
        with tempfile.TemporaryDirectory() as folder:
            made, clock, cpu = timed(lambda: ours(ready, options.matrices, options.seed, Path(folder) / "all"))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{made:,} matrices: {clock:.1f} s, {cpu:.1f} s of the processor, peak memory {peak:,.0f} MB")
        return
    labels, seen = labels_by_property(pool), [set(pool.shows[k].tolist()) for k in range(len(pool))]
    sample, seed = options.sample, options.seed
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        ours(ready, 300, seed, place / "warm")  # loads the compiled kernels
        fast, slow = [], []
        for _ in range(options.rounds):
            fast.append(timed(lambda: ours(ready, sample, seed, place / "ours")))
            slow.append(timed(lambda: plain(ready, labels, seen, sample, seed, place / "plain")))
        labels.clear()
        seen.clear()
        whole = timed(lambda: ours(ready, options.matrices, seed, place / "all"))
    table = Table("", "matrices", "seconds", "processor", "a second", title="V-PROM: draw, check, write")
    best_fast, best_slow = min(fast, key=lambda r: r[1]), min(slow, key=lambda r: r[1])
    for name, (made, clock, cpu) in (("plain loop", best_slow), ("ours", best_fast), ("ours, all", whole)):
        table.add_row(name, f"{made:,}", f"{clock:.2f}", f"{cpu:.2f}", f"{made / clock:,.0f}")
    console = Console()
    console.print(table)
    by_clock, by_cpu = best_slow[1] / best_fast[1], best_slow[2] / best_fast[2]
    at_scale = best_slow[1] / best_slow[0] / (whole[1] / whole[0])
    console.print(f"ours / plain loop on {sample:,}: {by_clock:.1f}x by the clock, {by_cpu:.1f}x by the processor")
    console.print(f"a matrix of all {whole[0]:,} against one of the plain loop: {at_scale:.1f}x by the clock")
    console.print(
        f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB (the plain loop's too)"
    )


if __name__ == "__main__":
    main()
