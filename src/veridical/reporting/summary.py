"""What a page says in a few sentences, so that a reader knows before the tables."""

from __future__ import annotations

from collections.abc import Sequence

from veridical.common.intervals import Estimate
from veridical.evaluation import Scores
from veridical.pages.plots import percent
from veridical.reporting.breakdowns import Breakdown
from veridical.reporting.comparisons import Pair
from veridical.reporting.studies import Part, Study

ENOUGH = 30  # items that make a value worth a sentence


def sentences(study: Study, part: Part, found: Sequence[Pair], tags: Sequence[Breakdown]) -> list[str]:
    """The best system, what it is set beside, whether the next is really worse, and what is hardest."""
    systems = sorted(study.on(part), key=lambda s: -s.results[part].main.value)
    best = systems[0].results[part].first
    where = part[1] if part[0] == "main" else f"{part[0]}, {part[1]}"
    value = systems[0].results[part].main
    stage = " (answer and rationale)" if best.staged else ""
    opening = "is right on" if len(systems) == 1 else "is best of " + f"{len(systems)} systems: right on"
    lines = [
        f"On {where}, {systems[0].name} {opening} {percent(value.value)}% of {_what(best)}{stage} "
        f"(95% interval {percent(value.low)} to {percent(value.high)})."
    ]
    lines += _beside(best)
    first = next((p for p in found if {p.one.name, p.other.name} == {s.name for s in systems[:2]}), None)
    if first is not None:
        points = first.difference
        sure = {
            "cannot be told apart": "too close to call on these items",
            "not certain": "the tests do not agree that this is more than luck",
        }.get(first.verdict, "more than luck")
        lines.append(
            f"{first.one.name} leads {first.other.name} by {100 * points.value:.1f} points "
            f"[{100 * points.low:.1f}, {100 * points.high:.1f}]: {sure}."
        )
    lines += _hardest(systems[0].name, tags, best)
    return lines


def _what(scores: Scores) -> str:
    if scores.staged:
        return "the questions"
    return f"{scores.examples:,} images" if scores.per_view else f"{scores.items:,} items"


def _beside(best: Scores) -> list[str]:
    rows = {row.name: row for row in best.baselines}
    said: list[str] = []
    if best.staged:
        return said
    if "majority" in rows:
        value = rows["majority"].accuracy
        said.append(f"always giving the most common answer reaches {_number(value)}%")
    if "human" in rows:
        said.append(f"people reach {_number(rows['human'].accuracy)}%")
    out = [f"On the same items, {' and '.join(said)}."] if said else []
    if best.groups < best.examples:
        out.append(f"It is right on every image of {percent(best.consistency.value)}% of the {best.groups:,} groups.")
    return out


def _number(value: Estimate | float) -> str:
    return percent(value.value if isinstance(value, Estimate) else value)


def _hardest(name: str, tags: Sequence[Breakdown], best: Scores) -> list[str]:
    """The phenomenon whose interval lies below the overall accuracy, if there is one."""
    for found in tags:
        if found.tag not in ("phenomenon", "relation", "element"):
            continue
        rows = {v: by[name] for v, by in found.rows.items() if name in by and by[name].items >= ENOUGH}
        if rows:
            worst = min(rows, key=lambda v: (rows[v].accuracy.value, v))
            row = rows[worst]
            if row.accuracy.high < best.accuracy.value:
                return [f"{name} finds {worst} hardest: {percent(row.accuracy.value)}% of {row.items:,} items."]
    return []
