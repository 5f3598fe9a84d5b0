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
from pathlib import Path

from veridical import __version__
from veridical.auditing.data import load
from veridical.auditing.findings import ORDER, Finding, Verdict
from veridical.benchmark import Benchmark
from veridical.common import registry
from veridical.common.files import Json, write_whole
from veridical.common.result import Result, Table
from veridical.engine import run
from veridical.errors import UserError
from veridical.options.running import AuditOptions

_BLIND, _CUES, _LEAKS = "veridical.auditing.blind:check", "veridical.auditing.cues:", "veridical.auditing.leaks:"
_PEOPLE, _CORPORA = "veridical.auditing.people:", "veridical.auditing.contamination:"

# check -> a function (name, AuditData, AuditOptions) -> Finding
CHECKS: dict[str, str] = {
    "text-only": _BLIND,
    "image-only": _BLIND,
    "response-only": _BLIND,
    "question-only": _BLIND,
    "swapped-context": _BLIND,
    "label": _BLIND,
    "position": _BLIND,
    "length": _BLIND,
    "frequency": _BLIND,
    "overlap": _BLIND,
    "n-grams": _CUES + "ngram_check",
    "elements": _CUES + "element_check",
    "single-label": _CUES + "single_label_check",
    "origin-leak": _LEAKS + "origin_check",
    "image-leak": _LEAKS + "image_check",
    "near-image-leak": _LEAKS + "near_image_check",
    "text-leak": _LEAKS + "text_check",
    "near-text-leak": _LEAKS + "near_text_check",
    "item-leak": _LEAKS + "identical_check",
    "ambiguous": _PEOPLE + "ambiguous_check",
    "unanswerable": _PEOPLE + "unanswerable_check",
    "agreement": _PEOPLE + "agreement_check",
    "human": _PEOPLE + "human_check",
    "canary": _CORPORA + "canary_check",
    "membership": _CORPORA + "membership_check",
}
# models of the zoo: slow, so only where they are asked for
NEURAL: dict[str, str] = {
    "text-only-neural": _BLIND,
    "image-only-neural": _BLIND,
    "response-only-neural": _BLIND,
}
SLOW_FIRST = (*NEURAL, "image-only", "swapped-context", "near-image-leak", "text-only", "response-only")


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
        columns = ["check", "verdict", "found [95%]", "expected", "would see"]
        yield Table(f"{self.benchmark}: {self.verdict} ({self.seconds:.0f} s)", columns, rows)
        for f in listed:
            if f.verdict in ("fail", "cannot tell", "warn"):
                yield f"{f.verdict}: {f.title}. {f.says} {f.do}"
        if self.page is not None:
            yield f"Open {self.page} to read it."

    def finding(self, check: str) -> Finding:
        """The finding of one check."""
        return next(f for f in self.findings if f.check == check)

    def to_json(self) -> Json:
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
    processes: int | None = None,
) -> Audit:
    """Can this benchmark be passed without doing the task? Does anything leak? See `veridical.api.audit`."""
    start = time.monotonic()
    opened = Benchmark(benchmark)
    names = _chosen(checks, skip, neural)
    scheme = options.scheme
    counts = opened.manifest["counts"]["items"].get(scheme)
    splits = {split: counts[split] for split in opened.splits(scheme)}
    options = replace(options, corpus=tuple(Path(c) for c in options.corpus))
    page = None if out is None else Path(os.path.abspath(out))
    if page is not None and page.is_dir():
        raise UserError(f"{page} is a folder.", "Give --out the name of an HTML file.")
    work = None if page is None else page.with_name(page.name + ".work")
    order = sorted(names, key=lambda n: (n not in SLOW_FIRST, names.index(n)))
    one = partial(run_check, str(opened.directory), opened.hash, options)
    done = run(one, order, processes=processes, work=work, label="auditing", total=len(order))
    found = {finding.check: finding for finding in done}
    result = Audit(
        opened.name, opened.hash, opened.task, scheme, splits, tuple(found[n] for n in names), options,
        round(time.monotonic() - start, 2), page=page,
    )  # fmt: skip
    if page is not None:
        write(result, page)
    if work is not None:
        shutil.rmtree(work, ignore_errors=True)
    return result


def run_check(directory: str, hash_: str, options: AuditOptions, name: str) -> Finding:
    """One check, with the time it took."""
    start = time.monotonic()
    data = load(directory, hash_, options.scheme, options.hidden)
    finding: Finding = registry.resolve(CHECKS | NEURAL, name, "check", "auditing")(name, data, options)
    return replace(finding, seconds=round(time.monotonic() - start, 2))


def write(result: Audit, page: Path) -> None:
    """Write the page, and the JSON beside it; each is whole or not there."""
    from veridical.auditing.page import html

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
