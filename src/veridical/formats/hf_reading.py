"""`import hf`: questions from a folder of `datasets` (saved to disk, or Parquet files), or from a hub by name.

Folders are read without the package `datasets`: Arrow streams and Parquet, with what they say of their columns. The
configurations of a data set are read together, each as a tag, unless one is named.
"""

from __future__ import annotations

import re
import socket
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from veridical.common.files import read_json, refuse_endless
from veridical.errors import UserError, missing_extra
from veridical.formats.releases import Request
from veridical.formats.table.files import ARROW_ERRORS, ColumnFeatures, QuestionFile, arrow_file, first_line, open_file
from veridical.formats.table.importing import QuestionSource, split_name
from veridical.options.importing import TableOptions
from veridical.records import Pairs

_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
_DEPTH = 4  # of folders
_FOLDER = "Give a folder of save_to_disk, a folder of Parquet files, or the name of a data set on a hub."
_SPLIT_FOLDERS = frozenset({"train", "training", "dev", "val", "valid", "validation", "test", "testmini"})


def read_hf(request: Request, options: TableOptions) -> QuestionSource:
    """A data set: a folder, a file of it, or a name."""
    path = request.path
    if path.is_file():
        return QuestionSource("hf", path.stem, [_arrow(path) if path.suffix == ".arrow" else open_file(path)], options)
    if path.is_dir():
        files = _saved(path) or _parquet_files(path, options.config)
        if not files:
            raise UserError(f"{path} holds neither a saved data set nor Parquet files.", _FOLDER)
        return QuestionSource("hf", path.resolve().name, files, options)
    if not _NAME.fullmatch(str(path)) or path.suffix in (".parquet", ".arrow", ".json"):
        raise UserError(f"{path} does not exist.", _FOLDER)
    return QuestionSource("hf", path.name, _from_hub(str(path), options.config), options)


# --- folders ---------------------------------------------------------------------------------------------------------


class SavedSplits(msgspec.Struct):
    """dataset_dict.json: the folders of a data set's splits."""

    splits: list[str]


class SavedFile(msgspec.Struct):
    filename: str


class SavedState(msgspec.Struct):
    """state.json: the files of one split."""

    files: list[SavedFile] = msgspec.field(name="_data_files")
    split: str | None = msgspec.field(name="_split", default=None)


def _saved(path: Path) -> list[QuestionFile]:
    """The files of `save_to_disk`: a folder for each split, or one split alone; none where it is something else."""
    if (path / "dataset_dict.json").exists():
        splits = read_json(path / "dataset_dict.json", SavedSplits, "a list of splits", _FOLDER).splits
        return [_split(path / name, name) for name in splits if re.fullmatch(r"[\w.-]+", name)]
    return [_split(path, None)] if (path / "state.json").exists() else []


def _split(folder: Path, name: str | None) -> QuestionFile:
    state = read_json(folder / "state.json", SavedState, "the state of a data set", _FOLDER)
    about = folder / "dataset_info.json"
    info = read_json(about, ColumnFeatures, "a data set's description", _FOLDER) if about.exists() else ColumnFeatures()
    paths = [folder / Path(one.filename).name for one in state.files]
    return _arrow(*paths, split=name or state.split, features=info.features)


def _arrow(*paths: Path, split: str | None = None, features: Mapping[str, Any] | None = None) -> QuestionFile:
    """Arrow streams, one after the other."""
    if not paths:
        raise UserError("The data set names no files.", "Save it again.")
    for path in paths:
        refuse_endless(path)
    try:
        with pa.OSFile(str(paths[0])) as source:
            schema = pa.ipc.open_stream(source).schema
    except ARROW_ERRORS as error:
        raise UserError(f"{paths[0]} is no whole Arrow file: {first_line(error)}", "Save it again.") from None

    def batches() -> Iterator[pa.RecordBatch]:
        for path in paths:
            with pa.OSFile(str(path)) as source:  # not mapped: a file that shrinks meanwhile would end the process
                yield from pa.ipc.open_stream(source)

    where = paths[0] if len(paths) == 1 else paths[0].parent
    return arrow_file(where, schema, batches, split, features)


def _parquet_files(folder: Path, config: str | None) -> list[QuestionFile]:
    """Parquet files below a folder: `data/train-00000-of-00001`, `CONFIG/test-...`, `CONFIG/train/0000`."""
    found: list[tuple[str, str | None, Path]] = []
    for path in sorted(folder.rglob("*.parquet")):
        parts = path.relative_to(folder).parts[:-1]
        if len(parts) > _DEPTH or any(part.startswith(".") for part in parts):
            continue
        named = [part for part in parts if part not in ("data", "default")]
        split = split_name(path.stem)
        if named and named[-1].lower() in _SPLIT_FOLDERS:
            split = named.pop()
        found.append(("/".join(named), split, path))
    configs = sorted({one for one, _, _ in found})
    if config is not None:
        if config not in configs:
            have = ", ".join(one for one in configs if one) or "none"
            raise UserError(f"{folder} has no configuration {config!r}; found: {have}.", "Choose one of these.")
        found = [one for one in found if one[0] == config]
    single = len({split for _, split, _ in found}) == 1 and len(found) == 1
    return [_part(path, None if single and not _is_split(split) else split, name if len(configs) > 1 else "")
            for name, split, path in found]  # fmt: skip


def _is_split(name: str | None) -> bool:
    return (name or "").lower() in _SPLIT_FOLDERS


def _part(path: Path, split: str | None, config: str) -> QuestionFile:
    tags: Pairs = (("config", config),) if config else ()
    return replace(open_file(path), split=split, tags=tags)


# --- a hub -----------------------------------------------------------------------------------------------------------


def _from_hub(name: str, config: str | None) -> list[QuestionFile]:
    try:
        import datasets
        import httpx
    except ImportError:
        raise missing_extra("datasets", "hf") from None
    if _no_network(str(datasets.config.HF_ENDPOINT)):
        datasets.config.HF_HUB_OFFLINE = True  # it would try for half a minute; what it has kept it finds at once
    try:
        found = datasets.load_dataset(name, config)
    except (OSError, ValueError, RuntimeError, httpx.HTTPError) as error:
        said = (str(error).splitlines() or [type(error).__name__])[0]
        fix = "Name the configuration with --config."
        if "onfig name is missing" not in said:
            fix = "Check the name and the connection; or give a folder: save_to_disk, or the data set's Parquet files."
        raise UserError(
            f"There is no folder {name}, and no data set of this name could be loaded: {said}", fix
        ) from None
    return [_loaded(str(split), part) for split, part in found.items()]


def _no_network(endpoint: str) -> bool:
    """Whether nobody knows the hub's name; behind a proxy that cannot be told."""
    if urllib.request.getproxies():
        return False
    try:
        socket.getaddrinfo(urllib.parse.urlparse(endpoint).hostname, None)
    except OSError:
        return True
    return False


def _loaded(split: str, part: Any) -> QuestionFile:
    """A split that `datasets` opened, as Arrow: its pictures are not decoded."""
    table = part.with_format("arrow")
    batches: Callable[[], Iterator[pa.RecordBatch]] = partial(_batches, table)
    return arrow_file(Path(split), part.features.arrow_schema, batches, split, part.features.to_dict())


def _batches(table: Any) -> Iterator[pa.RecordBatch]:
    for some in table.iter(batch_size=256):
        yield from some.to_batches()
