"""`veridical report`: any number of runs become one page, and the papers' tables as Markdown and LaTeX."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from veridical.common.files import write_whole
from veridical.common.result import Result
from veridical.common.result import Table as ResultTable
from veridical.engine.progress import Progress
from veridical.errors import UserError
from veridical.options.running import ReportOptions
from veridical.pages.cards import BUDGET, Gallery, ItemPictures
from veridical.pages.markup import Chapter, Paragraph, Section, page
from veridical.pages.tables import PageTable, to_latex, to_markdown
from veridical.reporting import sections
from veridical.reporting.analysis import PairedSystems, Reasons, breakdowns, group_shares, pairs, reasons, sentences
from veridical.reporting.examples import Cards, Chooser
from veridical.reporting.inputs import Inputs, read_inputs
from veridical.reporting.overview import overview
from veridical.reporting.published import results_tables
from veridical.reporting.studies import Part, Study, System, study
from veridical.reporting.trained import sweep_section, sweep_tables, training

OPEN_GALLERIES = 2  # of a benchmark; the others are folded
_FIX = "Give another place with --out."


@dataclass(frozen=True)
class Report(Result):
    """What was written."""

    out: Path
    bytes: int
    benchmarks: tuple[str, ...]
    systems: tuple[str, ...]
    markdown: Path | None
    latex: Path | None

    def parts(self) -> Iterator[ResultTable | str]:
        rows = [(self.out, len(self.benchmarks), len(self.systems), f"{self.bytes / 1e6:.1f}")]
        yield ResultTable("", ("page", "benchmarks", "systems", "MB"), rows)
        yield f"Open it in a browser: {self.out.as_uri()}"
        yield from (str(path) for path in (self.markdown, self.latex) if path is not None)


def report(
    runs: Sequence[Path | str] | Path | str,
    out: Path | str,
    benchmark: Sequence[Path | str] | Path | str = (),
    options: ReportOptions = ReportOptions(),
) -> Report:
    """Make one self-contained HTML page from runs: prediction files, folders of `train` or `sweep`, audits.

    Files that carry a benchmark's hash find it among those given. Without `hidden`, a hidden split has totals and
    nothing else.
    """
    examples = options.examples
    if examples < 0 or examples > 50:
        raise UserError(f"{examples} examples in a gallery cannot be shown.", "Take a number from 0 to 50.")
    given = read_inputs([runs] if isinstance(runs, Path | str) else list(runs))
    folders = [benchmark] if isinstance(benchmark, Path | str) else list(benchmark)
    folders = folders or [s.benchmark.folder for s in given.sweeps if Path(s.benchmark.folder).is_dir()]
    studies = study(given.files, folders, options)
    room = BUDGET  # of pictures: what one benchmark leaves goes to the next
    chapters: list[Chapter] = []
    tables: list[PageTable] = []
    with Progress("report", len(studies), "benchmarks") as progress:
        for number, one in enumerate(studies):
            pictures = ItemPictures(one.benchmark, room // (len(studies) - number))
            chapters.append(_chapter(one, options, pictures))
            room -= pictures.used
            tables += results_tables(one) if one.systems else []
            progress.advance(1)
    chapters += [Chapter(f"Sweep on {s.benchmark.name}", (), (sweep_section(s),)) for s in given.sweeps]
    tables += [table for s in given.sweeps for table in sweep_tables(s)]
    chapters += _rest(given)
    target = Path(os.path.abspath(out))
    names = tuple(s.name for one in studies for s in one.systems)
    on = list(dict.fromkeys(one.benchmark.name for one in studies))
    said = " and ".join([", ".join(on[:-1]), on[-1]] if len(on) > 1 else on)
    heading = options.title or (f"Results on {said}" if on else "Training and audits")
    chapters.append(Chapter("Where the numbers come from", tuple(sections.provenance(studies))))
    lead = [Paragraph(_lead(studies, given)), *overview(studies, given.audits, target.parent.resolve())]
    html = page("Veridical report", heading, lead, chapters)
    data = html.encode("utf-8")
    if not target.parent.is_dir():
        raise UserError(f"{target} cannot be written: there is no folder {target.parent}.", _FIX)
    write_whole(target, data, _FIX)
    return Report(
        out=target,
        bytes=len(data),
        benchmarks=tuple(one.benchmark.name for one in studies),
        systems=names,
        markdown=_tables(target.with_suffix(".md"), tables, to_markdown) if options.markdown else None,
        latex=_tables(target.with_suffix(".tex"), tables, to_latex) if options.latex else None,
    )


def _chapter(one: Study, options: ReportOptions, pictures: ItemPictures) -> Chapter:
    """Everything about one benchmark."""
    if not one.systems:
        return Chapter(one.benchmark.name, sections.study_lead(one, ()), ())
    focus = one.focus
    found: list[Section | None] = [sections.results(one), sections.by_scheme(one)]
    said: list[str] = []
    if focus is not None:
        said, inner = _focus(one, focus, options, pictures)
        found += inner
    found.append(sections.data_figures(one))
    return Chapter(one.benchmark.name, sections.study_lead(one, said), tuple(s for s in found if s is not None))


def _focus(
    one: Study, part: Part, options: ReportOptions, pictures: ItemPictures
) -> tuple[list[str], list[Section | None]]:
    """What is looked at item by item, and the sentences that sum it up."""
    systems = one.on(part)
    tags = breakdowns(one, part, options.resamples, options.seed)
    compared = pairs(one, part, options.resamples, options.seed)
    groups = [(s, g) for s in systems if (g := group_shares(s.results[part])) is not None]
    why = [(s, r) for s in systems if (r := reasons(s.results[part])) is not None]
    galleries = _galleries(Chooser(one, part, options.examples), compared, why, pictures) if options.examples else {}
    wrong_reasons, differ, examples = _folded([galleries.get(name, []) for name in ("why", "differ", "examples")])
    shown = Section("Instructive examples", tuple(examples)) if examples else None
    grouped = None if why else sections.consistency(groups)
    return sentences(one, part, compared, tags), [
        sections.by_tag(tags, systems),
        grouped,
        sections.right_for_wrong_reasons(why, wrong_reasons),
        sections.differences(compared, differ),
        shown,
    ]


def _galleries(
    chooser: Chooser,
    compared: Sequence[PairedSystems],
    why: Sequence[tuple[System, Reasons]],
    pictures: ItemPictures,
) -> dict[str, list[Gallery]]:
    """Cards, by the section they stand in. The pair shown is the first that differs: the best two may not."""
    differ = next((found for p in compared if (found := chooser.differ(p.one, p.other))), [])
    wrong_reasons, examples = sections.wrong_reason_gallery(chooser, why), sections.instructive(chooser)
    return Cards(chooser, pictures).galleries({"differ": differ, "why": wrong_reasons, "examples": examples})


def _folded(sections_of: Sequence[Sequence[Gallery]]) -> list[list[Gallery]]:
    """The galleries of sections in the page's order, all but the first few folded away."""
    place = count()
    return [[replace(one, folded=next(place) >= OPEN_GALLERIES) for one in some] for some in sections_of]


def _rest(given: Inputs) -> list[Chapter]:
    """Training runs and audits, which are about no single benchmark's results."""
    swept = {sweep.path / point.folder for sweep in given.sweeps for point in sweep.points}
    trained = training(given.trained, swept)
    found = [trained] if trained else []
    found += [sections.audit_section(audit) for audit in given.audits]
    if not found:
        return []
    names = [name for name, some in (("Training", given.trained), ("Audits", given.audits)) if some]
    return [Chapter(" and ".join(names), (), tuple(found))]


def _lead(studies: Sequence[Study], given: Inputs) -> str:
    def counted(number: int, what: str) -> str:
        return f"{number} {what}" if number == 1 else f"{number} {what}s"

    systems = sum(len(one.systems) for one in studies)
    parts = [f"{counted(systems, 'system')} on {counted(len(studies), 'benchmark')}"] if studies else []
    more = {"training run": len(given.trained), "audit": len(given.audits)}
    parts += [counted(number, what) for what, number in more.items() if number]
    return ", ".join(parts) + "."


def _tables(path: Path, tables: Sequence[PageTable], form: Callable[[PageTable], str]) -> Path:
    write_whole(path, "\n".join(form(table) for table in tables), _FIX)
    return path
