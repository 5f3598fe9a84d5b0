"""What somebody can see of a hidden item without understanding it: where it stands, how it is spelt, how large it is.

A clue is a number for each candidate, or for each statement; `learned` is a reader of all clues at once that was
trained on the splits whose answers are public.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scipy.optimize import linear_sum_assignment
from sklearn.tree import DecisionTreeClassifier

from veridical.benchmark import Benchmark
from veridical.records import Item, Text

Clues = dict[str, list[float]]  # name -> a number for each candidate; for a statement, one for `true`


@dataclass(frozen=True)
class Seen:
    """A public folder, read as an attacker does: items as they stand, answers only of splits that are not hidden."""

    opened: Benchmark
    scheme: str
    split: str  # the hidden one

    @property
    def hidden(self) -> list[Item]:
        return answerable(self.opened.items(self.split, self.scheme))

    @property
    def public(self) -> list[Item]:
        names = [name for name in self.opened.splits_of(self.scheme) if not self.opened.is_hidden(name)]
        return [item for name in names for item in answerable(self.opened.items(name, self.scheme))]

    def clues(self, items: Sequence[Item]) -> list[Clues]:
        """Those of every item; `items` are a whole split."""
        statements = bool(items) and items[0].task == "statement"
        return _of_statements(self, items) if statements else _of_candidates(self, items)

    def pictures(self) -> dict[str, tuple[float, float, float]]:
        """Panel -> its row, the size of its image, the place of that image in its file."""
        table = self.opened.panels_table(["id", "image"])
        places = {}
        for images in self.opened.image_tables:
            for row, address in enumerate(images["address"].to_pylist()):
                places[address] = float(row)
        out = {}
        for row, (name, address) in enumerate(zip(*(table[c].to_pylist() for c in ("id", "image")), strict=True)):
            size = float(self.opened.image(address).size) if address else 0.0
            out[name] = (float(row), size, places.get(address, 0.0))
        return out


def answerable(items: Iterable[Item]) -> list[Item]:
    """Items that have an answer: of VCR's four rationale items only the one after the right answer does, and which one
    that is would be an answer itself, so that first stages are attacked."""
    return [item for item in items if item.parent is None]


def _of_statements(seen: Seen, items: Sequence[Item]) -> list[Clues]:
    pictures = seen.pictures()
    groups = defaultdict(list)
    for row, item in enumerate(items):
        groups[item.group or item.id].append(row)
    named: dict[str, Callable[[int], float]] = {
        "row": float,
        "row of its picture": lambda r: pictures[items[r].panels[0]][0],
        "size of its picture": lambda r: pictures[items[r].panels[0]][1],
        "place of its picture": lambda r: pictures[items[r].panels[0]][2],
        "characters of its name": lambda r: float(sum(items[r].id.encode())),
        "last digit of its name": lambda r: float(items[r].id.encode()[-1]),
    }
    out: list[Clues] = [{} for _ in items]
    for name, of in named.items():
        values = [of(r) for r in range(len(items))]
        for rows in groups.values():
            order = np.argsort(np.argsort([values[r] for r in rows], kind="stable"), kind="stable")
            for r, rank in zip(rows, order.tolist(), strict=True):
                out[r][f"{name}, rank in its group"] = [rank / max(len(rows) - 1, 1)]
                out[r][name] = [values[r] % 4 if name == "row" else values[r]]
    return out


def _of_candidates(seen: Seen, items: Sequence[Item]) -> list[Clues]:
    pictures = seen.pictures()
    shown = Counter(one for item in items for one in item.candidates)
    first: dict[object, int] = {}
    for row, item in enumerate(items):
        for one in item.candidates:
            first.setdefault(one, row)
    right = Counter(i.candidates[i.answer] for i in seen.public if i.answer is not None)
    out = []
    for row, item in enumerate(items):
        own = item.candidates
        clues: Clues = {
            "place": [float(k) for k in range(len(own))],
            "place, counted on from its row": [float((k - row) % len(own)) for k in range(len(own))],
            "place, counted on from its number": [float((k - _number(item.id)) % len(own)) for k in range(len(own))],
            "place, counted on from its tags": [
                float((k - _number(str(item.tags))) % len(own)) for k in range(len(own))
            ],
            "how often it is shown": [float(shown[one]) for one in own],
            "first row that shows it": [float(row - first[one]) for one in own],
            "how often it is right elsewhere": [float(right[one]) for one in own],
        }
        told = f"{item.id} {item.group} {item.origins} {item.tags} {item.writer}"
        if isinstance(own[0], Text):
            raws = [one.raw for one in own if isinstance(one, Text)]
            clues |= {
                "blanks after commas": [raw.count(", ") - raw.count(",") for raw in raws],
                "blanks at its end": [float(len(raw) - len(raw.strip())) for raw in raws],
                "escapes": [float(raw.count("\\")) for raw in raws],
                "a list or a text": [float(raw[:1] == "[") for raw in raws],
                "named by its tags": [float(raw in told) for raw in raws],
            }
        else:
            facts = [pictures[str(one)] for one in own]
            for name, column in zip(("row", "size", "place in its file"), zip(*facts, strict=True), strict=True):
                clues[f"{name} of its picture"] = list(column)
        out.append(clues)
    return out


def _number(text: str) -> int:
    """The digits of a text as one number."""
    return int("0" + "".join(one for one in text if one in "0123456789")[-9:])


def excess(clues: Sequence[Clues], answers: Sequence[int]) -> dict[str, float]:
    """Clue -> how many standard deviations away from chance it is to take the candidate with the most (the least) of
    it; of a statement, how far apart the clue is between true and false ones."""
    out = {}
    for name in clues[0]:
        if len(clues[0][name]) == 1:
            values = np.array([one[name][0] for one in clues])
            true = np.array(answers) == 1
            ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable").astype(float)
            _, inverse = np.unique(values, return_inverse=True)
            ranks = (np.bincount(inverse, ranks) / np.bincount(inverse))[inverse]  # ties share their rank
            spread = ranks.std() * np.sqrt(1 / max(true.sum(), 1) + 1 / max((~true).sum(), 1))
            out[name] = 0.0 if spread == 0 else float((ranks[true].mean() - ranks[~true].mean()) / spread)
            continue
        for sign, word in ((1, "most"), (-1, "least")):
            hits, variance, expected = 0.0, 0.0, 0.0
            for one, answer in zip(clues, answers, strict=True):
                values = sign * np.array(one[name])
                taken = values == values.max()
                share = taken.sum() / len(values)
                hits += float(taken[answer])
                expected += share
                variance += share * (1 - share)
            out[f"{word}: {name}"] = 0.0 if variance == 0 else float((hits - expected) / np.sqrt(variance))
    return out


def learned(seen: Seen) -> list[int]:
    """Guesses by a reader of all clues, trained on what is public."""
    known = [item for item in seen.public if item.answer is not None]
    table, labels = [], []
    for clues, item in zip(seen.clues(known), known, strict=True):
        rows = _ranked(clues)
        table += rows
        labels += [item.answer] if len(rows) == 1 else [int(k == item.answer) for k in range(len(rows))]
    model = DecisionTreeClassifier(max_depth=6, min_samples_leaf=10, random_state=0).fit(
        np.array(table), np.array(labels)
    )
    guesses = []
    for clues in seen.clues(seen.hidden):
        scores = model.predict_proba(np.array(_ranked(clues)))[:, 1]
        guesses.append(int(scores[0] > 0.5) if len(scores) == 1 else int(np.argmax(scores)))
    return guesses


def matched_at_random(items: Sequence[Item], rng: np.random.Generator, turns: int = 40) -> list[int]:
    """Guesses by who knows that a response is right once: the candidate that most of some random matchings choose."""
    places = {one: k for k, one in enumerate(dict.fromkeys(one for item in items for one in item.candidates))}
    own = [[places[one] for one in item.candidates] for item in items]
    chosen = [rng.random(len(row)) / 2 for row in own]  # ties are broken by chance
    for _ in range(turns):
        cost = np.full((len(own), len(places)), 1e3)
        for row, columns in enumerate(own):
            cost[row, columns] = rng.random(len(columns))
        for row, column in zip(*linear_sum_assignment(cost), strict=True):
            chosen[row] += np.array(own[row]) == column
    return [int(np.argmax(counts)) for counts in chosen]


def _ranked(clues: Clues) -> list[list[float]]:
    """(candidates, clues) Numbers within one item, so that splits of other sizes can be compared."""
    columns = []
    for values in clues.values():
        column = np.array(values)
        columns.append((column[:, None] > column[None]).mean(1) if len(column) > 1 else column)
    return np.array(columns).T.tolist()


def public_copy(folder: Path, to: Path) -> Benchmark:
    """Only what is published, in another place."""
    to.mkdir(parents=True)
    for path in folder.iterdir():
        if path.is_file():
            (to / path.name).write_bytes(path.read_bytes())
    return Benchmark(to)


def told_by_parquet(path: Path) -> set[str]:
    """Columns of answers about which the file's own statistics, or its values, say anything."""
    told = set()
    file = pq.ParquetFile(path)
    for group in range(file.metadata.num_row_groups):
        for k in range(file.metadata.num_columns):
            column = file.metadata.row_group(group).column(k)
            name = column.path_in_schema.partition(".")[0]
            if name in {"answer", "program"} and (column.statistics is None or column.statistics.has_min_max):
                told.add(name)
    table = file.read(columns=["answer", "program"])
    return told | {name for name in ("answer", "program") if table[name].null_count < table.num_rows}
