"""What training and testing one point of a sweep came to, as it lies in its run folder: point.json."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

from veridical.common.files import Json, read_json
from veridical.options.running import Context

_POINT, AGAIN = "a finished run of a sweep", "Delete its folder and run the sweep again."

Part = dict[str, float]  # value, low and high of an accuracy; of the whole split also how many items


class Tested(TypedDict):
    """The accuracy of a point's trials on the test split, and by tag and value."""

    accuracy: Part
    by: dict[str, dict[str, Part]]


class PointScores(Tested):
    """What training and testing a point came to: as in its point.json, beside what the point is."""

    controls: dict[str, Part]  # by context
    validation: float
    epochs: list[int]  # of each trial
    training_items: int
    seconds: float


class Kept(PointScores):
    """All of a point.json that is read."""

    model: str
    scheme: str
    features: str
    auxiliary: bool
    fraction: float
    context: Context
    made: Json


def kept(path: Path) -> Json:
    """What a finished point came to; refused where any of it is missing or something else."""
    read_json(path, Kept, _POINT, AGAIN)
    return read_json(path, Json, _POINT, AGAIN)
