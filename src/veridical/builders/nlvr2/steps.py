"""The steps of an NLVR2 build (section 3), in order: each adds to a collection what it makes of the steps before it.

Each reads its file of the work folder, or makes it; what its output depends on beside other steps' files is written
down with it (`facts`), so that it is made again when that changes.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from veridical.benchmark.writer import file_hash
from veridical.builders.nlvr2 import pairs, people, queries, search, sets, work
from veridical.builders.nlvr2.collection import Collection, Photographs, hashes, seeds
from veridical.builders.nlvr2.photographs import fetch, look
from veridical.builders.nlvr2.queries import Query, Synset
from veridical.builders.nlvr2.visible import about_thresholds, visible
from veridical.builders.nlvr2.word_vectors import open_vectors
from veridical.builders.nlvr2.work import Found, ImageSet, PrunedSet, Seen, Sentence, Task, Verdict
from veridical.common.arrays import write_array
from veridical.errors import UserError
from veridical.language.english import icon_nouns, nouns_of
from veridical.options.building import NLVR2Options
from veridical.records import Panel
from veridical.sources import Photograph
from veridical.sources.icons.worlds import IconSeries

# 3.1: photographs, queries, sets


def look_at_photographs(made: Collection) -> None:
    """What is annotated on every photograph of the source, its perceptual hash, its vector."""
    options = made.options
    files = work.hash_of_source(made.source)
    vectors_file = made.work.path("vectors.npy")

    def make() -> list[Seen]:
        if made.source is None:
            return [Seen(address, address) for address in search.SavedSearch(options.search or "").addresses]
        batches = made.work.path(".batches") / files[:16]  # what was seen of other files is not remembered
        coverage = None if made.exact else made.coverage
        seen, vectors = look(made.source, made.reader, made.encoder, coverage, workers=made.workers, work=batches)
        # The two belong together: a build that is killed between them must not leave those of different encoders.
        made.work.path("photographs.jsonl").unlink(missing_ok=True)
        write_array(vectors_file, vectors)
        return seen

    facts: dict[str, object] = {"source": made.about_source, "name": options.source, "encoder": made.encoder}
    facts |= {"files": files, "weights": made.weights, **hashes(options, "search")}
    if isinstance(made.source, IconSeries) and made.source.salt:
        facts["secret"] = _digest(options.secret)
    if made.source is not None and not made.exact:
        facts |= {"visible": about_thresholds(), **_covered(options)}
    made.photographs = Photographs(made.work.step("photographs.jsonl", Seen, [], facts, make), vectors_file, options)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest() if secret else ""


def _covered(options: NLVR2Options) -> dict[str, object]:
    """What was said of the annotations."""
    return {} if options.exhaustive is None else {"exhaustive": list(options.exhaustive)}


def write_queries(made: Collection) -> None:
    """What is searched for, and what an image search is asked about each synset."""
    options = made.options
    made.synsets = {one.name: one for one in _choose_synsets(made)}
    inputs = ["photographs.jsonl"] if options.synsets is None or options.best else []
    facts: dict[str, object] = {**hashes(options, "synsets", "search"), "best": options.best}
    facts |= {"wordnet": options.wordnet, "words": made.wordnet.name}
    facts["vectors"] = work.hash_of_path(options.vectors) or made.has_vectors
    facts |= _covered(options)
    if options.best is not None:  # synsets are scored by what a search finds
        facts |= {**_searched(made.photographs), **hashes(options, "labels")}
    make = partial(_make_queries, made, list(made.synsets.values()))
    made.queries = made.work.step("queries.jsonl", Query, inputs, facts, make)


def _choose_synsets(made: Collection) -> list[Synset]:
    """All synsets, or those whose pictures are most interesting."""
    found = _all_synsets(made)
    best = made.options.best
    if best is None or best >= len(found):
        return found
    by_name = {one.name: one for one in found}
    judge, seen = made.photographs.interest.judge, made.photographs.by_id
    first = search.first_sets(_search(made.photographs, found), _make_queries(made, found))
    points = queries.count_points(
        (name, [bool(judge(seen[one], by_name[name], "")) for one in some]) for name, some in first
    )
    return queries.choose(points, found, best)


def _all_synsets(made: Collection) -> list[Synset]:
    """Those of a list, or the source's own categories."""
    if made.options.synsets is not None:
        return queries.read_synsets(made.options.synsets, made.wordnet)
    if isinstance(made.source, IconSeries):
        return queries.icon_synsets(made.wordnet, made.source.mains)
    holders = Counter(category for one in made.photographs.seen for category in one.objects)
    names = [name for name, count in sorted(holders.items()) if count >= sets.SIZE]
    names = [name for name in names if made.coverage.covers(name)] or names
    above = made.coverage.under
    held = [one.objects.keys() for one in made.photographs.seen]
    wide = {name for name, under in above.items() if sum(not under.isdisjoint(own) for own in held) >= sets.SIZE}
    names += sorted(wide.difference(names))
    if not names:
        problem = f"The source has no category with {sets.SIZE} photographs or more to search for."
        raise UserError(problem, search.NO_ANNOTATIONS)
    found = [queries.synset_of(name, made.wordnet) for name in names]
    found = [queries.with_members(one, sorted(above[one.name])) if one.name in above else one for one in found]
    return queries.unique(found, made.options.source)


def _make_queries(made: Collection, synsets: Sequence[Synset]) -> list[Query]:
    vectors = open_vectors(made.options.vectors) if made.has_vectors else None
    return queries.make_queries(synsets, made.wordnet, vectors)


def search_photographs(made: Collection) -> None:
    """Retrieved photographs with the most similar ones."""

    def make() -> list[Found]:
        found = search.find_sets(_search(made.photographs, list(made.synsets.values())), made.queries)
        if not found:
            raise search.nothing_found(made.photographs.seen, len(made.synsets), made.options.search)
        return found

    inputs = ["photographs.jsonl", "queries.jsonl"]
    made.found = made.work.step("found.jsonl", Found, inputs, _searched(made.photographs), make)
    sets.check_sets(made.work.path("found.jsonl"), made.found, made.photographs.by_id, made.synsets)


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


def pruning_rule(made: Collection) -> sets.Rule:
    """What is removed from found sets."""
    removals = made.options.removals
    if removals is not None:
        return sets.removal_marks(people.read_marks(Path(removals), made.found))
    return sets.BY_ANNOTATIONS if made.photographs.annotated else sets.NOTHING_KNOWN


def prune_sets(made: Collection) -> None:
    """Found sets without what is not wanted in them."""
    crowds, seen = made.options.crowds, made.photographs.by_id

    def make() -> list[PrunedSet]:
        rule = pruning_rule(made)
        return sets.prune(made.found, seen, made.synsets, rule if crowds else sets.without_crowds(rule))

    facts = {**hashes(made.options, "removals"), "crowds": crowds}
    made.pruned = made.work.step("pruned.jsonl", PrunedSet, ["photographs.jsonl", "found.jsonl"], facts, make)
    sets.check_sets(made.work.path("pruned.jsonl"), made.pruned, seen, made.synsets)


def interest_rule(made: Collection) -> sets.Rule:
    """What is interesting in pruned sets."""
    if made.options.dull is None:
        return made.photographs.interest
    return sets.interest_marks({key for key, reason in _marks(made).items() if reason != sets.DUPLICATE})


def _marks(made: Collection) -> dict[tuple[str, str], str]:
    """What people marked as dull or as a duplicate, by set and photograph."""
    return {} if made.options.dull is None else people.read_marks(Path(made.options.dull), made.pruned)


def construct_sets(made: Collection) -> None:
    """Sets of eight photographs, three or more of them interesting."""
    options, photographs = made.options, made.photographs

    def make() -> list[ImageSet]:
        return sets.construct(
            made.pruned,
            photographs.by_id,
            made.synsets,
            interest_rule(made),
            duplicates=photographs.duplicates,
            marked={key: reason for key, reason in _marks(made).items() if reason == sets.DUPLICATE},
            most=options.sets,
            share=options.share,
        )

    facts: dict[str, object] = {**hashes(options, "dull", "labels"), "sets": options.sets}
    facts |= {"share": options.share, "distance": options.distance}
    if options.labels is not None:
        facts["similarity"] = _hash_of_vectors(photographs)  # the classifier looks at them
    made.sets = made.work.step("sets.jsonl", ImageSet, ["photographs.jsonl", "pruned.jsonl"], facts, make)
    sets.check_sets(made.work.path("sets.jsonl"), made.sets, photographs.by_id, made.synsets)


# 3.2: pairs and sentences


def pair_photographs(made: Collection) -> None:
    """Two sentence-writing tasks over four pairs of each set."""

    def make() -> list[Task]:
        whole = [one for one in made.sets if not one.discarded]
        if made.exact or made.source is None:
            return [task for one in whole for task in pairs.make_tasks(one, made.rng("tasks", one.set))]
        made.used = _fetched(made, {name for one in whole for name in one.photographs})
        nouns = nouns_of(made.panels.values(), made.coverage)
        if not nouns.categories:
            return [task for one in whole for task in pairs.make_tasks(one, made.rng("tasks", one.set))]

        def seeds_of(one: ImageSet) -> tuple[int, ...]:
            return seeds(made.options.seed, "tasks", one.set)

        return pairs.pair_all(whole, made.panels, nouns, seeds_of, workers=made.workers)

    facts: dict[str, object] = {"seed": made.options.seed, **_covered(made.options)}
    made.tasks = made.work.step("tasks.jsonl", Task, ["sets.jsonl"], facts, make)
    pairs.check_tasks(made.work.path("tasks.jsonl"), made.tasks, made.photographs.by_id)


def _fetched(made: Collection, ids: set[str]) -> dict[str, Photograph]:
    """Photographs with all that the source knows of them."""
    if ids <= made.used.keys():
        return {name: made.used[name] for name in sorted(ids)}
    if made.source is None:
        return {name: Photograph(Panel(name, uri=name)) for name in sorted(ids)}
    found = fetch(made.source, ids, made.workers)
    missing = sorted(ids - found.keys())
    if missing:
        raise UserError(f"The source has no photograph {missing[0]!r}.", "Correct tasks.jsonl.")
    return found if made.exact else {name: visible(one, made.coverage) for name, one in found.items()}


def write_sentences(made: Collection) -> None:
    """A sentence for each task: people's, or generated."""
    options = made.options
    made.used = _fetched(made, {name for task in made.tasks for pair in task.pairs for name in pair})
    panels = made.panels
    facts: dict[str, object] = {**hashes(options, "sentences")}
    if options.sentences is None:
        # What sentences are generated from and judged by: boxes and attributes, too.
        facts |= {"seed": options.seed, "secret": _digest(options.secret), **_covered(options)}
        facts["panels"] = work.hash_of_panels(panels)

    def seeds_of(task: Task) -> tuple[int, ...]:
        return seeds(options.seed, "sentences", task.set, task.task, options.secret)

    def make() -> list[Sentence]:
        if options.sentences is not None:
            return people.read_sentences(Path(options.sentences), made.tasks)
        if not any(panel.objects for panel in panels.values()):
            raise UserError(
                "Sentences cannot be generated: the photographs have no annotated objects.",
                "Let people write them about tasks.jsonl and give --sentences, or give a --detector.",
            )
        nouns = icon_nouns() if isinstance(made.source, IconSeries) else nouns_of(panels.values(), made.coverage)
        if not nouns.categories:
            raise UserError(
                "Sentences cannot be generated: nothing says that all there is of some category is annotated.",
                "Name categories of which it is with --exhaustive, or all; or let people write, and give --sentences.",
            )
        batches = made.work.path(".batches")
        return pairs.write_all(made.tasks, panels, nouns, seeds_of, workers=made.workers, work=batches)

    made.sentences = made.work.step("sentences.jsonl", Sentence, ["tasks.jsonl"], facts, make)
    pairs.check_sentences(made.work.path("sentences.jsonl"), made.sentences, made.tasks)


# 3.3: judgements


def judge_sentences(made: Collection) -> None:
    """What people, or the sentences' programs, say of each pair."""
    options = made.options
    if options.sentences is not None and options.judgements is None:
        raise UserError("People's sentences have no judgements yet.", "Collect them, and give --judgements.")

    def make() -> list[Verdict]:
        if options.judgements is not None:
            return people.read_verdicts(Path(options.judgements), made.by_task, made.sentences)
        return list(pairs.run_programs(made.by_task, made.sentences, made.panels))

    facts: dict[str, object] = {**hashes(options, "judgements")}
    if options.judgements is None:
        facts["panels"] = work.hash_of_panels(made.panels)
    made.judgements = made.work.step("judgements.jsonl", Verdict, ["tasks.jsonl", "sentences.jsonl"], facts, make)


STEPS: dict[str, Callable[[Collection], None]] = {
    "photographs": look_at_photographs,
    "queries": write_queries,
    "found": search_photographs,
    "pruned": prune_sets,
    "sets": construct_sets,
    "tasks": pair_photographs,
    "sentences": write_sentences,
    "judgements": judge_sentences,
}
