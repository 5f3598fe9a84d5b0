"""More items of known sentences: the program of a sentence, run on other scenes, says where it is true.

The sentences are those of a training split, as they stand and with words exchanged (colours, shapes, numbers, ends),
each read into a program by whoever is handed in. Their items are balanced, sentence by sentence, and most come in
pairs, as writers contrasted them: the same objects, otherwise arranged, once true and once false.
A part of the split is left out, sentences and presentations alike; its items, as people judged them, are the split
`validation`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.benchmark.splits import validation_slice
from veridical.builders import BuildReport
from veridical.engine.progress import Clock, Progress
from veridical.errors import UserError
from veridical.formats.card import describe
from veridical.language.programs.domain import Domain, domain_of
from veridical.language.programs.execution import compiled
from veridical.language.programs.terms import Term, parse
from veridical.options.building import AugmentOptions
from veridical.records import GENERATOR, TRUTH, Item, Pairs, Panel, Text, View, pairs
from veridical.sources.boxes.scenes import ORDERS, TOWER_X, presentations

Read = Callable[[str], Term | None]  # the program that a sentence means

COLORS = ("black", "blue", "yellow")
SHAPES = ("square", "circle", "triangle")
SIZES = ("small", "medium", "big")
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven")
ENDS = {"top": "bottom", "bottom": "top", "left": "right", "right": "left"}
_WORD = re.compile(r"[A-Za-z]+|[0-9]+")
LOOKED_AT = 48  # images that tell whether a sentence is sometimes true and sometimes false
RARE = 0.02  # of them; a sentence that is (almost) always true, or never, makes no items
SCANNED = 800  # presentations looked through for a sentence
PLAIN_AMOUNTS = ("", "exactly {}", "at least {}", "at most {}", "only {}", "")
PLAIN_PLACES = (
    "", "", "touching the wall", "touching the edge", "touching the bottom", "touching the top",
    "not touching the wall", "touching a corner", "on top", "at the bottom",
)  # fmt: skip
PLAIN_GROUPS = ("", "", "in a {}", "in each {}", "in one {}", "in exactly two {}s")
BATCH = 20_000  # items written at a time


@dataclass(frozen=True)
class Shown:
    """A presentation: four images, or fewer."""

    name: str
    images: tuple[tuple[tuple[Panel, ...], Domain], ...]

    @cached_property
    def kin(self) -> tuple[tuple[int, ...], ...]:
        """Which images have the same objects, otherwise arranged."""
        alike: dict[tuple[tuple[str, Pairs], ...], list[int]] = {}
        for number, (panels, _) in enumerate(self.images):
            things = sorted((o.category, o.attributes) for panel in panels for o in panel.objects)
            alike.setdefault(tuple(things), []).append(number)
        return tuple(map(tuple, alike.values()))


@dataclass(frozen=True)
class Sentence:
    """A sentence that was written about a kind of scene, and what it means."""

    text: str
    program: Term
    tower: bool
    items: int  # how many to make of it
    apart: float  # the share of them that may be images without kin of the other answer


def exchanged(sentence: str, rng: np.random.Generator, tower: bool) -> str:
    """The sentence with other colours, shapes (of towers, which are all squares, the same), sizes, numbers and ends.

    >>> exchanged("There is a black square on top of 2 blue items.", np.random.default_rng(3), False)
    'There is a yellow square on top of 1 blue items.'
    """
    swaps = dict(zip(COLORS, rng.permutation(COLORS).tolist(), strict=True))
    if not tower:
        swaps |= zip(SHAPES, rng.permutation(SHAPES).tolist(), strict=True)
        swaps |= zip(SIZES, rng.permutation(SIZES).tolist(), strict=True)
    if rng.random() < 0.3:
        swaps |= ENDS
    steps = iter(rng.integers(-1, 2, 64).tolist())

    def other(found: re.Match[str]) -> str:
        word = found[0]
        low, plural = word.lower(), word.lower().endswith("s")
        if low in NUMBERS or low.isdigit():
            value = int(low) if low.isdigit() else NUMBERS.index(low) + 1
            new = min(max(value + next(steps, 0), 1), len(NUMBERS)) if value <= len(NUMBERS) else value
            made = str(new) if low.isdigit() else NUMBERS[new - 1]
        else:
            stem = low[:-1] if plural and low[:-1] in swaps else low
            made = swaps.get(stem, stem) + ("s" if stem != low else "")
        return made.capitalize() if word[0].isupper() else made

    return _WORD.sub(other, sentence)


def plain(rng: np.random.Generator, tower: bool) -> str:
    """A plain sentence of one amount of one kind of things: what is learned first.

    >>> plain(np.random.default_rng(5), False)
    'There are only three yellow objects touching the wall.'
    """

    def one_of(options: Sequence[str]) -> str:
        return str(options[int(rng.integers(len(options)))])

    many = int(rng.integers(1, 5))
    amount = one_of(PLAIN_AMOUNTS).format(one_of((NUMBERS[many - 1], str(many)))) or "a"
    noun = "block" if tower else one_of((*SHAPES, "item", "object"))
    size = "" if tower or rng.random() < 0.7 else one_of(SIZES)
    color = "" if rng.random() < 0.25 else one_of(COLORS)
    single = amount == "a" or many == 1
    group = one_of(PLAIN_GROUPS).format("tower" if tower else "box").replace("boxs", "boxes")
    words = ("There is" if single else "There are", amount, size, color, noun if single else f"{noun}s",
             one_of(PLAIN_PLACES), group)  # fmt: skip
    return " ".join(word for word in words if word) + "."


def augment(benchmark: Path | str, out: Path | str, read: Read, options: AugmentOptions) -> BuildReport:
    """Make the benchmark: see the top of this file. Sentences of items that have a program need not be read."""
    clock = Clock()
    bench = Benchmark(benchmark)
    items = [i for i in bench.items(options.split) if i.answer is not None and i.query is not None]
    if not items:
        raise UserError(f"No item of split {options.split!r} has a sentence and an answer.", "Name another split.")
    texts = [i.query.raw if i.query else "" for i in items]
    rng = np.random.default_rng([options.seed, 1])
    held = validation_slice(texts, [i.origins for i in items], options.validation, rng)
    kept = [item for item, is_held in zip(items, held, strict=True) if not is_held]
    shown = {
        tower: list(_shown(bench, kept, tower)) * options.own + list(_new(options, tower)) for tower in (False, True)
    }
    config = {"format": "nlvr", "statements": "read and run again", "of": bench.hash, **asdict(options)}
    with BenchmarkWriter(
        out, name=f"{bench.name}, again", task="statement", config=config, seed=options.seed, describe=describe
    ) as writer:
        _write_validation(writer, bench, [item for item, is_held in zip(items, held, strict=True) if is_held])
        used: dict[str, Panel] = {}
        made: list[Item] = []
        sentences = list(_sentences(bench, kept, read, shown, options))
        with Progress("running sentences again", len(sentences), "sentences") as progress:
            for number, sentence in enumerate(sentences):
                rng = np.random.default_rng([options.seed, 7, number])
                for item, panels in _items(sentence, shown[sentence.tower], f"again-{number}", rng):
                    made.append(item)
                    used |= {panel.id: panel for panel in panels}
                if len(made) >= BATCH:
                    writer.add_items("train", made)
                    made = []
                progress.advance()
        writer.add_items("train", made)
        writer.add_panels(used.values())
    clock.done("running sentences")
    return BuildReport("nlvr", Path(out), Benchmark(out).manifest["counts"], seconds=clock.seconds)


def _write_validation(writer: BenchmarkWriter, bench: Benchmark, items: Sequence[Item]) -> None:
    for address in sorted({view.image for item in items for view in item.views if view.image is not None}):
        writer.add_image(bytes(bench.image(address)))
    writer.add_items("validation", items)
    writer.add_panels(bench.panels[name] for name in sorted({name for item in items for name in item.panels}))


def _is_tower(panels: Iterable[Panel]) -> bool:
    boxes = [o.box for panel in panels for o in panel.objects]
    return all(box is not None and box[0] == TOWER_X for box in boxes)


def _shown(bench: Benchmark, items: Sequence[Item], tower: bool) -> Iterator[Shown]:
    """The presentations of a split that show towers, or those that do not."""
    by_origin: dict[str, list[tuple[Panel, ...]]] = {}
    for item in items:
        panels = tuple(_named(bench.panels[name], name) for name in item.panels)
        if _is_tower(panels) == tower:
            by_origin.setdefault((item.origins or (item.id,))[0], []).append(panels)
    for name, images in by_origin.items():
        yield Shown(name, tuple((panels, domain_of(panels)) for panels in images))


def _new(options: AugmentOptions, tower: bool) -> Iterator[Shown]:
    """New presentations."""
    for number, one in enumerate(presentations(options.presentations, options.seed)):
        if (one.arrangement == "tower") == tower:
            renamed = [tuple(_named(panel, f"new-{panel.id}") for panel in scene) for scene in one.scenes]
            yield Shown(f"new-{number}", tuple((scene, domain_of(scene)) for scene in renamed))


def _named(panel: Panel, name: str) -> Panel:
    """A panel under another name; its picture is drawn where it is needed."""
    return Panel(name, None, panel.region, panel.width, panel.height, panel.objects)


def _sentences(
    bench: Benchmark, items: Sequence[Item], read: Read, shown: dict[bool, list[Shown]], options: AugmentOptions
) -> Iterator[Sentence]:
    """Every sentence once, and its variants, as far as they can be read and are sometimes true and sometimes false."""
    about: dict[str, bool] = {}
    known: dict[str, str] = {}  # programs of generated statements
    for item in items:
        text = item.query.raw if item.query else ""
        about.setdefault(text, _is_tower(bench.panels[name] for name in item.panels))
        if item.program is not None:
            known[text] = item.program
    seen: set[str] = set()
    with Progress("reading sentences", len(about) + options.plain, "sentences") as progress:
        for number, (text, tower) in enumerate(about.items()):
            rng = np.random.default_rng([options.seed, 6, number])
            others = [exchanged(text, rng, tower) for _ in range(options.variants)]
            for one, count in [(text, options.items), *((other, options.variant_items) for other in others)]:
                program = None if one in seen else parse(known[one]) if one in known else read(one)
                seen.add(one)
                if program is not None and _says_something(program, shown[tower], rng):
                    yield Sentence(one, program, tower, count, options.apart)
            progress.advance()
        for number in range(options.plain):
            rng = np.random.default_rng([options.seed, 8, number])
            one = plain(rng, tower := bool(number % 2))
            program = None if one in seen else read(one)
            seen.add(one)
            if program is not None and _says_something(program, shown[tower], rng):
                yield Sentence(one, program, tower, options.items, 1.0)
            progress.advance()


def _says_something(program: Term, shown: Sequence[Shown], rng: np.random.Generator) -> bool:
    run = compiled(program)
    chosen = [shown[n].images for n in rng.integers(len(shown), size=LOOKED_AT).tolist()]
    share = np.mean([bool(run(images[n % len(images)][1])) for n, images in enumerate(chosen)])
    return RARE <= float(share) <= 1 - RARE


def _items(
    sentence: Sentence, shown: Sequence[Shown], name: str, rng: np.random.Generator
) -> Iterator[tuple[Item, tuple[Panel, ...]]]:
    """As many true as false ones."""
    run, most, apart = compiled(sentence.program), sentence.items // 2, sentence.apart
    found: tuple[list[tuple[str, tuple[Panel, ...]]], ...] = ([], [])
    for n in rng.permutation(len(shown))[:SCANNED].tolist():
        one = shown[n]
        truths = [bool(run(domain)) for _, domain in one.images]
        for kin in one.kin:
            sides = [[k for k in kin if truths[k] == side] for side in (False, True)]
            alone = not (sides[0] and sides[1])
            if alone and len(found[bool(sides[1])]) > apart * most:
                continue
            for side, images in enumerate(sides):
                found[side].extend((one.name, one.images[k][0]) for k in images[:1])
        if min(map(len, found)) >= most:
            break
    both = min(most, *map(len, found))
    views = tuple(View(order) for order in ORDERS)
    for truth, images in enumerate(found):
        for number, (origin, panels) in enumerate(images[:both]):
            item = Item(
                id=f"{name}-{truth}-{number}",
                task="statement",
                panels=tuple(panel.id for panel in panels),
                query=Text(sentence.text),
                candidates=TRUTH,
                answer=truth,
                group=name,
                origins=(origin,),
                views=views,
                program=str(sentence.program),
                writer=GENERATOR,
                tags=pairs(arrangement="tower" if sentence.tower else "scatter"),
            )
            yield item, panels
