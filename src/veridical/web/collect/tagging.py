"""A text with tags, as people type it and as it is kept.

`Why is [person1] pointing at [person2, person3]?` is words, and places of objects.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from veridical.errors import UserError
from veridical.web.collect.records import Tagged

_PIECE = re.compile(r"\[([^\[\]]*)\]|([\w’'-]+|[^\w\s])")


def tokens_of(text: str, objects: Sequence[Tagged], where: str = "The text") -> list[str | list[int]]:
    """Words, and for a tag the places of its objects.

    >>> tokens_of("Is [person1] sad?", [Tagged("person1", (0, 0, 1, 1))])
    ['Is', [0], 'sad', '?']
    """
    places = {one.name.casefold(): place for place, one in enumerate(objects)}
    out: list[str | list[int]] = []
    for found in _PIECE.finditer(text):
        if found[1] is None:
            out.append(found[2])
            continue
        names = [name.strip() for name in found[1].split(",")]
        unknown = [name for name in names if name.casefold() not in places]
        if unknown:
            raise UserError(f"{where}: there is no [{unknown[0]}] in the picture.", "Click an object to tag it.")
        out.append([places[name.casefold()] for name in names])
    return out


def text_of(tokens: Sequence[str | Sequence[int]], objects: Sequence[Tagged]) -> str:
    """A text as people type it.

    >>> text_of(["Is", [0], "sad", "?"], [Tagged("person1", (0, 0, 1, 1))])
    'Is [person1] sad?'
    """
    out = ""
    for token in tokens:
        word = token if isinstance(token, str) else f"[{', '.join(objects[place].name for place in token)}]"
        out += word if not out or word in "?!.,;:)" else f" {word}"
    return out
