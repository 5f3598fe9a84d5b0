"""The parts of a page: results, breakdowns, consistency, differences, reasons, the data itself, audits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veridical import __version__
from veridical.auditing.findings import ABOUT
from veridical.pages.cards import Gallery
from veridical.pages.drawing import GREY
from veridical.pages.markup import Block, Bullets, Paragraph, PlotFigure, Section
from veridical.pages.plots import PlotMark, Series, bars, colour, dots, lines, percent, ranked, stacks
from veridical.pages.tables import Cell, PageTable, facts
from veridical.reporting.analysis import Breakdown, Groups, PairedSystems, Reasons, phenomenon_shares
from veridical.reporting.corpora import pairs_table, phenomena_table
from veridical.reporting.examples import Chooser, ChosenItems
from veridical.reporting.inputs import WORST, AuditRecord, CheckRecord
from veridical.reporting.published import CALLED, number, part_name, results_tables, tables_for
from veridical.reporting.studies import Part, Study, System, part_in_words
from veridical.statistics.language import benchmark_lengths

TASKS = {
    "nlvr": "a drawing of three boxes and a sentence: true or false?",
    "nlvr2": "two photographs and a sentence: true or false?",
    "vprom": "a matrix of images, the last one missing: which of the candidates fits?",
    "vcr": "visual commonsense reasoning (VCR): which answer to a question about a photograph, and for which reason?",
    "statement": "a sentence about a scene: true or false?",
    "matrix": "a matrix of images, the last one missing: which of the candidates fits?",
    "choice": "a question, with or without pictures: which answer?",
}
RANKED = ("synset", "element", "attribute", "category")  # tags whose frequencies are shown
GROUPS = {"all right": "#3d8b6d", "some right": "#9fb0c0", "none right": "#c2593f"}
STAGES = {
    "answer and rationale right": "#3d8b6d",
    "right answer, wrong rationale": "#d9a441",
    "wrong answer, right rationale": "#9fb4c7",
    "both wrong": "#c2593f",
}


def study_lead(study: Study, said: Sequence[str]) -> tuple[Block, ...]:
    """What a benchmark is, what was found, and what a reader should know."""
    counts = study.benchmark.manifest["counts"]["items"]
    sizes = [
        f"{_place(scheme, split)} {number:,}" + (" (hidden)" if study.benchmark.is_hidden(split) else "")
        for scheme in sorted(counts)
        for split, number in sorted(counts[scheme].items())
        if scheme in {s for s, _ in study.parts} or len(counts) == 1
    ]
    asked = TASKS.get(study.paper or "", TASKS.get(study.benchmark.task, study.benchmark.task))
    source = (study.benchmark.manifest.get("config") or {}).get("source")
    if isinstance(source, dict) and source.get("source") == "icons":
        asked = asked.replace("photograph", "drawn picture")
    if any(r.first.staged for s in study.systems for r in s.results.values()):
        sizes[-1] += "; a question is one for its answer and one for the reason after each answer"
    found = [Bullets(tuple(said))] if said else []
    warnings = [Paragraph(note, "warning") for note in dict.fromkeys(study.notes)]
    return (Paragraph(f"Task: {asked} Items: {', '.join(sizes)}.", "lead"), *found, *warnings)


def _place(scheme: str, split: str) -> str:
    return split if scheme == "main" else f"{scheme} {split}"


def system_keys(systems: Sequence[System]) -> list[tuple[str, str]]:
    """The legend of systems; none where there is only one."""
    return [(s.name, colour(s.place)) for s in systems] if len(systems) > 1 else []


def results(study: Study) -> Section:
    """The paper's table, and accuracies with intervals on the part most systems share."""
    focus = study.focus or (study.parts[0] if study.parts else None)
    dotted = [_dots(study, focus)] if focus is not None else []
    return Section("Results", (*dotted, *results_tables(study), *_counted(study)))


def _dots(study: Study, part: Part) -> PlotFigure:
    systems = study.on(part)
    best_first = sorted(systems, key=lambda s: -s.results[part].main.value)
    marks = [PlotMark.of(s.name, s.results[part].main, s.place) for s in best_first]
    first = systems[0].results[part].first
    lines: dict[str, float] = {}
    for name in ("majority", "random", "human"):
        value = systems[0].results[part].beside(name)
        if value is not None:
            lines[CALLED.get(name, name)] = value
    if abs(lines.get("majority", 0) - lines.get("chance", 1)) < 0.004:
        del lines["majority"]
    what = "Q→AR accuracy" if first.staged else "Accuracy"
    where = part_in_words(part)
    count = f"{first.groups:,} questions" if first.staged else f"{first.items:,} items"
    caption = f"{what} on {where} ({count}), percent, with 95% intervals over groups."
    return PlotFigure(dots(f"{what} of each system on {where}", marks, tuple(lines.items())), caption)


def _counted(study: Study) -> list[PageTable]:
    """What was missing, unreadable, twice or tied, where anything was."""
    rows: list[list[str]] = []
    for system in study.systems:
        for part, result in system.results.items():
            s = result.first
            numbers = [s.missing.count, s.unreadable.count, s.extra.count, s.duplicated.count, s.tied]
            if any(numbers):
                rows.append([f"{system.name}, {part[1]}", *(f"{n:,}" for n in numbers)])
    title = "Predictions that were not as they should be"
    note = "Missing and unreadable predictions count as not right; of tied scores the first counts."
    columns = ["missing", "unreadable", "extra", "twice", "tied"]
    return [facts(columns, rows, title=title, note=note)] if rows else []


def by_scheme(study: Study) -> Section | None:
    """Accuracy by relation and scheme of splits, for benchmarks with several schemes (V-PROM's figures 5 and 6)."""
    if len({scheme for scheme, _ in study.parts}) < 2:
        return None
    groups = []
    for part in study.parts:
        if part[1] == "train":
            continue
        found = [(s, s.results[part].first.accuracy) for s in study.on(part)]
        marks = [PlotMark.of(f"{s.name}, {part[0]}", accuracy, s.place) for s, accuracy in found]
        groups.append((part_name(part[0]), part[1], marks))
    keys = [(s.name, colour(s.place)) for s in study.systems]
    caption = "Accuracy by scheme of splits, percent: how far each system generalises."
    return Section("Generalisation", (PlotFigure(bars("Accuracy by scheme of splits", groups), caption, keys),))


def by_tag(found: Sequence[Breakdown], systems: Sequence[System]) -> Section | None:
    """Bars for each tag."""
    parts = []
    for one in found:
        caption = f"Accuracy by {one.tag}, percent; the thin line is the 95% interval."
        if len(one.rows) > len(one.shown()):
            caption += f" Of {len(one.rows):,} values, the hardest and the easiest with enough items."
        if one.source == "tagger":
            caption += f" Nobody annotated these sentences: each {one.tag} is one that our tagger finds."
        plot = bars(f"Accuracy by {one.tag}", one.groups(systems))
        parts.append(PlotFigure(plot, caption, system_keys(systems), f"By {one.tag}"))
    return Section("Where it is hard", tuple(parts)) if parts else None


def consistency(found: Sequence[tuple[System, Groups]]) -> Section | None:
    """How many groups come out right as a whole."""
    if not found:
        return None
    rows = [(s.name, _shares(GROUPS, g.shares)) for s, g in found]
    caption = (
        f"Share of the {found[0][1].groups:,} groups (one sentence with all its images) in which all, some or none of "
        "the examples are right, percent. The first is consistency over groups of several examples."
    )
    plot = PlotFigure(stacks("Groups by how many examples are right", rows), caption, list(GROUPS.items()))
    note = (
        "A system that understands a sentence gets all of its images right, so its groups are right far more often "
        "than independent luck with the same accuracy would make them."
    )
    columns = ["all right", "if examples were independent", "difference"]
    counted = [(s.name, g.shares[0], g.independent) for s, g in found]
    told = [[name, percent(right), percent(luck), _signed(right - luck)] for name, right, luck in counted]
    return Section("Consistency", (plot, facts(columns, told, "system", note=note)))


def _shares(fills: dict[str, str], shares: Sequence[float]) -> list[tuple[str, float, str]]:
    """The parts of a row of stacked shares: name, share, colour."""
    return [(name, share, fill) for (name, fill), share in zip(fills.items(), shares, strict=True)]


def differences(found: Sequence[PairedSystems], galleries: Sequence[Gallery]) -> Section | None:
    """The table of paired comparisons, and examples where the first two differ."""
    if not found:
        return None
    rows: list[list[str | Cell]] = []
    for p in found:
        points, items, groups = p.difference, p.found.sign_test, p.found.sign_test_groups
        by = f"{_signed(points.value)} [{_signed(points.low)}, {_signed(points.high)}]"
        only = f"{items.only_this:,}", f"{items.only_other:,}"
        rows.append([f"{p.one.name} − {p.other.name}", by, *only, _p(items.p), _p(groups.p), Cell(p.so, look="words")])
    what = "Q→AR difference" if found[0].found.staged else "difference"
    columns = [what, "only first right", "only second right", "p, examples", "p, groups", "so"]
    note = (
        "Difference in points with its 95% interval, on the same examples. p: exact two-sided sign test "
        "over the examples that exactly one gets right, and over groups (which of the two gets more of a group right), "
        "which does not take the examples of a group as independent."
    )
    return Section("Where systems differ", (facts(columns, rows, "systems", note=note), *galleries))


def _signed(share: float) -> str:
    """A difference in points; what rounds to nothing has no sign.

    >>> _signed(0.071), _signed(-0.0001)
    ('+7.1', '0.0')
    """
    points = round(100 * share, 1)
    return f"{points:+.1f}" if points else "0.0"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def right_for_wrong_reasons(found: Sequence[tuple[System, Reasons]], galleries: Sequence[Gallery]) -> Section | None:
    """Answers crossed with rationales."""
    if not found:
        return None
    rows = [(s.name, _shares(STAGES, r.shares)) for s, r in found]
    caption = (
        f"{found[0][1].questions:,} questions by whether the answer and the rationale for the right answer are right, "
        "percent. Where the answer is right and the rationale is not, the system may be right for the wrong reason."
    )
    plot = PlotFigure(stacks("Answers crossed with rationales", rows), caption, list(STAGES.items()))
    return Section("Right answers with wrong rationales", (plot, *galleries))


def wrong_reason_gallery(chooser: Chooser, found: Sequence[tuple[System, Reasons]]) -> list[ChosenItems]:
    """For each system the most instructive questions with a right answer and a wrong rationale."""
    numbers = np.arange(len(chooser.key.ids))
    title = "right answer, wrong rationale"
    made = (
        chooser.gallery(f"{s.quoted}: {title}", "", np.isin(numbers, r.which))
        for s, r in found
        if s.role in ("looks", "blind")
    )
    return [one for one in made if one is not None]


def instructive(chooser: Chooser) -> list[ChosenItems]:
    """What everybody gets wrong, with three systems or more what only one gets right; without any, what is right."""
    found = [chooser.everybody_wrong()]
    if len(chooser.systems) > 2:
        found += [chooser.only(system) for system in chooser.systems if system.role in ("looks", "blind")]
    shown = [g for g in found if g is not None]
    right = None if shown else chooser.everybody_right()
    return [*shown, *([right] if right is not None else [])]


# --- the data itself, as the papers show it --------------------------------------------------------------------------


def data_figures(study: Study) -> Section | None:
    """Lengths, frequent and rare values, shares of phenomena."""
    parts = _lengths(study)
    focus = study.focus
    if focus is not None:
        parts += _ranked(study, focus) + _phenomena(study, focus) + pairs_table(study, focus)
    return Section("The data", tuple(parts)) if parts else None


def _lengths(study: Study) -> list[Block]:
    """Share of sentences by length, a line per split (NLVR's and NLVR2's figure 3)."""
    series: list[Series] = []
    rows: list[list[str]] = []
    scheme = study.focus[0] if study.focus else "main"
    splits = study.benchmark.splits_of(scheme) if scheme in study.benchmark.schemes else ()
    for place, split in enumerate(s for s in splits if study.open_to_view((scheme, s))):
        for name, found in benchmark_lengths(study.benchmark, (split,), scheme).items():
            total = sum(found.histogram.values())
            if not total or found.mean is None:
                continue
            label = split if name == "query" else f"{split}, {name}s"
            top = max(found.histogram)
            points = tuple((float(n), found.histogram.get(n, 0) / total) for n in range(top + 1))
            series.append(Series(label, points, colour(place + len(series)), dashed=name == "rationale"))
            rows.append(
                [label, f"{found.sentences:,}", f"{found.mean:.1f}", f"{found.median:g}", f"{found.vocabulary:,}"]
            )
    if not series:
        return []
    plot = lines("Distribution of sentence lengths", series, "tokens", "% of sentences")
    keys = [(s.name, s.colour) for s in series] if len(series) > 1 else []
    caption = "Share of sentences by length in tokens (words and punctuation marks)."
    table = facts(["sentences", "mean tokens", "median", "word types"], rows, "split")
    return [PlotFigure(plot, caption, keys, "Sentence lengths"), table]


def _ranked(study: Study, part: Part) -> list[Block]:
    """How many items each synset has, most first (figure 3 of the NLVR2 draft)."""
    tags = study.on(part)[0].results[part].grades.key.tags
    sizes = np.bincount(tags.pair, minlength=len(tags.pairs))
    out: list[Block] = []
    for tag in RANKED:
        counts = [(value, int(sizes[n])) for n, (name, value) in enumerate(tags.pairs) if name == tag]
        if len(counts) < 10:
            continue
        counts.sort(key=lambda c: (-c[1], c[0]))
        numbers = np.array([c for _, c in counts])
        plot = ranked(f"Items per {tag}", counts, "items")
        caption = (
            f"Items of {part[1]} per {tag}, sorted: {len(counts):,} values, {numbers.mean():.1f} ± {numbers.std():.1f} "
            "items each."
        )
        out.append(PlotFigure(plot, caption, title=f"Items per {tag}"))
    return out


def _phenomena(study: Study, part: Part) -> list[Block]:
    """Shares of phenomena here and as published."""
    found = phenomenon_shares(study, part)
    if found is None:
        return []
    shares, total = found
    name = f"{study.benchmark.name} {part[1]}, here"
    printed: dict[str, dict[str, float]] = {}
    for table in tables_for(study.paper, "phenomena"):
        for k, column in enumerate(table.columns):
            if column.metric == "share" and column.part.lower() == study.paper:
                label = f"{column.label}, {table.table} (published)"
                printed[label] = {r.name: v for r in table.rows if (v := number(r.values[k])) is not None}
    groups = []
    for value in sorted(shares, key=lambda v: -shares[v]):
        marks = [PlotMark(f"{name}, {value}", shares[value], colour=colour(0))]
        marks += [PlotMark(f"{label}, {value}", by[value], colour=GREY) for label, by in printed.items() if value in by]
        groups.append((value, "", marks))
    keys = [(name, colour(0)), *((label, GREY) for label in printed)]
    plot = bars("Share of sentences with each phenomenon", groups)
    caption = f"Share of sentences with each phenomenon, percent; here of {total:,} sentences"
    tagged = any(tag == "phenomenon" for tag, _ in study.on(part)[0].results[part].grades.key.tags.pairs)
    caption += " that carry an annotation." if tagged else ", by our tagger."
    return [PlotFigure(plot, caption, keys, "Phenomena"), *phenomena_table(study, part, shares, total)]


# --- audits and where numbers come from ------------------------------------------------------------------------------


def audit_section(audit: AuditRecord) -> Section:
    """The checks of an audit in one table; those that do not apply are only named."""
    rows: list[list[str | Cell]] = []
    for c in (c for c in audit.checks if c.verdict != "not applicable"):
        todo = c.do if c.verdict not in ("pass", "not applicable") else ""
        rows.append([c.title or c.check, Cell(c.verdict, look="verdict"), _number(c), Cell(c.says, todo, "told")])
    count = {v: sum(c.verdict == v for c in audit.checks) for v in WORST}
    said = ", ".join(f"{number} {verdict}" for verdict, number in count.items() if number)
    table = facts(["verdict", "number", "what was found"], rows, "check")
    idle = [c.title or c.check for c in audit.checks if c.verdict == "not applicable"]
    left = f" Not applicable: {', '.join(idle)}." if idle else ""
    missing = [ABOUT[name].title if name in ABOUT else name for name in audit.not_run]
    left += f" Not run: {', '.join(missing)}." if missing else ""
    return Section(f"Audit: {audit.name}", (Paragraph(f"{said}.{left}", "lead"), *([table] if rows else [])))


def _number(check: CheckRecord) -> str:
    if check.number is None:
        return ""
    if check.unit == "count":
        return f"{check.number:,.0f}"
    if check.unit in ("alpha", "auc"):
        return f"{check.number:.3f}"
    if check.low is None or check.high is None:
        return f"{percent(check.number)}%"
    return f"{percent(check.number)}% [{percent(check.low)}, {percent(check.high)}]"


def provenance(studies: Sequence[Study]) -> list[Block]:
    """Where every number comes from: files, hashes, seed and version."""
    rows: list[list[str | Cell]] = []
    for study in studies:
        for system in (*study.systems, *study.draws):
            for part, result in system.results.items():
                for run, scores in zip(result.runs, result.scores, strict=True):
                    hashes = [Cell(h[:16], look="code") for h in (scores.predictions_hash, scores.benchmark_hash)]
                    rows.append([system.name, run.path.name, scores.benchmark, _place(*part), *hashes])
    columns = ["file", "benchmark", "split", "sha256 of file", "benchmark hash"]
    some = next((r.first for s in studies for system in s.systems for r in system.results.values()), None)
    seed = f" Bootstrap seed {some.seed}, {some.resamples:,} resamples." if some else ""
    return [
        *([facts(columns, rows, "system")] if rows else []),
        Paragraph(f"Made by veridical {__version__}.{seed}", "note"),
    ]
