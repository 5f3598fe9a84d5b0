"""Findings in plain words: what lies beside chance, what the control showed, how many items would be enough.

Estimates have noise: the share of a planted cue that was won may come out below 0 or above 1, and the smallest effect
below what so few items allow. What is shown is held within what is possible; the JSON keeps the estimates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from veridical.auditing.findings import Check, Finding, Power, Verdict
from veridical.auditing.harness import Assessment

READING = (
    "Chance: what blind guessing among the candidates gets. Majority: always the answer most common in training.",
    "Positive control: the same guesser is run again on the same items, after a cue that gives the answer away was "
    "planted into some of them. Power: how often so strong a cue would be called real.",
    "A cue that “gives away 10% of the items” tells the answer of every tenth item, and nothing of the others.",
    "z: how many standard errors a cue's rate lies from what was expected. Log-odds: 0 where a cue tells nothing; "
    "above 0 it goes with true or right, below 0 with false or wrong.",
)


def about(items: int) -> str:
    """A number of items with two digits that count, rounded up.

    >>> about(81), about(541), about(1476)
    ('81', '550', '1,500')
    """
    step = 10 ** max(len(str(items)) - 2, 0)
    return f"{-(-items // step) * step:,}"


def percent(share: float) -> str:
    """A share in whole percent, rounded down: 79.6% is not the 80% that a control needs.

    >>> percent(0.796), percent(1.0)
    ('79%', '100%')
    """
    return f"{math.floor(100 * share + 1e-9)}%"


def of_guesser(a: Assessment, check: Check, lead: str, extra: str) -> tuple[str, str]:
    """What a guesser found, and what to do about it."""
    tested, sees = len(a.run.tested), a.power.sees
    says = f"A guesser that sees {check.sees} is right in {100 * a.run.accuracy.value:.1f}% of {tested:,} items;"
    says += f" {lead} is {100 * a.run.level:.1f}%.{extra}{_beside(a, lead)}"
    if a.verdict == "cannot tell":
        if a.power.seen is None:
            return says, "Run it with its control: without one nobody knows what it would have seen."
        if sees is None:
            says += " It did not find the planted cue reliably, so its silence says nothing."
        else:
            says += f" A cue that gives away {100 * sees:.0f}% of the items would have been seen, a rarer one not."
        return says, more_items(tested, a.power)
    if a.verdict == "pass" and sees is not None:
        says += f" A cue that gives away {100 * sees:.1f}% of the items would have been seen."
    return says, check.advice(a.verdict)


def _beside(a: Assessment, lead: str) -> str:
    """Why an interval that leaves out the reference is no finding."""
    if a.verdict not in ("pass", "cannot tell"):
        return ""
    if a.run.accuracy.high < a.run.level:
        return (
            f" That is below {lead}, and wins nothing. Cross-validation makes it so: answers that are rare among the "
            "items tested are common among the others, which the guesser learned from."
        )
    if a.run.accuracy.low > a.run.level:
        return (
            f" The 95% interval lies above {lead}, but by less than the three standard errors that an audit of many "
            "checks asks for: it may well be luck."
        )
    return ""


def more_items(tested: int, power: Power) -> str:
    """What to do where a control was not found."""
    if power.enough is None:
        return f"Audit more items: {tested:,} do not teach this guesser the planted cue, how many would is not known."
    return f"Audit more items: {tested:,} are too few for this check, {_enough(power)} would be enough."


def _enough(power: Power) -> str:
    """How many items the control needs; where nothing was seen, how many a perfect guesser would."""
    return f"{'about' if power.sees is not None else 'at least about'} {about(power.enough or 0)}"


def lacking(found: Sequence[Finding]) -> list[Finding]:
    """Those that cannot tell, and would with more items."""
    return [f for f in found if f.verdict == "cannot tell" and f.power is not None and f.power.enough is not None]


def most(found: Sequence[Finding]) -> str:
    """How many items would be enough for all that lack some."""
    return about(max(f.power.enough or 0 for f in found if f.power))


def too_few(found: Sequence[Finding]) -> str:
    """All checks that lack items, in one paragraph."""
    named = ", ".join(f"{f.title} ({_enough(f.power)})" for f in found if f.power)
    return f"There are too few items for {named}. With about {most(found)} items all of them could tell."


def notes(f: Finding) -> list[str]:
    """The small print of a finding: its control, its smallest effect, parts that lie beside their reference."""
    out = [] if f.power is None else [*_control(f.verdict, f.power), *_smallest(f.verdict, f.power)]
    beside = [p for p in f.parts if p.reference is not None and p.low is not None and p.high is not None]
    if (
        f.unit == "accuracy"
        and len(f.parts) > 1
        and f.verdict in ("pass", "cannot tell")
        and any(not (p.low or 0) <= (p.reference or 0) <= (p.high or 0) for p in beside)
    ):
        out.append("Single rows may lie beside their reference by chance: the verdict is about all items together.")
    return out


def _control(verdict: Verdict, p: Power) -> list[str]:
    if p.control is None or p.seen is None:
        return []
    if verdict in ("warn", "fail") and not p.ok:
        return ["The control does not matter here: a real cue was found without it."]
    said = f"Positive control {'found' if p.ok else 'not found'}: {p.plant[:1].lower()}{p.plant[1:]}, in "
    said += f"{100 * p.control:.0f}%. It is seen with {percent(p.seen)} power; 80% are needed."
    if p.gain is not None:
        won = min(max(p.gain, 0.0), 1.0)
        part = "none" if won < 0.005 else "all" if won > 0.995 else f"about {100 * won:.0f}%"
        said += f" Of the items that the cue gives away and that were wrong without it, the guesser wins {part}."
    return [said if p.plant else "Positive control not run: there are too few items to test on."]


def _smallest(verdict: Verdict, p: Power) -> list[str]:
    if p.sees is None or verdict not in ("pass", "cannot tell"):
        return []
    said = f"Smallest effect it sees with 80% power: {100 * p.sees:.1f}% of the items given away"
    if p.ok and p.control is not None and p.sees > p.control:
        return [f"{said}, by the number of items; that the control's {100 * p.control:.0f}% was seen is partly luck."]
    if p.sees > p.ideal:
        said += f" (a guesser that misses no cue would see {100 * p.ideal:.1f}% with as many items)"
    return [f"{said}."]
