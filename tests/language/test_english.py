"""English words: plurals, articles, numbers, names for people."""

from __future__ import annotations

import pytest

from veridical.language.english import NEUTRAL, Word, a, number, plain_names, plural, word
from veridical.records import Panel, Ref, SceneObject, Text


@pytest.mark.parametrize(
    ("one", "many"),
    [
        *(("dog", "dogs"), ("bus", "buses"), ("box", "boxes"), ("church", "churches"), ("cherry", "cherries")),
        *(("toy", "toys"), ("person", "people"), ("snowman", "snowmen"), ("human", "humans"), ("knife", "knives")),
        *(("sheep", "sheep"), ("wine glass", "wine glasses"), ("bookshelf", "bookshelves"), ("fireman", "firemen")),
        *(("pair of skis", "pairs of skis"), ("tomato", "tomatoes"), ("photo", "photos"), ("cable-car", "cable-cars")),
    ],
)
def test_plurals(one: str, many: str) -> None:
    assert plural(one) == many


def test_articles_and_numbers() -> None:
    assert [a(w) for w in ("apple", "unicorn", "hour", "red apple", "one-way sign", "upside-down cat")] == [
        *("an apple", "a unicorn", "an hour", "a red apple", "a one-way sign", "an upside-down cat")
    ]
    assert (number(12), number(21)) == ("twelve", "21")
    assert word("broccoli") == Word("piece of broccoli", "pieces of broccoli")
    assert word("tv") == Word("TV", "TVs")


def test_people_have_neutral_names_in_order() -> None:
    objects = tuple(SceneObject(str(k), "person" if k % 2 else "cup") for k in range(40))
    names = plain_names([Panel("p", objects=objects)])
    assert [names[str(k)] for k in (1, 3, 5)] == list(NEUTRAL[:3])
    assert names["0"] == "cup"
    assert names["29"] == f"{NEUTRAL[0]} 2"  # the fifteenth person: names start again, numbered


def test_a_text_reads_as_a_sentence() -> None:
    panel = Panel("p", objects=(SceneObject("0", "person"), SceneObject("1", "dog")))
    assert (
        Text("", (Ref(("0",)), "pats", "the", Ref(("1",)), ".")).words(plain_names([panel])) == "Casey pats the dog ."
    )
