"""Options of `collect init`: what a collection is made from, and how it is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class CollectOptions:
    """What a collection is made from."""

    source: Any = "icons"
    """nlvr2, vcr: icons, coco:PATH, vg:PATH or folder:PATH. Python: an open source, too."""
    benchmark: Path | str | None = None
    """vprom, vcr: a benchmark whose items people answer, for human performance."""
    split: str | None = None
    """Of that benchmark; test, or the first that is there, unless given."""
    presentations: int = 100
    """nlvr: writing tasks, of four drawings each."""
    sets: int | None = None
    """nlvr2: sets of photographs; all that can be found, or 100 of icons, unless given."""
    begin: str = "prune"
    """nlvr2: the first task: prune, or write, where the photographs are annotated."""
    photographs: int = 100
    """vcr: photographs to ask about."""
    items: int = 200
    """vprom, vcr with --benchmark: items that people answer; of each relation as many."""
    synsets: Path | str | None = None
    """nlvr2: a list of what to search for; the source's categories unless given."""
    search: Path | str | None = None
    """nlvr2: what an image search answered, instead of searching the source: JSON lines or CSV."""
    seed: int = 0
    """What decides everything random."""


@dataclass(frozen=True)
class RunningOptions:
    """How a collection is run; `project.json` has more."""

    name: str = ""
    """Of the project, in addresses; the folder's name unless given."""
    held_out: float = 0.2
    """Share of sets or presentations that are held out: their items get five judgements."""
    pay: Mapping[str, float] | None = None
    """What a task of a kind pays, in cents: 'validate=3'; may be repeated."""
    fee: float = 0.0
    """What the platform takes on top, as a share: 0.333 is a third."""
    contact: str = ""
    """Whom workers can write to."""
    completion_code: str = ""
    """Prolific's code for who is done."""
    screen_out_code: str = ""
    """Prolific's code for who did not qualify."""
    prolific_workspace: str = ""
    """The id of your workspace there: only links that Prolific signed for it let people in."""
