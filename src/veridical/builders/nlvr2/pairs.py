"""Sentence-writing tasks (NLVR2, section 3.2): each set of eight is split at random into four pairs, for two sentences.

Both tasks of a set show the same four pairs, as in the published data. A generated second sentence is true of the two
pairs that the first is false of: every pair of photographs is then in the benchmark with both labels, so that no model
that sees photographs alone can be right more often than half of the time.

And what writers are asked to avoid (Table 3 of the draft), found by rules over a sentence's words (`guidelines.json`).
A warning is advice to the writer and a tag on the item, never a reason to drop it: disjunctions and the presence of an
object are allowed where the sentence reasons otherwise too. Whether a truth value reduces to the presence of an object
depends on the pictures, so it is asked of their objects.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from veridical.builders.nlvr2.work import ImageSet, Sentence, Task, Verdict, check_once, item_id, wrong
from veridical.common.files import read_json
from veridical.engine import run
from veridical.language.english import NUMBER_WORDS, Nouns, plural
from veridical.language.programs.terms import parse
from veridical.language.writing.pairs.claims import deny
from veridical.language.writing.pairs.doubts import ways
from veridical.language.writing.pairs.families import FAMILIES
from veridical.language.writing.pairs.statements import TRIES as ROUNDS
from veridical.language.writing.pairs.statements import execute_pair, weight, write
from veridical.options.running import Workers
from veridical.records import PROGRAM, Panel

TASKS = 2  # of a set
PAIRS = 4
BATCH = 8  # sets whose sentences are written together
TRIES = 4  # sentences for the second task before one that only denies the first is taken
NOT_TOLD_APART = "no sentence was found for two pairs and another for the other two"
WRITER = PROGRAM
ENOUGH = 1 + TASKS  # of `_worth`: more is not looked for
COMMON = {family.name for family in FAMILIES if weight(family, True) < weight(family, False)}
CHOICES: tuple[tuple[int, int], ...] = tuple(combinations(range(PAIRS), 2))


def make_tasks(one: ImageSet, rng: np.random.Generator) -> list[Task]:
    """Two tasks over the same four random pairs."""
    pairs = pair_up(one.photographs, rng)
    return [Task(f"{one.set}-{n}", one.set, one.synset, one.query, pairs) for n in range(TASKS)]


def pair_up(photographs: Sequence[str], rng: np.random.Generator) -> tuple[tuple[str, str], ...]:
    """Photographs in random pairs, left and right at random.

    >>> len(pair_up("abcdefgh", np.random.default_rng(0)))
    4
    """
    order = rng.permutation(len(photographs))
    return tuple((photographs[a], photographs[b]) for a, b in zip(order[::2], order[1::2], strict=True))


def write_for_set(
    one: Sequence[Task], panels: Mapping[str, Panel], nouns: Nouns, rng: np.random.Generator, rounds: int = ROUNDS
) -> list[Sentence]:
    """Generated sentences for the tasks of a set: the second is true where the first is false. Both, or neither."""
    pairs = _pairs(one, panels)
    enough = ENOUGH if _doubted(pairs) else 1
    best = [Sentence(task.task, flagged=NOT_TOLD_APART) for task in one]
    for index in rng.permutation(len(CHOICES)):
        found = _write_for_choice(one, pairs, CHOICES[index], nouns, rng, rounds)
        if _worth(found) > _worth(best):
            best = found
        if _worth(best) >= enough:
            break
    return best


def _write_for_choice(
    one: Sequence[Task], pairs: Sequence[tuple[Panel, Panel]], chosen: tuple[int, ...], nouns: Nouns,
    rng: np.random.Generator, rounds: int,
) -> list[Sentence]:  # fmt: skip
    """Sentences of which the first is true of the chosen pairs, the second of the others; as far as they are found."""
    others = tuple(i for i in range(PAIRS) if i not in chosen)
    out: list[Sentence] = []
    for task, selected in zip(one, (chosen, others), strict=False):  # people may have left one of two tasks
        truth = [i in selected for i in range(PAIRS)]
        found = None
        for _ in range(TRIES):
            found = write(
                rng, pairs, truth, nouns=nouns, synset=task.synset, avoid=[w.sentence for w in out], tries=rounds
            )
            if found is None or not any(_denies(found.program, w.program or "") for w in out):
                break
        if found is None:
            return []
        out.append(Sentence(task.task, found.sentence, selected, WRITER, found.program, found.phenomena, found.family))
    return out


def _pairs(tasks: Sequence[Task], panels: Mapping[str, Panel]) -> list[tuple[Panel, Panel]]:
    """The pairs of a set's tasks."""
    return [(panels[a], panels[b]) for a, b in tasks[0].pairs]


def _doubted(pairs: Sequence[tuple[Panel, Panel]]) -> bool:
    """Whether something may count or not: then few kinds of sentences can be written of most pairs."""
    return any(len(ways(thing)) > 1 for pair in pairs for panel in pair for thing in panel.objects)


def _worth(written: Sequence[Sentence]) -> int:
    """0 where a task has no sentence; 1, and 1 more for each kind that is not among the commonest ones."""
    if not written or not all(one.sentence for one in written):
        return 0
    return 1 + len({one.kind for one in written} - COMMON)


Job = tuple[tuple[Task, ...], Mapping[str, Panel], tuple[int, ...]]  # tasks, their panels, what seeds them


def write_batch(nouns: Nouns, batch: Sequence[Job]) -> list[Sentence]:
    return [
        sentence
        for tasks, panels, seeds in batch
        for sentence in write_for_set(tasks, panels, nouns, np.random.default_rng(seeds))
    ]


def write_all(
    tasks: Sequence[Task],
    panels: Mapping[str, Panel],
    nouns: Nouns,
    seeds: Callable[[Task], tuple[int, ...]],
    *,
    workers: Workers = Workers(),
    work: Path | None = None,
) -> list[Sentence]:
    """Sentences for all tasks, by worker processes; `seeds` are those of the first task of some pairs."""
    by_pairs: dict[Any, list[Task]] = {}
    for task in tasks:
        by_pairs.setdefault((task.set, task.pairs), []).append(task)
    jobs: list[Job] = []
    for (_, pairs), own in by_pairs.items():
        jobs.append((tuple(own), {name: panels[name] for pair in pairs for name in pair}, seeds(own[0])))
    batches = [jobs[i : i + BATCH] for i in range(0, len(jobs), BATCH)]
    made = run(partial(write_batch, nouns), batches, workers=workers, work=work, label="writing sentences")
    return [one for batch in made for one in batch]


PAIRINGS = 30  # of a set, of which the first that sentences can tell apart is taken
VARIED = 4  # more, in search of sentences that are not of the commonest kinds


def pair_all(
    sets: Sequence[ImageSet],
    panels: Mapping[str, Panel],
    nouns: Nouns,
    seeds: Callable[[ImageSet], tuple[int, ...]],
    *,
    workers: Workers = Workers(),
) -> list[Task]:
    """Tasks of all sets, by worker processes: pairs that sentences can tell apart, where there are such."""
    jobs = [(one, {name: panels[name] for name in one.photographs}, seeds(one)) for one in sets]
    batches = [jobs[i : i + BATCH] for i in range(0, len(jobs), BATCH)]
    made = run(partial(_pair_batch, nouns), batches, workers=workers, label="pairing photographs")
    return [task for batch in made for task in batch]


def _pair_batch(nouns: Nouns, batch: Sequence[tuple[ImageSet, Mapping[str, Panel], tuple[int, ...]]]) -> list[Task]:
    out: list[Task] = []
    for one, panels, seed in batch:
        out += _pairing(one, panels, nouns, np.random.default_rng(seed))
    return out


def _pairing(one: ImageSet, panels: Mapping[str, Panel], nouns: Nouns, rng: np.random.Generator) -> list[Task]:
    """The tasks of a set: over pairs that sentences tell apart, of rarer kinds where some can be written."""
    best, most, left = make_tasks(one, rng), 0, PAIRINGS
    tasks = best
    while left:
        worth = _worth(write_for_set(tasks, panels, nouns, rng, 1))
        enough = ENOUGH if _doubted(_pairs(tasks, panels)) else 1
        left = VARIED if worth and not most else left - 1
        if worth > most:
            best, most = tasks, worth
        if most >= enough:
            break
        tasks = make_tasks(one, rng)
    return best


def run_programs(
    tasks: Mapping[str, Task], sentences: Sequence[Sentence], panels: Mapping[str, Panel]
) -> Iterator[Verdict]:
    """What the program of each sentence says of its four pairs."""
    for one in sentences:
        if one.program is not None:
            task = tasks[one.task]
            for pair, (left, right) in enumerate(task.pairs):
                verdict = execute_pair(one.program, panels[left], panels[right])
                yield Verdict(item_id(task, pair), WRITER, verdict)


def _denies(one: str, other: str) -> bool:
    """Whether one program says that another is false.

    >>> _denies("(not (every things (is category cat)))", "(every things (is category cat))")
    True
    """
    return deny(parse(one)) == parse(other) or deny(parse(other)) == parse(one)


def check_sentences(path: Path, sentences: Sequence[Sentence], tasks: Sequence[Task]) -> None:
    """Refuse sentences about tasks that are not there, and two about one."""
    check_once(path, "task", (one.task for one in sentences))
    known = {task.task for task in tasks}
    for one in sentences:
        if one.task not in known:
            raise wrong(path, f"there is no task {one.task!r}", "Name a task of tasks.jsonl.")


def check_tasks(path: Path, tasks: Sequence[Task], photographs: Collection[str]) -> None:
    """Refuse tasks without four pairs, and sets with more than two tasks."""
    check_once(path, "task", (one.task for one in tasks))
    for one in tasks:
        name, _, number = one.task.rpartition("-")
        if name != one.set or not number.isdigit():
            raise wrong(path, f"task {one.task!r} of set {one.set}", f"Name it {one.set}-0 or {one.set}-1.")
        shown = [photograph for pair in one.pairs for photograph in pair]
        if len(one.pairs) != PAIRS or len(set(shown)) != 2 * PAIRS:
            raise wrong(path, f"task {one.task} has not {PAIRS} pairs of different photographs", "Give it four pairs.")
        unknown = next((photograph for photograph in shown if photograph not in photographs), None)
        if unknown is not None:
            raise wrong(path, f"task {one.task} shows {unknown!r}", "Name photographs of photographs.jsonl.")
    name, most = Counter(one.set for one in tasks).most_common(1)[0] if tasks else ("", 0)
    if most > TASKS:
        raise wrong(path, f"set {name} has {most} tasks", f"A set has at most {TASKS}.")


# --- guidelines for writers ------------------------------------------------------------------------------------------

TEXT = "text in the photograph"
PRESENCE = "presence of a single object"
DISJUNCTION = "disjunction over the images"
IDENTIFICATION = "object identification"

_SIDES = (
    r"\b(?:(?:the )?(?:{side})(?:[- ]hand|most)? (?:image|photo|picture|one)|(?:the )?image (?:on|to) the (?:{side}))\b"
)
_SIDE = re.compile(_SIDES.format(side="left|right"))
_JOIN = re.compile(r"\b(?:and|while|or|but|whereas)\b|[;,]")
_MANY = "|".join([*NUMBER_WORDS[2:21], "several", "many", "more", "fewer", "no", "only"])
_PRESENCE = re.compile(
    r"(?:there (?:is|are)|i see|we see|(?:an|one|the (?:left|right)|at least one|one of the|each|both) "
    r"(?:images?|photos?|pictures?) (?:shows?|contains?|has|have|includes?|depicts?|features?))"
    rf" (?:an?|one|a single|some)? ?(?!(?:{_MANY}) )((?:[a-z'-]+ ){{0,1}}[a-z'-]+)"
    r"(?: in (?:the|an|one|one of the|at least one|the left|the right|the left-hand|the right-hand) "
    r"(?:images?|photos?|pictures?|pair))?"
)
# what a sentence's words show: alternatives of regular expressions
_FIND = {
    name: re.compile(rf"\b(?:{'|'.join(some)})\b")
    for name, some in read_json(Path(__file__).with_name("guidelines.json"), dict[str, list[str]]).items()
}
_COMPARES = _FIND.pop("comparison")


def patterns() -> dict[str, tuple[list[str], list[str]]]:
    """The guidelines as expressions over a sentence in lower case, for whoever checks while somebody types: those of
    which one is found where a guideline is broken, and those of which none is."""
    left, right = (f"(?:{_SIDES.format(side=side)})" for side in ("left", "right"))
    join = f".*?(?:{_JOIN.pattern}).*?"
    apart = ([f"{left}{join}{right}", f"{right}{join}{left}"], [_COMPARES.pattern])
    found: dict[str, tuple[list[str], list[str]]] = {name: ([pattern.pattern], []) for name, pattern in _FIND.items()}
    return {**found, PRESENCE: ([f"^{_PRESENCE.pattern}[.! ]*$"], []), DISJUNCTION: apart}


_QUOTED = re.compile(r"[\"“][^\"”]+[\"”]")


def check_sentence(sentence: str) -> tuple[str, ...]:
    """The guidelines that a sentence seems to break.

    >>> check_sentence("The dog's fur has a nice color pattern."), check_sentence("There is a hammer.")
    (('subjective opinion',), ('presence of a single object',))
    >>> check_sentence("There are more birds in the image on the left than in the image on the right.")
    ()
    """
    text = re.sub(r"\s+", " ", sentence.lower().replace("’", "'")).strip()
    out = [name for name, pattern in _FIND.items() if pattern.search(text)]
    if TEXT not in out and _QUOTED.search(text):
        out.append(TEXT)
    if _PRESENCE.fullmatch(text.rstrip(".! ")):
        out.append(PRESENCE)
    if _disjunction(text):
        out.append(DISJUNCTION)
    return tuple(out)


def _disjunction(text: str) -> bool:
    """Each image is described in a clause of its own, and nothing compares them."""
    sides = list(_SIDE.finditer(text))
    if len(sides) < 2 or _COMPARES.search(text):
        return False
    first, second = sides[0], sides[1]
    different = ("left" in first[0]) != ("left" in second[0])
    return different and bool(_JOIN.search(text, first.end(), second.start()))


def check_presence(sentence: str, pairs: Sequence[set[str]], truth: Sequence[bool]) -> tuple[str, ...]:
    """Whether one category that the sentence names is in all pairs it is true of and in none of the others.

    >>> check_presence("A cup on a chair.", [{"cup", "chair"}, {"chair"}, {"cup"}, set()], [True, True, False, False])
    ('object identification',)
    """
    text = f" {re.sub(r'[^a-z]+', ' ', sentence.lower())} "
    for category in sorted(set().union(*pairs)):
        named = any(f" {word} " in text for word in (category.lower(), plural(category.lower())))
        if named and [category in pair for pair in pairs] == list(truth):
            return (IDENTIFICATION,)
    return ()
