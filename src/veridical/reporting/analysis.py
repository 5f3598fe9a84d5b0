"""What results say: by tag, pair by pair, group by group, and in a few sentences.

Where a benchmark does not say what its sentences show, our tagger does (`tagged`), and the page says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from veridical.common.arrays import Ints
from veridical.common.intervals import Estimate
from veridical.evaluation import Scores
from veridical.evaluation.grade import Tags
from veridical.evaluation.metrics import Comparison, Row, by_tags, compare, staged_right
from veridical.pages.plots import PlotMark, percent
from veridical.reporting.studies import Part, PartResult, Study, System, part_in_words
from veridical.reporting.tagged import pair_reasonings, question_inferences, sentence_phenomena

FEW = 16  # values of a tag that are all shown
ENDS = 6  # of many values, so many of the hardest and of the easiest
ENOUGH = 15  # items a value needs to be among them
WORTH_SAYING = 30  # items that make a value worth a sentence
MOST_VALUES = 40  # of a tag: more of them say nothing in a plot
SAME = 0.9  # two values with so much of their items in common are one
TOLD_FIRST = ("phenomenon", "relation", "element", "inference", "synset")  # the papers' own tags
PHENOMENON, INFERENCE, PAIR = "phenomenon", "inference", "pair reasoning"
MOST_PAIRS = 28  # of more systems, each is compared with the best only


# --- by tag ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Breakdown:
    """Results by the values of one tag."""

    tag: str
    rows: dict[str, dict[str, Row]]  # value -> system -> result
    source: str  # who gave the tag: "benchmark" or "tagger"

    def shown(self) -> list[str]:
        """The values worth showing: all of a few, or the hardest and easiest of many."""
        mean = {v: float(np.mean([r.accuracy.value for r in by.values()])) for v, by in self.rows.items()}
        size = {v: max(r.items for r in by.values()) for v, by in self.rows.items()}
        if len(self.rows) <= FEW:
            return sorted(self.rows, key=lambda v: (-size[v], v))
        large = sorted((v for v in self.rows if size[v] >= ENOUGH), key=lambda v: (mean[v], v))
        return large if len(large) <= 2 * ENDS else large[:ENDS] + large[-ENDS:]

    def groups(self, systems: Sequence[System]) -> list[tuple[str, str, list[PlotMark]]]:
        """For the plot: value, its size, and a mark for each system."""
        out = []
        for value in self.shown():
            by = self.rows[value]
            here = [s for s in systems if s.name in by]
            marks = [PlotMark.of(f"{s.name}, {value}", by[s.name].accuracy, s.place) for s in here]
            out.append((value, f"{max(r.items for r in by.values()):,} items", marks))
        return out


def breakdowns(study: Study, part: Part, resamples: int, seed: int) -> list[Breakdown]:
    """One for each tag that says something about the part, phenomena first."""
    systems = study.on(part)
    tags: dict[str, dict[str, dict[str, Row]]] = {}
    for system in systems:
        for tag, rows in system.results[part].first.by.items():
            for value, row in rows.items():
                tags.setdefault(tag, {}).setdefault(value, {})[system.name] = row
    found = [Breakdown(tag, rows, "benchmark") for tag, rows in tags.items()]
    found = [b for b in found if 1 < len(b.rows) <= MOST_VALUES and b.shown()]
    found = _different(found, systems[0].results[part].grades.key.tags) if systems else []
    home = study.benchmark.directory, study.benchmark.hash, part
    if study.benchmark.task == "statement" and PHENOMENON not in tags:
        found += _tagged(study, part, PHENOMENON, sentence_phenomena(*home), resamples, seed)
    if study.paper == "nlvr2" and PAIR not in tags:
        found += _tagged(study, part, PAIR, pair_reasonings(*home), resamples, seed)
    if study.paper == "vcr" and INFERENCE not in tags:
        found += _tagged(study, part, INFERENCE, question_inferences(*home), resamples, seed)
    return sorted(found, key=lambda b: (b.tag != PHENOMENON, len(b.rows) > FEW, b.tag))


def _different(found: Sequence[Breakdown], tags: Tags) -> list[Breakdown]:
    """Without those that repeat: half of their values are about the same items as values of one before."""
    items: dict[str, list[set[int]]] = {}
    for number, (tag, _) in enumerate(tags.pairs):
        items.setdefault(tag, []).append(set(tags.item[tags.pair == number].tolist()))
    kept: list[Breakdown] = []
    seen: list[set[int]] = []
    for one in sorted(found, key=lambda b: (b.tag not in TOLD_FIRST, len(b.rows), b.tag)):
        own = items.get(one.tag, [])
        repeats = sum(any(len(a & b) >= SAME * len(a | b) for b in seen) for a in own)
        if not own or 2 * repeats < len(own):
            kept.append(one)
            seen += own
    return kept


def _tagged(
    study: Study, part: Part, tag: str, values: list[tuple[str, ...]] | None, resamples: int, seed: int
) -> list[Breakdown]:
    """Results by what our tagger says of each item; none where it says nothing."""
    if values is None:
        return []
    names = sorted({name for found in values for name in found})
    place = {name: number for number, name in enumerate(names)}
    pairs = sorted((place[name], item) for item, found in enumerate(values) for name in found)
    pair, item = np.array(pairs, np.int64).reshape(-1, 2).T.copy()
    tags = Tags(item=item, pair=pair, pairs=tuple((tag, name) for name in names))
    rows: dict[str, dict[str, Row]] = {}
    for system in study.on(part):
        grades = system.results[part].grades
        key = replace(grades.key, tags=tags)
        found = by_tags(key, grades.examples, system.results[part].right(), resamples, seed)
        for value, row in found.get(tag, {}).items():
            rows.setdefault(value, {})[system.name] = row
    return [Breakdown(tag, rows, "tagger")] if rows else []


def phenomenon_shares(study: Study, part: Part) -> tuple[dict[str, float], int] | None:
    """Share of sentences (groups) with each phenomenon, of those that carry any, and how many those are."""
    key = study.on(part)[0].results[part].grades.key
    tags = key.tags
    numbers = [n for n, (name, _) in enumerate(tags.pairs) if name == PHENOMENON]
    if not numbers:
        if study.benchmark.task != "statement":
            return None
        found = sentence_phenomena(study.benchmark.directory, study.benchmark.hash, part)
        if found is None:
            return None
        return value_shares(key.group.tolist(), found)
    groups = {n: set(key.group[tags.item[tags.pair == n]].tolist()) for n in numbers}
    total = len(set().union(*groups.values()))
    return {tags.pairs[n][1]: len(groups[n]) / total for n in numbers}, total


def value_shares(groups: Sequence[int], found: Sequence[tuple[str, ...]]) -> tuple[dict[str, float], int]:
    """Share of groups of items with each value, and how many groups there are."""
    by_group: dict[int, set[str]] = {}
    for group, names in zip(groups, found, strict=True):
        by_group.setdefault(group, set()).update(names)
    values = sorted({n for names in by_group.values() for n in names})
    return {v: sum(v in names for names in by_group.values()) / len(by_group) for v in values}, len(by_group)


# --- systems and groups ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairedSystems:
    """Two systems on the same items."""

    one: System
    other: System
    found: Comparison

    @property
    def difference(self) -> Estimate:
        """In accuracy; of questions with rationales in having both right."""
        return self.found.difference

    @property
    def certain(self) -> bool:
        """Whether one of them is better."""
        return self.found.verdict in ("better", "worse")

    @property
    def so(self) -> str:
        """The verdict in few words: a table names both already."""
        return {"better": "first is better", "worse": "second is better"}.get(self.found.verdict, self.found.verdict)


def pairs(study: Study, part: Part, resamples: int, seed: int) -> list[PairedSystems]:
    """All pairs of systems, or the best against each where there are many; the better one first.

    Guesses are left out where there is anything else to compare.
    """
    systems = study.ranked(part, "looks", "blind")
    systems = systems if len(systems) > 1 else study.ranked(part)
    wanted = list(combinations(systems, 2))
    if len(wanted) > MOST_PAIRS:
        wanted = [(systems[0], other) for other in systems[1:]]
    out = []
    for one, other in wanted:
        mine, theirs = one.results[part], other.results[part]
        if mine.first.limit != theirs.first.limit:
            study.notes.append(
                f"{one.quoted} and {other.quoted} were made for different items, so they are not compared."
            )
        else:
            path = theirs.first.predictions
            out.append(PairedSystems(one, other, compare(mine.grades, theirs.grades, path, resamples, seed)))
    return out


@dataclass(frozen=True)
class Groups:
    """How the groups of several examples come out."""

    groups: int
    shares: tuple[float, float, float]  # with all, some and no examples right
    independent: float  # share of groups all right, if examples were right independently of their group


def group_shares(result: PartResult) -> Groups | None:
    """Shares of groups with all, some and no examples right; None where groups are single examples."""
    grades = result.grades
    key = grades.key
    n = np.bincount(key.group, weights=grades.examples, minlength=key.groups)
    right = np.bincount(key.group, weights=result.right(), minlength=key.groups)
    several = n > 1
    if not several.any():
        return None
    n, right = n[several], right[several]
    accuracy = float(right.sum() / n.sum())
    some = float(((right > 0) & (right < n)).mean())
    shares = float((right == n).mean()), some, float((right == 0).mean())
    return Groups(len(n), shares, float((accuracy**n).mean()))


@dataclass(frozen=True)
class Reasons:
    """Answers and rationales of one system."""

    questions: int
    shares: tuple[float, ...]  # with both right, the answer only (for a wrong reason), the rationale only, neither
    which: Ints  # item numbers with the right answer and a wrong rationale


def reasons(result: PartResult) -> Reasons | None:
    """The two stages crossed; None where items have no rationales."""
    questions, stages = staged_right(result.grades.key, result.right())
    if not len(questions):
        return None
    answer, rationale = stages[:, 0] > 0, stages[:, 1] > 0
    crossed = (answer & rationale, answer & ~rationale, ~answer & rationale, ~answer & ~rationale)
    return Reasons(len(questions), tuple(float(one.mean()) for one in crossed), questions[answer & ~rationale])


# --- in words --------------------------------------------------------------------------------------------------------


def sentences(study: Study, part: Part, found: Sequence[PairedSystems], tags: Sequence[Breakdown]) -> list[str]:
    """The best system, what it is set beside, whether the next is really worse, and what is hardest.

    Whoever guesses or is blind on purpose is no contender where others look.
    """
    contenders = study.ranked(part, "looks") or study.ranked(part, "blind")
    if not contenders:
        guessed = study.ranked(part)[0]
        return [
            f"On {part_in_words(part)}, only guesses were run: {guessed.quoted} is right on {_share(guessed, part)}."
        ]
    best, first = contenders[0], contenders[0].results[part].first
    lines = [_opening(contenders, part, found)]
    lines += _beside(best, first)
    lines += _above_blind(study, part, best)
    pair = next((p for p in found if {p.one.name, p.other.name} == {s.name for s in contenders[:2]}), None)
    if pair is not None and len(contenders) > 1:
        lines.append(_lead_of(pair))
    return lines + _hardest(best, tags, first)


def _share(system: System, part: Part) -> str:
    """What a system is right on, with its interval."""
    scores, value = system.results[part].first, system.results[part].main
    what = f"{scores.examples:,} images" if scores.per_view else f"{scores.items:,} items"
    what = "the questions (answer and rationale)" if scores.staged else what
    return f"{percent(value.value)}% of {what} (95% interval {percent(value.low)} to {percent(value.high)})"


def _same(one: float, other: float) -> bool:
    """Whether two numbers are printed alike."""
    return percent(one) == percent(other)


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _above_blind(study: Study, part: Part, best: System) -> list[str]:
    """Where nobody does better than without looking, that is the news."""
    blind = [s for s in study.ranked(part, "blind", "guess") if s is not best]
    if not blind or best.role != "looks":
        return []
    mine, theirs = best.results[part].main, blind[0].results[part].main
    if mine.low > theirs.value:
        return []
    return [f"That is no better than {blind[0].quoted}, which does not look ({percent(theirs.value)}%)."]


def _lead_of(pair: PairedSystems) -> str:
    """How far the first of two is ahead, or that it is not."""
    points, first, second = pair.difference, pair.one.quoted, pair.other.quoted
    span = f"[{100 * points.low:.1f}, {100 * points.high:.1f}]"
    if _same(points.value, 0.0) or _same(-points.value, 0.0):
        only = pair.found.sign_test
        apart = f"each is right on {only.only_this:,} where the other is wrong" if only.only_this else ""
        if only.only_this != only.only_other:
            apart = f"only {first} is right on {only.only_this:,}, only {second} on {only.only_other:,}"
        return f"{first} and {second} are level: {apart or 'they are right on the same items'}."
    sure = {
        "cannot be told apart": "too close to call on these items",
        "not certain": "the tests do not agree that this is more than luck",
    }.get(pair.found.verdict, "more than luck")
    return f"{first} leads {second} by {100 * points.value:.1f} points {span}: {sure}."


def _opening(systems: Sequence[System], part: Part, found: Sequence[PairedSystems]) -> str:
    """How good the best system is; where others are or may be as good, there is no best one."""
    best, right, where = systems[0], _share(systems[0], part), f"On {part_in_words(part)}, "
    if not best.results[part].above_chance:
        who = f"no system is above chance ({percent(best.results[part].beside('random') or 0.0)}%)"
        among = f", the highest of {len(systems)}," if len(systems) > 1 else ""
        return f"{where}{who}: {best.quoted}{among} is right on {right}."
    if len(systems) == 1:
        return f"{where}{best.quoted} is right on {right}."
    level = [s.quoted for s in systems if _same(s.results[part].main.value, best.results[part].main.value)]
    if len(level) > 1:
        return f"{where}{_listed(level)} are right on {right}."
    names = {s.name for s in systems}
    near = [p.other.quoted for p in found if p.one is best and p.other.name in names and not p.certain]
    if not near:
        return f"{where}{best.quoted} is best of {len(systems)} systems: right on {right}."
    return f"{where}no system is certainly best: {best.quoted} is right on {right}, and {_listed(near)} may be as good."


def _beside(system: System, best: Scores) -> list[str]:
    if best.staged:
        return []
    who = {"majority": "always giving the most common answer reaches", "human": "people reach"}
    reached = {row.name: row.accuracy for row in best.baselines}
    accuracies = {name: a.value if isinstance(a, Estimate) else a for name, a in reached.items()}
    said = [f"{words} {percent(accuracies[name])}%" for name, words in who.items() if name in accuracies]
    out = [f"On the same items, {' and '.join(said)}."] if said else []
    if best.groups < best.examples:
        whole = f"{percent(best.consistency.value)}% of the {best.groups:,} groups"
        out.append(f"{system.quoted} is right on every image of {whole}.")
    return out


def _hardest(system: System, tags: Sequence[Breakdown], best: Scores) -> list[str]:
    """The phenomenon whose interval lies below the overall accuracy, if there is one."""
    for found in tags:
        if found.tag not in ("phenomenon", "relation", "element"):
            continue
        own = {v: by[system.name] for v, by in found.rows.items() if system.name in by}
        rows = {v: row for v, row in own.items() if row.items >= WORTH_SAYING}
        if rows:
            worst = min(rows, key=lambda v: (rows[v].accuracy.value, v))
            row = rows[worst]
            if row.accuracy.high < best.accuracy.value:
                return [
                    f"{system.quoted} finds {worst} hardest: {percent(row.accuracy.value)}% of {row.items:,} items."
                ]
    return []
