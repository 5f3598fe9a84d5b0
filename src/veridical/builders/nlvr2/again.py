"""More items over the pictures of a training split: its sets are paired anew, for new sentences.

As when the benchmark was built (`pairs`): a set of eight is split at random into four pairs, for two sentences, of
which the second is true where the first is false. So pictures alone tell nothing, and every sentence is true twice and
false twice. Plain sentences of one amount of one kind of things come beside them: what is learned first. Sentences are
true of annotations, so that only benchmarks of exact ones have more of them. A part of the split is left out,
sentences and sets alike; its items, as they stand, are the split `validation`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import permutations
from pathlib import Path

import numpy as np

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.benchmark.splits import validation_slice
from veridical.builders import BuildReport
from veridical.builders.nlvr2.pairs import PAIRS, TASKS, Job, make_tasks, write_batch
from veridical.builders.nlvr2.work import ImageSet, Sentence, Task
from veridical.engine import run
from veridical.engine.progress import Clock, Progress
from veridical.errors import UserError
from veridical.formats.card import describe
from veridical.language.english import NUMBER_WORDS, Nouns, Word, icon_nouns
from veridical.language.programs.domain import domain_of
from veridical.language.programs.execution import compiled
from veridical.language.programs.terms import Term, term
from veridical.options.building import AugmentOptions
from veridical.options.running import Workers
from veridical.records import GENERATOR, TRUTH, Item, SceneObject, Text, pairs
from veridical.sources.icons.glyphs import PERSON

BATCH = 8  # sets whose sentences are written together
PAIRED, PLAIN = 7, 8  # stand in the seed
GENERAL, COLORED = 0.25, 0.4  # of plain sentences: those that say "animals", and those that name a colour
MOST_COUNTED = 4
AMOUNTS = (
    ("a", "at-least"), ("{}", "exactly"), ("exactly {}", "exactly"), ("at least {}", "at-least"),
    ("at most {}", "at-most"),
)  # fmt: skip
PANELS = term("panels")


def augment(benchmark: Path | str, out: Path | str, options: AugmentOptions, workers: Workers) -> BuildReport:
    """Make the benchmark: see the top of this file."""
    clock, bench = Clock(), Benchmark(benchmark)
    made_of = bench.manifest["config"].get("source")
    if not isinstance(made_of, dict) or made_of.get("source") != "icons":
        raise UserError(
            f"The pictures of {bench.name} have no exact annotations.",
            "New sentences can be written about pairs of icons (`veridical build nlvr2 --source icons`).",
        )
    items = [item for item in bench.items(options.split) if item.answer is not None and item.query is not None]
    if not items:
        raise UserError(f"No item of split {options.split!r} has a sentence and an answer.", "Name another split.")
    texts = [item.query.raw if item.query else "" for item in items]
    rng = np.random.default_rng([options.seed, 1])
    is_held = validation_slice(texts, [item.origins for item in items], options.validation, rng)
    kept = [item for item, held in zip(items, is_held, strict=True) if not held]
    held = [item for item, held in zip(items, is_held, strict=True) if held]
    config = {"format": "nlvr2", "source": made_of, "statements": "written again", "of": bench.hash, **asdict(options)}
    with BenchmarkWriter(
        out, name=f"{bench.name}, again", task="statement", config=config, seed=options.seed, describe=describe
    ) as writer:
        names = sorted({name for item in items for name in item.panels})
        for address in sorted({bench.panels[name].image or "" for name in names}):
            writer.add_image(bytes(bench.image(address)))
        writer.add_panels(bench.panels[name] for name in names)
        if held:
            writer.add_items("validation", held)
        sets = _sets(kept)
        writer.add_items("train", _plain_items(bench, sets, options))
        for again in range(options.variants):
            writer.add_items("train", _written(bench, sets, again, options.seed, workers))
    clock.done("writing sentences")
    return BuildReport("nlvr2", Path(out), Benchmark(out).manifest["counts"], seconds=clock.seconds)


def _sets(items: Sequence[Item]) -> list[ImageSet]:
    """The sets of eight that items show, as far as they are whole."""
    shown: dict[str, dict[str, None]] = {}
    about: dict[str, Mapping[str, str]] = {}
    for item in items:
        name = item.origins[0].removeprefix("set ")
        shown.setdefault(name, {}).update(dict.fromkeys(item.panels))
        about[name] = dict(item.tags)
    return [
        ImageSet(name, about[name].get("synset", ""), about[name].get("query", ""), tuple(photographs))
        for name, photographs in shown.items()
        if len(photographs) == 2 * PAIRS
    ]


def _written(bench: Benchmark, sets: Sequence[ImageSet], again: int, seed: int, workers: Workers) -> Iterator[Item]:
    """Every set paired anew once, and what can be said of it."""
    jobs: list[Job] = []
    for number, one in enumerate(sets):
        seeds = (seed, PAIRED, again, number)
        tasks = tuple(make_tasks(one, np.random.default_rng(seeds)))
        jobs.append((tasks, {name: bench.panels[name] for name in one.photographs}, (*seeds, 1)))
    batches = [jobs[start : start + BATCH] for start in range(0, len(jobs), BATCH)]
    label = f"writing sentences, round {again + 1}"
    found = run(partial(write_batch, icon_nouns()), batches, workers=workers, label=label)
    sentences = [sentence for batch in found for sentence in batch]
    tasks_of = [task for tasks, _, _ in jobs for task in tasks]
    assert len(tasks_of) == len(sentences) == TASKS * len(sets)
    for task, sentence in zip(tasks_of, sentences, strict=True):
        if sentence.sentence:
            yield from _items(task, sentence, again)


def _items(task: Task, sentence: Sentence, again: int) -> Iterator[Item]:
    tags = pairs(synset=task.synset, phenomenon=sentence.phenomena, kind=sentence.kind or None)
    for number, two in enumerate(task.pairs):
        made = _item(f"again-{again}-{task.task}", number, task.set, two, sentence.sentence, sentence.program or "")
        yield replace(made, answer=int(number in sentence.selected), tags=tags)


def _item(group: str, number: int, of: str, two: tuple[str, str], sentence: str, program: str) -> Item:
    return Item(
        id=f"{group}-{number}",
        task="statement",
        panels=two,
        query=Text(sentence),
        candidates=TRUTH,
        group=group,
        origins=(f"set {of}", *two),
        program=program,
        writer=GENERATOR,
    )


# --- plain sentences --------------------------------------------------------------------------------------------------


def plain(rng: np.random.Generator, things: Sequence[SceneObject], nouns: Nouns) -> tuple[str, Term]:
    """A plain sentence of one amount of one kind of things, and what it means."""

    def one_of(options: Sequence[str]) -> str:
        return options[int(rng.integers(len(options)))]

    shown = things[int(rng.integers(len(things)))]
    above = nouns.above.get(shown.category)
    general = above is not None and rng.random() < GENERAL
    word = nouns.hypernyms[above] if general and above else nouns.categories[shown.category]
    test = term("is", "category", *(nouns.under(above) if general and above else (shown.category,)))
    color = shown.attribute("color")
    if color is not None and shown.category != PERSON and rng.random() < COLORED:
        word, test = Word(f"{color} {word.one}", f"{color} {word.many}"), term("and", test, term("is", "color", color))
    number = int(rng.integers(1, MOST_COUNTED + 1))
    words, op = AMOUNTS[int(rng.integers(len(AMOUNTS)))]
    number = 1 if words == "a" else number
    counted = word.counted(words.format(NUMBER_WORDS[number]), number)
    holds = term("count", term(op, number), term("keep", test, term("things")))
    place = one_of(("", "left", "right", "one", "each"))
    if place in ("left", "right"):
        held = term("every", term("panel", 1 if place == "left" else 2), holds)
        return f"The {place} image shows {counted}.", held
    if place == "one":
        return f"One of the images shows {counted}.", term("count", term("at-least", 1), term("where", holds, PANELS))
    if place == "each":
        return f"Each image shows {counted}.", term("every", PANELS, holds)
    return f"There {'is' if number == 1 else 'are'} {counted} in the two images.", holds


def _plain_items(bench: Benchmark, sets: Sequence[ImageSet], options: AugmentOptions) -> Iterator[Item]:
    """Plain sentences about every set in turn, each true of two of its pairs and false of two, or of one."""
    nouns = icon_nouns()
    with Progress("writing plain sentences", len(sets), "sets") as progress:
        for number, one in enumerate(sets):
            rng = np.random.default_rng([options.seed, PLAIN, number])
            scenes = {
                (a, b): domain_of((bench.panels[a], bench.panels[b])) for a, b in permutations(one.photographs, 2)
            }
            things = [thing for name in one.photographs for thing in bench.panels[name].objects]
            for which in range(number, options.plain, len(sets)):
                sentence, program = plain(rng, things, nouns)
                run_program = compiled(program)
                sides: tuple[list[tuple[str, str]], ...] = ([], [])
                for two, domain in scenes.items():
                    sides[bool(run_program(domain))].append(two)
                both = min(2, *map(len, sides))
                chosen = [(t, k) for t, side in enumerate(sides) for k in rng.permutation(len(side))[:both].tolist()]
                for place, (truth, k) in enumerate(chosen):
                    item = _item(f"plain-{which}", place, one.set, sides[truth][k], sentence, str(program))
                    yield replace(item, answer=truth)
            progress.advance()
