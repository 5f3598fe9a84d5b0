"""Words and spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.language.reading.lexicon import KNOWN, distance, is_known, read_words, speller, split_joined, words

letters = st.text("abc", max_size=6)


@given(letters, letters)
def test_distance_is_symmetric_and_zero_only_for_equals(a: str, b: str) -> None:
    assert distance(a, b) == distance(b, a)
    assert (distance(a, b) == 0) is (a == b)


@given(letters, st.integers(0, 5), st.sampled_from("abc"))
def test_one_edit_is_distance_one(word: str, at: int, letter: str) -> None:
    at = min(at, len(word))
    assert distance(word, word[:at] + letter + word[at:]) == 1
    if at < len(word) - 1 and word[at] != word[at + 1]:
        assert distance(word, word[:at] + word[at + 1] + word[at] + word[at + 2 :]) == 1


def test_words_keep_numbers_and_commas_only() -> None:
    assert words("There's 1 box, isn't it?") == ["there", "s", "1", "box", ",", "is", "not", "it"]


def test_a_number_without_an_end_is_a_large_number() -> None:
    assert words(f"{'9' * 5000} blocks, {'0' * 5000}3, {'0' * 9}, 123456, {'7' * 9}th") == [
        *("999999", "blocks", ",", "3", ",", "0", ",", "123456", ",", "999999th")
    ]


def test_speller_leaves_what_it_cannot_repair() -> None:
    fix = speller({"yellow", "box", "below"}, {"yellow": 2})
    assert [fix(w) for w in ("yelow", "bpx", "elephant", "42", "bo")] == ["yellow", "box", "elephant", "42", "bo"]


def test_two_words_written_as_one() -> None:
    assert split_joined("abox", {"a", "box"}) == ["a", "box"]
    assert split_joined("blob", {"a", "box"}) == ["blob"]


@pytest.mark.parametrize(
    ("sentence", "read"),
    [
        ("There is atleast one grey square with 2 yelow blocks", "there be atleast 1 box with 2 yellow block"),
        ("there ARE at leats two Cirlces touhing hte adge.", "there be atleast 2 circle touching the edge"),
        ("There isa box with exacrly three objetcs", "there be a box with exactly 3 item"),
        ("exactly on blue black on a black block", "exactly 1 blue block on a black block"),
        ("ll towers have not more than four items on top of each other", "all tower has atmost 4 item together"),
        ("there is a gray box with a lot of items", "there be a box with multiple item"),
        ("a tower with tow block blocks", "a tower with 2 black block"),
    ],
)
def test_human_sentences_become_canonical(sentence: str, read: str) -> None:
    assert " ".join(read_words(sentence)) == read


def test_every_canonical_word_is_known() -> None:
    for word in KNOWN:
        assert all(is_known(w) for w in read_words(word)), word
