"""The steps of a V-PROM build: mine the source, make each scheme's matrices, store what they show."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.benchmark.place import check_free, hidden_dir
from veridical.benchmark.splits import SECRET, drawn_secret, mix_secret, secret_words
from veridical.benchmark.writer import file_hash
from veridical.builders.report import BuildReport
from veridical.builders.vprom.elements import CELLS, Lists, read_lists
from veridical.builders.vprom.matrices import Matrices, answers, make_deck, make_matrices
from veridical.builders.vprom.mining import Mined, mine, pool_of
from veridical.builders.vprom.options import (
    check_answers,
    check_mining,
    check_options,
    open_panels,
    read_answers,
    too_little,
)
from veridical.builders.vprom.pool import Pool
from veridical.builders.vprom.schemes import SCHEMES, SIDES, SPLIT, Scheme, make_scheme
from veridical.builders.vprom.storing import Stored, Wanted, bad_pictures, crop_names, item_names, items_table, store
from veridical.common.files import Json
from veridical.engine import run
from veridical.engine.progress import Clock, Progress
from veridical.errors import UserError
from veridical.formats.card import describe
from veridical.options.building import Mining, VPROMOptions
from veridical.records import Box, Panel, Pruned
from veridical.sources import Photograph, Source
from veridical.sources.icons.worlds import IconPanels

MINE_BATCH = 100  # photographs; a batch takes under a second
FEW = 1000  # photographs that are mined here rather than by other processes
NAMED = 5  # photographs without a usable picture that the report names
NO_PICTURE = "its picture cannot be used"
STORE_BATCH = 50
MOST_OF_A_TYPE = 0.3  # the share of a type's matrices that one answer may have unnoted; of five counts it has a fifth
FEW_OF_A_TYPE = 12  # matrices, of which nothing is said
WRITE_ROWS = 32_768


def build(out: Path | str, options: VPROMOptions, mining: Mining, *, processes: int | None = None) -> BuildReport:
    """Build a V-PROM benchmark: see `build_vprom`. The same seed, secret and options give the same bytes.

    `judgements` are people's answers to an earlier build with the same options (JSON lines: item, worker, verdict).
    """
    names = tuple(SCHEMES if options.schemes is None else dict.fromkeys(options.schemes))
    check_options(names, options)
    check_free(Path(os.path.abspath(out)))
    people = [] if options.judgements is None else read_answers(Path(options.judgements))
    read = read_lists(options.lists)
    opened = open_panels(options)
    check_mining(mining, opened)
    job = VPROMJob(Path(os.path.abspath(out)), opened, read, mining, options.seed, processes, tuple(options.hide))
    kept = job.mix(options.secret)
    pool, photographs = pool_of(job.mined(), mining)
    job.say_bad(pool)
    job.clock.done("mining")
    made = job.make(names, options.matrices, pool)
    if people:
        check_answers(people, _ids(made, pool, photographs))
    inputs = {} if options.judgements is None else {"inputs": {"judgements": file_hash(Path(options.judgements))}}
    writer = BenchmarkWriter(
        job.out,
        name="V-PROM",
        task="matrix",
        config=_config(job, names, options.matrices, pool, made) | inputs,
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
    for _, sides in made.values():
        for side in sides.values():
            rejected.update(side.rejected)
    counts = Benchmark(job.out).manifest["counts"]
    removed = {"photographs, cannot be used": len(job.bad)} if job.bad else {}
    removed |= {f"draws, {reason}": number for reason, number in rejected.items() if number}
    return BuildReport("vprom", job.out, counts, removed, {}, tuple(job.notes), job.clock.seconds)


Made = dict[str, tuple[Scheme, dict[str, Matrices]]]  # scheme -> its rules and the matrices of each side


def _ids(made: Made, pool: Pool, photographs: Sequence[str]) -> set[str]:
    """The names of all items."""
    names = pa.array(photographs, pa.string())
    return {
        name
        for scheme, (_, sides) in made.items()
        for side, found in sides.items()
        for name in item_names(found, pool, names, (scheme, side))
    }


def _config(job: VPROMJob, names: Sequence[str], matrices: int, pool: Pool, made: Made) -> Json:
    table = pool.table()
    for _, sides in made.values():
        for side in sides.values():
            for type_, number in zip(*np.unique([CELLS[k][1] for k in side.cell], return_counts=True), strict=True):
                own = table[str(type_)]
                own["matrices"] = own.get("matrices", 0) + int(number)
    return {
        "format": "vprom",
        "source": job.source.config(),
        "schemes": list(names),
        "matrices": matrices,
        "secret": bool(job.salt),
        "mining": asdict(job.mining),
        "lists": dict(job.lists.hashes),
        "mined": {"photographs": pool.photographs, "kinds": table, "removed": pool.removed},
        "answers": {scheme: answers(pool, sides.values()) for scheme, (_, sides) in made.items()},
        "rejected": {
            scheme: {side: dict(one.rejected) for side, one in sides.items()} for scheme, (_, sides) in made.items()
        },
    }


@dataclass
class VPROMJob:
    """What is built, and how long its steps took."""

    out: Path
    source: Source
    lists: Lists
    mining: Mining
    seed: int
    processes: int | None
    hidden: tuple[str, ...] = ()
    salt: tuple[int, ...] = ()  # of the secret
    notes: list[str] = field(default_factory=list)
    bad: dict[str, str] = field(default_factory=dict)  # photograph -> why its picture cannot be used
    clock: Clock = field(default_factory=Clock)

    @property
    def work(self) -> Path:
        """Where finished batches lie, so that a build that was killed continues."""
        return self.out.with_name(f".{self.out.name}.panels")

    def rng(self, *place: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence([self.seed, *self.salt], spawn_key=place))

    def mix(self, secret: str) -> bytes:
        """Mix the secret into everything random, and say what to keep of it.

        What matrices show and the numbers of icon panels are public: were only the draws of hidden matrices secret, the
        seed would still tell what is on each of their panels.
        """
        if not self.hidden:
            return b""
        mixed = mix_secret(secret, hidden_dir(self.out) / SECRET, partial(drawn_secret, self.work))
        self.notes += [mixed.note] if mixed.note else []
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
            yield from run(function, ranges, processes=self.processes, work=self.work, label="mining")
            return
        for mined, bad in self._looked_at():
            self.bad |= bad
            yield mined

    def _looked_at(self) -> Iterator[tuple[Mined, dict[str, str]]]:
        photographs = self.source.photographs()
        function = partial(_mine, self.source, self.lists, self.mining)
        yield from map(function, _batches(islice(photographs, FEW), MINE_BATCH))
        rest = _batches(photographs, MINE_BATCH)
        if (first := next(rest, None)) is not None:
            more = chain([first], rest)
            yield from run(function, more, processes=self.processes, work=self.work, label="mining")

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

    def make(self, names: Sequence[str], count: int, pool: Pool) -> Made:
        """The matrices of every scheme and side."""
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
        named = crop_names(photographs, pool.photograph, pool.region)
        crop_column, photograph_column = pa.array(named, pa.string()), pa.array(photographs, pa.string())
        used, secret = np.zeros(len(pool), bool), np.zeros(pool.photographs, bool)
        for name, (scheme, sides) in made.items():
            for side, found in sides.items():
                used[found.crops] = True
                if side in self.hidden:
                    secret[pool.photograph[found.crops]] = True
                table = items_table(found, pool, crop_column, photograph_column, (name, side), scheme.bound)
                for start in range(0, table.num_rows, WRITE_ROWS):
                    writer.add_items(side, table.slice(start, WRITE_ROWS), name)
        self.clock.done("items")
        # another crop of a hidden item's photograph, shown in another scheme, may show the same objects
        writer.hide_panels(named[k] for k in np.flatnonzero(used & secret[pool.photograph]).tolist())
        for stored in self._stored(pool, named, used):
            for one in stored:
                address = writer.add_image(one.picture)
                writer.add_panels(_addressed(one.panels, address))
        self.clock.done("pictures")

    def _stored(self, pool: Pool, named: Sequence[str], used: np.ndarray) -> Iterator[list[Stored]]:
        crops = np.flatnonzero(used)
        wanted: dict[int, list[tuple[str, Box | None]]] = {}
        for k in crops.tolist():
            left, top, right, bottom = pool.region[k].tolist()
            region = None if np.isnan(left) else (left, top, right, bottom)
            wanted.setdefault(int(pool.photograph[k]), []).append((named[k], region))
        if self.source.count is not None:
            rows = [Wanted(number, tuple(parts)) for number, parts in sorted(wanted.items())]
            function = partial(store, self.source)
            batches = [rows[k : k + STORE_BATCH] for k in range(0, len(rows), STORE_BATCH)]
            yield from run(function, batches, processes=self.processes, work=self.work, label="drawing panels")
            return
        with Progress("storing photographs", len(wanted), "photographs") as progress:
            for number, photograph in enumerate(self.source.photographs()):
                if number in wanted:
                    yield self._read_again(Wanted(photograph, tuple(wanted[number])))
                    progress.advance(1)

    def _read_again(self, wanted: Wanted) -> list[Stored]:
        """Store a photograph whose picture could be used before."""
        try:
            return store(self.source, [wanted])
        except UserError as error:
            shutil.rmtree(self.work, ignore_errors=True)  # it remembers that the picture was good
            raise UserError(
                f"A picture changed during the build. {error.problem}", "Build again: what cannot be used is left out."
            ) from error


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


def _addressed(panels: Sequence[Panel], address: str) -> list[Panel]:
    return [replace(panel, image=address) for panel in panels]


def _mine_numbers(source: Source, lists: Lists, config: Mining, numbers: range) -> Mined:
    return mine(map(source.at, numbers), lists, config, exact=source.exact)


def _mine(source: Source, lists: Lists, config: Mining, photographs: list[Photograph]) -> tuple[Mined, dict[str, str]]:
    """What some photographs show, and those whose picture cannot be used: found here, by whichever process mines."""
    found = mine(photographs, lists, config, exact=source.exact)
    bad = bad_pictures(source, (one for one, own in zip(photographs, found.crops, strict=True) if own))
    crops = tuple(() if name in bad else own for name, own in zip(found.names, found.crops, strict=True))
    return replace(found, crops=crops), bad


def _batches(photographs: Iterator[Photograph], size: int) -> Iterator[list[Photograph]]:
    while part := list(islice(photographs, size)):
        yield part
