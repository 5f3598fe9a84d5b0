"""What the stages of an NLVR2 build hand to each other: one record a line, in files that people can read and redo."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Seen:
    """A photograph as the search knows it (photographs.jsonl)."""

    id: str
    uri: str | None = None
    licence: str = ""
    phash: str | None = None  # perceptual hash, 16 hexadecimal digits
    objects: dict[str, int] = field(default_factory=dict)  # category -> instances
    words: tuple[str, ...] = ()  # of captions, attributes and tags, each once
    touching: tuple[str, ...] = ()  # categories with an instance that touches, or is related to, something else
    crowd: bool = False  # whether an object stands for a crowd, which nobody counted
    problem: str = ""  # why its picture cannot be used


@dataclass(frozen=True)
class Found:
    """A retrieved photograph and the most similar ones, or none where there are none (found.jsonl)."""

    set: str  # its number
    synset: str
    query: str
    rank: int  # of the retrieved photograph, from 1
    photographs: tuple[str, ...]  # the retrieved one first, then by similarity
    similarities: tuple[float, ...]


@dataclass(frozen=True)
class PrunedSet:
    """A set after image pruning (pruned.jsonl)."""

    set: str
    synset: str
    query: str
    photographs: tuple[str, ...]  # those that are left, most similar first
    removed: dict[str, str] = field(default_factory=dict)  # photograph -> reason
    discarded: str = ""  # why the whole set is


@dataclass(frozen=True)
class ImageSet:
    """A set of eight photographs for writing (sets.jsonl)."""

    set: str
    synset: str
    query: str
    photographs: tuple[str, ...]  # interesting ones first, then by similarity
    interesting: dict[str, str] = field(default_factory=dict)  # photograph -> the criterion of Table 2 that it fits
    removed: dict[str, str] = field(default_factory=dict)
    discarded: str = ""


@dataclass(frozen=True)
class Task:
    """A sentence-writing task: four pairs of photographs, left and right (tasks.jsonl)."""

    task: str  # set-sentence
    set: str
    synset: str
    query: str
    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Sentence:
    """What was written for a task (sentences.jsonl)."""

    task: str
    sentence: str = ""
    selected: tuple[int, ...] = ()  # the two pairs it is meant to be true of, from 0
    writer: str = ""
    program: str | None = None
    phenomena: tuple[str, ...] = ()
    kind: str = ""  # the kind of program
    flagged: str = ""  # why there is no sentence


@dataclass(frozen=True)
class Verdict:
    """What somebody, or a program, said of an item (judgements.jsonl)."""

    item: str  # set-<set>-<pair>-<sentence>
    worker: str
    verdict: bool | str  # or "nonsense", "skip"
    kind: str = "validation"  # or extra
    time: float | None = None


def item_id(task: Task, pair: int) -> str:
    """The name of an item, in the official shape `split-set-pair-sentence`; `set` stands for the split, which is not
    known while people judge.

    >>> item_id(Task("12-1", "12", "dog", "two dogs", ()), 3)
    'set-12-3-1'
    """
    return f"set-{task.set}-{pair}-{task.task.rpartition('-')[2]}"
