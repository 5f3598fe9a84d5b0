"""What words say of two responses, beside a model of similarity: whether one says the other again, or an alternative.

A response whose content words are all in another ("dance", "dance and leave the stage"), common synonyms counting as
one word, would be right beside it. Two
that name different members of a closed class (two and four, red and white, yes and no) never are, however near to each
other a model puts them. The words are in `alternatives.json`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from veridical.common.arrays import Bools, Floats, Ints
from veridical.common.files import read_json
from veridical.matching.scores.fit import FILLERS
from veridical.matching.scores.models import terms

_WORD = re.compile(r"\w+")
STEM = 6  # letters of a word that are compared: affection, affectionate
AGAIN = -12.0  # log(1 - P_sim) of a response that says another again


class _Lists(msgspec.Struct):
    """The words of `alternatives.json`, by class."""

    function: list[str]
    alternatives: dict[str, list[str]]
    synonyms: dict[str, list[str]]


def _class_of(lists: dict[str, list[str]]) -> dict[str, str]:
    return {word: name for name, words in lists.items() for word in words}


@dataclass(frozen=True)
class Sayings:
    """The content words of each response, and which of them are of a closed class."""

    words: Any  # (N, V) sparse, 1 where a response has the word
    closed: Any  # (N, V) sparse, of words of closed classes
    kind: Ints  # (N,) the class of these; -1 for none, or several

    @staticmethod
    def of(responses: Sequence[str]) -> Sayings:
        path = Path(__file__).with_name("alternatives.json")
        lists = read_json(path, _Lists, "lists of words", "Install Veridical again.")
        empty = FILLERS | set(lists.function)
        classes, same = _class_of(lists.alternatives), _class_of(lists.synonyms)
        numbers = {name: number for number, name in enumerate(lists.alternatives)}
        said, named, kind = [], [], []
        for text in responses:
            words = _WORD.findall(text.lower())
            own = sorted({word for word in words if word in classes})
            kinds = {numbers[classes[word]] for word in own}
            named.append(own)
            kind.append(kinds.pop() if len(kinds) == 1 else -1)
            stems = {f"={same[word]}" if word in same else word if word in empty else _stem(word) for word in words}
            said.append(sorted({s for s in stems if s not in empty} or stems))
        return Sayings(_table(said), _table(named), np.array(kind, np.int64))

    def take(self, rows: Ints) -> Sayings:
        return Sayings(self.words[rows], self.closed[rows], self.kind[rows])

    @cached_property
    def sizes(self) -> Ints:
        return np.asarray(self.words.getnnz(axis=1), np.int64)

    def again(self) -> Bools:
        """(n, n) whether one response of two has all content words of the other."""
        shared = (self.words @ self.words.T).toarray()
        least = np.minimum(self.sizes[:, None], self.sizes[None, :])
        return np.asarray((shared >= least) & (least > 0), bool)

    def alternatives(self) -> Bools:
        """(n, n) whether two responses name different members of one class."""
        shared = (self.closed @ self.closed.T).toarray()
        return np.asarray((self.kind[:, None] == self.kind[None, :]) & (self.kind >= 0)[:, None] & (shared == 0), bool)

    def corrected(self, apart: Floats) -> Floats:
        """(n, n) log(1 - P_sim) by a model, with what words say."""
        apart[self.again()] = AGAIN
        apart[self.alternatives()] = 0.0
        return apart


def _stem(word: str) -> str:
    """
    >>> _stem("dances") == _stem("dance")
    True
    """
    return terms(word)[0].rstrip("e")[:STEM]


def _table(lists: Sequence[Sequence[str]]) -> Any:
    from scipy.sparse import csr_matrix

    places: dict[str, int] = {}
    columns = [places.setdefault(word, len(places)) for words in lists for word in words]
    ends = np.cumsum([0, *(len(words) for words in lists)])
    data = np.ones(len(columns), np.float32)
    return csr_matrix((data, np.array(columns, np.int64), ends), (len(lists), max(1, len(places))))
