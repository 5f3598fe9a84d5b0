"""Statistics for people: the tables of `veridical stats`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from veridical.common.files import Json
from veridical.common.result import Table

if TYPE_CHECKING:
    from veridical.statistics import SplitStats, Stats
    from veridical.statistics.language import Lengths

BAR = 40  # characters of the longest bar of a histogram
BINS = 16  # rows of a histogram, at most
MINED = {  # the columns of V-PROM's Table 1
    "object attribute": "object attr.",
    "human attribute": "human attr.",
    "object category": "categories",
    "object count": "counts",
}
TAIL = 0.01  # the share of the longest sentences that are shown as one row


def parts(found: Stats) -> Iterator[Table | str]:
    """The statistics of a benchmark as tables, and what their numbers mean."""
    columns = dict(found.splits) if len(found.splits) == 1 else {"all": found.total, **found.splits}
    if len(columns) == 1 and found.total is not next(iter(columns.values())):
        columns = {"all, with pruned": found.total, **columns}
    parts = {found.benchmark: _counts, "People": _people, "Agreement": _agreement, "Validation": _validation}
    for title, make in parts.items():
        made = [make(summary) for summary in columns.values()]
        names = dict.fromkeys(name for rows in made for name in rows)  # a row that one column lacks is empty there
        lines = [[name, *(rows.get(name, "") for rows in made)] for name in names]
        lines = [line for line in lines if any(line[1:])]
        if lines:
            yield Table(title, ["", *columns], lines)
    yield from dict.fromkeys(note for summary in columns.values() for note in _notes(summary))
    if found.pruned:
        yield Table("Pruned", ["reason", "items"], [(reason, f"{n:,}") for reason, n in found.pruned.items()])
    if found.collection:
        yield Table("Collection", ["", "number"], list(_collection(found.collection)))
    if found.mined:
        yield _mined(found.mined)
    yield from _lengths([*found.total.lengths.values(), *found.compare])


def _mined(mined: Json) -> Table:
    """V-PROM's Table 1, and what each principle removed."""
    found = {*mined["kinds"], *(one for part in mined["removed"].values() for one in part)}
    types = [one for one in MINED if one in found]
    names = {"elements": "visual elements", "images": "images", "photographs": "photographs", "matrices": "matrices"}
    rows = [
        [title, *(f"{mined['kinds'].get(one, {}).get(name, 0):,}" for one in types)] for name, title in names.items()
    ]
    rows += [
        [f"removed: {name}", *(f"{part.get(one, 0):,}" for one in types)] for name, part in mined["removed"].items()
    ]
    return Table(f"Mined from {mined['photographs']:,} photographs", ["", *(MINED[one] for one in types)], rows)


def _collection(numbers: Json, before: str = "") -> Iterator[tuple[str, str]]:
    """The counts of a collection, one a row; those by reason follow their title."""
    for name, value in numbers.items():
        title = f"{before}{name.replace('_', ' ')}"
        if isinstance(value, dict):
            yield from _collection(value, f"{title}: ")
        elif value is not None:
            yield title, f"{value:,}"


def _counts(s: SplitStats) -> dict[str, str]:
    known = sum(s.labels.values())
    rows = {"items": f"{s.items:,}", "groups": f"{s.groups:,}"}
    rows |= {f"label {name}": f"{n:,} ({n / known:.1%})" for name, n in s.labels.items()}
    if s.hidden:
        rows["labels"] = "hidden"
    if s.single_label_groups is not None:
        rows["single-label groups"] = f"{s.single_label_groups:,} ({s.single_label_groups / s.groups:.1%})"
    rows["items per group"] = _number(s.items_per_group)
    rows["writers"] = f"{s.writers:,}" if s.writers else ""
    if s.synsets:
        rows["synsets"] = f"{s.synsets.number:,}"
        rows["items per synset"] = f"{s.synsets.mean:.1f} ± {s.synsets.std:.1f}"
    for lengths in s.lengths.values():
        what = "sentence" if len(s.lengths) == 1 else lengths.name.rpartition(" ")[2][:-1]
        rows[f"{what}s"] = f"{lengths.sentences:,}"
        rows[f"different {what}s"] = f"{lengths.distinct:,}"
        rows[f"tokens per {what}"] = _number(lengths.mean)
        rows[f"words per {what}"] = _number(lengths.words)
        rows[f"word types in {what}s"] = f"{lengths.vocabulary:,}"
    return rows


def _people(s: SplitStats) -> dict[str, str]:
    human = s.human
    rows = {"workers": f"{s.workers:,}" if s.workers else ""}
    rows |= {f"{kind} judgements": f"{number:,}" for kind, number in s.judgements.items()}
    if human is None or human.mean is None:
        return rows
    rows["human performance"] = _percent(human.mean, human.std)
    rows["workers counted"] = f"{human.workers:,}"
    rows |= {f"  {name}": _percent(v.mean, v.std) for name, v in human.variants.items() if len(human.variants) > 1}
    names = {"answer": "Q->A", "rationale": "QA->R", "both": "Q->AR"}
    rows |= {f"  {names[name]}": _percent(value) for name, value in human.staged.items()}
    if human.voters is not None:
        rows["  votes per item"] = f"{human.voters:.1f}"
        rows["  ties"] = f"{human.ties:,}"
    if human.skip_rate is not None:
        rows["skipped"] = _percent(human.skip_rate)
        rows["  with skips as wrong"] = _percent(human.skips_wrong)
    for tag, values in human.by.items():
        rows |= {f"  {tag} {value}": _percent(numbers.accuracy) for value, numbers in values.items()}
    return rows


def _agreement(s: SplitStats) -> dict[str, str]:
    rows: dict[str, str] = {}
    after = None if s.agreement is None else s.agreement.after
    for when, numbers in (("before pruning", s.agreement), ("after pruning", after)):
        if numbers:
            interval = f" [{numbers.low:.3f}, {numbers.high:.3f}]" if numbers.low is not None else ""
            rows[f"{when}: items"] = f"{numbers.items:,}"
            rows[f"{when}: alpha"] = f"{_number(numbers.alpha, 3)}{interval}"
            rows[f"{when}: kappa"] = _number(numbers.kappa, 3)
            rows[f"{when}: random raters"] = _number(numbers.random_rater_kappa, 3)
    return rows | {f"removed: {reason}": f"{n:,}" for reason, n in (after.removed if after else {}).items()}


def _validation(s: SplitStats) -> dict[str, str]:
    if s.validation is None:
        return {}
    found = s.validation
    rows = {"validated items": f"{found.items:,}"}
    if found.reported_nonsense:
        rows["reported as nonsense"] = f"{found.reported_nonsense:,}"
    names = {
        "relabelled": "label differs from the writer's",
        "disagreement": "validator differs from the writer",
        "self_validated": "validated by the writer",
        "self_agreement": "  who agrees with themselves",
        "other_agreement": "  others agree with the writer",
    }
    who = {"writer": "the writer", "first_validator": "the first validator", "others": "others"}
    rates = {title: getattr(found, name) for name, title in names.items()}
    rates |= {f"extra judgement by {who[name]} agrees": rate for name, rate in found.extra_agreement.items()}
    return rows | {title: f"{r.rate:.1%} of {r.of:,}" for title, r in rates.items() if r.rate is not None}


def _notes(s: SplitStats) -> list[str]:
    """What the numbers mean."""
    human = s.human
    notes = []
    if human is not None and human.mean is not None:
        least = f"; workers with at least {human.least} judgements" if human.least > 1 else ""
        notes.append(f"Human performance: {human.rule}; own sentences left out{least}.")
    selection = s.validation.selection if s.validation else None
    if selection and selection != "recorded":
        notes.append(f"What the writer selected is {selection}.")
    if s.agreement and s.agreement.after:
        notes.append(f"Pruning removes an item where {s.agreement.after.rule}.")
    return notes


def _lengths(corpora: list[Lengths]) -> Iterator[Table]:
    if not corpora:
        return
    names = ["corpus", "sentences", "different", "tokens", "words", "median", "longest", "word types"]
    rows = []
    for c in corpora:
        means = [_number(c.mean), _number(c.words), _number(c.median, 1)]
        rows.append([c.name, f"{c.sentences:,}", f"{c.distinct:,}", *means, str(c.longest), f"{c.vocabulary:,}"])
    yield Table("Sentence lengths", names, rows)
    last = max(_tail(c) for c in corpora)
    width = -(-last // BINS)
    lows = list(range(1, last + 1, width))
    shares = [[_share(c, low, width if low != lows[-1] else c.longest) for c in corpora] for low in lows]
    places = [str(low) if width == 1 else f"{low}-{low + width - 1}" for low in lows[:-1]] + [f"{lows[-1]}+"]
    bar, most = BAR // len(corpora), max(max(row) for row in shares)
    bars = [[f"{'▇' * round(bar * share / most):{bar}} {share:6.1%}" for share in row] for row in shares]
    lines = [[place, *row] for place, row in zip(places, bars, strict=True)]
    yield Table("Share of sentences by length", ["tokens", *(c.name for c in corpora)], lines)


def _tail(c: Lengths) -> int:
    """The length that at most one sentence in a hundred exceeds."""
    left, length = c.sentences, 0
    while left > TAIL * c.sentences:
        length += 1
        left -= c.histogram.get(length, 0)
    return max(length, 1)


def _share(c: Lengths, low: int, width: int) -> float:
    return sum(number for length, number in c.histogram.items() if low <= length < low + width) / c.sentences


def _percent(mean: float | None, std: float | None = None) -> str:
    if mean is None:
        return ""
    return f"{mean:.2%}" if std is None else f"{100 * mean:.2f} ± {100 * std:.2f}%"


def _number(value: float | None, digits: int = 2) -> str:
    return "" if value is None else f"{value:,.{digits}f}"
