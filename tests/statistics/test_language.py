"""Lengths and vocabulary."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.records import Item, Ref, Text
from veridical.statistics.language import benchmark_lengths, compare_lengths, profile, read_sentences, tokens


@given(st.text())
def test_tokens_are_the_sentence_without_space(sentence):
    assert "".join(tokens(sentence)) == re.sub(r"\s", "", sentence)


@given(st.lists(st.text("ab ,.", max_size=12), max_size=20))
def test_profile_adds_up(sentences):
    found = profile("x", sentences)
    assert sum(found.histogram.values()) == found.sentences == len(sentences)
    assert found.distinct == len(set(sentences))
    if sentences:
        assert found.mean == pytest.approx(sum(len(tokens(s)) for s in sentences) / len(sentences))
        assert found.longest == max(len(tokens(s)) for s in sentences)
        assert found.words <= found.mean


def test_known_profile():
    found = profile("x", ["The dog, the cat.", "A dog!", "A dog!"])
    assert (found.sentences, found.distinct, found.mean, found.words, found.median) == (3, 2, 4, 8 / 3, 3)
    assert (found.longest, found.vocabulary, found.histogram) == (6, 4, {3: 2, 6: 1})
    assert found.histogram == {3: 2, 6: 1}


def test_nlvr_lengths_near_the_paper(nlvr):
    """The paper: 11.22 tokens, 262 types over all four splits; two of them are here."""
    found = benchmark_lengths(Benchmark(nlvr), ("train", "dev"))["query"]
    assert found.mean == pytest.approx(11.22, abs=0.03)
    assert (found.sentences, found.distinct, found.vocabulary) == (3431, 2369, 229)


def test_a_sentence_counts_once_for_each_group(make, statement):
    items = [statement(f"{n}", 1, "A dog.", group=f"g{n // 2}") for n in range(4)]
    items += [statement("4", 1, "A big cat runs.", group="g0"), statement("5", 1, "A dog.")]
    found = benchmark_lengths(make(items), ("dev",))["query"]
    assert (found.sentences, found.distinct) == (4, 2)


def test_questions_answers_and_rationales(make):
    """References count as tokens and as words, and are no word types."""
    query = Text("q", ("Why", "is", Ref(("0", "1")), "here", "?"))
    choices = tuple(Text("c", ("one",) * (n + 1)) for n in range(4))
    items = [Item("a", "choice", (), query, choices, 2)]
    items += [Item(f"a-{n}", "choice", (), query, choices, 3, parent="a", given=n) for n in range(4)]
    found = benchmark_lengths(make(items, task="choice"), ("dev",))
    assert {name: (f.sentences, f.mean, f.words, f.vocabulary) for name, f in found.items()} == {
        "question": (1, 5, 4, 3),
        "answer": (1, 3, 3, 1),
        "rationale": (1, 4, 4, 1),
    }


def test_compare_reads_files_of_sentences(tmp_path):
    (tmp_path / "vqa.txt").write_text("What is it?\n\n  How many dogs?  \r\n", encoding="utf-8")
    (tmp_path / "coco.txt").write_text("A dog.\n")
    vqa, coco = compare_lengths([tmp_path / "vqa.txt", tmp_path / "coco.txt"])
    assert (vqa.name, vqa.sentences, vqa.mean, coco.mean) == ("vqa", 2, 4, 3)


@pytest.mark.parametrize(
    ("data", "problem"),
    [(b"", "no sentences"), (b"\n \n", "no sentences"), (b"caf\xe9", "not UTF-8"), (None, "cannot be read")],
)
def test_bad_sentence_files(tmp_path, data, problem):
    path = tmp_path / "s.txt"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(UserError, match=problem):
        read_sentences(path)


def test_too_many_files(tmp_path):
    with pytest.raises(UserError, match="more than 12"):
        compare_lengths([tmp_path / f"{n}" for n in range(13)])
