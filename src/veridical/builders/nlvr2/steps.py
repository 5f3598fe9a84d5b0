"""The steps of an NLVR2 build (section 3), in order: each a function of what the steps before it made.

Each reads its file of the work folder, or makes it; what its output depends on beside other steps' files is written
down with it (`facts`), so that it is made again when that changes.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from veridical.benchmark.writer import file_hash
from veridical.builders.nlvr2 import pairs, people, queries, search, sets
from veridical.builders.nlvr2.collection import Given, Photographs
from veridical.builders.nlvr2.config import hashes, seeds
from veridical.builders.nlvr2.photographs import fetch, look
from veridical.builders.nlvr2.queries import Query, Synset
from veridical.builders.nlvr2.wordnet import open_vectors
from veridical.builders.nlvr2.work import (
    Found,
    ImageSet,
    PrunedSet,
    Seen,
    Sentence,
    Task,
    Verdict,
    hash_of_panels,
    hash_of_path,
    hash_of_source,
)
from veridical.errors import UserError
from veridical.language.english import icon_nouns, nouns_of
from veridical.records import Panel
from veridical.sources import Photograph
from veridical.sources.icons.worlds import IconSeries

STEPS = ("photographs", "queries", "found", "pruned", "sets", "tasks", "sentences", "judgements")

# 3.1: photographs, queries, sets


def look_at_photographs(given: Given) -> Photographs:
    """What is annotated on every photograph of the source, its perceptual hash, its vector."""
    options, work = given.options, given.work
    files = hash_of_source(given.source)
    vectors_file = work.path("vectors.npy")

    def make() -> list[Seen]:
        if given.source is None:
            return [Seen(address, address) for address in search.SavedSearch(options.search or "").addresses]
        batches = work.path(".batches") / files[:16]  # what was seen of other files is not remembered
        seen, vectors = look(given.source, given.reader, given.encoder, processes=given.processes, work=batches)
        # The two belong together: a build that is killed between them must not leave those of different encoders.
        work.path("photographs.jsonl").unlink(missing_ok=True)
        with vectors_file.open("wb") as file:
            np.save(file, vectors)
        return seen

    facts: dict[str, object] = {"source": given.about_source, "name": options.source, "encoder": given.encoder}
    facts |= {"files": files, "weights": given.weights, **hashes(options, "search")}
    return Photographs(work.step("photographs.jsonl", Seen, [], facts, make), vectors_file, options)


def choose_synsets(given: Given, photographs: Photographs) -> dict[str, Synset]:
    """What is searched for: all synsets, or those whose pictures are most interesting."""
    found = _all_synsets(given, photographs)
    best = given.options.best
    if best is not None and best < len(found):
        by_name = {one.name: one for one in found}
        judge = photographs.interest.judge
        first = search.first_sets(_search(photographs, found), _make_queries(given, found))
        points = queries.count_points(
            (name, [bool(judge(photographs.by_id[one], by_name[name], "")) for one in some]) for name, some in first
        )
        found = queries.choose(points, found, best)
    return {one.name: one for one in found}


def _all_synsets(given: Given, photographs: Photographs) -> list[Synset]:
    """Those of a list, or the source's own categories."""
    if given.options.synsets is not None:
        return queries.read_synsets(given.options.synsets, given.wordnet)
    if isinstance(given.source, IconSeries):
        return queries.icon_synsets(given.wordnet, given.source.mains)
    holders = Counter(category for one in photographs.seen for category in one.objects)
    names = [name for name, count in sorted(holders.items()) if count >= sets.SIZE]
    if not names:
        problem = f"The source has no category with {sets.SIZE} photographs or more to search for."
        raise UserError(problem, search.NO_ANNOTATIONS)
    return queries.unique((queries.synset_of(name, given.wordnet) for name in names), given.options.source)


def write_queries(given: Given, photographs: Photographs, synsets: Mapping[str, Synset]) -> list[Query]:
    """What an image search is asked about each synset."""
    options = given.options
    inputs = ["photographs.jsonl"] if options.synsets is None or options.best else []
    facts: dict[str, object] = {**hashes(options, "synsets", "search"), "best": options.best}
    facts |= {"wordnet": options.wordnet, "words": given.wordnet.name}
    facts["vectors"] = hash_of_path(options.vectors) or given.has_vectors
    if options.best is not None:  # synsets are scored by what a search finds
        facts |= {**_searched(photographs), **hashes(options, "labels")}
    make = partial(_make_queries, given, list(synsets.values()))
    return given.work.step("queries.jsonl", Query, inputs, facts, make)


def _make_queries(given: Given, synsets: Sequence[Synset]) -> list[Query]:
    vectors = open_vectors(given.options.vectors) if given.has_vectors else None
    return queries.make_queries(synsets, given.wordnet, vectors)


def search_photographs(
    given: Given, photographs: Photographs, synsets: Mapping[str, Synset], queries: Sequence[Query]
) -> list[Found]:
    """Retrieved photographs with the most similar ones."""

    def make() -> list[Found]:
        found = search.find_sets(_search(photographs, list(synsets.values())), queries)
        if not found:
            raise search.nothing_found(photographs.seen, len(synsets), given.options.search)
        return found

    inputs = ["photographs.jsonl", "queries.jsonl"]
    found = given.work.step("found.jsonl", Found, inputs, _searched(photographs), make)
    sets.check_sets(given.work.path("found.jsonl"), found, photographs.by_id, synsets)
    return found


def _search(photographs: Photographs, synsets: Sequence[Synset]) -> search.Search:
    saved = photographs.options.search
    out = {*(one.id for one in photographs.seen if one.problem), *photographs.duplicates}
    if saved is not None:
        return search.SavedSearch(saved, out, {one.uri: one.id for one in photographs.seen if one.uri})
    least = photographs.least_similarity
    return search.LocalSearch(photographs.seen, photographs.vectors, synsets, left_out=out, least=least)


def _searched(photographs: Photographs) -> dict[str, object]:
    """What a search depends on beside photographs and queries."""
    options = photographs.options
    facts: dict[str, object] = {"distance": options.distance, **hashes(options, "search")}
    if options.search is None:
        facts |= {"least": photographs.least_similarity, "similarity": _hash_of_vectors(photographs)}
    return facts


def _hash_of_vectors(photographs: Photographs) -> str:
    return file_hash(photographs.file) if photographs.file.exists() else ""


def pruning_rule(photographs: Photographs, found: Sequence[Found]) -> sets.Rule:
    """What is removed from found sets."""
    removals = photographs.options.removals
    if removals is not None:
        return sets.removal_marks(people.read_marks(Path(removals), found))
    return sets.pruning_by_annotations() if photographs.annotated else sets.nothing_known()


def prune_sets(
    given: Given, photographs: Photographs, synsets: Mapping[str, Synset], found: Sequence[Found]
) -> list[PrunedSet]:
    """Found sets without what is not wanted in them."""

    def make() -> list[PrunedSet]:
        rule = pruning_rule(photographs, found)
        rule = rule if given.options.crowds else sets.without_crowds(rule)
        return sets.prune(found, photographs.by_id, synsets, rule)

    facts = {**hashes(given.options, "removals"), "crowds": given.options.crowds}
    pruned = given.work.step("pruned.jsonl", PrunedSet, ["photographs.jsonl", "found.jsonl"], facts, make)
    sets.check_sets(given.work.path("pruned.jsonl"), pruned, photographs.by_id, synsets)
    return pruned


def interest_rule(photographs: Photographs, pruned: Sequence[PrunedSet]) -> sets.Rule:
    """What is interesting in pruned sets."""
    dull = photographs.options.dull
    if dull is None:
        return photographs.interest
    marks = people.read_marks(Path(dull), pruned)
    return sets.interest_marks({key for key, reason in marks.items() if reason != sets.DUPLICATE})


def marked_duplicates(photographs: Photographs, pruned: Sequence[PrunedSet]) -> dict[tuple[str, str], str]:
    """What people marked as a duplicate, by set and photograph."""
    dull = photographs.options.dull
    marks = {} if dull is None else people.read_marks(Path(dull), pruned)
    return {key: reason for key, reason in marks.items() if reason == sets.DUPLICATE}


def construct_sets(
    given: Given, photographs: Photographs, synsets: Mapping[str, Synset], pruned: Sequence[PrunedSet]
) -> list[ImageSet]:
    """Sets of eight photographs, three or more of them interesting."""
    options = given.options

    def make() -> list[ImageSet]:
        return sets.construct(
            pruned,
            photographs.by_id,
            synsets,
            interest_rule(photographs, pruned),
            duplicates=photographs.duplicates,
            marked=marked_duplicates(photographs, pruned),
            most=options.sets,
            share=options.share,
        )

    facts: dict[str, object] = {**hashes(options, "dull", "labels"), "sets": options.sets}
    facts |= {"share": options.share, "distance": options.distance}
    if options.labels is not None:
        facts["similarity"] = _hash_of_vectors(photographs)  # the classifier looks at them
    made = given.work.step("sets.jsonl", ImageSet, ["photographs.jsonl", "pruned.jsonl"], facts, make)
    sets.check_sets(given.work.path("sets.jsonl"), made, photographs.by_id, synsets)
    return made


# 3.2: pairs and sentences


def pair_photographs(given: Given, photographs: Photographs, sets: Sequence[ImageSet]) -> list[Task]:
    """Two sentence-writing tasks over four pairs of each set."""

    def make() -> list[Task]:
        return [
            task for one in sets if not one.discarded for task in pairs.make_tasks(one, given.rng("tasks", one.set))
        ]

    tasks = given.work.step("tasks.jsonl", Task, ["sets.jsonl"], {"seed": given.options.seed}, make)
    pairs.check_tasks(given.work.path("tasks.jsonl"), tasks, photographs.by_id)
    return tasks


def fetch_photographs(given: Given, tasks: Sequence[Task]) -> dict[str, Photograph]:
    """The photographs of all tasks, with all that the source knows of them."""
    ids = {name for task in tasks for pair in task.pairs for name in pair}
    if given.source is None:
        return {name: Photograph(Panel(name, uri=name)) for name in sorted(ids)}
    found = fetch(given.source, ids, given.processes)
    missing = sorted(ids - found.keys())
    if missing:
        raise UserError(f"The source has no photograph {missing[0]!r}.", "Correct tasks.jsonl.")
    return found


def write_sentences(given: Given, tasks: Sequence[Task], used: Mapping[str, Photograph]) -> list[Sentence]:
    """A sentence for each task: people's, or generated."""
    options = given.options
    panels = {name: photograph.panel for name, photograph in used.items()}
    facts: dict[str, object] = {**hashes(options, "sentences")}
    if options.sentences is None:
        digest = hashlib.sha256(options.secret.encode("utf-8", "surrogateescape")).hexdigest() if options.secret else ""
        # What sentences are generated from and judged by: boxes and attributes, too.
        facts |= {"seed": options.seed, "secret": digest, "panels": hash_of_panels(panels)}

    def make() -> list[Sentence]:
        if options.sentences is not None:
            return people.read_sentences(Path(options.sentences), tasks)
        if not any(panel.objects for panel in panels.values()):
            raise UserError(
                "Sentences cannot be generated: the photographs have no annotated objects.",
                "Let people write them about tasks.jsonl and give --sentences, or give a --detector.",
            )
        nouns = icon_nouns() if isinstance(given.source, IconSeries) else nouns_of(panels.values())

        def seeds_of(task: Task) -> tuple[int, ...]:
            return seeds(options.seed, "sentences", task.set, task.task, options.secret)

        batches = given.work.path(".batches")
        return pairs.write_all(tasks, panels, nouns, seeds_of, processes=given.processes, work=batches)

    return given.work.step("sentences.jsonl", Sentence, ["tasks.jsonl"], facts, make)


# 3.3 and 3.4: judgements, items and splits


def judge_sentences(
    given: Given, tasks: Sequence[Task], sentences: Sequence[Sentence], used: Mapping[str, Photograph]
) -> list[Verdict]:
    """What people, or the sentences' programs, say of each pair."""
    options = given.options
    if options.sentences is not None and options.judgements is None:
        raise UserError("People's sentences have no judgements yet.", "Collect them, and give --judgements.")
    by_task = {task.task: task for task in tasks}
    panels = {name: photograph.panel for name, photograph in used.items()}

    def make() -> list[Verdict]:
        if options.judgements is not None:
            return people.read_verdicts(Path(options.judgements), by_task, sentences)
        return list(pairs.run_programs(by_task, sentences, panels))

    facts: dict[str, object] = {**hashes(options, "judgements")}
    if options.judgements is None:
        facts["panels"] = hash_of_panels(panels)
    return given.work.step("judgements.jsonl", Verdict, ["tasks.jsonl", "sentences.jsonl"], facts, make)
