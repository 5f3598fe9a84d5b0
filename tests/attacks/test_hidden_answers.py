"""Hidden answers under attack: whoever has the public folder, its manifest and this program gets no more than chance.

Every builder, `match` and `import --hide`; the seed again without the secret, raw text, order, sizes, statistics of
Parquet, frequencies, and a reader trained on all of these. What cannot be hidden is said in
docs/how-to/keep-a-test-set-hidden.md.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.formats import _tables

import veridical
from veridical.benchmark import Benchmark
from veridical.builders.nlvr import build_nlvr
from veridical.builders.nlvr2 import build_nlvr2
from veridical.builders.vcr import build_vcr
from veridical.builders.vprom import build_vprom
from veridical.builders.vprom.mining import Mining
from veridical.engine.processes import INSIDE
from veridical.errors import UserError
from veridical.records import Item, Text
from veridical.sources.icons.worlds import IconPanels, IconSeries

from ._clues import Seen, answerable, excess, learned, matched_at_random, public_copy, told_by_parquet

SECRET = "one that nobody who attacks knows"
CLUE = 4.0  # standard deviations: one clue in 30,000 is so far by chance, and some 100 are looked at
READER = 3.0  # of a reader or a replay: one in 700 by chance. Of 120 statements it sees 14 points, of 400 eight


@dataclass(frozen=True)
class Target:
    """A benchmark with hidden answers, and how an attacker builds it again from what its manifest says."""

    folder: Path
    split: str = "test"
    scheme: str = "main"
    again: Callable[[Path], object] | None = None  # nothing to replay where people wrote everything

    @property
    def answers(self) -> list[int]:
        items = answerable(Benchmark(self.folder).items(self.split, self.scheme, answers=True))
        return [-1 if item.answer is None else item.answer for item in items]


def questions(number: int) -> list[dict[str, str]]:
    """Questions of a few kinds whose answers are alike within a kind."""
    rng = np.random.default_rng(5)
    kinds = {
        "What is the {} doing": ["running fast", "sitting down", "eating lunch", "reading", "waving", "sleeping"],
        "Where is the {}": ["in the garden", "at the table", "on the road", "behind the house", "near the tree"],
        "Why does the {} smile": ["got a gift", "heard a joke", "won the game", "sees a friend", "likes the food"],
    }
    people = ["man", "woman", "boy", "girl", "baby", "lady", "dog", "cat"]
    rows = []
    for k in range(number):
        asked = list(kinds)[k % 3]
        answer = f"{kinds[asked][rng.integers(5)]} {['again', 'now', 'slowly', 'outside'][rng.integers(4)]} {k}"
        rows.append({"question": f"{asked.format(people[rng.integers(8)])}?", "answer": answer, "video": str(k // 2)})
    return rows


def nlvr(place: Path) -> Target:
    given: dict[str, Any] = {"presentations": 60, "seed": 3, "split": {"train": 1, "test": 1}, "hide": ["test"]}
    build_nlvr(place / "made", secret=SECRET, processes=1, **given)
    return Target(place / "made", again=lambda out: build_nlvr(out, processes=1, **given))


def nlvr2(place: Path) -> Target:
    given: dict[str, Any] = {"source": IconSeries(20, seed=3, width=160, height=120), "sets": 16, "seed": 3}
    given |= {"vectors": "none", "split": {"train": 1, "test": 1}, "hide": ["test"], "processes": 1}
    build_nlvr2(place / "made", secret=SECRET, **given)
    return Target(place / "made", again=lambda out: build_nlvr2(out, **given))


def vprom(place: Path) -> Target:
    given: dict[str, Any] = {"source": IconPanels(count=600, seed=3, side=100), "matrices": 330, "seed": 3}
    given |= {"schemes": ("neutral",), "mining": Mining(least_images=3), "hide": ["test"], "processes": 1}
    build_vprom(place / "made", secret=SECRET, **given)
    return Target(place / "made", scheme="neutral", again=lambda out: build_vprom(out, **given))


def vcr(place: Path) -> Target:
    given: dict[str, Any] = {"photographs": 120, "folds": 3, "seed": 3, "processes": 1}
    build_vcr(place / "made", secret=SECRET, **given)
    return Target(place / "made", again=lambda out: build_vcr(out, **given))


def matched(place: Path) -> Target:
    with (place / "qa.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["question", "answer", "video"])
        writer.writeheader()
        writer.writerows(questions(300))
    given: dict[str, Any] = {"group": "video", "folds": 3, "hide": ["test"], "seed": 3, **QUICK}
    veridical.match(place / "qa.csv", place / "made", secret=SECRET, **given)
    return Target(place / "made", again=lambda out: veridical.match(place / "qa.csv", out, secret="", **given))


def imported(place: Path) -> Target:
    """NLVR's own format, whose hidden split was exported apart."""
    whole = {"presentations": 60, "seed": 4, "split": {"train": 1, "test": 1}, "hide": [], "processes": 1}
    build_nlvr(place / "whole", **whole)
    veridical.export("official", place / "whole", place / "official")
    veridical.import_release("nlvr", place / "official", place / "made", hide=["test"])
    return Target(place / "made")


def imported_vcr(place: Path) -> Target:
    """A release in compact JSON, whose wrong answers are matched anew."""
    build_vcr(place / "whole", photographs=120, folds=3, seed=4, hide=(), processes=1)
    veridical.export("official", place / "whole", place / "official")
    for path in (place / "official").glob("*.jsonl"):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    veridical.import_release("vcr", place / "official", place / "released")
    veridical.match(place / "released", place / "made", hide=["test"], secret=SECRET, **QUICK)
    return Target(place / "made")


def imported_table(place: Path) -> Target:
    """Right choices come in turn, and categories tell them; half of the rows are hidden."""
    rng = np.random.default_rng(6)
    with (place / "qa.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["question", *"ABCD", "answer", "category", "source", "split"])
        for k in range(240):
            choices = [f"{word} {rng.integers(10**6)}" for word in rng.permutation(["cup", "hat", "key", "map"])]
            told = f"kind {k % 4}"
            writer.writerow([f"Which is it, {k}?", *choices, "ABCD"[k % 4], told, told, "dev" if k < 120 else "test"])
    veridical.import_release("table", place / "qa.csv", place / "made", hide=["test"], secret=SECRET)
    return Target(place / "made")


def imported_nlvr2(place: Path) -> Target:
    whole: dict[str, Any] = {"source": IconSeries(20, seed=4, width=160, height=120), "sets": 16, "seed": 4}
    whole |= {"vectors": "none", "split": {"train": 1, "test1": 1}, "hide": [], "processes": 1}
    build_nlvr2(place / "whole", **whole)
    veridical.export("official", place / "whole", place / "official")
    veridical.import_release("nlvr2", place / "official", place / "made", hide=["test1"])
    return Target(place / "made", split="test1")


def imported_choices(place: Path) -> Target:
    """VCR's own format: matched before, hidden by the import."""
    build_vcr(place / "whole", photographs=120, folds=3, seed=5, hide=(), processes=1)
    veridical.export("official", place / "whole", place / "official")
    veridical.import_release("vcr", place / "official", place / "made", hide=["test"])
    return Target(place / "made")


def imported_hub(place: Path) -> Target:
    """A data set of which each row has a solution, in words."""
    _tables.scienceqa(place / "hub", _tables.questions(300, seed=8), {"validation": 150, "test": 150})
    veridical.import_release("hf", place / "hub", place / "made", hide=["test"], secret=SECRET)
    return Target(place / "made")


def imported_vlmevalkit(place: Path) -> Target:
    """All of a table is hidden: nothing of it can be learned from."""
    _tables.mmbench(place / "asked.tsv", _tables.questions(160, seed=9))
    veridical.import_release("vlmevalkit", place / "asked.tsv", place / "made", hide=["dev"], secret=SECRET)
    return Target(place / "made", split="dev")


def written(place: Path) -> Target:
    """What people wrote and judged of presentations that a seed made."""
    build_nlvr(place / "shown", presentations=60, seed=7, until="presentations", secret=SECRET, processes=1)
    lines = [json.loads(line) for line in (place / "shown" / "presentations.jsonl").read_text().splitlines()]
    said = [{"presentation": one["presentation"], "sentence": "There is a box.", "writer": "w"} for one in lines]
    images = [(image["id"], k < 2) for one in lines for k, image in enumerate(one["images"])]  # A and B are true
    judged = [{"item": name, "worker": f"v{k}", "verdict": true} for name, true in images for k in range(3)]
    for name, rows in (("said.jsonl", said), ("judged.jsonl", judged)):
        (place / name).write_text("".join(json.dumps(one) + "\n" for one in rows))
    given: dict[str, Any] = {"split": {"train": 1, "test": 1}, "hide": ["test"], "seed": 7, "processes": 1}
    given |= {"scenes": place / "shown", "statements": place / "said.jsonl", "judgements": place / "judged.jsonl"}
    build_nlvr(place / "made", secret=SECRET, **given)
    return Target(place / "made")


QUICK: dict[str, Any] = {"relevance": "tfidf", "similarity": "tfidf", "learn": False}
TARGETS = (
    nlvr, nlvr2, vprom, vcr, written, matched, imported, imported_nlvr2, imported_choices, imported_vcr, imported_table,
    imported_hub, imported_vlmevalkit,
)  # fmt: skip


SLOW = (imported_nlvr2, imported_choices)  # each is built whole first, as others are


@pytest.fixture(
    scope="module",
    params=[pytest.param(one, marks=[pytest.mark.soak] if one in SLOW else [], id=one.__name__) for one in TARGETS],
)
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    if request.param in (nlvr2, vprom, vcr, imported_nlvr2, imported_choices, imported_vcr):
        pytest.importorskip("fontawesomefree", reason="icons come with the build extra")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(INSIDE, "1")  # starting processes would cost most of the time
        yield request.param(tmp_path_factory.mktemp(request.param.__name__))


@pytest.fixture(scope="module")
def seen(target: Target, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """Only the public folder: the hidden one does not lie beside it."""
    opened = public_copy(target.folder, tmp_path_factory.mktemp("public") / "copy")
    return Seen(opened, target.scheme, target.split)


def chance(answers: list[int], items: list[Item]) -> tuple[float, float]:
    """The share of the commonest guess, and its standard deviation."""
    size = len(items[0].candidates)
    share = max(np.bincount(answers, minlength=size)) / len(answers) if size == 2 else 1 / size
    return share, float(np.sqrt(share * (1 - share) / len(answers)))


def test_no_clue_is_better_than_chance(target: Target, seen: Seen) -> None:
    """Place, order, spelling, sizes, frequencies."""
    answers = target.answers
    assert len(answers) >= 60
    far = {name: z for name, z in excess(seen.clues(seen.hidden), answers).items() if z > CLUE}
    assert not far


def test_a_reader_of_all_clues_is_not_better_than_chance(target: Target, seen: Seen) -> None:
    answers = target.answers
    if not seen.public:
        return  # nothing to learn from
    share, deviation = chance(answers, seen.hidden)
    right = float(np.mean(np.array(learned(seen)) == answers))
    assert right < share + READER * deviation


def test_that_each_response_is_right_once_tells_nothing_alone(target: Target, seen: Seen) -> None:
    """Adversarial Matching's own rule, used on all hidden questions at once, without reading any."""
    if seen.hidden[0].task != "choice":
        return
    share, deviation = chance(target.answers, seen.hidden)
    guesses = matched_at_random(seen.hidden, np.random.default_rng(0))
    assert float(np.mean(np.array(guesses) == target.answers)) < share + READER * deviation


def test_what_is_counted_over_everything_less_what_is_public_tells_no_hidden_counts(target: Target, seen: Seen) -> None:
    """No number of the manifest or the card is a count of answers, tags or programs of hidden items."""
    told = Benchmark(target.folder)
    hidden = answerable(told.items(target.split, target.scheme, answers=True))
    shown = {(name, value) for item in seen.hidden for name, value in item.tags}
    secret = Counter(pair for item in hidden for pair in item.tags if pair not in shown)
    public = Counter(pair for item in seen.public for pair in item.tags)
    numbers = set(numbers_by_name(seen.opened.manifest))
    for (name, value), count in secret.items():
        assert (value, public[name, value] + count) not in numbers
        assert (value, count) not in numbers


def numbers_by_name(found: Any, name: str = "") -> Iterator[tuple[str, int]]:
    """Every whole number of a JSON document, with the key that it stands under."""
    if isinstance(found, dict):
        for key, value in found.items():
            yield from numbers_by_name(value, key)
    elif isinstance(found, list):
        for value in found:
            yield from numbers_by_name(value, name)
    elif isinstance(found, int) and not isinstance(found, bool):
        yield name, found


def test_the_public_seed_builds_no_hidden_answer(target: Target, seen: Seen, tmp_path: Path) -> None:
    """Answers by name and by what an item shows; and the pictures: their names are public, what they show is not."""
    if target.again is None:
        with pytest.raises(UserError, match="hidden"):
            list(seen.opened.items(target.split, target.scheme, answers=True))
        return
    target.again(tmp_path / "again")
    again = Benchmark(tmp_path / "again")
    share, deviation = chance(target.answers, seen.hidden)
    for guesses in replayed(again, target, seen.hidden):
        assert float(np.mean(np.array(guesses) == target.answers)) < share + READER * deviation
    shown = [str(one) for item in seen.hidden for one in (*item.panels, *item.candidates) if not isinstance(one, Text)]
    pictures = [(seen.opened.panels[name].image, again.panels.get(name)) for name in shown]
    drawn = [(mine, theirs.image) for mine, theirs in pictures if mine and theirs]
    assert sum(mine == theirs for mine, theirs in drawn) <= len(drawn) / 50


def test_these_attacks_succeed_where_nothing_is_secret(tmp_path: Path) -> None:
    """A split that is hidden without a secret is built again whole; answers that stand first are found."""
    given: dict[str, Any] = {"presentations": 60, "seed": 3, "split": {"train": 1, "test": 1}, "hide": ["test"]}
    build_nlvr(tmp_path / "leaky", processes=1, **given)
    target = Target(tmp_path / "leaky")
    hidden = answerable(Benchmark(target.folder).items("test"))
    build_nlvr(tmp_path / "again", processes=1, **given)
    assert replayed(Benchmark(tmp_path / "again"), target, hidden) == (target.answers, target.answers)
    rng = np.random.default_rng(0)
    answers = rng.integers(0, 4, 200).tolist()
    plain = [{"clue": rng.permutation(4).tolist()} for _ in answers]
    told = [{"clue": [float(k == answer) + 0.1 * rng.random() for k in range(4)]} for answer in answers]
    assert max(excess(plain, answers).values()) < CLUE < excess(told, answers)["most: clue"]
    halves = [{"clue": [float(answer % 2) + rng.random()]} for answer in answers]
    assert excess(halves, [answer % 2 for answer in answers])["clue"] > CLUE


def test_files_tell_nothing_of_the_answers(target: Target, seen: Seen) -> None:
    folder = seen.opened.directory
    assert told_by_parquet(folder / f"items-{target.scheme}-{target.split}.parquet") == set()
    assert not any(SECRET.encode() in path.read_bytes() for path in folder.iterdir())
    assert all(item.answer is None and item.program is None for item in seen.hidden)


def replayed(again: Benchmark, target: Target, hidden: list[Item]) -> tuple[list[int], list[int]]:
    """Guesses at hidden items from a benchmark that was built again: by name, and by what they show."""
    guessed = answerable(again.items(target.split, target.scheme, answers=True))
    by_name = {item.id: item.answer or 0 for item in guessed}
    by_look = {_look(item): _right(item) for item in guessed}
    looks = [_place(item, by_look.get(_look(item))) for item in hidden]
    return [by_name.get(item.id, 0) for item in hidden], looks


def _look(item: Item) -> tuple[object, ...]:
    return item.query, item.panels, frozenset(item.candidates)


def _right(item: Item) -> object:
    return item.candidates[item.answer or 0] if item.task != "statement" else item.answer


def _place(item: Item, right: object) -> int:
    if item.task == "statement":
        return 0 if right is None else int(str(right))
    return item.candidates.index(right) if right in item.candidates else 0  # type: ignore[arg-type]
