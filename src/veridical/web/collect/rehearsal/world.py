"""What is true in a rehearsal, so that simulated people can be right or wrong.

Of pictures chance decides, the same for everybody: which are no good, which are dull. Of a sentence its writer does: it
is true of the pairs it was meant for, but for slips. Of gold and qualification the project says it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from veridical.web.collect.assigning import mixed
from veridical.web.collect.kinds import PRUNE_REASONS
from veridical.web.collect.records import Task

BAD, DULL, DOUBLE = 0.06, 0.25, 0.02  # shares of pictures


class World:
    """The truth; `answers` are those of a benchmark's items, for a study."""

    def __init__(self, seed: int, tasks: Sequence[Task], answers: Mapping[str, int] | None = None) -> None:
        self.seed = seed
        self.expected = {
            _key(one.payload): dict(one.expected) for one in tasks if one.expected and one.purpose != "work"
        }
        self.choices = {_key(one.payload): (answers or {}).get(one.key, 0) for one in tasks if one.kind == "choose"}
        self.true: dict[tuple[str, ...], bool | str] = {}  # sentence and pictures, or a question
        self.follows: dict[str, bool] = {}  # sentence -> whether it follows the guidelines

    def share(self, *parts: str) -> float:
        """A number from 0 to 1 that parts decide."""
        return mixed(str(self.seed), *parts) / 2**64

    def reason_to_remove(self, picture: str) -> str:
        if self.share("bad", picture) >= BAD:
            return ""
        return PRUNE_REASONS[int(self.share("why", picture) * len(PRUNE_REASONS)) % len(PRUNE_REASONS)]

    def is_dull(self, picture: str) -> bool:
        return self.share("dull", picture) < DULL

    def is_double(self, picture: str) -> bool:
        return self.share("double", picture) < DOUBLE

    def known(self, payload: Mapping[str, Any]) -> dict[str, Any] | None:
        """What is expected of gold or qualification."""
        return self.expected.get(_key(payload))

    def choice(self, payload: Mapping[str, Any]) -> int:
        """The right candidate of an item."""
        return self.choices.get(_key(payload), 0)

    def say(self, sentence: str, pictures: Iterable[str], truth: bool | str) -> None:
        self.true[sentence, *pictures] = truth

    def truth(self, sentence: str, pictures: Iterable[str]) -> bool | str:
        return self.true.get((sentence, *pictures), "nonsense")


def _key(payload: Mapping[str, Any]) -> bytes:
    """What is shown, without the order of boxes and without what is shown later."""
    plain = {name: value for name, value in payload.items() if name != "explanation"}
    if "pictures" in plain:
        plain["pictures"] = [one["name"] for one in plain["pictures"]]
    return msgspec.json.encode(plain, order="sorted")
