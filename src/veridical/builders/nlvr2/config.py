"""The options of an NLVR2 build: what they hide, which files they name, whether they can be built; from a file, too."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import fields, replace
from functools import reduce
from operator import or_
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_type_hints

import msgspec

from veridical.benchmark.splits import check_seed, check_splits
from veridical.benchmark.writer import file_hash
from veridical.common.files import Json, read_json, read_text
from veridical.errors import UserError
from veridical.options import refuse_unused
from veridical.options.building import NLVR2Options

PAPER_SPLITS = {"train": 0.8, "dev": 0.2 / 3, "test-p": 0.2 / 3, "test-u": 0.2 / 3}
HIDDEN = ("test-u",)
_OLD_NAMES = {"splits": "split", "hidden": "hide"}  # in files of options
FILES = ("synsets", "search", "removals", "dull", "labels", "sentences", "judgements", "costs")
DISTANCE = 6  # bits of a perceptual hash in which near duplicates may differ


def seeds(seed: int, *parts: str) -> tuple[int, ...]:
    """What decides one random thing of a build, named by its parts."""
    digest = hashlib.blake2b("\n".join(parts).encode("utf-8", "surrogateescape"), digest_size=16).digest()
    return (seed, *(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4)))


def hidden_splits(options: NLVR2Options) -> tuple[str, ...]:
    """The splits whose answers are hidden."""
    names = options.split or PAPER_SPLITS
    return tuple(n for n in HIDDEN if n in names) if options.hide is None else tuple(options.hide)


def hashes(options: NLVR2Options, *names: str) -> dict[str, str]:
    """SHA-256 of some of the files that people gave, by what they are."""
    paths = {name: getattr(options, name) for name in FILES if name in names}
    return {name: _hash(str(path)) for name, path in paths.items() if path is not None}


def checked(options: NLVR2Options) -> NLVR2Options:
    """The options, of the types that they should have; what cannot be built is refused."""
    options = replace(options, **_typed({f.name: getattr(options, f.name) for f in fields(options)}, "The options"))
    check_seed(options.seed)
    check_splits(dict(options.split or PAPER_SPLITS), hidden_splits(options))
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
    if options.detector is None:
        refuse_unused("A build without --detector", {f.name for f in fields(options)} - {"threshold"}, options)
    if options.source == "none" and not options.search:
        raise UserError("There is neither a source nor a saved search.", "Give --search, or another --source.")
    return options


def read_config(path: Path | str, options: NLVR2Options = NLVR2Options()) -> NLVR2Options:
    """Options with those of a JSON or TOML file set; unknown ones and wrong types are refused."""
    path = Path(path)
    fix = 'Write such as {"source": "icons", "sets": 100}, or the same as TOML.'
    if path.suffix == ".toml":
        try:
            found = tomllib.loads(read_text(path, fix))
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise UserError(f"{path} is not a file of options: {error}.", fix) from None
    else:
        found = read_json(path, Json, "a file of options", fix)
    found = {_OLD_NAMES.get(name, name): value for name, value in found.items()}
    known = {f.name for f in fields(NLVR2Options)}
    for name in found:
        if name not in known:
            raise UserError(f"{path}: there is no option {name!r}.", f"The options are: {', '.join(sorted(known))}.")
    return replace(options, **_typed(found, str(path)))


def _typed(values: Mapping[str, object], where: str) -> dict[str, Any]:
    """Values as the types of their options; others are refused. A path is a text."""
    hints = get_type_hints(NLVR2Options)
    out = {}
    for name, value in values.items():
        hint = hints[name]
        if isinstance(hint, UnionType):
            hint = reduce(or_, (one for one in get_args(hint) if one is not Path))
        plain = str(value) if isinstance(value, Path) else value
        try:
            out[name] = msgspec.convert(plain, hint)
        except msgspec.ValidationError as error:
            fix = "Give each option the type that its description says."
            raise UserError(f"{where}: {name}: {error}.", fix) from None
    return out


def _hash(path: str) -> str:
    try:
        return file_hash(Path(path))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.", "Give a file.") from None
