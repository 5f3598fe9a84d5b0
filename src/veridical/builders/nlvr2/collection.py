"""The counts of a collection (NLVR2, section 3.6; Table 4 of the draft): what was found, what went, its cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from veridical.builders.nlvr2.stages import STAGES, Stages
from veridical.builders.nlvr2.validation import Outcome
from veridical.errors import UserError


class _Cost(msgspec.Struct):
    cost: float
    workers: int | None = None


def collection(stages: Stages, done: Outcome | None = None, upto: str = "judgements") -> dict[str, Any]:
    """Counts of all stages up to one, and of the outcome."""
    reached = STAGES[: STAGES.index(upto) + 1] if upto in STAGES else STAGES
    out: dict[str, Any] = {}
    for stage in reached:
        out |= _COUNTS[stage](stages)
    if done is not None:
        out |= _outcome(stages, done)
    return out


def _photographs(stages: Stages) -> dict[str, Any]:
    bad = sum(bool(one.problem) for one in stages.photographs)
    return {"photographs": len(stages.photographs), "photographs_that_do_not_load": bad}


def _queries(stages: Stages) -> dict[str, Any]:
    kinds = Counter(query.heuristic for query in stages.queries)
    return {
        "synsets": len({query.synset for query in stages.queries}),
        "queries": len(stages.queries),
        "queries_by_heuristic": dict(sorted(kinds.items())),
    }


def _found(stages: Stages) -> dict[str, Any]:
    return {
        "duplicate_photographs": len(stages.duplicates),
        "found_sets": len(stages.found),
        "found_images": sum(len(one.photographs) for one in stages.found),
    }


def _pruned(stages: Stages) -> dict[str, Any]:
    left = [one for one in stages.pruned if not one.discarded]
    return {
        "pruned_sets": len(left),
        "pruned_images": sum(len(one.photographs) for one in left),
        "images_removed": _most_first(reason for one in stages.pruned for reason in one.removed.values()),
        "sets_discarded_in_pruning": _most_first(one.discarded for one in stages.pruned if one.discarded),
    }


def _sets(stages: Stages) -> dict[str, Any]:
    left = [one for one in stages.sets if not one.discarded]
    return {
        "sets": len(left),
        "set_images": len({name for one in left for name in one.photographs}),
        "interesting_images": _most_first(reason for one in left for reason in one.interesting.values()),
        "sets_discarded_in_construction": _most_first(one.discarded for one in stages.sets if one.discarded),
    }


def _tasks(stages: Stages) -> dict[str, Any]:
    return {"tasks": len(stages.tasks)}


def _sentences(stages: Stages) -> dict[str, Any]:
    return {
        "sentences": sum(bool(one.sentence) for one in stages.sentences),
        "tasks_without_sentence": _most_first(one.flagged for one in stages.sentences if one.flagged),
    }


def _judgements(stages: Stages) -> dict[str, Any]:
    return {"judgements": _most_first(one.kind for one in stages.judgements)}


_COUNTS = {
    "photographs": _photographs,
    "queries": _queries,
    "found": _found,
    "pruned": _pruned,
    "sets": _sets,
    "tasks": _tasks,
    "sentences": _sentences,
    "judgements": _judgements,
}


def _outcome(stages: Stages, done: Outcome) -> dict[str, Any]:
    unique = len({k.sentence.task for k in done.items})
    out: dict[str, Any] = {
        "sentences_reported": done.reported,
        "items_that_pass_validation": done.passed,
        "items_held_out": len(done.held_out),
        "items": len(done.items),
        "images": len({name for k in done.items for name in k.task.pairs[k.pair]}),
        "unique_sentences": unique,
        "items_per_sentence": round(len(done.items) / unique, 4),
        "items_removed": done.reasons(),
    }
    if stages.config.costs is not None:
        out["cost"] = _costs(Path(stages.config.costs), unique, len(done.items))
    return out


def _costs(path: Path, sentences: int, items: int) -> dict[str, Any]:
    """The cost and workers of each task, of all, of a sentence and of an item."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=dict[str, _Cost])
    except (OSError, msgspec.DecodeError) as error:
        fix = 'Write such as {"sentence writing": {"cost": 9570.46, "workers": 99}}.'
        raise UserError(f"{path}: {error}.", fix) from None
    total = sum(one.cost for one in found.values())
    tasks = {name: {"cost": one.cost, "workers": one.workers} for name, one in sorted(found.items())}
    each = {"per_sentence": round(total / sentences, 4), "per_item": round(total / items, 4)}
    return {"tasks": tasks, "total": round(total, 2), **each}


def _most_first(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0])))
