"""What a collection hands to the builders: the folder that `veridical collect export` writes.

collection.json    for which benchmark, from which source and seed; its statistics
costs.json         what each kind of work cost
splits.json        the split of each set, presentation or photograph
NLVR   presentations.jsonl, sentences.jsonl, judgements.jsonl
NLVR2  work/ (the steps up to the tasks), removals.jsonl, dull.jsonl, sentences.jsonl, judgements.jsonl
VCR    questions.jsonl, judgements.jsonl
a human study (V-PROM, VCR)     answers.jsonl
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from veridical.common.files import numbered_lines, read_json
from veridical.errors import UserError
from veridical.records import Judgement

COLLECTION, COSTS, SPLITS, WORK = "collection.json", "costs.json", "splits.json", "work"
SCENES, SENTENCES, JUDGEMENTS, QUESTIONS = (
    "presentations.jsonl",
    "sentences.jsonl",
    "judgements.jsonl",
    "questions.jsonl",
)
REMOVALS, DULL, ANSWERS = "removals.jsonl", "dull.jsonl", "answers.jsonl"
FORMAT = "veridical collection export"
_FORM = '{"item": "neutral-test-000012-9f3ac0", "worker": "w3", "verdict": 5}'
_FIX = "Give the folder that `veridical collect export` wrote."


class _About(msgspec.Struct):
    """What `collection.json` says."""

    format: str
    name: str
    benchmark: str
    seed: int
    about: dict[str, Any]
    statistics: dict[str, Any]


@dataclass(frozen=True)
class Collected:
    """An export of a collection."""

    folder: Path
    name: str
    seed: int
    about: Mapping[str, Any]  # what the project was made from
    statistics: Mapping[str, Any]

    @property
    def is_study(self) -> bool:
        return bool(self.about.get("study"))

    def path(self, name: str) -> Path:
        """A file of the export, which must be there."""
        found = self.folder / name
        if not found.exists():
            raise UserError(f"{self.folder} has no {name}.", _FIX)
        return found

    def splits(self) -> dict[str, str]:
        """The split of each origin."""
        return read_json(self.path(SPLITS), dict[str, str], "the splits of a collection", _FIX)

    def costs(self, sentences: int, items: int) -> dict[str, object]:
        return costs(self.path(COSTS), sentences, items)


def read_collection(folder: Path | str, benchmark: str) -> Collected:
    """The export of a collection for a benchmark; others are refused."""
    folder = Path(folder)
    if not (folder / COLLECTION).is_file():
        raise UserError(f"{folder} is no export of a collection.", _FIX)
    found = read_json(folder / COLLECTION, _About, "what a collection says of itself", _FIX)
    if found.format != FORMAT or found.benchmark != benchmark:
        raise UserError(f"{folder} was collected for {found.benchmark!r}.", f"Build {found.benchmark} from it.")
    return Collected(folder, found.name, found.seed, found.about, found.statistics)


class _Cost(msgspec.Struct):
    cost: float
    workers: int | None = None


def costs(path: Path, sentences: int, items: int) -> dict[str, object]:
    """The cost and workers of each task, of all, of a sentence and of an item."""
    fix = 'Write such as {"sentence writing": {"cost": 9570.46, "workers": 99}}.'
    found = read_json(path, dict[str, _Cost], "a list of what tasks cost", fix)
    total = sum(one.cost for one in found.values())
    each = {"per_sentence": round(total / sentences, 4), "per_item": round(total / items, 4)}
    return {"tasks": msgspec.to_builtins(dict(sorted(found.items()))), "total": round(total, 2), **each}


# --- a human study ---------------------------------------------------------------------------------------------------


class _Answer(msgspec.Struct, frozen=True):
    item: str
    worker: str
    verdict: int | Literal["skip"]
    time: float | None = None


def answers_file(path: Path | str) -> Path:
    """A file of answers, or that of the folder that a study was exported to."""
    return Path(path) / ANSWERS if Path(path).is_dir() else Path(path)


def read_answers(path: Path, candidates: int = 8) -> list[Judgement]:
    """The answers of a human test, in the order of the file; a worker answers an item once."""
    out: list[Judgement] = []
    seen: set[tuple[str, str]] = set()
    for number, one in numbered_lines(path, _Answer, f'Each line is {_FORM}, or "skip".'):
        where = f"{path.name}, line {number}"
        if isinstance(one.verdict, int) and not 0 <= one.verdict < candidates:
            raise UserError(f"{where}: {one.verdict} is no candidate.", f'Give 0 to {candidates - 1}, or "skip".')
        if (one.item, one.worker) in seen:
            raise UserError(f"{where}: {one.worker} answered {one.item} before.", "Keep the first answer.")
        seen.add((one.item, one.worker))
        out.append(Judgement(one.item, one.worker, one.verdict, "human", one.time))
    return out


def study(folder: Path | str | None, benchmark: str, answers: Sequence[Judgement]) -> dict[str, object]:
    """What a manifest says of a human study: who answered how much and skipped what, what it cost, and all that the
    collection counted; nothing where answers came in a file of their own."""
    if folder is None or not (Path(folder) / COLLECTION).is_file():
        return {}
    found = read_collection(folder, benchmark)
    given = Counter(one.worker for one in answers)
    items = len({one.item for one in answers})
    cost = found.costs(max(items, 1), max(items, 1))
    del cost["per_sentence"]
    counted = {
        "answers": len(answers),
        "skips": sum(one.verdict == "skip" for one in answers),
        "items": items,
        "workers": len(given),
        "answers_by_worker": dict(sorted(given.items())),
        "cost": cost,
    }
    return {"study": {**counted, "people": dict(found.statistics)}}


def check_answers(answers: Sequence[Judgement], items: Container[str]) -> None:
    """Refuse answers to other items than these."""
    for one in answers:
        if one.item not in items:
            raise UserError(
                f"{one.worker} answered {one.item!r}, and this build has no such item.",
                "Answers belong to the build that people saw: give all its options again, and its --secret if it had "
                "one.",
            )
