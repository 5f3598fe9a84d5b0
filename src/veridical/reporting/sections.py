"""The parts of a page about one benchmark: results, breakdowns, consistency, differences, reasons, examples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veridical.common.intervals import Estimate
from veridical.pages.blocks import Section, figure
from veridical.pages.drawing import Pictures
from veridical.pages.markup import Markup, element
from veridical.pages.plots import Mark, bars, colour, dots, legend, percent, stacks
from veridical.reporting.breakdowns import Breakdown
from veridical.reporting.cards import Cards
from veridical.reporting.comparisons import Groups, Pair, Reasons
from veridical.reporting.examples import Chooser, Gallery
from veridical.reporting.layouts import results_tables
from veridical.reporting.studies import Part, Study, System
from veridical.reporting.tables import plain_table, to_html


def system_keys(systems: Sequence[System]) -> Markup | None:
    """The legend of systems; none where there is only one."""
    return legend([(s.name, colour(s.place)) for s in systems]) if len(systems) > 1 else None


def results(study: Study) -> Section:
    """The paper's table, and accuracies with intervals on the part most systems share."""
    parts: list[Markup] = []
    focus = study.focus or (study.parts[0] if study.parts else None)
    if focus is not None:
        parts.append(_dots(study, focus))
    parts += [to_html(table) for table in results_tables(study)]
    counted = _counted(study)
    if counted is not None:
        parts.append(counted)
    return Section("Results", tuple(parts))


def _dots(study: Study, part: Part) -> Markup:
    systems = study.on(part)
    marks = []
    for system in sorted(systems, key=lambda s: -s.results[part].main.value):
        value = system.results[part].main
        marks.append(Mark(system.name, value.value, value.low, value.high, colour(system.place)))
    first = systems[0].results[part].first
    lines: dict[str, float] = {}
    for row in first.baselines:
        shown = row.staged.get("Q->AR", row.accuracy) if first.staged else row.accuracy
        if row.name in ("majority", "random", "human"):
            name = {"random": "chance"}.get(row.name, row.name)
            lines[name] = shown.value if isinstance(shown, Estimate) else shown
    if abs(lines.get("majority", 0) - lines.get("chance", 1)) < 0.004:
        del lines["majority"]
    what = "Q→AR accuracy" if first.staged else "Accuracy"
    where = part[1] if part[0] == "main" else f"{part[0]}, {part[1]}"
    count = f"{first.groups:,} questions" if first.staged else f"{first.items:,} items"
    caption = f"{what} on {where} ({count}), percent, with 95% intervals over groups."
    return figure(dots(f"{what} of each system on {where}", marks, tuple(lines.items())), caption)


def _counted(study: Study) -> Markup | None:
    """What was missing, unreadable, twice or tied, where anything was."""
    rows: list[list[str]] = []
    for system in study.systems:
        for part, result in system.results.items():
            s = result.first
            numbers = [s.missing.count, s.unreadable.count, s.extra.count, s.duplicated.count, s.tied]
            if any(numbers):
                rows.append([f"{system.name}, {part[1]}", *(f"{n:,}" for n in numbers)])
    if not rows:
        return None
    head = element("h4", "Predictions that were not as they should be")
    note = element("p", "Missing and unreadable predictions count as not right; of tied scores the first counts.")
    return element("div", head, plain_table(["missing", "unreadable", "extra", "twice", "tied"], rows), note)


def by_tag(found: Sequence[Breakdown], systems: Sequence[System]) -> Section | None:
    """Bars for each tag."""
    parts = []
    for one in found:
        many = len(one.rows) > len(one.shown())
        caption = f"Accuracy by {one.tag}, percent; the thin line is the 95% interval."
        if many:
            caption += f" Of {len(one.rows):,} values, the hardest and the easiest with enough items."
        if one.source == "tagger":
            caption += " Nobody annotated these sentences: the phenomena are those our tagger finds."
        plot = bars(f"Accuracy by {one.tag}", one.groups(systems))
        parts.append(element("div", element("h4", f"By {one.tag}"), figure(plot, caption, system_keys(systems))))
    return Section("Where it is hard", tuple(parts)) if parts else None


def consistency(found: Sequence[tuple[System, Groups]]) -> Section | None:
    """How many groups come out right as a whole."""
    if not found:
        return None
    fills = {"all right": "#3d8b6d", "some right": "#c9d3dc", "none right": "#c2593f"}
    rows = [
        (s.name, [("all right", g.all_right, fills["all right"]), ("some right", g.some_right, fills["some right"])])
        for s, g in found
    ]
    full = [
        (name, [*shares, ("none right", g.none_right, fills["none right"])])
        for (name, shares), (_, g) in zip(rows, found, strict=True)
    ]
    caption = (
        f"Share of the {found[0][1].groups:,} groups (one sentence with all its images) in which all, some or none of "
        "the examples are right, percent. The first is consistency over groups of several examples."
    )
    plot = figure(stacks("Groups by how many examples are right", full), caption, legend(list(fills.items())))
    table = plain_table(
        ["all right", "if examples were independent", "difference"],
        [
            [s.name, percent(g.all_right), percent(g.independent), _signed(g.all_right - g.independent)]
            for s, g in found
        ],
        "system",
    )
    note = element(
        "p",
        "A system that understands a sentence gets all of its images right, so its groups are right far more often "
        "than independent luck with the same accuracy would make them.",
        class_="note",
    )
    return Section("Consistency", (plot, table, note))


def differences(found: Sequence[Pair], galleries: Sequence[Markup]) -> Section | None:
    """The table of paired comparisons, and examples where the first two differ."""
    if not found:
        return None
    rows = [
        [
            element("span", p.one.name, " − ", p.other.name),
            _points(p.difference),
            f"{p.found.items.only_this:,}",
            f"{p.found.items.only_other:,}",
            _p(p.found.items.p),
            _p(p.found.groups.p),
            p.verdict,
        ]
        for p in found
    ]
    what = "Q→AR difference" if found[0].found.staged else "difference"
    columns = [what, "only first right", "only second right", "p, examples", "p, groups", "so"]
    note = (
        "Difference in points with its 95% interval, on the same examples. p: exact two-sided sign test "
        "over the examples that exactly one gets right, and over groups (which of the two gets more of a group right), "
        "which does not take the examples of a group as independent."
    )
    table = plain_table(columns, rows, "systems")
    return Section("Where systems differ", (table, element("p", note, class_="note"), *galleries))


def _points(value: Estimate) -> str:
    return f"{_signed(value.value)} [{_signed(value.low)}, {_signed(value.high)}]"


def _signed(share: float) -> str:
    """A difference in points; what rounds to nothing has no sign.

    >>> _signed(0.071), _signed(-0.0001)
    ('+7.1', '0.0')
    """
    points = round(100 * share, 1)
    return f"{points:+.1f}" if points else "0.0"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def right_for_wrong_reasons(found: Sequence[tuple[System, Reasons]], galleries: Sequence[Markup]) -> Section | None:
    """Answers crossed with rationales."""
    if not found:
        return None
    fills = {
        "answer and rationale right": "#3d8b6d",
        "right answer, wrong rationale": "#d9a441",
        "wrong answer, right rationale": "#9fb4c7",
        "both wrong": "#c2593f",
    }
    rows = []
    for system, r in found:
        shares = (r.both, r.answer_only, r.rationale_only, r.neither)
        rows.append((system.name, [(n, v, f) for (n, f), v in zip(fills.items(), shares, strict=True)]))
    caption = (
        f"{found[0][1].questions:,} questions by whether the answer and the rationale for the right answer are right, "
        "percent. Where the answer is right and the rationale is not, the system may be right for the wrong reason."
    )
    plot = figure(stacks("Answers crossed with rationales", rows), caption, legend(list(fills.items())))
    return Section("Right answers with wrong rationales", (plot, *galleries))


def wrong_reason_gallery(chooser: Chooser, found: Sequence[tuple[System, Reasons]]) -> list[Gallery]:
    """For each system the most instructive questions with a right answer and a wrong rationale."""
    out = []
    for system, r in found:
        which = np.zeros(len(chooser.key.ids), np.bool_)
        which[r.which] = True
        one = chooser.gallery(f"{system.name}: right answer, wrong rationale", "", which)
        if one is not None:
            out.append(one)
    return out


def instructive(chooser: Chooser) -> list[Gallery]:
    """What everybody gets wrong, and with three systems or more what only one gets right."""
    found = [chooser.everybody_wrong()]
    if len(chooser.systems) > 2:
        found += [chooser.only(system) for system in chooser.systems]
    return [g for g in found if g is not None]


def cards_of(study: Study, chooser: Chooser, budget: int) -> Cards:
    return Cards(chooser, Pictures(study.benchmark, budget))
