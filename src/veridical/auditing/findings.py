"""The checks of an audit (`checks.json`), what they find, and every rule by which they say pass, warn or fail.

**Effects.** A check that guesses without doing the task is measured by its *advantage*: the share of the way from the
reference (chance, or always the most common answer, whichever is higher) to a perfect score. So 5 points above 50 are
10%, as are 7.5 points above 25. A cue that gives away 10% of the items is worth an advantage of 10%.

**Verdicts of checks that guess** (blind models, length, overlap ...), from the advantage over the pooled items, groups
resampled:

- *cannot tell*: the positive control failed. A cue was planted that gives away `FAIL` of the items, and the same model
  with the same budget would not have seen it with 80% power. A weak auditor must not certify anything.
  Where the items are too few for it, the least cue that would have been seen is said instead.
- *fail*: the advantage is real and at least `FAIL`.
- *warn*: the advantage is real, but smaller.
- *pass*: no advantage that is real; the smallest one that would have been seen with 80% power stands beside it.

*Real* means that it exceeds `CRITICAL` standard errors of the bootstrap over groups (one-sided 0.13%), since an audit
makes some ten such tests and a clean benchmark should pass them all. Intervals that are shown are 95%.

**Other verdicts**

| check | warn | fail |
|---|---|---|
| label | a real majority | its advantage over chance is 20% (60 : 40) or more |
| joint, of statements | labels of pairs are really more (less) often opposite than in their groups | never |
| single-label | more than `RARE` of the groups | really more than if labels ignored the groups |
| n-grams, elements | some are tied to the answer (1%, Bonferroni) | the best one alone is worth `FAIL_CUE` |
| leaks | anything is in two splits | it touches `FAIL_LEAK` of a split's items, or more |
| pictures, near texts | beyond what coincides by chance within a split | the same, by `FAIL_LEAK` or more |
| shared texts | any | remembering their labels has a real advantage of `FAIL` |
| ambiguous, unanswerable | more than `RARE` of the judged items | `FAIL_JUDGED` or more |
| agreement | alpha below `GOOD_ALPHA` | below `LEAST_ALPHA` (Krippendorff's limits) |
| human ceiling | below `GOOD_HUMAN` | below `LEAST_HUMAN`, or no better than the reference |
| canary | the benchmark carries none | it is in the corpus given |
| membership | any text is in the corpus given | `FAIL_LEAK` of the texts, or more |

Leaks of an official release that its authors cannot take back still fail: the number is what a user must know.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from typing import Literal, NamedTuple

import msgspec

from veridical.common.files import Json

Verdict = Literal["pass", "warn", "fail", "cannot tell", "not applicable"]
ORDER: tuple[Verdict, ...] = ("fail", "cannot tell", "warn", "pass", "not applicable")  # the worst first

CRITICAL = 3.0  # standard errors: one-sided 0.13%
POWERED = 0.842  # standard errors more, to be seen with 80% power
SEEN = CRITICAL + POWERED
FAIL = 0.10  # advantage; also what the positive control plants
FAIL_CUE = 0.05  # advantage of one cue alone
FAIL_LEAK = 0.01  # share of a split's items
FAIL_JUDGED = 0.05  # share of the judged items
RARE = 0.01
GOOD_ALPHA, LEAST_ALPHA = 0.8, 0.667
GOOD_HUMAN, LEAST_HUMAN = 0.9, 0.8
EXAMPLES = 8  # worst examples shown

View = Literal["query", "candidates", "context", "responses"]
Reference = Literal["majority", "chance"]


class Guesser(msgspec.Struct, frozen=True):
    """One way to guess."""

    fit: str  # "module:attr" of a function `fit(train, rng) -> predict(test)`; or the name of a model of the zoo
    sees: tuple[View, ...]
    plant: str  # the cue of its control
    reference: Reference = "majority"
    fail: float = FAIL
    swap: bool = False  # the context is another item's
    encoder: bool = False  # it reads with the text encoder
    items: int | None = None  # at most so many items, where the model is slow; None: as the options say

    @property
    def neural(self) -> bool:
        """A model of the zoo: slow, so only run where it is asked for, and with the least control."""
        return ":" not in self.fit


class Check(msgspec.Struct, frozen=True):
    """A check, and how it is talked about."""

    function: str  # "module:attr" of a function (name, AuditData, AuditOptions) -> Finding
    title: str
    sees: str = ""  # what its guesser looks at
    do: str = ""  # what to do about what it finds
    of_task: dict[str, dict[str, str]] = {}  # task -> other words for it
    needs: tuple[Literal["splits", "texts"], ...] = ()  # several splits; texts
    guesses: dict[str, Guesser] = {}  # task -> how its guesser does it

    def about(self, task: str) -> Check:
        """The check in the words of a task."""
        return msgspec.structs.replace(self, **self.of_task.get(task, {}))

    def advice(self, verdict: Verdict) -> str:
        return self.do if verdict in ("warn", "fail") else ""


class CheckChapter(msgspec.Struct, frozen=True):
    """Checks that stand together on the page."""

    about: str
    checks: dict[str, Check]


CHAPTERS = msgspec.json.decode(
    files("veridical.auditing").joinpath("checks.json").read_bytes(), type=dict[str, CheckChapter]
)
ABOUT = {name: check for chapter in CHAPTERS.values() for name, check in chapter.checks.items()}


@dataclass(frozen=True, slots=True)
class WorstExample:
    """One of the worst items, or cues."""

    id: str
    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Power:
    """What a check could have seen, all as advantages (shares of items given away)."""

    smallest: float | None  # the least planted cue that it sees with 80% power; None: not even one in every second item
    ideal: float  # the same for a model that never misses a cue: what the number of items alone allows
    control: float | None = None  # share of items that the positive control's cue gives away
    gain: float | None = None  # what the model made of it: 1 is all of it
    seen: float | None = None  # the power at the control's strength
    plant: str = ""  # the cue, in words
    enough: int | None = None  # items with which the control would be found, about; None: found, or not known

    @property
    def sees(self) -> float | None:
        """The smallest effect to rely on: an estimate below what the number of items allows is luck."""
        return None if self.smallest is None else max(self.smallest, self.ideal)

    @property
    def ok(self) -> bool:
        """The control was found."""
        return self.control is None or (self.seen is not None and self.seen >= 0.8)


class Part(NamedTuple):
    """A finding's number on a part of the items."""

    name: str
    number: float
    low: float | None = None
    high: float | None = None
    reference: float | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    check: str
    title: str
    verdict: Verdict
    says: str  # one sentence: what was found
    number: float | None = None
    low: float | None = None  # its 95% interval
    high: float | None = None
    reference: float | None = None  # what it would be if nothing were wrong
    unit: Literal["accuracy", "share", "count", "alpha", "auc"] = "share"
    reference_name: str = ""
    advantage: float | None = None  # the way from the reference to a perfect score
    power: Power | None = None
    examples: tuple[WorstExample, ...] = ()
    do: str = ""  # what to do about it
    parts: tuple[Part, ...] = ()  # the same of splits, or of stages
    details: Json = field(default_factory=dict)
    seconds: float = 0.0

    def to_json(self) -> dict[str, object]:
        out = asdict(self)
        out["parts"] = [part._asdict() for part in self.parts]
        out["interval"] = None if self.low is None or self.high is None else [self.low, self.high]
        return out

    def value(self, number: float) -> str:
        """A number in the unit of the check."""
        if self.unit == "count":
            return f"{number:,.0f}"
        return f"{number:.3f}" if self.unit == "alpha" else f"{100 * number:.1f}%"

    def shown(self) -> tuple[str, str, str]:
        """What was found, what it is held against, and how small a cue would have been seen, for a table."""
        found = "" if self.number is None else self.value(self.number)
        if found.endswith("%") and self.low is not None and self.high is not None:
            found += f" [{100 * self.low:.1f}, {100 * self.high:.1f}]"
        expected = self.reference_name
        if self.reference and self.unit != "count":
            level = f"{self.reference:.2f}" if self.unit == "alpha" else self.value(self.reference)
            expected = f"{expected} {level}".strip()
        seen = f"{100 * self.power.sees:.1f}%" if self.power and self.power.sees else ""
        return found, expected, seen


def not_applicable(check: str, why: str, task: str = "") -> Finding:
    """A check that this task has no use for."""
    return Finding(check, ABOUT[check].about(task).title, "not applicable", why)


def advantage(accuracy: float, reference: float) -> float:
    """How far from the reference to a perfect score.

    >>> round(advantage(0.55, 0.5), 3), round(advantage(0.325, 0.25), 3)
    (0.1, 0.1)
    """
    return (accuracy - reference) / max(1.0 - reference, 1e-9)


def real(excess: float, error: float) -> bool:
    """Whether an excess is more than chance makes of it."""
    return excess > 0 and excess > CRITICAL * error


def power_of(gain: float, error: float) -> float:
    """The chance that an expected gain is called real."""
    if error <= 0:
        return 1.0 if gain > 0 else 0.0
    return 0.5 * math.erfc(-(gain / error - CRITICAL) / math.sqrt(2))


def ideal_power(error: float, reference: float) -> float:
    """The least advantage that so large a standard error lets through with 80% power."""
    return SEEN * error / max(1.0 - reference, 1e-9)


def enough_items(items: int, seen: float, wanted: float) -> int | None:
    """With how many items an effect is seen, where so many see another: it shrinks with the root of their number.

    >>> enough_items(80, 0.26, 0.1), enough_items(80, 0.05, 0.1)
    (541, None)
    """
    needed = math.ceil(items * (seen / wanted) ** 2)
    return needed if needed > items else None


def graded(share: float, warn_above: float, fail_from: float) -> Verdict:
    """The verdict of a share of bad things."""
    if share >= fail_from:
        return "fail"
    return "warn" if share > warn_above else "pass"
