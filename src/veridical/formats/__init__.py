"""Official release formats, both ways: a release becomes a benchmark, a benchmark the files of a release.

A release format is one file here and one line in `FORMATS`.
"""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.benchmark.place import hidden_dir
from veridical.errors import UserError
from veridical.formats.card import describe
from veridical.formats.format import Format, Part, Request, Writer
from veridical.formats.images import is_inside
from veridical.formats.lines import LeftOut, Problems
from veridical.formats.staging import outside, staging

# release format -> its Format; tests/formats/test_formats.py runs the contract over every entry
FORMATS: dict[str, str] = {
    "nlvr": "veridical.formats.nlvr.reading:FORMAT",
    "nlvr2": "veridical.formats.nlvr2.reading:FORMAT",
    "vcr": "veridical.formats.vcr.reading:FORMAT",
}
# what `export` writes -> its function of a benchmark and a folder or file to write
EXPORTS: dict[str, str] = {
    "hf": "veridical.formats.hf:export_hf",
    "croissant": "veridical.formats.croissant:export_croissant",
    "official": "veridical.formats:export_official",
}


_SPLIT = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9_.-]{1,64}")  # it becomes part of file names
_SHOWN = 3  # problems in an error


@dataclass(frozen=True)
class ImportResult:
    """What an import made."""

    benchmark: Path
    counts: dict[str, Any]  # items by split, images, panels, judgements, images that are not here
    left_out: tuple[LeftOut, ...] = ()  # what `keep_going` left out

    def to_json(self) -> dict[str, Any]:
        return {
            "benchmark": str(self.benchmark),
            "counts": self.counts,
            "left_out": [asdict(left) for left in self.left_out],
        }


@dataclass(frozen=True)
class ExportResult:
    """What an export wrote."""

    kind: str
    out: Path
    files: int
    bytes: int
    hidden: Path | None = None  # where the files that tell hidden answers went: not for publishing
    hidden_files: int = 0
    hidden_bytes: int = 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"out": str(self.out), "hidden": None if self.hidden is None else str(self.hidden)}


def load_format(name: str) -> Format:
    """A release format by name."""
    if name not in FORMATS:
        raise UserError(f"There is no release format {name!r}.", f"Choose one of: {', '.join(FORMATS)}.")
    module, _, attribute = FORMATS[name].partition(":")
    found = getattr(import_module(module), attribute)
    if not isinstance(found, Format):
        raise TypeError(f"{FORMATS[name]} is not a Format")
    return found


def import_release(
    format: str,
    path: Path | str,
    out: Path | str,
    *,
    split: str | None = None,
    images: Path | str | None = None,
    hide: Sequence[str] = (),
    keep_going: bool = False,
) -> ImportResult:
    """Turn an official release (a file, or a folder of files and images) into a benchmark.

    `split` picks one split of a folder, or names the split of a file. `hide` names splits whose answers go to the
    sibling `OUT.hidden`; splits without labels are hidden anyway. `keep_going` imports everything but the lines and
    images that are wrong, and lists those.
    """
    kind = load_format(format)
    path = Path(path)
    if not path.exists():
        raise UserError(f"{path} does not exist.", f"Give a file or folder of {kind.title}'s release.")
    problems = Problems(keep_going)
    parts = kind.read(Request(path, split, None if images is None else Path(images)), problems)
    _check_parts(parts, path, hide, problems)
    hidden = sorted({*hide, *(part.split for part in parts if not part.labelled)})
    missing: Counter[str] = Counter()
    target = BenchmarkWriter(
        out,
        name=kind.title,
        task=kind.task,
        # the counts grow while images are read, and are written with the manifest at the end
        config={"format": kind.name, "left_out": problems.counts},
        licence=kind.licence,
        hidden=hidden,
        official=True,
        describe=describe,
    )
    with target, Writer(target) as writer:
        for part in parts:
            missing.update(part.write(writer, problems))
    made = Benchmark(out)
    return ImportResult(made.directory, made.manifest["counts"] | dict(missing), tuple(problems.left_out))


def _check_parts(parts: Sequence[Part], path: Path, hide: Sequence[str], problems: Problems) -> None:
    splits = [part.split for part in parts]
    for name in splits:
        if not _SPLIT.fullmatch(name):
            raise UserError(
                f"{path}: {name[:80]!r} cannot be the name of a split.",
                "Import one file at a time and name its split with --split: letters, digits, '.', '_' and '-'.",
            )
    for name in hide:
        if name not in splits:
            raise UserError(f"{path} has no split {name!r} to hide.", f"It has: {', '.join(splits)}.")
    if len(parts) > 1:
        _check_shared([(part.split, set(part.ids)) for part in parts], path, "item")
        _check_shared([(part.split, set(part.panels)) for part in parts], path, "image")
    if not any(part.ids for part in parts):
        shown = "".join(f" {left}" for left in problems.left_out[:_SHOWN])
        more = f" And {len(problems.left_out) - _SHOWN:,} more." if len(problems.left_out) > _SHOWN else ""
        if shown:
            raise UserError(f"{path} holds no item that is whole.{shown}{more}", "Correct the file, or get it anew.")
        raise UserError(f"{path} holds no items.", "Give a file or folder with at least one item.")


def _check_shared(named: Sequence[tuple[str, set[str]]], path: Path, what: str) -> None:
    for (one, names), (other, others) in itertools.combinations(named, 2):
        if both := names & others:
            raise UserError(
                f"{path}: {what} {min(both)!r} is in two splits, {one} and {other}.", "Import one of them at a time."
            )


def export(kind: str, benchmark: Path | str, out: Path | str) -> ExportResult:
    """Write a benchmark for others: `hf`, `croissant` or `official`."""
    if kind not in EXPORTS:
        raise UserError(f"There is no export {kind!r}.", f"Choose one of: {', '.join(EXPORTS)}.")
    module, _, attribute = EXPORTS[kind].partition(":")
    getattr(import_module(module), attribute)(Path(benchmark), Path(out))
    target = Path(os.path.abspath(out))
    secret = hidden_dir(target)
    if kind != "official" or not secret.is_dir():
        return ExportResult(kind, target, *_size(target))
    return ExportResult(kind, target, *_size(target), secret, *_size(secret))


def _size(target: Path) -> tuple[int, int]:
    """How many files, and their bytes."""
    files = [path for path in target.rglob("*") if path.is_file()] if target.is_dir() else [target]
    return len(files), sum(path.stat().st_size for path in files)


def export_official(benchmark: Path | str, out: Path | str) -> None:
    """Write a benchmark as the official release does: the very files it was imported from, or files in their format.

    Files that tell hidden answers go to the sibling `OUT.hidden`, so that uploading OUT cannot publish them.
    """
    source = Benchmark(benchmark)
    target = outside(out, source.directory)
    targets = {"public": target, "hidden": hidden_dir(target)}
    with staging(*targets.values()) as work:
        folders = {kind: work / kind for kind in targets}
        for folder in folders.values():
            folder.mkdir()
        for split in source.splits():
            folder = folders["hidden" if _tells_answers(source, split) else "public"]
            if not _write_raw(source, split, folder):
                load_format(_format_of(source)).encode(source, split, folder)
        if not any(folders["hidden"].iterdir()):
            del targets["hidden"]
        for kind, place in sorted(targets.items()):  # the public part last: it is there when all is
            if place.exists():
                place.rmdir()
            folders[kind].rename(place)


def _tells_answers(source: Benchmark, split: str) -> bool:
    """Whether a hidden split's answers are here; the split of a release without labels has none to tell."""
    return source.is_hidden(split) and (source.hidden_directory / f"answers-main-{split}.parquet").exists()


def _write_raw(source: Benchmark, split: str, folder: Path) -> bool:
    """Write the original files of a split; False where there are none."""
    raw = source.raw_table(split)
    if raw is None:
        return False
    texts = raw.filter(pc.is_valid(raw["line"])).combine_chunks()
    names = texts["file"].combine_chunks().dictionary_encode() if len(texts) else pa.array([]).dictionary_encode()
    codes = names.indices.to_numpy()
    starts = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist()] if len(codes) else []
    for start, end in itertools.pairwise([*starts, len(codes)]):
        with _place(folder, names.dictionary[codes[start]].as_py()).open("ab") as file:
            for chunk in texts["line"].slice(start, end - start).chunks:
                file.writelines(line.as_buffer() for line in chunk)
    pictures = raw.filter(pc.is_valid(raw["image"]))
    for name, address in zip(pictures["file"].to_pylist(), pictures["image"].to_pylist(), strict=True):
        _place(folder, name).write_bytes(source.image(address))
    return True


def _place(folder: Path, name: str) -> Path:
    if not is_inside(name):
        raise UserError(f"The benchmark names a file outside its folder: {name!r}.", "Do not trust it; import it anew.")
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _format_of(source: Benchmark) -> str:
    """The release format of a benchmark that we built: it says so, or its name does."""
    for name in (source.manifest["config"].get("format"), source.name):
        if isinstance(name, str) and name.lower() in FORMATS:
            return name.lower()
    raise UserError(
        f"{source.directory} ({source.name}) has no official format.",
        f"Formats: {', '.join(FORMATS)}. Use `export hf`.",
    )
