"""Vectors of texts are remembered between runs, by text and by encoder; the log keeps what was finished."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical import encoders as features
from veridical.encoders.encoder import unit
from veridical.encoders.hub import HubEncoder
from veridical.encoders.store import VectorLog, key_hash


class Counting(HubEncoder):
    """The real encoder; remembers what it was asked for."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.asked: list[str] = []

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        return super().texts(texts)


def encode_texts(encoder: str | features.Encoder, texts: Sequence[str], **options: Any) -> np.ndarray:
    return features.TextVectors(encoder, **options).rows(texts)


def test_each_distinct_text_is_encoded_once(weights: Path) -> None:
    bert = Counting("tiny/bert")
    texts = ["a dog", "two cats .", "a dog", "a cat"]
    first = encode_texts(bert, texts, batch_size=2)
    assert sorted(bert.asked) == ["a cat", "a dog", "two cats ."]
    np.testing.assert_array_equal(first[0], first[2])
    np.testing.assert_allclose(first, bert.texts(texts), atol=1e-5)
    again = Counting("tiny/bert")
    np.testing.assert_array_equal(encode_texts(again, ["a cat", "a dog"]), first[[3, 0]])
    encode_texts(again, ["a cat", "a dog left"])
    assert again.asked == ["a dog left"]
    lengths = np.linalg.norm(unit(encode_texts(again, texts)), axis=1)
    np.testing.assert_allclose(lengths, 1, rtol=1e-5)
    assert encode_texts(again, []).shape == (0, 16)


def test_another_encoder_has_its_own(weights: Path, tmp_path: Path) -> None:
    encode_texts("tiny/bert", ["a dog"])
    other = Counting("tiny/clip")
    assert encode_texts(other, ["a dog"]).shape == (1, 12)
    assert other.asked == ["a dog"]
    newer = Counting("tiny/bert")
    newer.recipe = "2"
    encode_texts(newer, ["a dog"])
    assert newer.asked == ["a dog"]
    assert len(list((tmp_path / "cache" / "texts").iterdir())) == 3


def test_a_cache_that_cannot_be_written_says_so(weights: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    from veridical.errors import UserError

    with pytest.raises(UserError, match="VERIDICAL_CACHE"):
        encode_texts("tiny/bert", ["a dog"], cache=tmp_path / "file")


@given(cut=st.integers(0, 400), rows=st.integers(1, 4), junk=st.binary(max_size=60))
def test_a_log_cut_anywhere_keeps_its_whole_records(
    tmp_path_factory: pytest.TempPathFactory, cut: int, rows: int, junk: bytes
) -> None:
    path = tmp_path_factory.mktemp("log") / "x.vectors"
    log = VectorLog(path, {"encoder": "x"})
    keys = [key_hash(str(n)) for n in range(6)]
    vectors = np.arange(18, dtype=np.float32).reshape(6, 3)
    log.append(keys[:rows], vectors[:rows])
    whole = path.read_bytes()
    start = whole.index(b"\n") + 1
    path.write_bytes(whole[:cut] + (junk if cut < len(whole) else b""))
    kept = max(min(cut, len(whole)) - start, 0) // (32 + 4 + 12)
    places, found = log.read()
    assert len(places) in (kept, kept + 1)  # one more where the junk happens to be what was cut off
    for row in range(kept):
        np.testing.assert_array_equal(found[places[keys[row]]], vectors[row])
    log.append(keys[rows:], vectors[rows:])
    places, found = log.read()
    assert set(places) >= set(keys[rows:])
    for key, row in places.items():
        np.testing.assert_array_equal(found[row], vectors[keys.index(key)])


@given(row=st.integers(0, 5), byte=st.integers(0, 47), bit=st.integers(0, 7))
def test_every_record_of_a_log_is_checked(
    tmp_path_factory: pytest.TempPathFactory, row: int, byte: int, bit: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "x.vectors"
    log, keys = VectorLog(path, {"encoder": "x"}), [key_hash(str(n)) for n in range(6)]
    vectors = np.arange(18, dtype=np.float32).reshape(6, 3)
    log.append(keys, vectors)
    data = bytearray(path.read_bytes())
    data[data.index(b"\n") + 1 + 48 * row + byte] ^= 1 << bit
    path.write_bytes(data)
    for rows in (6, 7):
        places, found = log.read()
        assert set(places) == {key for n, key in enumerate([*keys, key_hash("new")][:rows]) if n != row}
        for key in set(places) - {key_hash("new")}:
            np.testing.assert_array_equal(found[places[key]], vectors[keys.index(key)])
        log.append([key_hash("new")], np.ones((1, 3), np.float32))


@pytest.mark.parametrize(
    "head", [b"[" * 100_000, b'{"vectors": {"encoder": "x"}, "size": 1e99}', b'{"size": -1}', b"\xff"]
)
@pytest.mark.parametrize("size", [-1, 1 << 40])
def test_a_log_with_an_odd_head_is_begun_anew(tmp_path: Path, head: bytes, size: int) -> None:
    path = tmp_path / "x.vectors"
    for odd in (head, json.dumps({"vectors": {"encoder": "x"}, "size": size}).encode()):
        path.write_bytes(odd + b"\n" + b"x" * 100)
        log = VectorLog(path, {"encoder": "x"})
        assert log.read()[0] == {}
        log.append([key_hash("b")], np.ones((1, 5), np.float32))
        assert list(log.read()[0]) == [key_hash("b")]


def test_the_log_of_something_else_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "x.vectors"
    VectorLog(path, {"encoder": "x"}).append([key_hash("a")], np.ones((1, 3), np.float32))
    other = VectorLog(path, {"encoder": "y"})
    assert other.read()[0] == {}
    other.append([key_hash("b")], np.ones((1, 5), np.float32))
    places, vectors = other.read()
    assert list(places) == [key_hash("b")]
    assert vectors.shape == (1, 5)


def test_words_are_kept_in_their_context(weights: Path) -> None:
    own = features.WordVectors("tiny/bert")
    texts = [("a", "dog"), ("dog", "a"), ("two", "cats", "left")]
    own.add(texts)
    first, second = (own.at(own.places(text)) for text in texts[:2])
    assert first.shape == (2, 16)
    assert not np.allclose(first[0], second[1])  # the same word at another place
    again = features.WordVectors("tiny/bert")
    np.testing.assert_array_equal(again.at(again.places(texts[0])), first)  # read back, nothing is computed
    size = again._log.path.stat().st_size
    again.add(texts)
    assert again._log.path.stat().st_size == size
    with pytest.raises(KeyError):
        again.places(("a", "bird"))


def test_words_are_of_the_second_to_last_layer(weights: Path) -> None:
    import torch

    bert = HubEncoder("tiny/bert")
    (found,) = bert.words([("a", "dog")])
    inputs = bert._tokenizer("a dog", return_tensors="pt")
    with torch.inference_mode():
        layers = bert._model(**inputs, output_hidden_states=True).hidden_states
    np.testing.assert_allclose(found, layers[-2][0, 1:3].numpy(), atol=1e-6)
    (pieces,) = bert.words([("dogcat", "a")])  # a word in several pieces is their mean, whatever they are
    assert pieces.shape == (2, 16)


def test_static_words_are_kept_once(tmp_path: Path) -> None:
    own = features.WordVectors("hashed-words", cache=tmp_path)
    own.add([("a", "dog"), ("a", "cat", "and", "a", "dog")])
    places = own.places(("dog", "a", "dog"))
    assert places[0] == places[2] != places[1]
    assert len(own._vectors) == 4


def test_what_cannot_read_words_says_so(weights: Path) -> None:
    from veridical.errors import UserError

    for name in ("thumbnail", "tiny/clip"):
        with pytest.raises(UserError, match="cannot encode words"):
            features.WordVectors(name).add([("a",)])
