"""What an NLVR2 benchmark says of itself: the config of its manifest, the words of its card, its licence."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from veridical.builders.nlvr2.collection import collection
from veridical.builders.nlvr2.stages import Stages
from veridical.builders.nlvr2.validation import Outcome

INCOMPLETE = (
    "The sentences were judged by running their programs on annotations that may miss objects: some labels will be "
    "wrong. Let people validate them before others compete on this."
)
GENERATED = (
    "were generated, not written by people: each is the English of a program over the annotated objects of two "
    "photographs, chosen to be true of two pairs of a set of eight and false of the other two"
)
PEOPLE, UNKNOWN = "people's", "unknown"
_OPEN_LICENCE = re.compile(r"\bCC(?:0|-BY(?:-NC)?(?:-SA|-ND)?)-\d\.\d\b")


def about(stages: Stages, done: Outcome) -> dict[str, Any]:
    """The config that the benchmark carries: what made it, by which rules, and every count."""
    config = stages.config
    rules = {"pruning": stages.rule_of_pruning, "interesting": stages.rule_of_interest}
    return {
        "format": "nlvr2",
        "source": {} if stages.source is None else stages.source.config(),
        "splits": dict(config.splits) if config.splits else "section 3.4",
        "words": {"thesaurus": type(stages.wordnet).__name__, "vectors": stages.has_vectors},
        "similarity": "a saved search" if config.search else stages.encoder,
        "least_similarity": stages.least_similarity,
        "distance": config.distance,
        "share": config.share,
        **{name: {"by": rule.name, "rule": rule.about, **rule.facts} for name, rule in rules.items()},
        "sentences": _origin(stages),
        "judgements": _judged(stages),
        "redone_by_people": sorted(set(stages.work.redone)),
        "secret": bool(config.secret),
        "inputs": config.hashes(*config.files),
        "collection": collection(stages, done),
        "card": _card(stages, done),
    }


def _origin(stages: Stages) -> str | dict[str, int]:
    """Who wrote the sentences: one that has a program was generated, whichever file it came from."""
    generated = sum(one.program is not None for one in stages.sentences if one.sentence)
    written = sum(one.program is None for one in stages.sentences if one.sentence)
    if generated and written:
        return {"generated": generated, PEOPLE: written}
    return "generated" if generated else PEOPLE


def _judged(stages: Stages) -> str:
    if stages.judged_by_people:
        return PEOPLE
    return "each sentence's program, run on " + ("exact annotations" if stages.exact else "incomplete annotations")


def _card(stages: Stages, done: Outcome) -> list[str]:
    """Paragraphs for whoever opens the benchmark."""
    origin = _origin(stages)
    kinds = Counter(k.sentence.kind for k in done.items if k.sentence.kind)
    rules = f" Kinds of programs: {', '.join(sorted(kinds))}." if kinds else ""
    if isinstance(origin, dict):
        sentences = f"{origin['generated']:,} sentences {GENERATED}; people wrote {origin[PEOPLE]:,} more.{rules}"
    else:
        sentences = f"The sentences {GENERATED}.{rules}" if origin == "generated" else "People wrote the sentences."
    judged = "People judged them." if stages.judged_by_people else f"Labels are what {_judged(stages)}, gives."
    if not stages.judged_by_people and not stages.exact:
        judged += f" {INCOMPLETE}"
    parts = [
        sentences,
        judged,
        f"Rules for photographs: {stages.rule_of_pruning.about}; {stages.rule_of_interest.about}.",
    ]
    if known := _licences(stages, done):
        parts.append("Licences of the photographs (`photographs.parquet` has each one's): " + "; ".join(known) + ".")
    return parts


def licence(stages: Stages, done: Outcome) -> str:
    """The licence of a benchmark where none was given: that of its photographs, where they have one in common."""
    known = _licences(stages, done)
    if len(known) != 1 or UNKNOWN in known:
        return "Each photograph has its own licence: see photographs.parquet." if known != [UNKNOWN] else ""
    named = set(_OPEN_LICENCE.findall(known[0]))
    return named.pop() if len(named) == 1 else known[0]


def _licences(stages: Stages, done: Outcome) -> list[str]:
    names = {name for k in done.items for name in k.task.pairs[k.pair]}
    return sorted({stages.used[name].licence or UNKNOWN for name in names})
