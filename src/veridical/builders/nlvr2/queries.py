"""Search queries (NLVR2, section 3.1): what is searched for, and the four heuristics of Table 1.

Synsets are read from a list and chosen by how interesting their pictures are: a synset is awarded a point for each of
its 25 sets in which at least half of the images are interesting; those with the most points are taken, as many animals
as objects. Each query adds something to a synonym that makes pictures richer: a quantity or collective noun, a hypernym
or a similar thing (objects), an activity (animals). The words are those that the published queries use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

from veridical.builders.nlvr2.word_vectors import Vectors
from veridical.common.files import read_json, read_lines, text_lines
from veridical.errors import UserError
from veridical.language.english import plural
from veridical.language.wordnet import Thesaurus
from veridical.sources.icons.glyphs import CATEGORIES

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
_WNID = re.compile(r"(n\d{8})[\s,]+(.+)")


@dataclass(frozen=True, slots=True)
class Synset:
    """A thing that pictures may show."""

    name: str  # as the benchmark names it
    synonyms: tuple[str, ...]  # the name first
    animal: bool
    wnid: str | None = None  # its WordNet id, where it has one


class _SynsetLine(msgspec.Struct):
    synset: str
    wnid: str | list[str] | None = None
    synonyms: list[str] = []
    animal: bool | None = None


def read_synsets(path: Path | str, thesaurus: Thesaurus) -> list[Synset]:
    """Synsets of a file: ImageNet's `n01440764 tench, Tinca tinca` lines, plain names, or JSON with `synset`."""
    path = Path(path)
    fix = 'Give objects such as {"synset": "beagle", "wnid": "n02088364"}.'
    if path.suffix == ".json":
        out = [_of_line(line, thesaurus) for line in read_json(path, list[_SynsetLine], "a list of synsets", fix)]
    elif path.suffix == ".jsonl":
        out = [_of_line(line, thesaurus) for line in read_lines(path, _SynsetLine, fix)]
    else:
        out = [_of_text(line, thesaurus) for line in text_lines(path, "Give a list of synsets.")]
    return unique(out, str(path))


def icon_synsets(wordnet: Thesaurus, categories: tuple[str, ...]) -> list[Synset]:
    """The icon world's categories as synsets."""
    out = []
    for name in categories:
        icon = CATEGORIES[name]
        wnid = wordnet.sense(icon.synset) if icon.synset else None
        synonyms = wordnet.names(wnid) if wnid else ()
        names = tuple(dict.fromkeys([name, *(s for s in synonyms if s.lower() != name.lower())]))
        out.append(Synset(name, names, icon.hypernym == "animal", wnid))
    return out


def synset_of(name: str, thesaurus: Thesaurus, wnid: str | None = None) -> Synset:
    """The synset that a name means; one that WordNet does not know has no synonyms and is no animal."""
    wnid = wnid or thesaurus.wnid(name)
    if wnid is None:
        return Synset(name, (name,), animal=False)
    names = _distinct([name, *thesaurus.names(wnid)])
    return Synset(name, names, thesaurus.is_animal(wnid), wnid)


def with_members(synset: Synset, members: Sequence[str]) -> Synset:
    """A synset whose pictures show things of these categories: those of animals show cats, dogs ...

    >>> with_members(Synset("animal", ("animal", "beast"), True), ["cat"]).synonyms
    ('animal', 'beast', 'cat')
    """
    return replace(synset, synonyms=_distinct([*synset.synonyms, *members]))


def unique(synsets: Iterable[Synset], where: str) -> list[Synset]:
    """Each synset once, and another of the same name (ImageNet has two cranes) with its id; some there must be."""
    out: dict[str, Synset] = {}
    for one in synsets:
        name = one.name
        if name in out and one.wnid is not None and one.wnid != out[name].wnid:
            name = f"{name} ({one.wnid})"
        if name in out:
            raise UserError(f"{where} names the synset {name!r} twice.", "Name each synset once.")
        out[name] = replace(one, name=name)
    if not out:
        raise UserError(f"{where} names no synset.", "Give one synset a line.")
    return list(out.values())


def choose(points: Mapping[str, int], synsets: Sequence[Synset], number: int) -> list[Synset]:
    """The `number` synsets with the most points, half of them animals where there are enough; in their old order.

    >>> animals = [Synset(n, (n,), animal=True) for n in ("cat", "dog", "ant")]
    >>> things = [Synset(n, (n,), animal=False) for n in ("cup", "seawall")]
    >>> points = {"cat": 9, "dog": 8, "ant": 7, "cup": 3, "seawall": 0}
    >>> [s.name for s in choose(points, animals + things, 4)]
    ['cat', 'dog', 'cup', 'seawall']
    """
    if number < 1:
        raise UserError(f"{number} synsets make no collection.", "Choose one or more.")
    place = {one.name: i for i, one in enumerate(synsets)}
    best = sorted(synsets, key=lambda s: (-points.get(s.name, 0), place[s.name]))
    halves = [[s for s in best if s.animal], [s for s in best if not s.animal]]
    sizes = [min(len(halves[0]), number // 2), min(len(halves[1]), number - number // 2)]
    sizes[0] = min(len(halves[0]), number - sizes[1])  # what objects lack, animals fill
    sizes[1] = min(len(halves[1]), number - sizes[0])
    taken = {s.name for half, size in zip(halves, sizes, strict=True) for s in half[:size]}
    return [s for s in synsets if s.name in taken]


def count_points(sets: Iterable[tuple[str, Sequence[bool]]]) -> dict[str, int]:
    """Points of synsets: one for each set in which at least half of the images are interesting.

    >>> count_points([("dog", [True, False]), ("dog", [True]), ("cup", [False, False, True])])
    {'dog': 2, 'cup': 0}
    """
    points: dict[str, int] = {}
    for name, interesting in sets:
        won = bool(interesting) and 2 * sum(interesting) >= len(interesting)
        points[name] = points.get(name, 0) + won
    return points


def _of_text(line: str, thesaurus: Thesaurus) -> Synset:
    if match := _WNID.fullmatch(line):
        names = _distinct(name.strip() for name in match[2].split(","))
        return Synset(names[0], names, thesaurus.is_animal(match[1]), match[1])
    return synset_of(line, thesaurus)


def _of_line(line: _SynsetLine, thesaurus: Thesaurus) -> Synset:
    wnid = line.wnid[0] if isinstance(line.wnid, list) and line.wnid else line.wnid
    found = synset_of(line.synset, thesaurus, wnid if isinstance(wnid, str) else None)
    names = _distinct([line.synset, *line.synonyms]) if line.synonyms else found.synonyms
    return Synset(line.synset, names, found.animal if line.animal is None else line.animal, found.wnid)


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    seen: dict[str, str] = {}
    for name in names:
        if name.strip():
            seen.setdefault(name.strip().lower(), name.strip())
    return tuple(seen.values())


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


def make_queries(synsets: Sequence[Synset], thesaurus: Thesaurus, vectors: Vectors | None) -> list[Query]:
    """All queries of all synsets, each text once for a synset; without `vectors` there are no similar words."""
    nouns = vectors.only(concrete_nouns(vectors, thesaurus)) if vectors is not None else None
    out: dict[tuple[str, str], Query] = {}
    for synset in synsets:
        for synonym in synset.synonyms:
            many = plural(synonym)
            found: list[tuple[Heuristic, str, str]] = [("quantity", w, f"{w} {many}") for w in (*NUMBERS, *QUANTITIES)]
            collective = COLLECTIVE_ANIMALS if synset.animal else COLLECTIVE_OBJECTS
            found += [("collective", w, f"{w} {many}") for w in (*COLLECTIVE_ANY, *collective)]
            if synset.animal:
                found += [("activity", verb, f"{many} {verb}") for verb in ACTIVITIES]
            else:
                found += [("hypernym", name, f"{synonym} {name}") for name in _hypernyms(synset, thesaurus)]
                if vectors is not None and nouns is not None:
                    near = nouns.nearest(vectors.of(synonym), SIMILARITY)
                    found += [("similar", word, f"{synonym} {word}") for word in _similar(synset, near)]
            for heuristic, added, text in found:
                out.setdefault((synset.name, text), Query(text, synset.name, synonym, heuristic, added))
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
    for heuristics in by_synset.values():
        rounds = max(map(len, heuristics.values()))
        turn = [some[n] for n in range(rounds) for some in heuristics.values() if n < len(some)]
        out += turn[:number]
    return out


def concrete_nouns(vectors: Vectors, thesaurus: Thesaurus) -> list[str]:
    """The words of an embedding that are, before all, names of things that can be seen."""
    return [word for word in vectors.words if word.isalpha() and len(word) > 2 and thesaurus.is_concrete(word)]


def _hypernyms(synset: Synset, thesaurus: Thesaurus) -> list[str]:
    own = {s.lower() for s in synset.synonyms}
    above = thesaurus.hypernyms(synset.wnid) if synset.wnid is not None else ()
    return [name for name in above if name.lower() not in own][:HYPERNYMS]


def _similar(synset: Synset, near: Sequence[tuple[str, float]]) -> list[str]:
    own = {w for s in synset.synonyms for t in (s.lower(), plural(s.lower())) for w in (t, *t.split())}
    return [word for word, _ in near if word not in own and plural(word) not in own][:SIMILAR]
