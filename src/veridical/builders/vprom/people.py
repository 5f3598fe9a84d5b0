"""What people answered (V-PROM, section 3.3): JSON lines of an item, a worker and a candidate's place or "skip".

{"item": "neutral-test-000012-9f3ac0", "worker": "w3", "verdict": 5}     or "skip"; from 0, and optionally a "time"

An item's id ends in a digest of its matrix, so that answers to another build are noticed.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from veridical.builders.vprom.deck import CANDIDATES
from veridical.common.files import numbered_lines
from veridical.errors import UserError
from veridical.records import Judgement

_FORM = '{"item": "neutral-test-000012-9f3ac0", "worker": "w3", "verdict": 5}'


class _Answer(msgspec.Struct, frozen=True):
    item: str
    worker: str
    verdict: int | Literal["skip"]
    time: float | None = None


def read_answers(path: Path) -> list[Judgement]:
    """The answers of a human test, in the order of the file; a worker answers an item once."""
    out: list[Judgement] = []
    seen: set[tuple[str, str]] = set()
    for number, one in numbered_lines(path, _Answer, f'Each line is {_FORM}, or "skip".'):
        where = f"{path.name}, line {number}"
        if isinstance(one.verdict, int) and not 0 <= one.verdict < CANDIDATES:
            raise UserError(f"{where}: {one.verdict} is no candidate.", f'Give 0 to {CANDIDATES - 1}, or "skip".')
        if (one.item, one.worker) in seen:
            raise UserError(f"{where}: {one.worker} answered {one.item} before.", "Keep the first answer.")
        seen.add((one.item, one.worker))
        out.append(Judgement(one.item, one.worker, one.verdict, "human", one.time))
    return out


def check_answers(answers: Sequence[Judgement], items: Container[str]) -> None:
    """Refuse answers to other matrices than these."""
    for one in answers:
        if one.item not in items:
            raise UserError(
                f"{one.worker} answered {one.item!r}, and this build has no such item.",
                "Answers belong to the build that people saw: give all its options again, and its --secret if it had "
                "one. Nothing was written.",
            )
