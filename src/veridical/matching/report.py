"""What `veridical match` tells of its work: sizes, the certified gap, models, resolution, biases, notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from veridical.common.files import Json
from veridical.common.result import Result, Table, plain
from veridical.matching.integrity import Bias
from veridical.matching.lambda_curve import LambdaCurve
from veridical.matching.scores.kinds import CELLS, SMALLEST
from veridical.matching.stages import Matched, StageOptions


@dataclass(frozen=True)
class MatchReport(Result):
    """What was matched, how well, and what it gives away."""

    out: Path
    pairs: int
    rounds: int
    gap: float  # the largest certified relative gap, over folds, rounds and stages, to the optimum of the W in use
    reserved: bool  # in some fold that is the optimum of a restricted problem: see `auction.match`
    seconds: float
    peak_bytes: int
    splits: dict[str, int]
    folds: int
    models: dict[str, Json]  # stage -> models and their calibration
    kinds: Json  # the resolution of relevance, asked for and used
    weight: float
    integrity: tuple[Bias, ...] = ()
    sweep: LambdaCurve | None = None
    notes: tuple[str, ...] = ()
    stages: dict[str, float] = field(default_factory=dict)  # seconds of each

    def to_json(self) -> Json:
        out: Json = plain(self)
        return out | {"lambda": out.pop("weight"), "sweep": None if self.sweep is None else self.sweep.to_json()}

    def parts(self) -> Iterator[Table | str]:
        rows = [("question/answer pairs", f"{self.pairs:,}"), ("folds", f"{self.folds:,}")]
        rows += [(f"questions, {split}", f"{count:,}") for split, count in self.splits.items()]
        restricted = " (of what frequent texts left)" if self.reserved else ""
        rows += [("largest certified gap", f"{self.gap:.3%}{restricted}"), ("lambda", f"{self.weight:g}")]
        for stage, used in self.kinds["used"].items():
            least, most = min(used.values()), max(used.values())
            sizes = f"{least} to {most}" if least < most else f"{most}"
            rows.append((f"{stage}s, questions of a kind (0: single pairs)", sizes))
        rows += [(f"seconds, {stage}", f"{seconds:.1f}") for stage, seconds in self.stages.items()]
        for stage, models in self.models.items():
            for kind in ("relevance", "similarity"):
                found = models[kind]["calibration"]
                label = f"{stage}s, {kind} ({models[kind]['model']})"
                rows.append((label, f"AUC {found['auc']:.3f}, calibration error {found['error']:.3f}"))
            if choices := models.get("choices"):
                said = f"{choices['right']:.3f}, {choices['wrong']:.3f}"
                rows.append((f"{stage}s, mean P_rel of right and wrong choices", said))
        yield Table("", ("what", "value"), rows)
        if self.integrity:
            biases = [
                (b.stage, b.name, b.says, str(b.before) if b.before else "", str(b.after)) for b in self.integrity
            ]
            title = f"Right choices in %, by chance {100 / (self.rounds + 1):.3g}"
            yield Table(title, ("stage", "bias", "guesses", "random", "matched"), biases)
        if self.sweep is not None:
            names = ("alone", "all", "relevance", "question")
            points = [
                (f"{p.weight:g}", *(str(p.machines[n]) for n in names), str(p.people) if p.people else "")
                for p in self.sweep.points
            ]
            yield Table("Right choices in %", ("lambda", *names, "people"), points)
            yield f"Recommended: lambda {self.sweep.recommended:g}, {self.sweep.why}."
        yield from self.notes
        yield f"Made: {self.out}"


def kinds_used(options: StageOptions, matched: Mapping[str, Matched]) -> Json:
    """The resolution of relevance for manifest and report; where `used` is 0 nothing random was added either."""
    used = {stage: one.kinds for stage, one in matched.items()}
    return {"asked": options.kinds.size, "used": used, "noise": options.kinds.noise, "own": options.kinds.own}


def notes_on(options: StageOptions, matched: Mapping[str, Matched]) -> list[str]:
    """What people should know of a matching before they rely on it."""
    out = []
    for stage, one in matched.items():
        if one.reserved:
            out.append(
                f"Frequent {stage}s left little choice in folds {_listed(one.reserved)}: places were kept free for "
                "later rounds, and the gap is to the best of what was left."
            )
        pairs = [fold for fold, size in one.kinds.items() if not size]
        if options.kinds.size and pairs and options.reranker is None:
            least = CELLS * max(SMALLEST, options.wrong + 1)
            out.append(
                f"Folds {_listed(pairs)} have fewer than {least} questions: relevance of {stage}s is that of single "
                "pairs there, as in the paper (--kinds 0). The choices of such folds may show the odd one out."
            )
    if options.kinds.size and options.reranker is not None:
        out.append("A cross-encoder judges single pairs: --kinds was not used.")
    return out


def _listed(folds: list[str] | tuple[str, ...], most: int = 5) -> str:
    """
    >>> _listed(["0", "1"]), _listed([str(k) for k in range(9)])
    ('0, 1', '0, 1, 2, 3, 4 and 4 others')
    """
    more = f" and {len(folds) - most} others" if len(folds) > most else ""
    return ", ".join(folds[:most]) + more
