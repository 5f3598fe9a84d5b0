"""More items over the pictures of a training split: its sets are paired anew, for new sentences.

As when the benchmark was built (`pairs`): a set of eight is split at random into four pairs, for two sentences, of
which the second is true where the first is false. So pictures alone tell nothing, and every sentence is true twice and
false twice. Sentences are true of annotations, so that only benchmarks of exact ones have more of them. A part of the
split is left out, sentences and sets alike; its items, as they stand, are the split `validation`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.benchmark.splits import validation_slice
from veridical.builders import BuildReport
from veridical.builders.nlvr2.pairs import PAIRS, TASKS, Job, make_tasks, write_batch
from veridical.builders.nlvr2.work import ImageSet, Sentence, Task
from veridical.engine import run
from veridical.engine.progress import Clock
from veridical.errors import UserError
from veridical.formats.card import describe
from veridical.language.english import icon_nouns
from veridical.options.building import AugmentOptions
from veridical.options.running import Workers
from veridical.records import GENERATOR, TRUTH, Item, Text, pairs

BATCH = 8  # sets whose sentences are written together
PAIRED = 7  # stands in the seed


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
        for again in range(options.variants):
            writer.add_items("train", _written(bench, _sets(kept), again, options.seed, workers))
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
    for number, (left, right) in enumerate(task.pairs):
        yield Item(
            id=f"again-{again}-{task.task}-{number}",
            task="statement",
            panels=(left, right),
            query=Text(sentence.sentence),
            candidates=TRUTH,
            answer=int(number in sentence.selected),
            group=f"again-{again}-{task.task}",
            origins=(f"set {task.set}", left, right),
            program=sentence.program,
            writer=GENERATOR,
            tags=pairs(synset=task.synset, phenomenon=sentence.phenomena, kind=sentence.kind or None),
        )
