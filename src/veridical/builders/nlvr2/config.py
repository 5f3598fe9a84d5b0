"""Everything that decides an NLVR2 benchmark, in one record; `read_config` takes it from a JSON or TOML file."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import msgspec

from veridical.benchmark.splits import check_seed, check_splits
from veridical.benchmark.writer import file_hash
from veridical.errors import UserError

PAPER_SPLITS = {"train": 0.8, "dev": 0.2 / 3, "test-p": 0.2 / 3, "test-u": 0.2 / 3}
HIDDEN = ("test-u",)
FILES = ("synsets", "search", "removals", "dull", "labels", "sentences", "judgements", "costs")
DISTANCE = 6  # bits of a perceptual hash in which near duplicates may differ


def seeds(seed: int, *parts: str) -> tuple[int, ...]:
    """What decides one random thing of a build, named by its parts."""
    digest = hashlib.blake2b("\n".join(parts).encode("utf-8", "surrogateescape"), digest_size=16).digest()
    return (seed, *(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4)))


@dataclass(frozen=True)
class Config:
    """What is built, and from what."""

    source: str = "icons"  # or coco:PATH, vg:PATH, folder:PATH; none: addresses alone, of a saved search
    detector: str | None = None  # a detector that finds objects in photographs without annotations
    threshold: float = 0.5  # the least score of what it finds that counts, as NLVR2's authors chose
    sets: int | None = None  # sets of eight photographs; all that can be made, or 250 of icons, unless given
    seed: int = 0
    # queries
    synsets: str | None = None  # a list of synsets; the source's own categories unless given
    best: int | None = None  # only so many synsets, those with the most points, as many animals as objects
    wordnet: str | None = None  # a folder with WordNet
    vectors: str | None = None  # a file of word vectors; "none" for no similar words
    # sets
    search: str | None = None  # what an image search answered, instead of searching the source
    encoder: str | None = None  # whose vectors say what is similar; `annotations` asks what is annotated
    least_similarity: float | None = None  # cosine of similar photographs; the median of any two unless given
    distance: int = DISTANCE  # bits in which the perceptual hashes of duplicates may differ
    crowds: bool = False  # whether photographs may be used whose annotations mark a crowd as one object
    share: bool = False  # whether sets may share photographs, as in the paper
    removals: str | None = None  # people's marks: photographs removed
    dull: str | None = None  # people's marks: photographs that are not interesting, or duplicates
    labels: str | None = None  # people's labels that train a classifier of interesting photographs
    # sentences
    sentences: str | None = None  # people's sentences; generated unless given
    judgements: str | None = None  # people's judgements on sentences, whoever wrote these
    costs: str | None = None  # a JSON file: task -> {"cost": dollars, "workers": number}
    # the benchmark
    splits: Mapping[str, float] | None = None  # shares; the paper's rule unless given
    hidden: tuple[str, ...] | None = None  # splits whose answers are hidden; test-u unless given
    secret: str = ""  # mixed into the seed of sentences where a split is hidden
    licence: str = ""


def hidden_splits(options: Config) -> tuple[str, ...]:
    """The splits whose answers are hidden."""
    names = options.splits or PAPER_SPLITS
    return tuple(n for n in HIDDEN if n in names) if options.hidden is None else tuple(options.hidden)


def given_files(options: Config) -> dict[str, str]:
    """The files that people gave, by what they are."""
    return {name: str(path) for name in FILES if (path := getattr(options, name)) is not None}


def hashes(options: Config, *names: str) -> dict[str, str]:
    """SHA-256 of some of these files."""
    return {name: _hash(path) for name, path in given_files(options).items() if name in names}


def check(options: Config) -> None:
    """Refuse what cannot be built."""
    check_seed(options.seed)
    check_splits(dict(options.splits or PAPER_SPLITS), hidden_splits(options))
    for name, least in (("sets", 1), ("best", 1), ("distance", 0)):
        value = getattr(options, name)
        if value is not None and value < least:
            raise UserError(f"{name} is {value}.", f"Give {least} or more.")
    if options.least_similarity is not None and not -1 <= options.least_similarity <= 1:
        raise UserError(f"The least similarity is {options.least_similarity}.", "A cosine lies between -1 and 1.")
    if options.dull and options.labels:
        raise UserError("Both people's marks and labels for a classifier say what is interesting.", "Give one of them.")
    if options.detector is not None and options.source in {"icons", "none"}:
        raise UserError(f"A detector has nothing to find in {options.source}.", "Give --source folder:PATH.")
    if not 0 <= options.threshold <= 1:
        raise UserError(f"The threshold is {options.threshold}.", "A score lies between 0 and 1.")
    if options.source == "none" and not options.search:
        raise UserError("There is neither a source nor a saved search.", "Give --search, or another --source.")


def read_config(path: Path | str) -> Config:
    """A config from a JSON or TOML file."""
    path = Path(path)
    try:
        data = path.read_bytes()
        found = tomllib.loads(data.decode()) if path.suffix == ".toml" else msgspec.json.decode(data)
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}.", "Give a JSON or TOML file.") from None
    if not isinstance(found, dict):
        raise UserError(f"{path} holds no options.", 'Write such as {"source": "icons", "sets": 100}.')
    return changed(Config(), found, str(path))


def changed(config: Config, options: Mapping[str, Any], where: str = "The options") -> Config:
    """A config with some options set; unknown ones and wrong types are refused."""
    known = {f.name for f in fields(Config)}
    for name in options:
        if name not in known:
            raise UserError(f"{where}: there is no option {name!r}.", f"The options are: {', '.join(sorted(known))}.")
    given = {name: str(value) if isinstance(value, Path) else value for name, value in options.items()}
    try:
        checked = msgspec.convert(given, Config)
    except msgspec.ValidationError as error:
        raise UserError(f"{where}: {error}.", "Give each option the type that its description says.") from None
    return replace(config, **{name: getattr(checked, name) for name in given})


def _hash(path: str) -> str:
    try:
        return file_hash(Path(path))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.", "Give a file.") from None
