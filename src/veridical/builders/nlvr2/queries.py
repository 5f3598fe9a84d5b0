"""Search queries from synsets: the four heuristics of NLVR2's Table 1.

Each query adds something to a synonym that makes pictures richer: a quantity or collective noun, a hypernym or a
similar thing (objects), an activity (animals). The words are those that the published queries use.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from veridical.builders.nlvr2.synsets import Synset
from veridical.builders.nlvr2.wordnet import Thesaurus, Vectors
from veridical.language.writing.pairs.words import plural

Heuristic = Literal["quantity", "collective", "hypernym", "similar", "activity"]

NUMBERS = {"two": 2, "three": 3}
QUANTITIES = ("some", "many", "multiple", "lots of", "plenty of")
COLLECTIVE_ANY = ("group of",)
COLLECTIVE_ANIMALS = ("herd of", "packs of")
COLLECTIVE_OBJECTS = ("bunch of", "stack of", "row of")
ACTIVITIES = ("eating", "sleeping", "feeding", "playing", "swimming", "resting")
SIMILARITY = 0.35  # a similar noun's cosine is greater (Table 1)
HYPERNYMS = 3
SIMILAR = 5


@dataclass(frozen=True, slots=True)
class Query:
    """What an image search is asked."""

    text: str
    synset: str
    synonym: str
    heuristic: Heuristic
    added: str  # what the heuristic added to the synonym

    @property
    def wide(self) -> bool:
        """Collective nouns and `two` are followed further down the results (footnote 5 of the draft)."""
        return self.heuristic == "collective" or self.added == "two"


def make_queries(
    synsets: Sequence[Synset],
    thesaurus: Thesaurus,
    vectors: Vectors | None,
    *,
    hypernyms: int = HYPERNYMS,
    similar: int = SIMILAR,
    similarity: float = SIMILARITY,
) -> list[Query]:
    """All queries of all synsets, each text once for a synset; without `vectors` there are no similar words."""
    nouns = vectors.only(concrete_nouns(vectors, thesaurus)) if vectors is not None and similar else None
    out: dict[tuple[str, str], Query] = {}
    for synset in synsets:
        for synonym in synset.synonyms:
            found = [*_quantities(synonym, synset), *_activities(synonym, synset)]
            if not synset.animal:
                found += _hypernyms(synonym, synset, thesaurus, hypernyms)
                if vectors is not None and nouns is not None:
                    near = nouns.nearest(vectors.of(synonym), similarity)
                    found += _similar(synonym, synset, near, similar)
            for query in found:
                out.setdefault((synset.name, query.text), query)
    return list(out.values())


def first_queries(queries: Sequence[Query], number: int = 5) -> list[Query]:
    """A few queries of each synset, all heuristics in turn: what synsets are scored by.

    >>> made = [Query(f"{a} cups", "cup", "cup", h, a) for h, a in
    ...         [("quantity", "two"), ("quantity", "three"), ("collective", "row of"), ("hypernym", "vessel")]]
    >>> [q.text for q in first_queries(made, 3)]
    ['two cups', 'row of cups', 'vessel cups']
    """
    by_synset: dict[str, dict[str, list[Query]]] = {}
    for query in queries:
        by_synset.setdefault(query.synset, {}).setdefault(query.heuristic, []).append(query)
    out = []
    for kinds in by_synset.values():
        rounds = max(map(len, kinds.values()))
        turn = [kind[n] for n in range(rounds) for kind in kinds.values() if n < len(kind)]
        out += turn[:number]
    return out


def concrete_nouns(vectors: Vectors, thesaurus: Thesaurus) -> list[str]:
    """The words of an embedding that are, before all, names of things that can be seen."""
    return [word for word in vectors.words if word.isalpha() and len(word) > 2 and thesaurus.is_concrete(word)]


def _quantities(synonym: str, synset: Synset) -> Iterator[Query]:
    many = plural(synonym)
    for word in (*NUMBERS, *QUANTITIES):
        yield Query(f"{word} {many}", synset.name, synonym, "quantity", word)
    for word in (*COLLECTIVE_ANY, *(COLLECTIVE_ANIMALS if synset.animal else COLLECTIVE_OBJECTS)):
        yield Query(f"{word} {many}", synset.name, synonym, "collective", word)


def _activities(synonym: str, synset: Synset) -> Iterator[Query]:
    for verb in ACTIVITIES if synset.animal else ():
        yield Query(f"{plural(synonym)} {verb}", synset.name, synonym, "activity", verb)


def _hypernyms(synonym: str, synset: Synset, thesaurus: Thesaurus, number: int) -> Iterator[Query]:
    if synset.wnid is None:
        return
    own = {s.lower() for s in synset.synonyms}
    for name in [h for h in thesaurus.hypernyms(synset.wnid) if h.lower() not in own][:number]:
        yield Query(f"{synonym} {name}", synset.name, synonym, "hypernym", name)


def _similar(synonym: str, synset: Synset, near: Sequence[tuple[str, float]], number: int) -> Iterator[Query]:
    own = {w for s in synset.synonyms for t in (s.lower(), plural(s.lower())) for w in (t, *t.split())}
    found = [word for word, _ in near if word not in own and plural(word) not in own]
    for word in found[:number]:
        yield Query(f"{synonym} {word}", synset.name, synonym, "similar", word)
