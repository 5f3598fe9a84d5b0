"""The benchmark that an NLVR2 build writes: its items and pictures, and what it says of itself.

The manifest's config carries what made the benchmark, by which rules, and every count of the collection (section 3.6;
Table 4 of the draft): what was found, what went, its cost.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path

import pyarrow as pa

from veridical.benchmark import BenchmarkWriter, tables
from veridical.benchmark.splits import SECRET
from veridical.builders.collected import costs as cost_of
from veridical.builders.collected import read_collection
from veridical.builders.nlvr2.collection import FILES, Collection, hashes, hidden_splits
from veridical.builders.nlvr2.pairs import WRITER, check_presence, check_sentence
from veridical.builders.nlvr2.people import PAPER_SPLITS, Kept, Validated, judgements
from veridical.builders.nlvr2.photographs import opened
from veridical.builders.nlvr2.steps import STEPS, interest_rule, pruning_rule
from veridical.builders.nlvr2.visible import about_thresholds
from veridical.common.average_hash import average_hash
from veridical.engine import run
from veridical.formats.card import describe
from veridical.formats.nlvr2 import balance_of
from veridical.records import TRUTH, Item, Pairs, Panel, Pruned, Text, pairs
from veridical.sources import Photograph, Source

PICTURE_BATCH = 32
INCOMPLETE = (
    "The sentences were judged by running their programs on annotations that may miss objects: some labels will be "
    "wrong. Let people validate them before others compete on this."
)
GENERATED = (
    "were generated, not written by people: each is the English of a program over the annotated objects of two "
    "photographs, chosen to be true of two pairs of a set of eight and false of the other two"
)
PEOPLE, UNKNOWN = "people's", "unknown"
_OPEN_LICENCE = re.compile(r"\bCC(?:0|-BY(?:-NC)?(?:-SA|-ND)?)-\d\.\d\b")


def store(made: Collection, done: Validated, out: Path, secret: bytes) -> None:
    """Write the benchmark."""
    options = made.options
    used = {name for k in done.items for name in k.task.pairs[k.pair]}
    kept = {k.id for k in done.items} | done.removed.keys()
    said = [j for j in judgements(made.sentences, made.by_task, made.judgements) if j.item in kept]
    with BenchmarkWriter(
        out,
        name="NLVR2",
        task="statement",
        config=about(made, done),
        seed=options.seed,
        licence=options.licence or licence(made, done),
        hidden=hidden_splits(options),
        hide_objects=True,
        describe=describe,
    ) as writer:
        if secret:
            writer.add_hidden_file(SECRET, secret)
        panels, origins = _pictures(made, sorted(used), writer)
        for name in dict.fromkeys(options.split or PAPER_SPLITS):
            rows = [k for k in done.items if done.splits[k.id] == name]
            if rows:
                writer.add_items(name, _items(rows, panels))
        writer.add_panels(panels.values())
        writer.add_photographs(origins)
        writer.add_judgements(said)
        if done.removed:
            writer.add_pruned(Pruned(name, reason, at) for name, (at, reason) in sorted(done.removed.items()))


def _items(rows: Sequence[Kept], panels: Mapping[str, Panel]) -> list[Item]:
    sides = [k.task.pairs[k.pair] for k in rows]
    lefts, rights = (pa.array([str(pair[side]) for pair in sides]) for side in range(2))
    balance = balance_of(lefts, rights, pa.array([bool(k.label) for k in rows])).to_pylist()
    return [_item(k, balanced, panels) for k, balanced in zip(rows, balance, strict=True)]


def _item(k: Kept, balance: str, panels: Mapping[str, Panel]) -> Item:
    left, right = k.task.pairs[k.pair]
    shown = [
        {o.category for side in two for o in panels[side].objects} for two in k.task.pairs if set(two) <= panels.keys()
    ]
    truth = [i in k.sentence.selected for i, two in enumerate(k.task.pairs) if set(two) <= panels.keys()]
    warnings = check_sentence(k.sentence.sentence)
    if any(shown):
        warnings += check_presence(k.sentence.sentence, shown, truth)
    tags: Pairs = pairs(
        synset=k.task.synset,
        query=k.task.query,
        phenomenon=k.sentence.phenomena,
        balance=balance,
        kind=k.sentence.kind or None,
        guideline=warnings,
    )
    return Item(
        id=k.id,
        task="statement",
        panels=(left, right),
        query=Text(k.sentence.sentence),
        candidates=TRUTH,
        answer=k.label,
        group=f"set-{k.task.task}",
        origins=(f"set {k.task.set}", left, right),
        program=k.sentence.program,
        writer=k.sentence.writer,
        tags=tags,
    )


def _pictures(made: Collection, names: Sequence[str], writer: BenchmarkWriter) -> tuple[dict[str, Panel], pa.Table]:
    """Store the pictures; the panels by photograph, and where each came from."""
    used = made.used
    batches = [[used[name] for name in names[i : i + PICTURE_BATCH]] for i in range(0, len(names), PICTURE_BATCH)]
    panels: dict[str, Panel] = {}
    if made.source is None:
        panels = {name: used[name].panel for name in names}
    else:
        function = partial(_read_batch, made.reader)
        pictures = run(function, batches, workers=made.workers, label="pictures")
        for batch, read in zip(batches, pictures, strict=True):
            for photograph, (picture, hashed) in zip(batch, read, strict=True):
                panel = photograph.panel
                panels[panel.id] = replace(panel, phash=panel.phash or hashed, image=writer.add_image(picture))
    about = "saved search" if made.source is None else made.source.name
    rows = [(name, about, used[name].panel.uri, used[name].licence) for name in names]
    return panels, pa.table([list(column) for column in zip(*rows, strict=True)], schema=tables.PHOTOGRAPHS)


def _read_batch(reader: Source | str, batch: Sequence[Photograph]) -> list[tuple[bytes, str]]:
    """Pictures, and their average hashes, as NLVR2 publishes them."""
    from PIL import Image

    source = opened(reader)
    return [(data, average_hash(Image.open(BytesIO(data)))) for data in map(source.picture, batch)]


def about(made: Collection, done: Validated) -> dict[str, object]:
    """The config that the benchmark carries: what made it, by which rules, and every count."""
    options, photographs = made.options, made.photographs
    rules = {"pruning": pruning_rule(made), "interesting": interest_rule(made)}
    return {
        "format": "nlvr2",
        "source": made.about_source,
        "splits": dict(options.split) if options.split else "section 3.4",
        "words": {"thesaurus": made.wordnet.name, "vectors": made.has_vectors},
        "similarity": "a saved search" if options.search else made.encoder,
        "least_similarity": photographs.least_similarity,
        "distance": options.distance,
        "share": options.share,
        **({} if made.exact or made.source is None else {"visible": about_thresholds()}),
        **{name: {"by": rule.name, "rule": rule.about, **rule.facts} for name, rule in rules.items()},
        "sentences": _origin(made),
        "judgements": _judged(made),
        "redone_by_people": sorted(set(made.work.redone)),
        "secret": bool(options.secret),
        "inputs": hashes(options, *FILES),
        "collection": counts(made) | _outcome(options.costs, done),
        **({} if options.from_collection is None else {"people": _people(options.from_collection)}),
        "card": _card(made, done, [rule.about for rule in rules.values()]),
    }


def _people(folder: str | Path) -> dict[str, object]:
    """Who wrote, validated, pruned and relabelled, as the collection counted it."""
    return dict(read_collection(folder, "nlvr2").statistics)


def _origin(made: Collection) -> str | dict[str, int]:
    """Who wrote the sentences: one that has a program was generated, whichever file it came from."""
    generated = sum(one.program is not None for one in made.sentences if one.sentence)
    written = sum(one.program is None for one in made.sentences if one.sentence)
    if generated and written:
        return {"generated": generated, PEOPLE: written}
    return "generated" if generated else PEOPLE


def _judged(made: Collection) -> str:
    if made.judged_by_people:
        looked = len({one.item for one in made.judgements if one.worker != WRITER})
        some = any(one.worker == WRITER for one in made.judgements)
        return f"{PEOPLE} on {looked:,} items, each sentence's program on the others" if some else PEOPLE
    return "each sentence's program, run on " + ("exact annotations" if made.exact else "incomplete annotations")


def _card(made: Collection, done: Validated, rules: Sequence[str]) -> list[str]:
    """Paragraphs for whoever opens the benchmark."""
    origin = _origin(made)
    families = {k.sentence.kind for k in done.items if k.sentence.kind}
    programs = f" Kinds of programs: {', '.join(sorted(families))}." if families else ""
    if isinstance(origin, dict):
        sentences = f"{origin['generated']:,} sentences {GENERATED}; people wrote {origin[PEOPLE]:,} more.{programs}"
    else:
        sentences = f"The sentences {GENERATED}.{programs}" if origin == "generated" else "People wrote the sentences."
    said = _judged(made)
    judged = f"Labels are {said}." if made.judged_by_people else f"Labels are what {said}, gives."
    judged = "People judged them." if said == PEOPLE else judged
    if not made.judged_by_people and not made.exact:
        judged += f" {INCOMPLETE}"
    parts = [sentences, judged, f"Rules for photographs: {'; '.join(rules)}."]
    if known := _licences(made, done):
        parts.append("Licences of the photographs (`photographs.parquet` has each one's): " + "; ".join(known) + ".")
    return parts


def licence(made: Collection, done: Validated) -> str:
    """The licence of a benchmark where none was given: that of its photographs, where they have one in common."""
    known = _licences(made, done)
    if len(known) != 1 or UNKNOWN in known:
        return "Each photograph has its own licence: see photographs.parquet." if known != [UNKNOWN] else ""
    named = set(_OPEN_LICENCE.findall(known[0]))
    return named.pop() if len(named) == 1 else known[0]


def _licences(made: Collection, done: Validated) -> list[str]:
    names = {name for k in done.items for name in k.task.pairs[k.pair]}
    return sorted({made.used[name].licence or UNKNOWN for name in names})


def counts(made: Collection, reached: Iterable[str] = STEPS) -> dict[str, object]:
    """Counts of all steps that were reached."""
    pruned = [one for one in made.pruned if not one.discarded]
    sets = [one for one in made.sets if not one.discarded]
    of: dict[str, dict[str, object]] = {
        "photographs": {
            "photographs": len(made.photographs.seen),
            "photographs_that_do_not_load": sum(bool(one.problem) for one in made.photographs.seen),
        },
        "queries": {
            "synsets": len({query.synset for query in made.queries}),
            "queries": len(made.queries),
            "queries_by_heuristic": dict(sorted(Counter(query.heuristic for query in made.queries).items())),
        },
        "found": {
            "duplicate_photographs": len(made.photographs.duplicates) if "found" in reached else 0,
            "found_sets": len(made.found),
            "found_images": sum(len(one.photographs) for one in made.found),
        },
        "pruned": {
            "pruned_sets": len(pruned),
            "pruned_images": sum(len(one.photographs) for one in pruned),
            "images_removed": _most_first(reason for one in made.pruned for reason in one.removed.values()),
            "sets_discarded_in_pruning": _most_first(one.discarded for one in made.pruned),
        },
        "sets": {
            "sets": len(sets),
            "set_images": len({name for one in sets for name in one.photographs}),
            "interesting_images": _most_first(reason for one in sets for reason in one.interesting.values()),
            "sets_discarded_in_construction": _most_first(one.discarded for one in made.sets),
        },
        "tasks": {"tasks": len(made.tasks)},
        "sentences": {
            "sentences": sum(bool(one.sentence) for one in made.sentences),
            "tasks_without_sentence": _most_first(one.flagged for one in made.sentences),
        },
        "judgements": {"judgements": _most_first(one.kind for one in made.judgements)},
    }
    return {name: count for step in reached for name, count in of[step].items()}


def _outcome(costs: str | Path | None, done: Validated) -> dict[str, object]:
    unique = len({k.sentence.task for k in done.items})
    out: dict[str, object] = {
        "sentences_reported": done.reported,
        "items_that_pass_validation": done.passed,
        "items_held_out": len(done.held_out),
        "items": len(done.items),
        "images": len({name for k in done.items for name in k.task.pairs[k.pair]}),
        "unique_sentences": unique,
        "items_per_sentence": round(len(done.items) / unique, 4),
        "items_removed": done.reasons(),
    }
    if costs is not None:
        out["cost"] = cost_of(Path(costs), unique, len(done.items))
    return out


def _most_first(values: Iterable[str]) -> dict[str, int]:
    """How often each value that is not empty occurs."""
    return dict(sorted(Counter(filter(None, values)).items(), key=lambda pair: (-pair[1], pair[0])))
