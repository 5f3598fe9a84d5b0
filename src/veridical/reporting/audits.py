"""Audits in a report: the verdict of every check, worst first, from the JSON that `veridical audit` writes."""

from __future__ import annotations

from pathlib import Path

import msgspec

from veridical.common.files import read_json
from veridical.errors import UserError
from veridical.pages.blocks import Section
from veridical.pages.markup import Markup, element
from veridical.pages.plots import percent
from veridical.reporting.tables import plain_table

WORST = ("fail", "cannot tell", "warn", "pass", "not applicable")
_FIX = "Give prediction files, folders of `veridical train`, or the JSON of `veridical audit`."


class Check(msgspec.Struct, frozen=True):
    """One check, as far as a report shows it."""

    verdict: str
    title: str = ""
    check: str = ""
    says: str = ""
    number: float | None = None
    low: float | None = None
    high: float | None = None
    reference: float | None = None
    unit: str = "share"
    do: str = ""


class Audit(msgspec.Struct, frozen=True):
    """An audit's checks; `findings` is another name for them."""

    checks: tuple[Check, ...] = ()
    findings: tuple[Check, ...] = ()
    name: str = ""


def read_audit(path: Path, name: str | None) -> Audit:
    """Read an audit, with its checks worst first."""
    found = read_json(path, Audit, "the JSON of an audit", _FIX)
    checks = found.checks or found.findings
    if not checks:
        raise UserError(f"{path} is not the JSON of an audit: it has no checks.", _FIX)
    ranked = sorted(checks, key=lambda c: WORST.index(c.verdict) if c.verdict in WORST else len(WORST))
    return Audit(tuple(ranked), (), name or found.name or path.stem)


def audit_section(audit: Audit) -> Section:
    """The checks in one table."""
    rows = [[c.title or c.check, _mark(c.verdict), _number(c), _told(c)] for c in audit.checks]
    count = {v: sum(c.verdict == v for c in audit.checks) for v in WORST}
    said = ", ".join(f"{number} {verdict}" for verdict, number in count.items() if number)
    table = plain_table(["verdict", "number", "what was found"], rows, "check")
    return Section(f"Audit: {audit.name}", (element("p", f"{said}.", class_="lead"), table))


def _mark(verdict: str) -> Markup:
    kind = verdict if verdict in ("pass", "warn", "fail") else "warn" if verdict == "cannot tell" else ""
    return element("span", verdict, class_=f"verdict {kind}".strip())


def _number(check: Check) -> str:
    if check.number is None:
        return ""
    if check.unit == "count":
        return f"{check.number:,.0f}"
    if check.unit in ("alpha", "auc"):
        return f"{check.number:.3f}"
    if check.low is None or check.high is None:
        return f"{percent(check.number)}%"
    return f"{percent(check.number)}% [{percent(check.low)}, {percent(check.high)}]"


def _told(check: Check) -> Markup:
    """What was found and, unless all is well, what to do."""
    todo = [element("small", check.do)] if check.do and check.verdict not in ("pass", "not applicable") else []
    return element("span", check.says, *todo, class_="told")
