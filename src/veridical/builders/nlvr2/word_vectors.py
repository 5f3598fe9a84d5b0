"""Word vectors, from the offline packages or from a user's file: how near two texts are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from veridical.errors import UserError

VOCABULARY = 30_000  # words of an embedding that are looked through for similar nouns, the most frequent first


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
