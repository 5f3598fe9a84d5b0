"""What words say of two responses, beside a model of similarity: whether one says the other again, or an alternative.

A response whose content words all follow from another's would be right beside it: "dance" beside "dance and leave the
stage", "outdoors" beside "in the park", "stroke it" beside "caress the cat". What follows from a word is the word, its
synonyms and what it is a kind of, by WordNet where that is installed, and by lists of our own. And where the right
answer is yes, a response that repeats the question says yes again. Where only some words are shared, two responses may
still be about the same ("stuck in snow", "snow was blocking it"), the more of their words the likelier.

Two responses that name different members of a closed class (two and four, red and white, yes and no), or of which one
denies what the other says, are never both right, however near to each other a model puts them. The words are in
`alternatives.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from veridical.common.arrays import Bools, Floats, Ints
from veridical.common.files import read_json
from veridical.language.wordnet import Thesaurus, open_thesaurus
from veridical.matching.scores.fit import FILLERS
from veridical.matching.scores.models import terms

_WORD = re.compile(r"\w+")
EVERY = slice(None)
DERIVED = ("ment", "ness", "ful")  # endings that leave a word what it is about
DOUBLED = "bdgmnpt"  # letters that are written twice before an ending
STEM = 6  # letters of a word that are compared: affection, affectionate
AGAIN = -500.0  # log(1 - P_sim) of a response that says another again: only where nothing else is left

PARTLY = -24.0  # the same for one that has all its words in common with another but those that the question has


class _Lists(msgspec.Struct):
    """The words of `alternatives.json`."""

    function: list[str]  # words that say nothing by themselves
    people: list[str]  # words for people and what all of them have: two responses that share only these share little
    denials: list[str]
    alternatives: dict[str, list[str]]  # class -> its members, each with all its spellings
    phrases: dict[str, list[str]]  # word -> phrases that are read as it
    synonyms: dict[str, list[str]]  # class -> words that are taken for one
    kinds: dict[str, list[str]]  # class, or word -> words from which it follows


@lru_cache(maxsize=1)
def _lists() -> _Lists:
    path = Path(__file__).with_name("alternatives.json")
    return read_json(path, _Lists, "lists of words", "Install Veridical again.")


@lru_cache(maxsize=1)
def _phrases() -> tuple[re.Pattern[str], dict[str, str]]:
    """What finds phrases, long ones first, and the word that each is read as."""
    words = {phrase: word for word, phrases in _lists().phrases.items() for phrase in phrases}
    return re.compile(rf"\b(?:{'|'.join(sorted(words, key=len, reverse=True))})\b"), words


def _words(text: str) -> list[str]:
    """
    >>> _words("Stands up again")
    ['rise', 'again']
    """
    pattern, words = _phrases()
    return _WORD.findall(pattern.sub(lambda found: words[found[0]], " ".join(text.lower().split())))


@dataclass(frozen=True)
class Sayings:
    """The content words of each response and of its question, what follows from them, and closed classes."""

    words: Any  # (N, V) sparse, 1 where a response has the word
    implied: Any  # (N, V) sparse, 1 where the word follows from the response
    fresh: Any  # (N, V) sparse, 1 where a response has the word and its question has not; without words for people
    asked: Any  # (N, V) sparse, 1 where the word follows from the question, of rows whose answer is yes
    closed: Any  # (N, members) sparse, of members of closed classes
    kind: Ints  # (N,) the class of these; -1 for none, or several
    denied: Bools  # (N,) whether the response denies something

    @staticmethod
    def of(responses: Sequence[str], queries: Sequence[str] = (), thesaurus: Thesaurus | None = None) -> Sayings:
        lists = _lists()
        members = {word: (name, one.split()[0]) for name, own in lists.alternatives.items() for one in own
                   for word in one.split()}  # fmt: skip
        numbers = {name: number for number, name in enumerate(lists.alternatives)}
        split = [_words(text) for text in responses]
        named = [sorted({members[word] for word in words if word in members}) for words in split]
        kinds = [{name for name, _ in own} for own in named]
        vocabulary = _Vocabulary(lists, open_thesaurus(None, needed=False) if thesaurus is None else thesaurus)
        yes = [own == [("verdicts", "yes")] for own in named]
        asked = [_words(text) for text in queries] or [[]] * len(split)
        told = [{_stem(word) for word in (*words, *lists.people)} for words in asked]
        new = [[word for word in words if _stem(word) not in own] for words, own in zip(split, told, strict=True)]
        affirmed = [words if said_yes else [] for words, said_yes in zip(asked, yes, strict=True)]
        places = [vocabulary.tokens(split, least=1), vocabulary.tokens(new), vocabulary.tokens(affirmed)]
        follows = vocabulary.follows()
        words, fresh, question = (_table(rows, len(vocabulary.places)) for rows in places)
        member: dict[tuple[str, str], int] = {}
        closed = [[member.setdefault(one, len(member)) for one in own] for own in named]
        return Sayings(
            words,
            _ones(words @ follows),
            fresh,
            _ones(question @ follows),
            _table(closed, len(member)),
            np.array([numbers[one.pop()] if len(one) == 1 else -1 for one in kinds], np.int64),
            np.array([not set(words).isdisjoint(lists.denials) for words in split], bool),
        )

    def take(self, rows: Ints) -> Sayings:
        words, implied, fresh = (table[rows] for table in (self.words, self.implied, self.fresh))
        return Sayings(words, implied, fresh, self.asked[rows], self.closed[rows], self.kind[rows], self.denied[rows])

    @cached_property
    def sizes(self) -> Ints:
        return np.asarray(self.words.getnnz(axis=1), np.int64)

    def again(self, rows: slice = EVERY) -> Bools:
        """(n, N) whether all content words of one response of two follow from the other, or from a question that the
        other says yes to; of some rows with all."""
        out = self._contain(self.implied, rows)
        if self.asked.nnz:
            out |= self._contain(self.asked, rows)
        return out

    def _contain(self, said: Any, rows: slice) -> Bools:
        """(n, N) whether all words of one response of two are `said` by the other."""
        known = self.sizes > 0
        found = (said[rows] @ self.words.T).toarray() >= self.sizes
        found &= known
        other = (self.words[rows] @ said.T).toarray() >= self.sizes[rows, None]
        other &= known[rows, None]
        return np.asarray(found | other, bool)

    def shared(self, rows: slice = EVERY) -> Floats:
        """(n, N) the share of a response's words, those of its question and for people apart, that follow from another:
        the larger of two responses' shares; of some rows with all."""
        sizes = np.maximum(np.asarray(self.fresh.getnnz(axis=1), np.float32), 1)
        found = (self.implied[rows] @ self.fresh.T).toarray()
        found /= sizes
        other = (self.fresh[rows] @ self.implied.T).toarray()
        other /= sizes[rows, None]
        return np.asarray(np.maximum(found, other, out=found), np.float32)

    def alternatives(self, again: Bools, rows: slice = EVERY) -> Bools:
        """(n, N) whether two responses name different members of one class, or one denies what both say."""
        shared = (self.closed[rows] @ self.closed.T).toarray()
        kind, denied = self.kind[rows, None], self.denied[rows, None]
        other = (kind == self.kind) & (kind >= 0) & (shared == 0)
        return np.asarray(other | (again & (denied != self.denied)), bool)

    def corrected(self, apart: Floats, rows: slice = EVERY) -> Floats:
        """(n, N) log(1 - P_sim) by a model, of some rows with all, with what words say."""
        again, shared = self.again(rows), self.shared(rows)
        shared *= np.float32(PARTLY)
        apart += shared
        apart[again] = AGAIN
        apart[self.alternatives(again, rows)] = 0.0
        return apart


class _Vocabulary:
    """Words as numbers: forms and synonyms of one word have one; and which follow from which."""

    def __init__(self, lists: _Lists, thesaurus: Thesaurus) -> None:
        self._thesaurus = thesaurus
        self._empty = FILLERS | set(lists.function)
        self._same = {word: f"={name}" for name, words in lists.synonyms.items() for word in words}
        self._kinds = _inverted(lists.kinds)
        self._means: dict[int, set[str]] = {}  # place -> what it means
        self._follows: dict[int, set[str]] = {}  # place -> what follows from it
        self._known: dict[str, int] = {}  # word -> place
        self.places: dict[str, int] = {}

    def tokens(self, texts: Sequence[Sequence[str]], least: int = 0) -> list[list[int]]:
        """The numbers of the content words of each text, each once; of all its words where fewer than `least` have
        content."""
        out = []
        for words in texts:
            content = [word for word in words if word not in self._empty]
            content = content if len(content) >= least else list(words)
            out.append(sorted({self._place(word) for word in content}))
        return out

    def _place(self, word: str) -> int:
        if word not in self._known:
            token = self._token(word)
            place = self._known[word] = self.places.setdefault(token, len(self.places))
            means, follows = self._means.setdefault(place, {token}), self._follows.setdefault(place, set())
            own = self._thesaurus.meanings(word) if word not in self._empty else ()
            means.update(own)
            follows.update(kind for one in own for kind in self._thesaurus.kinds(one))
            follows.update(self._token(kind) for kind in self._kinds.get(_stem(word), ()))
        return self._known[word]

    def _token(self, word: str) -> str:
        if word in self._empty or word.startswith("="):
            return word
        return self._same.get(word) or _stem(word)

    def follows(self) -> Any:
        """(V, V) sparse, 1 where the second word follows from the first."""
        names: dict[str, int] = {}
        means = [[names.setdefault(one, len(names)) for one in sorted(own)] for own in self._means.values()]
        follow = [
            [names[one] for one in sorted(self._means[place] | more) if one in names]
            for place, more in self._follows.items()
        ]
        return _ones(_table(follow, len(names)) @ _table(means, len(names)).T)


def _inverted(kinds: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Stem of a word -> what follows from it."""
    out: dict[str, list[str]] = {}
    for kind, words in kinds.items():
        for word in words:
            out.setdefault(_stem(word), []).append(kind)
    return out


def _stem(word: str) -> str:
    """
    >>> [_stem(word) for word in ("dances", "dance", "movement", "moves", "sunny", "sun")]
    ['danc', 'danc', 'mov', 'mov', 'sun', 'sun']
    """
    stem = terms(word)[0]
    for ending in DERIVED:
        if stem.endswith(ending) and len(stem) - len(ending) >= 3:
            stem = stem[: -len(ending)]
    stem = stem.rstrip("ey") if len(stem.rstrip("ey")) >= 3 else stem.rstrip("e")
    if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] in DOUBLED:  # sunn, runn
        stem = stem[:-1]
    return stem[:STEM]


def _table(lists: Sequence[Sequence[int]], width: int) -> Any:
    from scipy.sparse import csr_matrix

    columns = np.array([place for places in lists for place in places], np.int64)
    ends = np.cumsum([0, *(len(places) for places in lists)])
    return csr_matrix((np.ones(len(columns), np.float32), columns, ends), (len(lists), max(1, width)))


def _ones(table: Any) -> Any:
    table.data[:] = 1
    return table
