"""What `veridical serve` can be told about its boards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class BoardRows:
    """Rows beside those of teams: files of predictions for every item of a hidden split."""

    baseline: Mapping[str, str] | None = None
    """A row of your own, such as 'program solver=programs.jsonl'; may be repeated."""
    blind: Mapping[str, str] | None = None
    """A row of a system that does not see the pictures, 'text only=blind.jsonl'; may be repeated."""
    human: Mapping[str, str] | None = None
    """A row of people, by what they answered, 'five people=people.jsonl'; may be repeated."""


@dataclass(frozen=True)
class ServeOptions:
    """How boards are run."""

    title: str = "Veridical board"
    """What the site is called."""
    per_day: int = 5
    """Tries a day, on each board, for all teams that one account made; files that cannot be scored do not count."""
    total: int | None = None
    """Tries in all, on each board, for all teams that one account made."""
    round: float = 0.1
    """Points of a hundred that scores are rounded to."""
    smallest_part: int = 50
    """Items that must carry a tag for its part of the score to be shown."""
    sign_up: bool = True
    """Whether strangers may make accounts."""
    show_items: bool = False
    """Show the public part of the items, pictures included; without it nothing of a benchmark can be downloaded."""
    seconds: int = 60
    """Seconds of a processor that scoring a file may take."""
    megabytes: int = 1024
    """Memory that scoring a file may take."""
    largest_file: int = 64
    """Megabytes of the largest file that is taken."""
    processes: int = 2
    """Files that are scored at the same time."""
    patience: float = 4.0
    """Seconds that whoever sends a file is kept waiting for its score; after that it comes later."""
    proxy: str = "127.0.0.1"
    """The address of the proxy in front, whose word on who asks and whether by TLS is taken."""
    prolific_keys: str = "https://api.prolific.com/.well-known/study/jwks.json"
    """Where the public keys are that Prolific signs links with: an address, or a file."""
