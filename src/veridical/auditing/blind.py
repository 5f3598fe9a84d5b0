"""The checks that guess: each trains a model that does not see what it would need, and compares it with the reference.

Which model sees what of which task, and which cue its control plants, stands in `checks.json`. Another model costs a
line there: a function `fit(train, rng) -> predict(test)` over `Sample`s, or the name of a model of the zoo.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pkgutil import resolve_name

import numpy as np

from veridical.auditing import findings, words
from veridical.auditing.data import AuditData, AuditItem, Fit, Sample, codes, folds, normal, sample, swapped
from veridical.auditing.findings import ABOUT, Finding, Guesser, Part, WorstExample, not_applicable
from veridical.auditing.harness import FULL, PARTS, Effort, Run, assess, over_groups, run
from veridical.auditing.pictures import describe
from veridical.auditing.reading import ENCODER, encoder_name, learn
from veridical.benchmark.splits import blocks
from veridical.common.files import Json
from veridical.evaluation.bootstrap import stream
from veridical.options.running import AuditOptions

_SLOW = Effort(plants=1, tries=0)
_SLOWER_THAN_WORDS = Effort(plants=1, tries=1)
_FEW = 1000  # items, with which a slow model is tried more often
_SPEAKS: tuple[findings.Verdict, ...] = ("fail", "warn", "cannot tell", "pass", "not applicable")  # of two stages
_NO_TASK = {
    "statement": "For true/false statements this is covered by the labels and by the text-only check.",
    "choice": "Candidates that are texts are covered by the other checks.",
    "matrix": "Matrices have no texts: candidates alone and the swapped context cover it.",
}


def check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """Run one guessing check over every stage; the worst speaks: of two that fail the one that gives away more."""
    if data.task not in ABOUT[name].guesses:
        return not_applicable(name, _NO_TASK[data.task], data.task)
    found = [_stage(name, data, options, stage) for stage in data.stages]
    return found[0] if len(found) == 1 else of_stages(dict(zip(data.stages, found, strict=True)))


def of_stages(found: Mapping[str, Finding]) -> Finding:
    """What is said of all stages: what was found in one speaks before what another cannot tell, which is said too."""
    name, worst = min(found.items(), key=lambda one: (_SPEAKS.index(one[1].verdict), -(one[1].advantage or 0.0)))
    says = f"{name.capitalize()} stage: {worst.says[:1].lower()}{worst.says[1:]}"
    if worst.verdict in ("fail", "warn"):
        unsure = [stage for stage, f in found.items() if f.verdict == "cannot tell"]
        says += "".join(f" Of the {stage} stage this check cannot tell." for stage in unsure)
    parts = [part._replace(name=f"{stage}: {part.name}") for stage, f in found.items() for part in f.parts]
    stages = {stage: f.to_json() for stage, f in found.items()}
    return replace(worst, says=says, parts=tuple(parts), details=worst.details | {"stages": stages})


@dataclass(frozen=True)
class Shown:
    """What a guesser is shown, and the guesser."""

    sample: Sample
    fit: Fit
    source: str = ""  # what the pictures are described by
    own: Sample | None = None  # the items as they are, where `sample` has the context of others


def _shown(
    guess: Guesser, rows: Sequence[AuditItem], data: AuditData, seed: int, among: Sequence[AuditItem]
) -> Shown | str:
    """What a guesser is shown of the items, or why it cannot be."""
    looks = "context" in guess.sees
    if guess.neural:
        from veridical.auditing.models import neural_reader, stored_pictures

        marks = stored_pictures(data, rows) if looks else None
        if looks and marks is None:
            return "The pictures are not all stored in the benchmark."
        return Shown(sample(rows, guess.sees, marks), neural_reader(guess.fit, data, rows))
    responds = "responses" in guess.sees
    pictures = describe(data.benchmark, rows) if looks or responds else None
    if pictures is None and (looks or responds):
        return "Neither pixels nor objects of the pictures are in the benchmark."
    context = pictures.context(rows) if pictures and looks else None
    s = sample(rows, guess.sees, context, pictures.responses(rows) if pictures and responds else None, among)
    if responds and s.responses is None:
        return "The candidates' pictures are not in the benchmark."
    if guess.encoder:
        learn(text for row in rows for text in (row.query, *row.candidates))
    shown = Shown(s, resolve_name(guess.fit), pictures.source if pictures else "")
    if not guess.swap:
        return shown
    block = blocks([[*r.item.origins, r.group] for r in rows])
    return replace(shown, sample=swapped(s, block, np.random.default_rng([seed, 9])), own=s)


def _stage(name: str, data: AuditData, options: AuditOptions, stage: str) -> Finding:
    about = ABOUT[name].about(data.task)
    guess = about.guesses[data.task]
    labelled = data.labelled(stage)
    rows = budgeted(labelled, min(guess.items or options.items, options.items), options.seed)
    shown = _shown(guess, rows, data, options.seed, labelled) if rows else "No answers are known here."
    if isinstance(shown, str):
        return not_applicable(name, shown, data.task)
    parted = folds(rows, options.seed)
    if not parted:
        says = "Too few items that share nothing with each other to train and test on."
        return Finding(name, about.title, "cannot tell", says, do="Audit more items.")
    a = assess(
        shown.sample, parted, shown.fit, resolve_name(guess.plant), seed=options.seed, reference=guess.reference,
        fail=guess.fail, effort=_effort(guess, options, len(rows)),
    )  # fmt: skip
    details: Json = {"items": len(a.run.tested), "error": a.run.error, "excess": a.run.excess.to_json()}
    details |= {"sampled": [len(rows), len(labelled)]} if len(rows) < len(labelled) else {}
    extra = f" Pictures were described by their {shown.source}." if shown.source else ""
    if len(rows) < len(labelled):
        extra += f" It saw a sample, {len(rows):,} of {len(labelled):,} items."
    if guess.encoder and encoder_name() != ENCODER:
        extra += " The text encoder is not installed (the extra `offline`): meanings were read from hashed words."
    if name == "position" and len(a.run.tested):
        most = np.bincount(shown.sample.answer[a.run.tested]).max() / len(a.run.tested)
        extra += f" The best place, chosen with all answers in hand, would be right in {100 * most:.1f}%."
    if shown.own is not None and len(a.run.tested):
        seen = run(shown.own, parted, shown.fit, options.seed, guess.reference)
        details["own_context"] = seen.accuracy.to_json()
        extra += f" With its own context the same model gets {100 * seen.accuracy.value:.1f}%."
    majority = guess.reference == "majority" and a.run.level > (1 / shown.sample.choices).mean() + 1e-9
    lead = "majority" if majority else "chance"
    says, do = words.of_guesser(a, about, lead, extra)
    return Finding(
        check=name,
        title=about.title,
        verdict=a.verdict,
        says=says,
        number=a.run.accuracy.value,
        low=a.run.accuracy.low,
        high=a.run.accuracy.high,
        reference=a.run.level,
        unit="accuracy",
        reference_name=lead,
        advantage=a.advantage,
        power=a.power,
        examples=_given_away(a.run, rows) if a.verdict in ("warn", "fail") and guess.sees else (),
        do=do,
        parts=_by_split(a.run, rows, options.seed),
        details=details,
    )


def _effort(guess: Guesser, options: AuditOptions, items: int) -> Effort:
    if not options.controls:
        return Effort(plants=0)
    if guess.encoder:
        return _SLOWER_THAN_WORDS if items > _FEW else replace(_SLOWER_THAN_WORDS, tries=3)
    return _SLOW if guess.neural else FULL


def _given_away(found: Run, rows: Sequence[AuditItem]) -> tuple[WorstExample, ...]:
    """The items that were guessed right with most confidence, one per sentence or candidate."""
    out: dict[str, WorstExample] = {}
    for k in np.argsort(-np.where(found.right == 1, found.margin, -np.inf), kind="stable"):
        row = rows[found.tested[k]]
        if found.right[k] < 1 or len(out) == findings.EXAMPLES:
            break
        text = readable(row)
        out.setdefault(text, WorstExample(row.item.id, text, f"{row.split}, no. {len(out) + 1} of the surest"))
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
        right, level = found.right[split == name], found.reference[split == name]
        columns = [np.ones(len(right)), right]
        e = over_groups(group[split == name], columns, 1000, stream(seed, "audit", name), PARTS).ratio(1, 0)
        out.append(Part(name, float(right.mean()), e.low, e.high, float(level.mean())))
    return tuple(out)


def _responses(row: AuditItem) -> Iterator[str]:
    if row.item.task == "choice":
        yield from (f"response {row.split} {normal(c)}" for c in row.candidates)


def budgeted(rows: Sequence[AuditItem], most: int, seed: int) -> list[AuditItem]:
    """At most so many items of the training split and of the others, whole groups at random.

    Where items share responses that are right once, those that share them are taken together.
    """
    out: list[AuditItem] = []
    for training in (True, False):
        part = [r for r in rows if (r.split == "train") == training]
        if len(part) > most:
            block = blocks([[r.group, *_responses(r)] for r in part])
            if np.bincount(block).max() > most:
                block = codes(r.group for r in part)
            rank = np.random.default_rng([seed, 5]).permutation(int(block.max()) + 1)
            part = [part[i] for i in np.argsort(rank[block], kind="stable")[:most]]
        out += part
    return out
