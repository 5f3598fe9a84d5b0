"""Options of models and of training, with their meaning: the comment that stands at each field."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any

_FIELD = re.compile(r"    (\w+): [^#]*?(?:  # (.*))?")
_SAID = re.compile(r" +# (.*)")


def options_of(config: type[Any]) -> list[tuple[str, str, str]]:
    """Name, default and meaning of each field of a config.

    >>> from veridical.zoo.cnn_rnn import TextConfig
    >>> options_of(TextConfig)[0]
    ('embedding', '64', 'size of a word vector')
    """
    meant = {name: told for one in reversed(config.__mro__) for name, told in _meanings(one) if told}
    return [
        (one.name, "" if one.default is MISSING else str(one.default), meant.get(one.name, ""))
        for one in fields(config)
    ]


def _meanings(config: type[Any]) -> Iterator[tuple[str, str]]:
    """What comments say of the fields of one class: behind a field, or before one that has none behind it."""
    before: list[str] = []  # comments on lines of their own
    last: tuple[str, str] | None = None
    for line in inspect.getsource(config).splitlines() if "__dataclass_fields__" in vars(config) else ():
        if said := _SAID.fullmatch(line):
            before.append(said[1])
        elif found := _FIELD.fullmatch(line):
            name, behind = found[1], found[2] or ""
            if last is not None:
                yield last[0], " ".join([last[1], *before] if behind else [last[1]]).strip()
            last, before = (name, behind or " ".join(before)), []
    if last is not None:
        yield last[0], " ".join([last[1], *before]).strip()
