"""The checks that guess: which model sees what, for each task, and which cue its control plants.

`BLIND` is the registry: check -> task -> `Guess`. Another model costs one line here: a function `fit(train, rng) ->
predict(test)` over `Sample`s, or the name of a model of the zoo, and the views it may see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pkgutil import resolve_name

import numpy as np

from veridical.auditing.data import AuditData, AuditItem, folds
from veridical.auditing.findings import EXAMPLES, FAIL, FAIL_LABEL, ORDER, Finding, Part, WorstExample, not_applicable
from veridical.auditing.harness import FULL, PARTS, Assessment, Effort, Reference, Run, assess, run
from veridical.auditing.pictures import Described, describe
from veridical.auditing.samples import Fit, Sample, View, sample, swapped
from veridical.benchmark.splits import blocks
from veridical.common.files import Json
from veridical.evaluation.bootstrap import resample, stream
from veridical.options.running import AuditOptions

_PLANTS = "veridical.auditing.samples:"
_TEXTS, _SEEING, _SHORT = "veridical.auditing.texts:", "veridical.auditing.pictures:", "veridical.auditing.texts:"


@dataclass(frozen=True)
class Guess:
    """One way to guess."""

    fit: str  # "module:attr" of the model; or the name of a neural one of the zoo
    sees: tuple[View, ...]
    plant: str  # the cue of its control
    reference: Reference = "majority"
    fail: float = FAIL
    swap: bool = False  # the context is another item's
    items: int | None = None  # at most so many items, where the model is slow; None: as the options say
    effort: Effort = FULL


@dataclass(frozen=True)
class CheckWords:
    """How a check is talked about."""

    title: str
    sees: str  # what the guesser looks at
    do: str  # what to do where it succeeds


_LABEL = Guess("veridical.auditing.harness:most_common", (), _PLANTS + "first_place", "chance", FAIL_LABEL)
_PLACE = replace(_LABEL, sees=("candidates",), fail=FAIL)
_READER = _TEXTS + "candidate_reader"

BLIND: dict[str, dict[str, Guess]] = {
    "label": {"statement": _LABEL},
    "position": {"choice": _PLACE, "matrix": _PLACE},
    "text-only": {
        "statement": Guess(_TEXTS + "query_reader", ("query",), _PLANTS + "query_word"),
        "choice": Guess(_READER, ("query", "candidates"), _PLANTS + "candidate_word", items=8_000),
    },
    "image-only": {
        "statement": Guess(_SEEING + "picture_reader", ("context",), _PLANTS + "tint"),
        "choice": Guess(_SEEING + "picture_reader", ("context",), _PLANTS + "tint", items=8_000),
    },
    "response-only": {
        "choice": Guess(_READER, ("candidates",), _PLANTS + "candidate_word", items=8_000),
        "matrix": Guess(_SEEING + "response_reader", ("responses",), _PLANTS + "tinted_response", items=4_000),
    },
    "question-only": {
        "choice": Guess(_TEXTS + "query_reader", ("query",), _PLANTS + "query_word"),
        "matrix": Guess(_SEEING + "picture_reader", ("context",), _PLANTS + "tint", items=4_000),
    },
    "swapped-context": {
        "statement": Guess(
            _SEEING + "joint_reader", ("query", "context"), _PLANTS + "query_word", swap=True, items=4_000
        ),
        "choice": Guess(_READER, ("query", "candidates"), _PLANTS + "candidate_word", swap=True, items=8_000),
        "matrix": Guess(
            _SEEING + "response_reader", ("context", "responses"), _PLANTS + "tinted_response", swap=True, items=4_000
        ),
    },
    "length": {
        "statement": Guess(_SHORT + "by_length", ("query",), _PLANTS + "longer_query"),
        "choice": Guess(_SHORT + "by_length", ("candidates",), _PLANTS + "longer"),
    },
    "frequency": {
        "choice": Guess(_SHORT + "by_frequency", ("candidates",), _PLANTS + "popular"),
        "matrix": Guess(_SHORT + "by_frequency", ("candidates",), _PLANTS + "popular"),
    },
    "overlap": {"choice": Guess(_SHORT + "by_overlap", ("query", "candidates"), _PLANTS + "overlapping")},
}

_SLOW = Effort(plants=1, tries=0)


def _neural(model: str, sees: tuple[View, ...], plant: str) -> Guess:
    return Guess(model, sees, plant, items=4_000, effort=_SLOW)


BLIND |= {
    "text-only-neural": {
        "statement": _neural("text", ("query",), _PLANTS + "query_word"),
        "choice": _neural("question-only", ("query", "candidates"), _PLANTS + "candidate_word"),
    },
    "image-only-neural": {"statement": _neural("image", ("context",), "veridical.auditing.models:stamped")},
    "response-only-neural": {"choice": _neural("response-only", ("candidates",), _PLANTS + "candidate_word")},
}

WORDS: dict[str, CheckWords] = {
    "label": CheckWords("Labels", "nothing and always says the most common label", "Balance the labels, per split."),
    "position": CheckWords(
        "Place of the right candidate",
        "nothing and always takes the same place",
        "Shuffle the candidates of each item.",
    ),
    "text-only": CheckWords(
        "Text without pictures",
        "the text only",
        "Look at the n-gram cues; write sentences by contrast (true of some pictures, false of others), or match "
        "distractors to the question.",
    ),
    "image-only": CheckWords(
        "Pictures without text",
        "the pictures only",
        "Use every picture with several texts of different answers; look at the element cues.",
    ),
    "response-only": CheckWords(
        "Candidates alone",
        "the candidates only",
        "Use every right answer as a distractor elsewhere (Adversarial Matching: `veridical match`).",
    ),
    "question-only": CheckWords(
        "Question alone", "the question only and guesses the place", "Shuffle the candidates of each item."
    ),
    "swapped-context": CheckWords(
        "Another item's context",
        "the item with the context of another item",
        "The context is not needed: make items that differ in the context only.",
    ),
    "length": CheckWords(
        "Length", "lengths only", "Choose distractors as long as right answers, or trim both to the same distribution."
    ),
    "frequency": CheckWords(
        "Frequency of candidates",
        "how often each candidate occurs",
        "Let every candidate be right as often as any other of its frequency: right once, wrong three times.",
    ),
    "overlap": CheckWords(
        "Words shared with the question",
        "how many words of the question a candidate repeats",
        "Choose distractors that are as close to the question as the right answer.",
    ),
}

WORDS |= {
    f"{name}-neural": CheckWords(f"{WORDS[name].title}, neural", f"{WORDS[name].sees} (a neural model)", WORDS[name].do)
    for name in ("text-only", "image-only", "response-only")
}

# Of matrices other words: their question is the context.
_MATRIX = {
    "question-only": CheckWords(
        "Context alone",
        "the context only and guesses the place",
        "Shuffle the candidates of each item.",
    )
}

_NO_TASK = {
    "statement": "For true/false statements this is covered by the labels and by the text-only check.",
    "choice": "Candidates that are texts are covered by the other checks.",
    "matrix": "Matrices have no texts: candidates alone and the swapped context cover it.",
}


def check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """Run one guessing check over every stage; the worst stage speaks."""
    guess = BLIND[name].get(data.task)
    words = _MATRIX.get(name, WORDS[name]) if data.task == "matrix" else WORDS[name]
    if guess is None:
        return not_applicable(name, words.title, _NO_TASK[data.task])
    found = [_stage(name, guess, words, data, options, stage) for stage in data.stages]
    worst = min(found, key=lambda f: ORDER.index(f.verdict))
    if len(found) == 1:
        return worst
    of_stage = list(zip(data.stages, found, strict=True))
    parts = [part._replace(name=f"{stage}: {part.name}") for stage, f in of_stage for part in f.parts]
    stages = {stage: f.to_json() for stage, f in of_stage}
    says = f"{data.stages[found.index(worst)].capitalize()} stage: {worst.says[:1].lower()}{worst.says[1:]}"
    return replace(worst, says=says, parts=tuple(parts), details=worst.details | {"stages": stages})


def _stage(name: str, guess: Guess, words: CheckWords, data: AuditData, options: AuditOptions, stage: str) -> Finding:
    rows = budgeted(data.labelled(stage), min(guess.items or options.items, options.items), options.seed)
    if not rows:
        return not_applicable(name, words.title, "No answers are known here.")
    if ":" not in guess.fit:
        return _neural_stage(name, guess, words, rows, data, options)
    pictures: Described | None = None
    if "context" in guess.sees or "responses" in guess.sees:
        pictures = describe(data.benchmark, rows)
        if pictures is None:
            return not_applicable(name, words.title, "Neither pixels nor objects of the pictures are in the benchmark.")
    s = sample(
        rows,
        guess.sees,
        pictures.context(rows) if pictures and "context" in guess.sees else None,
        pictures.responses(rows) if pictures and "responses" in guess.sees else None,
    )
    if "responses" in guess.sees and s.responses is None:
        return not_applicable(name, words.title, "The candidates' pictures are not in the benchmark.")
    own: Sample | None = None
    if guess.swap:
        block = blocks([[*r.item.origins, r.group] for r in rows])
        own, s = s, swapped(s, block, np.random.default_rng([options.seed, 9]))
    return _finding(name, guess, words, rows, s, own, pictures, options, resolve_name(guess.fit))


def _neural_stage(
    name: str, guess: Guess, words: CheckWords, rows: Sequence[AuditItem], data: AuditData, options: AuditOptions
) -> Finding:
    from veridical.auditing.models import neural_reader, stored_pictures

    context = stored_pictures(data, rows) if "context" in guess.sees else None
    if "context" in guess.sees and context is None:
        return not_applicable(name, words.title, "The pictures are not all stored in the benchmark.")
    fit = neural_reader(guess.fit, data, rows)
    return _finding(name, guess, words, rows, sample(rows, guess.sees, context), None, None, options, fit)


def _finding(
    name: str,
    guess: Guess,
    words: CheckWords,
    rows: Sequence[AuditItem],
    s: Sample,
    own: Sample | None,
    pictures: Described | None,
    options: AuditOptions,
    fit: Fit,
) -> Finding:
    parted = folds(rows, options.seed)
    plant = resolve_name(guess.plant)
    effort = guess.effort if options.controls else Effort(plants=0)
    if not parted:
        says = "Too few items that share nothing with each other to train and test on."
        return Finding(name, words.title, "cannot tell", says, do="Audit more items.")
    a = assess(s, parted, fit, plant, seed=options.seed, reference=guess.reference, fail=guess.fail, effort=effort)
    details: Json = {"items": len(a.run.tested), "error": a.run.error, "excess": a.run.excess.to_json()}
    extra = f" Pictures were described by their {pictures.source}." if pictures else ""
    if own is not None and len(a.run.tested):
        seen = run(own, parted, fit, options.seed, guess.reference)
        details["own_context"] = seen.accuracy.to_json()
        extra += f" With its own context the same model gets {100 * seen.accuracy.value:.1f}%."
    lead = "majority" if guess.reference == "majority" and a.run.level > (1 / s.choices).mean() + 1e-9 else "chance"
    return Finding(
        check=name,
        title=words.title,
        verdict=a.verdict,
        says=_says(a, words, lead, extra),
        number=a.run.accuracy.value,
        low=a.run.accuracy.low,
        high=a.run.accuracy.high,
        reference=a.run.level,
        unit="accuracy",
        reference_name=lead,
        advantage=a.advantage,
        power=a.power,
        examples=_given_away(a.run, rows) if a.verdict in ("warn", "fail") and guess.sees else (),
        do=_advice(a, words),
        parts=_by_split(a.run, rows, options.seed),
        details=details,
    )


def _says(a: Assessment, words: CheckWords, lead: str, extra: str) -> str:
    number, level = 100 * a.run.accuracy.value, 100 * a.run.level
    lines = f"A guesser that sees {words.sees} is right in {number:.1f}% of {len(a.run.tested):,} items;"
    lines += f" {lead} is {level:.1f}%.{extra}"
    if a.verdict == "pass" and a.power.smallest is not None:
        lines += f" A cue that gives away {100 * a.power.smallest:.1f}% of the items would have been seen."
    if a.verdict == "cannot tell":
        lines += " It did not find the planted cue reliably, so its silence says nothing."
    return lines


def _advice(a: Assessment, words: CheckWords) -> str:
    if a.verdict in ("warn", "fail"):
        return words.do
    if a.verdict == "cannot tell":
        need = "" if a.power.smallest is None else f" It would see a cue in {100 * a.power.smallest:.0f}% of them."
        return f"Audit more items: {len(a.run.tested):,} are too few for this check.{need}"
    return ""


def _given_away(found: Run, rows: Sequence[AuditItem]) -> tuple[WorstExample, ...]:
    """The items that were guessed right with most confidence, one per sentence or candidate."""
    out: dict[str, WorstExample] = {}
    for k in np.argsort(-np.where(found.right == 1, found.margin, -np.inf), kind="stable"):
        row = rows[found.tested[k]]
        if found.right[k] < 1 or len(out) == EXAMPLES:
            break
        text = readable(row)
        out.setdefault(text, WorstExample(row.item.id, text, f"{row.split}, lead {found.margin[k]:.2f}"))
    return tuple(out.values())


def readable(row: AuditItem) -> str:
    """An item in a line: its text and its right candidate."""
    if row.item.task == "statement":
        return f"{row.query} — {row.candidates[row.answer]}" if row.answer >= 0 else row.query
    right = f"→ {row.candidates[row.answer]}" if row.answer >= 0 else ""
    return f"{row.query} {right}".strip()


def _by_split(found: Run, rows: Sequence[AuditItem], seed: int) -> tuple[Part, ...]:
    split = np.array([rows[i].split for i in found.tested])
    group = np.array([rows[i].group for i in found.tested])
    out = []
    for name in sorted(set(split.tolist()), key=lambda n: (n != "train", n)):
        here = split == name
        _, code = np.unique(group[here], return_inverse=True)
        parts = np.rint(np.bincount(code, weights=found.right[here]) * PARTS).astype(np.int64)
        sums = np.stack([PARTS * np.bincount(code), parts], 1)
        e = resample(sums, 1000, stream(seed, "audit", name)).ratio(1, 0)
        value, level = float(found.right[here].mean()), float(found.reference[here].mean())
        out.append(Part(name, value, e.low, e.high, level))
    return tuple(out)


def budgeted(rows: Sequence[AuditItem], most: int, seed: int) -> list[AuditItem]:
    """At most so many items of the training split and of the others, whole groups at random."""
    out: list[AuditItem] = []
    for training in (True, False):
        part = [r for r in rows if (r.split == "train") == training]
        if len(part) > most:
            names = sorted({r.group for r in part})
            rank = dict(zip(names, np.random.default_rng([seed, 5]).permutation(len(names)).tolist(), strict=True))
            part.sort(key=lambda r: rank[r.group])
            part = part[:most]
        out += part
    return out
