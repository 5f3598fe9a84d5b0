"""The work folder of a build: one file a stage, made once, kept where people redid it, made again when what it was made
from has changed.

`stages.json` remembers the hash of every stage's inputs, options and output. So a build that was killed continues, a
changed option redoes what depends on it, and what people wrote by hand is never overwritten.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from veridical import __version__
from veridical.benchmark.writer import file_hash
from veridical.errors import UserError

LEDGER = "stages.json"
Record = TypeVar("Record")


class Work:
    """A work folder; `options` of a stage are whatever its output depends on beside its inputs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if folder.exists() and not folder.is_dir():
            raise UserError(f"{folder} is not a folder.", "Choose another --work.")
        folder.mkdir(parents=True, exist_ok=True)
        self.redone: list[str] = []  # stages whose file people wrote or changed

    def explain(self, hidden: bool) -> None:
        """Say in a file what the folder is, and whom it must not reach."""
        text = "One file for each stage of a build, in JSON lines. Change one, and the next build goes on from it.\n"
        if hidden:
            text += "\nThis folder holds the answers that the benchmark hides. Keep it to yourself.\n"
        write_whole(self.path("README"), text.encode())

    def path(self, name: str) -> Path:
        return self.folder / name

    def stage(
        self,
        name: str,
        kind: type[Record],
        inputs: Sequence[str],
        options: Mapping[str, Any],
        make: Callable[[], Iterable[Record]],
    ) -> list[Record]:
        """The records of a stage's file; they are made where the file is missing or made from something else."""
        path = self.path(name)
        wanted = {"inputs": {i: file_hash(self.path(i)) for i in inputs}, "options": _plain(options)}
        wanted["veridical"] = __version__
        ledger = self._ledger()
        if path.exists():
            known = ledger.get(name)
            here = file_hash(path)
            by_hand = known is None or known["output"] != here
            # Another version may make another file; what people made does not depend on it.
            asked = [k for k in wanted if k != "veridical" or not by_hand]
            fresh = known is None or all(known.get(k) == wanted[k] for k in asked)
            if by_hand and not fresh:
                raise UserError(
                    f"{path} was changed by hand, and what it was made from has changed since.",
                    "Delete it to make it again, or go back to the options and files it was made with.",
                )
            if fresh:
                records = read_lines(path, kind)
                if by_hand:
                    self.redone.append(name)
                if known is None:  # put here by people: from now on it belongs to these inputs
                    self._remember(ledger, name, {**wanted, "output": ""})
                return records
        records = list(make())
        write_lines(path, records)
        self._remember(ledger, name, {**wanted, "output": file_hash(path)})
        return records

    def _ledger(self) -> dict[str, Any]:
        path = self.path(LEDGER)
        if not path.exists():
            return {}
        try:
            found: dict[str, Any] = json.loads(path.read_bytes())
        except ValueError:
            raise UserError(f"{path} is damaged.", "Delete the work folder and build again.") from None
        return found

    def _remember(self, ledger: dict[str, Any], name: str, facts: dict[str, Any]) -> None:
        ledger[name] = facts
        write_whole(self.path(LEDGER), json.dumps(ledger, indent=1, sort_keys=True).encode() + b"\n")


def write_whole(path: Path, data: bytes) -> None:
    """Write a file, or nothing where the process ends before it is done."""
    part = path.with_name(f".{path.name}.part")
    with part.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def write_lines(path: Path, records: Iterable[Any]) -> None:
    """JSON lines."""
    write_whole(path, b"".join(msgspec.json.encode(record) + b"\n" for record in records))


def read_lines(path: Path, kind: type[Record]) -> list[Record]:
    """The records of a file of JSON lines; an error names the first line that is none."""
    return [record for _, record in numbered_lines(path, kind)]


def numbered_lines(path: Path, kind: type[Record]) -> list[tuple[int, Record]]:
    """Records with the number of their line, from 1; empty lines hold none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.", "Give a file of JSON lines.") from None
    decoder = msgspec.json.Decoder(kind)
    out = []
    for number, line in enumerate(data.splitlines(), start=1):
        if line.strip():
            try:
                out.append((number, decoder.decode(line)))
            except UnicodeDecodeError:
                raise bad_line(path, number, "it is not written in UTF-8") from None
            except (msgspec.DecodeError, RecursionError) as error:
                raise bad_line(path, number, str(error)) from None
    return out


def bad_line(path: Path, number: int, problem: str) -> UserError:
    return UserError(f"{path}, line {number}: {problem.rstrip('.')}.", "Correct the line. Nothing was written.")


def _plain(options: Mapping[str, Any]) -> Any:
    return json.loads(msgspec.json.encode(dict(options)))
