"""Characters that people's texts must not have: those that nobody sees, and those that turn others around."""

from __future__ import annotations

import unicodedata

_UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})  # controls, halves of characters, separators of lines and paragraphs
_TURNING = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})  # the direction of writing
_MARKS = "\u200e\u200f\u061c"  # marks that turn it, too


def unseen(text: str) -> str:
    """The name of the first such character of a text, or nothing.

    >>> unseen("two dogs"), unseen("two\\x07dogs"), unseen("a\\u202eb")
    ('', 'U+0007', 'U+202E')
    """
    for char in text:
        if unicodedata.category(char) in _UNSEEN or unicodedata.bidirectional(char) in _TURNING or char in _MARKS:
            return f"U+{ord(char):04X}"
    return ""
