"""What is hosted: every hidden split of a benchmark whose hidden folder lies beside it becomes a board."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.orm import Session

from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.web.board.tables import OPEN, Board


@dataclass(frozen=True)
class Hosted:
    """One hidden split on this machine."""

    id: str  # in addresses
    benchmark: Benchmark
    split: str
    scheme: str
    items: int
    digest: str  # of the items and of their answers

    @property
    def title(self) -> str:
        scheme = "" if self.scheme == "main" else f" ({self.scheme})"
        return f"{self.benchmark.name}, {self.split}{scheme}"


def hosted(folders: Iterable[Path | str]) -> dict[str, Hosted]:
    """The boards of some benchmarks, by their ids."""
    out: dict[str, Hosted] = {}
    for folder in folders:
        bench = Benchmark(folder)
        hidden = [(scheme, split) for scheme, split in bench.parts if bench.is_hidden(split)]
        if not hidden:
            raise UserError(
                f"{bench.directory} has no hidden split.",
                "Build or import it with --hide SPLIT: a board scores what nobody else can.",
            )
        manifest = bench.own_hidden_manifest()
        for scheme, split in hidden:
            name = board_id(bench.name, split, scheme)
            if name in out:
                problem = f"{bench.directory} and {out[name].benchmark.directory} would be one board, {name!r}."
                raise UserError(problem, "Host one of them, or build one under another name.")
            items = int(bench.manifest["counts"]["items"][scheme][split])
            digest = hashlib.sha256(f"{bench.hash} {json.dumps(manifest, sort_keys=True)}".encode()).hexdigest()
            out[name] = Hosted(name, bench, split, scheme, items, digest)
    return out


def board_id(name: str, split: str, scheme: str) -> str:
    """What a board is called in addresses.

    >>> board_id("NLVR (small)", "test-u", "main")
    'nlvr-small-test-u'
    """
    words = [name, *([] if scheme == "main" else [scheme]), split]
    return re.sub(r"[^a-z0-9]+", "-", " ".join(words).lower()).strip("-")[:80] or "board"


def keep_boards(session: Session, boards: dict[str, Hosted]) -> None:
    """Write down the boards; one whose items changed since cannot go on under the same name."""
    for one in boards.values():
        known = session.get(Board, one.id)
        if known is None:
            session.add(
                Board(
                    id=one.id,
                    benchmark=one.benchmark.name[:200],
                    digest=one.digest,
                    split=one.split,
                    scheme=one.scheme,
                    status=OPEN,
                )
            )
        elif known.digest != one.digest:
            raise UserError(
                f"The board {one.id!r} was begun with another build of {os.fspath(one.benchmark.directory)}.",
                "Put that build back, or serve the new one with another --data: their scores do not compare.",
            )
