"""The work folder of a build: one file a step, made once, kept where people redid it, made again when what it was made
from has changed.

`stages.json` remembers the hash of every step's inputs, options and output. So a build that was killed continues, a
changed option redoes what depends on it, and what people wrote by hand is never overwritten. First the records of the
files, one a line; then the folder; then what a step depends on beside its options.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import msgspec

from veridical import __version__
from veridical.benchmark.writer import file_hash
from veridical.common.files import read_json, read_lines, write_json, write_lines, write_whole
from veridical.errors import UserError
from veridical.records import Panel
from veridical.sources import Source
from veridical.sources.folder import SUFFIXES

LEDGER = "stages.json"
Record = TypeVar("Record")
_ANNOTATIONS = (".json", ".jsonl", ".csv")


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


class _MadeFrom(msgspec.Struct):
    """What a step's file was made from, and the hash of what was made."""

    inputs: dict[str, str]  # the hashes of other steps' files
    options: object
    veridical: str  # the version
    output: str = ""  # none where people put the file there


class Work:
    """A work folder; `options` of a step are whatever its output depends on beside its inputs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if folder.exists() and not folder.is_dir():
            raise UserError(f"{folder} is not a folder.", "Choose another --work.")
        folder.mkdir(parents=True, exist_ok=True)
        self.redone: list[str] = []  # steps whose file people wrote or changed

    def explain(self, hidden: bool) -> None:
        """Say in a file what the folder is, and whom it must not reach."""
        text = "One file for each step of a build, in JSON lines. Change one, and the next build goes on from it.\n"
        if hidden:
            text += "\nThis folder holds the answers that the benchmark hides. Keep it to yourself.\n"
        write_whole(self.path("README"), text)

    def path(self, name: str) -> Path:
        return self.folder / name

    def step(
        self,
        name: str,
        record: type[Record],
        inputs: Sequence[str],
        options: Mapping[str, object],
        make: Callable[[], Iterable[Record]],
    ) -> list[Record]:
        """The records of a step's file; they are made where the file is missing or made from something else."""
        path = self.path(name)
        plain = msgspec.json.decode(msgspec.json.encode(dict(options)))
        wanted = _MadeFrom({i: file_hash(self.path(i)) for i in inputs}, plain, __version__)
        ledger = self._ledger()
        if path.exists():
            known = ledger.get(name)
            by_hand = known is None or known.output != file_hash(path)
            # Another version may make another file; what people made does not depend on it.
            fresh = known is None or (
                (known.inputs, known.options) == (wanted.inputs, wanted.options)
                and (by_hand or known.veridical == wanted.veridical)
            )
            if by_hand and not fresh:
                raise UserError(
                    f"{path} was changed by hand, and what it was made from has changed since.",
                    "Delete it to make it again, or go back to the options and files it was made with.",
                )
            if fresh:
                records = read_lines(path, record)
                if by_hand:
                    self.redone.append(name)
                if known is None:  # put here by people: from now on it belongs to these inputs
                    self._remember(ledger | {name: wanted})
                return records
        records = list(make())
        write_lines(path, records)
        wanted.output = file_hash(path)
        self._remember(ledger | {name: wanted})
        return records

    def _ledger(self) -> dict[str, _MadeFrom]:
        path = self.path(LEDGER)
        if not path.exists():
            return {}
        return read_json(path, dict[str, _MadeFrom], "the ledger of a build", "Delete the work folder and build again.")

    def _remember(self, ledger: dict[str, _MadeFrom]) -> None:
        write_json(self.path(LEDGER), msgspec.to_builtins(ledger), indent=1)


def hash_of_source(source: Source | None) -> str:
    """A hash of the files that a source reads; the same for every source that has none, such as icons."""
    digest = hashlib.sha256()
    places = () if source is None else source.paths
    for place in sorted({path.absolute() for path in places}):
        annotations = _annotations(place) if place.exists() else ()
        lines = [f"{place}\n", *annotations, *sorted(_pictures(place))]
        digest.update("".join(lines).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def hash_of_panels(panels: Mapping[str, Panel]) -> str:
    """A hash of what is known of photographs."""
    digest = hashlib.sha256()
    for name in sorted(panels):
        digest.update(msgspec.json.encode(panels[name]) + b"\n")
    return digest.hexdigest()


def hash_of_path(path: str | None) -> str | None:
    """The hash of a file; of a folder, or where there is nothing, its name."""
    return file_hash(Path(path)) if path is not None and Path(path).is_file() else path


def _annotations(place: Path) -> Iterator[str]:
    """Annotations in a folder, or beside a file of them: COCO's captions lie beside its instances."""
    beside = place if place.is_dir() else place.parent
    files = {place} if place.is_file() else set()
    if place.is_dir() or place.suffix == ".json":
        files |= {path for path in beside.iterdir() if path.suffix in _ANNOTATIONS and path.is_file()}
    for path in sorted(files):
        yield f"{path.name} {file_hash(path)}\n"


def _pictures(place: Path) -> Iterator[str]:
    for folder, inside, files in os.walk(place):
        inside[:] = [name for name in inside if not name.startswith(".")]
        for name in files:
            if name.lower().endswith(SUFFIXES) and not name.startswith("."):
                path = Path(folder, name)
                facts = path.stat() if path.exists() else None  # a link that leads nowhere
                size, changed = (facts.st_size, facts.st_mtime_ns) if facts else (0, 0)
                yield f"{path.relative_to(place)} {size} {changed}\n"


def check_once(path: Path, noun: str, names: Iterable[str]) -> None:
    name, count = next(iter(Counter(names).most_common(1)), ("", 0))
    if count > 1:
        raise wrong(path, f"the {noun} {name} is there {count} times", f"Name each {noun} once.")


def wrong(path: Path, problem: str, fix: str) -> UserError:
    return UserError(f"{path}: {problem}.", fix)
