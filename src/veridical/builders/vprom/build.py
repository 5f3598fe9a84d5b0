"""The steps of a V-PROM build: mine the source, make each scheme's matrices, store what they show."""

from __future__ import annotations

import math
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.benchmark.place import check_free, hidden_dir
from veridical.benchmark.splits import SECRET, check_splits, mix_secret, secret_words
from veridical.benchmark.writer import file_hash
from veridical.builders import BuildReport
from veridical.builders.collected import answers_file, check_answers, read_answers, study
from veridical.builders.vprom import storing
from veridical.builders.vprom.collected import taken_over
from veridical.builders.vprom.elements import CELLS, Lists, read_lists
from veridical.builders.vprom.matrices import Matrices, answers, make_deck, make_matrices
from veridical.builders.vprom.mining import Mined, mine, pool_of
from veridical.builders.vprom.pool import SCHEMES, SIDES, SPLIT, Pool, Scheme, make_scheme
from veridical.engine import run
from veridical.engine.progress import Clock, Progress
from veridical.errors import UserError
from veridical.formats.card import describe
from veridical.options import check_seed
from veridical.options.building import Mining, VPROMOptions
from veridical.options.running import Workers
from veridical.records import Pruned
from veridical.sources import Photograph, Source, open_source
from veridical.sources.icons.worlds import THINGS, IconPanels

MINE_BATCH = 100  # photographs; a batch takes under a second
FEW = 1000  # photographs that are mined here rather than by other processes
NAMED = 5  # photographs without a usable picture that the report names
NO_PICTURE = "its picture cannot be used"
MOST_OF_A_TYPE = 0.3  # the share of a type's matrices that one answer may have unnoted; of five counts it has a fifth
FEW_OF_A_TYPE = 12  # matrices, of which nothing is said
_LOWER = {"richness": "lower --least-images", "purity": "raise --most-others", "quality": "lower --least-side"}


def build(out: Path | str, options: VPROMOptions, mining: Mining, *, workers: Workers = Workers()) -> BuildReport:
    """Build a V-PROM benchmark: see `build_vprom`. The same seed, secret and options give the same bytes.

    `judgements` are people's answers to an earlier build with the same options (JSON lines: item, worker, verdict).
    """
    if options.from_collection is not None:
        options = taken_over(options)
    names = tuple(SCHEMES if options.schemes is None else dict.fromkeys(options.schemes))
    check_options(names, options)
    check_free(Path(os.path.abspath(out)))
    people = [] if options.judgements is None else read_answers(answers_file(options.judgements))
    read = read_lists(options.lists)
    opened = open_panels(options)
    check_mining(mining, opened)
    job = VPROMJob(Path(os.path.abspath(out)), opened, read, mining, options, workers)
    kept = job.mix()
    pool, photographs = pool_of(job.mined(), mining)
    job.say_bad(pool)
    job.clock.done("mining")
    made = job.make(names, pool)
    if people:
        check_answers(people, _item_names(made, pool, photographs))
    writer = BenchmarkWriter(
        job.out,
        name="V-PROM",
        task="matrix",
        config=_config(job, names, pool, made) | study(options.from_collection, "vprom", people),
        seed=options.seed,
        licence=options.licence or str(opened.config().get("licence", "")),
        hidden=options.hide,
        hide_objects=bool(options.hide),
        describe=describe,
    )
    with writer:
        if kept:
            writer.add_hidden_file(SECRET, kept)
        job.write(writer, pool, photographs, made)
        if job.bad:
            writer.add_pruned(Pruned(name, NO_PICTURE, "pictures") for name in job.bad)
        writer.add_judgements(people)
    shutil.rmtree(job.work, ignore_errors=True)
    if options.hide and len(made) > 1:
        job.notes.append(
            "Photographs for test in one scheme are for training in another, whose answers say what they show: build "
            "one scheme with --schemes where hidden answers must stay unknown."
        )
    rejected = Counter[str]()
    for side in _sides(made):
        rejected.update(side.rejected)
    counts = Benchmark(job.out).manifest["counts"]
    removed = {"photographs, cannot be used": len(job.bad)} if job.bad else {}
    removed |= {f"draws, {reason}": number for reason, number in rejected.items() if number}
    return BuildReport("vprom", job.out, counts, removed, {}, tuple(job.notes), job.clock.seconds)


def check_options(names: Sequence[str], options: VPROMOptions) -> None:
    """Refuse options that make no benchmark, before anything is mined or drawn, which may take an hour."""
    schemes = f"Choose from: {', '.join(SCHEMES)}."
    if not names:
        raise UserError("No scheme was asked for.", schemes)
    for name in names:
        if name not in SCHEMES:
            raise UserError(f"There is no scheme {name!r}.", schemes)
    if options.matrices < SPLIT:
        raise UserError(f"{options.matrices} matrices cannot be divided two to one.", f"Ask for {SPLIT} or more.")
    check_seed(options.seed)
    check_splits(dict.fromkeys(SIDES, 1), options.hide)
    if options.secret and not options.hide:
        raise UserError("A secret was given, and no split is hidden.", "Name the split to hide: --hide test.")


def check_mining(mining: Mining, source: Source) -> None:
    """Refuse principles that nothing, or nothing of this source, can meet."""
    for option, given, least in (
        ("--least-images", mining.least_images, 1),
        ("--most-others", mining.most_others, 0),
        ("--least-side", mining.least_side, 1),
    ):
        if given < least:
            raise UserError(f"{option} is {given}.", f"Give a whole number from {least}.")
    if isinstance(source, IconPanels) and mining.least_side > source.side:
        raise UserError(
            f"--least-side is {mining.least_side}, and the panels of the icon world have {source.side} pixels a side.",
            f"Give {source.side} or less.",
        )


def open_panels(options: VPROMOptions) -> Source:
    """The source of a build; `images` and `categories` are those of the icon world."""
    source: str | Source = options.source
    given = {"images": options.images, "categories": options.categories}
    if source != "icons":
        for option, number in given.items():
            if number is not None:
                raise UserError(
                    f"The number of {option} is that of the source.", f"Leave --{option} out, or use --source icons."
                )
        return open_source(source) if isinstance(source, str) else source
    for option, most, limit in (("images", math.inf, "1 or more"), ("categories", len(THINGS), f"1 to {len(THINGS)}")):
        number = given[option]
        if number is not None and not 1 <= number <= most:
            raise UserError(f"{number} {option} of icons were asked for.", f"Give {limit}, or leave --{option} out.")
    images = default_images(options.matrices) if options.images is None else options.images
    return IconPanels(images, options.seed, categories=options.categories or 0)


def default_images(matrices: int) -> int:
    """Icon panels to draw from: enough for each of 140 categories on both sides, and more for more matrices.

    >>> default_images(3), default_images(15_000), default_images(1_000_000)
    (6000, 7500, 20000)
    """
    return int(np.clip(matrices // 2, 6000, 20_000))


def too_little(pool: Pool) -> UserError:
    """Why no matrix could be made: the principle that removed the most is the first to be lowered."""
    removed = {principle: sum(types.values()) for principle, types in pool.removed.items() if principle in _LOWER}
    worst = max(_LOWER, key=lambda principle: removed.get(principle, 0))
    number = removed.get(worst, 0)
    why = f" {worst.capitalize()} removed the most: {number:,} depictions." if number else ""
    return UserError(
        f"No matrix could be made: {len(pool):,} crops show {int(pool.usable.sum())} elements.{why}",
        f"Use a larger source, or {_LOWER[worst]}.",
    )


Made = dict[str, tuple[Scheme, dict[str, Matrices]]]  # scheme -> its rules and the matrices of each side


def _sides(made: Made) -> Iterator[Matrices]:
    return chain.from_iterable(sides.values() for _, sides in made.values())


def _item_names(made: Made, pool: Pool, photographs: Sequence[str]) -> set[str]:
    names = pa.array(photographs, pa.string())
    parts = [(scheme, side, found) for scheme, (_, sides) in made.items() for side, found in sides.items()]
    return {name for scheme, side, found in parts for name in storing.item_names(found, pool, names, (scheme, side))}


def _public(job: VPROMJob, sides: Mapping[str, Matrices]) -> dict[str, Matrices]:
    return {side: found for side, found in sides.items() if side not in job.options.hide}


def _config(job: VPROMJob, names: Sequence[str], pool: Pool, made: Made) -> dict[str, object]:
    """What the manifest says of the build. It counts no hidden matrix: less the public ones, that would tell."""
    made = {scheme: (rules, _public(job, sides)) for scheme, (rules, sides) in made.items()}
    table = pool.table()
    for type_, number in Counter(CELLS[k][1] for side in _sides(made) for k in side.cell.tolist()).items():
        table[type_]["matrices"] = number
    judged = job.options.judgements
    inputs = {} if judged is None else {"inputs": {"judgements": file_hash(answers_file(judged))}}
    return {
        "format": "vprom",
        "source": job.source.config(),
        "schemes": list(names),
        "matrices": job.options.matrices,
        "secret": bool(job.salt),
        "mining": asdict(job.mining),
        "lists": dict(job.lists.hashes),
        "mined": {"photographs": pool.photographs, "kinds": table, "removed": pool.removed},
        "answers": {scheme: answers(pool, sides.values()) for scheme, (_, sides) in made.items()},
        "rejected": {
            scheme: {side: dict(one.rejected) for side, one in sides.items()} for scheme, (_, sides) in made.items()
        },
        **inputs,
    }


@dataclass
class VPROMJob:
    """What is built, and how long its steps took."""

    out: Path
    source: Source
    lists: Lists
    mining: Mining
    options: VPROMOptions
    workers: Workers
    salt: tuple[int, ...] = ()  # of the secret
    notes: list[str] = field(default_factory=list)
    bad: dict[str, str] = field(default_factory=dict)  # photograph -> why its picture cannot be used
    clock: Clock = field(default_factory=Clock)

    @property
    def work(self) -> Path:
        """Where finished batches lie, so that a build that was killed continues."""
        return self.out.with_name(f".{self.out.name}.panels")

    def rng(self, *place: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence([self.options.seed, *self.salt], spawn_key=place))

    def mix(self) -> bytes:
        """Mix the secret into everything random, and say what to keep of it.

        What matrices show and the numbers of icon panels are public: were only the draws of hidden matrices secret, the
        seed would still tell what is on each of their panels.
        """
        if not self.options.hide:
            return b""
        mixed = mix_secret(self.options.secret, hidden_dir(self.out) / SECRET, self.work)
        self.notes += mixed.notes
        self.salt = tuple(secret_words(mixed.secret))
        if isinstance(self.source, IconPanels):
            self.source = replace(self.source, salt=self.salt)
        else:
            self.notes.append("Whoever has the annotations of these photographs can work the hidden answers out.")
        return mixed.kept

    def mined(self) -> Iterator[Mined]:
        """What the source shows, a batch of photographs at a time; pictures that cannot be used show nothing."""
        if (count := self.source.count) is not None:
            ranges = [range(k, min(k + MINE_BATCH, count)) for k in range(0, count, MINE_BATCH)]
            function = partial(_mine_numbers, self.source, self.lists, self.mining)
            yield from run(function, ranges, workers=self.workers, work=self.work, label="mining")
            return
        for mined, bad in self._looked_at():
            self.bad |= bad
            yield mined

    def _looked_at(self) -> Iterator[tuple[Mined, dict[str, str]]]:
        photographs = self.source.photographs()
        function = partial(_mine, self.source, self.lists, self.mining)
        batches = iter(lambda: list(islice(photographs, MINE_BATCH)), [])
        yield from map(function, islice(batches, FEW // MINE_BATCH))
        if (first := next(batches, None)) is not None:
            more = chain([first], batches)
            yield from run(function, more, workers=self.workers, work=self.work, label="mining")

    def say_bad(self, pool: Pool) -> None:
        """Name photographs that were left out; refuse to go on where none is left."""
        named = [f"{name}: {reason}" for name, reason in islice(self.bad.items(), NAMED)]
        if self.bad and not len(pool):
            raise UserError(
                f"{len(self.bad):,} photographs cannot be used, and the others show too little. {named[0]}.",
                "Look where the source expects its pictures.",
            )
        self.notes += [f"Left out: {one}." for one in named]
        if len(self.bad) > NAMED:
            more = len(self.bad) - NAMED
            self.notes.append(f"Left out: {more:,} more photographs, whose pictures cannot be used (pruned.parquet).")

    def make(self, names: Sequence[str], pool: Pool) -> Made:
        """The matrices of every scheme and side."""
        count = self.options.matrices
        sizes = {"test": count // SPLIT, "train": count - count // SPLIT}
        made: Made = {}
        with Progress("drawing matrices", len(names) * count, "matrices") as progress:
            for name in names:
                scheme = make_scheme(name, pool, self.lists.schemes, self.rng(0, SCHEMES.index(name)))
                decks = {side: make_deck(pool, scheme.photographs(side), scheme.allowed(side)) for side in SIDES}
                both = decks["train"].possible & decks["test"].possible  # nothing is tested that was not trained
                if not scheme.says_something(both):
                    self.notes.append(f"Left out: {name}. The source has too little of what it holds out.")
                    progress.advance(count)
                    continue
                sides: dict[str, Matrices] = {}
                for place, (side, deck) in enumerate(decks.items()):
                    rng = self.rng(1, SCHEMES.index(name), place)
                    sides[side] = make_matrices(pool, replace(deck, possible=both), sizes[side], rng, progress.advance)
                self._note(name, both, sides, pool)
                if all(len(side) for side in sides.values()):
                    made[name] = scheme, sides
                else:
                    self.notes.append(f"Left out: {name}. The source shows too little.")
        if not made:
            raise too_little(pool)
        self.clock.done("matrices")
        return made

    def _note(self, name: str, possible: np.ndarray, sides: dict[str, Matrices], pool: Pool) -> None:
        types = {e.type for e, ok in zip(pool.elements, pool.usable, strict=True) if ok}
        lost = [f"{r} ({type_})" for (r, type_), ok in zip(CELLS, possible, strict=True) if type_ in types and not ok]
        if lost:
            self.notes.append(f"{name}: too few elements or photographs for {', '.join(lost)}.")
        about = answers(pool, sides.values())
        if never := [f"{group} ({type_})" for type_, own in about.items() for group in own if not own[group]]:
            self.notes.append(f"{name}: no matrix is about {', '.join(never)}.")
        for side, made in sides.items():
            for (relation, type_), number in made.missing.items():
                text = f"{number:,} matrices, {relation} ({type_}), could not be made unambiguous."
                self.notes.append(f"{name} {side}: {text}")
            self.notes += [f"{name} {side}: {text}" for text in _lopsided(made, pool)]

    def write(self, writer: BenchmarkWriter, pool: Pool, photographs: Sequence[str], made: Made) -> None:
        """Items first, since hidden ones decide which objects are hidden; then what they show."""
        named = storing.crop_names(photographs, pool.photograph, pool.region)
        crop_column, photograph_column = pa.array(named, pa.string()), pa.array(photographs, pa.string())
        used, secret = np.zeros(len(pool), bool), np.zeros(pool.photographs, bool)
        for name, (scheme, sides) in made.items():
            for side, found in sides.items():
                used[found.crops] = True
                if side in self.options.hide:
                    secret[pool.photograph[found.crops]] = True
                told = (found, pool, crop_column, photograph_column, (name, side), scheme.bound)
                for table in storing.items_tables(*told):
                    writer.add_items(side, table, name)
        self.clock.done("items")
        # another crop of a hidden item's photograph, shown in another scheme, may show the same objects
        writer.hide_panels(named[k] for k in np.flatnonzero(used & secret[pool.photograph]).tolist())
        for one in storing.stored(self.source, pool, named, used, self.workers, self.work):
            address = writer.add_image(one.picture)
            writer.add_panels([replace(panel, image=address) for panel in one.panels])
        self.clock.done("pictures")


def _lopsided(made: Matrices, pool: Pool) -> Iterator[str]:
    """Where one element is the answer so often that knowing it is worth a guess."""
    types = np.array([CELLS[k][1] for k in made.cell], str)
    for type_ in np.unique(types):
        labels, often = np.unique(made.label[types == type_], return_counts=True)
        most, number = int(np.argmax(often)), int(often.sum())
        if number >= FEW_OF_A_TYPE and often[most] > MOST_OF_A_TYPE * number:
            yield (
                f"{pool.elements[labels[most]].name} is the answer of {often[most]:,} of {number:,} matrices about "
                f"{type_}, which can be learned without looking: use more photographs."
            )


def _mine_numbers(source: Source, lists: Lists, config: Mining, numbers: range) -> Mined:
    return mine(map(source.at, numbers), lists, config, exact=source.exact)


def _mine(source: Source, lists: Lists, config: Mining, photographs: list[Photograph]) -> tuple[Mined, dict[str, str]]:
    """What some photographs show, and those whose picture cannot be used: found here, by whichever process mines."""
    found = mine(photographs, lists, config, exact=source.exact)
    bad = storing.bad_pictures(source, (one for one, own in zip(photographs, found.crops, strict=True) if own))
    crops = tuple(() if name in bad else own for name, own in zip(found.names, found.crops, strict=True))
    return replace(found, crops=crops), bad
