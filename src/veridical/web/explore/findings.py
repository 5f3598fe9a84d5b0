"""What an audit found, item by item: its checks name their worst items, one by one or two in a leak."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from veridical.reporting.inputs import AuditRecord


@dataclass(frozen=True)
class ItemFinding:
    """A check that names an item."""

    check: str  # in words
    verdict: str
    says: str
    note: str


def findings_by_item(audits: Iterable[AuditRecord]) -> dict[str, list[ItemFinding]]:
    """The findings about each name that an audit gives; some names are no items, but cues."""
    out: dict[str, list[ItemFinding]] = {}
    for audit in audits:
        for check in audit.checks:
            for one in check.examples:
                found = ItemFinding(check.title or check.check, check.verdict, check.says, one.note)
                for name in dict.fromkeys((one.id, *one.id.split(", "), *one.note.split(", "))):
                    out.setdefault(name, []).append(found)
    return out
