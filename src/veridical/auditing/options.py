"""What an audit is run with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Options:
    """The same options and benchmark give the same findings."""

    scheme: str = "main"
    seed: int = 0
    items: int = 15_000  # of the training split, and of all others, that blind models are trained and tested on
    hidden: bool = False  # also use the answers of hidden splits, from DIR.hidden
    corpora: tuple[Path, ...] = ()  # texts to look for the benchmark in
    controls: bool = True  # plant cues; without them no guesser can pass, and only what is found is said
