"""Reading answers: a corpus of odd replies, and laws that hold for all of them.

The reader is in the file that `export lmms-eval` writes, too: the same corpus is read there.
"""

from __future__ import annotations

import importlib.util
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.common.replies import clean, read
from veridical.formats import lmms_eval
from veridical.formats.lmms_eval import utils

TRUTH = ("true", "false")
LETTERS = tuple("ABCD")
ANIMALS = ("a dog", "A hen", "a cat", "B. Franklin")
TEXTS = ("She is happy.", "He is sad.", "They are about to run away.", "[person1] is hungry.")

# (reply, what it says); None: unreadable
SAYS_TRUTH: list[tuple[str, str | None]] = [
    ("True", "true"),
    ("false.", "false"),
    ("**True**", "true"),
    ("`FALSE`", "false"),
    ("TRUE!", "true"),
    ("Ｔｒｕｅ", "true"),
    ("'true'", "true"),
    ("“False”", "false"),
    ("\n\n  True\n", "true"),
    ("Yes.", "true"),
    ("No", "false"),
    ("True, because both dogs are brown.", "true"),
    ("False - there is only one dog.", "false"),
    ("True\n\nBoth pictures show a dog.", "true"),
    ("Answer: True", "true"),
    ("**Answer:** False.", "false"),
    ("Final answer:\nTrue", "true"),
    ("There are two dogs on the left.\nOne is brown.\n\nAnswer: false", "false"),
    ("The answer is true.", "true"),
    ("My final answer is: False", "false"),
    ("Answer: \\boxed{True}", "true"),
    ("$\\boxed{\\text{False}}$", "false"),
    ("<answer>true</answer>", "true"),
    ('{"answer": "false"}', "false"),
    ('{"reasoning": "two dogs", "answer": true}', None),  # the declaration does not begin its line
    ("<think>Maybe it is false. Or true.</think>\n\nTrue", "true"),
    ("<think>it is true", None),
    ("the statement is not true", "false"),
    ("The statement isn't true.", "false"),
    ("The statement isn’t true.", "false"),
    ("It is not false.", "true"),
    ("This is not true.", "false"),
    ("It's false.", "false"),
    ("The caption is accurate.", "true"),
    ("The claim is incorrect, since there are three.", "false"),
    ("This is correct.", "true"),
    ("Therefore, the statement is **true**.", "true"),
    ("No dogs are visible, so the statement is true.", "true"),
    ("If the statement is true, two dogs must be seen. The statement is false.", "false"),
    ("False, because the statement is not true.", "false"),
    ("Answer: not true", "false"),
    ("I first thought the statement is true, but counted again.\nAnswer: False", "false"),
    # Nothing, or nothing that may be taken for an answer.
    ("", None),
    ("   \n", None),
    ("...", None),
    ("I notice a dog", None),
    ("Nothing can be seen.", None),
    ("Truely a nice picture", None),
    ("No dogs are visible.", None),
    ("Yes and no.", None),
    ("true or false", None),
    ("True or False?", None),
    ("Is the statement true or false?", None),
    ("Answer: true or false", None),
    ("Answer:", None),
    ("Answer: unknown", None),
    ("Answer: maybe true", None),
    ("The answer is neither true nor false.", None),
    ("The statement is neither true nor false.", None),
    ("I cannot determine whether the statement is true.", None),
    ("It is unclear if it is true.", None),
    ("The statement is probably true", None),
    ("This is not necessarily true", None),
    ("The statement could be true.", None),
    ("Answer: True\nAnswer: False", None),
    ("True\nFalse", None),
    ("True. Actually, the statement is false.", None),
    ("Yes, the statement is false.", None),
    ("The statement is true. On reflection, the statement is not true.", None),
    ("I'm sorry, but I can't help with identifying people in images.", None),
    ("As a language model I cannot see pictures.", None),
    ("Vrai", None),
    ("Ja, das stimmt.", None),
    ("正确", None),
    ("Верно", None),
    ("صحيح", None),
    ("1", None),
    ("B", None),
]
SAYS_LETTER: list[tuple[str, str | None]] = [
    ("B", "B"),
    ("b", "B"),
    ("(B)", "B"),
    ("[C]", "C"),
    ("B.", "B"),
    ("**D**", "D"),
    ("Ｂ", "B"),
    ("B) because he frowns", "B"),
    ("C - they look around", "C"),
    ("A: she smiles", "A"),
    ("Answer: B.", "B"),
    ("Answer: (C) They are about to run away.", "C"),
    ("answer: d", "D"),
    ("Answer:\n\nC", "C"),
    ("Option C", "C"),
    ("The correct answer is D.", "D"),
    ("The best option is (B), since A is wrong", "B"),
    ("The answer is (D) [person1] is hungry.", "D"),
    ("B is correct.", "B"),
    ("D\n\nExplanation: option A is wrong.", "D"),
    ("B. C is wrong.", "B"),
    ("\\boxed{D}", "D"),
    ("<answer>C</answer>", "C"),
    ("He is sad.", "B"),
    ("he is sad", "B"),
    ("Let me see. A is unlikely.\n\nAnswer: C", "C"),
    ("Answer: C\nAnswer: C", "C"),
    ("", None),
    ("A dog is on the left.", None),
    ("I", None),
    ("I think B", None),
    ("A and B", None),
    ("A or B", None),
    ("A, B", None),
    ("A/B", None),
    ("Both A and B", None),
    ("Answer: A or B", None),
    ("Answer: A, B", None),
    ("Answer: B or maybe C", None),
    ("Answer: C\nAnswer: D", None),
    ("Answer: E", None),
    ("Answer: a dog", None),
    ("the answer is not B", None),
    ("It could be A. It could be B.", None),
    ("A. She is happy.\nB. He is sad.\nC. They are about to run away.\nD. [person1] is hungry.", None),
    ("ABCD", None),
    ("Bad question", None),
    ("Antwort: B", None),
    ("Β", None),  # a Greek capital beta
    ("В", None),  # a Cyrillic capital ve
    ("None of the above", None),
    ("true", None),
    ("2", None),
]
# Of ANIMALS: an article is no letter, and a whole text comes before one.
SAYS_ANIMAL: list[tuple[str, str | None]] = [
    ("The answer is a dog.", "A"),
    ("The answer is a cat. It sleeps.", "C"),
    ("Answer: a cat", "C"),
    ("My choice: A hen", "B"),
    ("My choice: A cow", None),
    ("The answer is a cow.", None),
    ("Answer: a, a cow", None),
    ("a hen", "B"),
    ("A hen.", "B"),
    ("B. Franklin", "D"),
    ("Answer: B. Franklin", "D"),
    ("B. A hen", "B"),
    ("The answer is A.", "A"),
    ("a", "A"),
    ("I see a dog.", None),
    ("It is not a dog.", None),
    ("a cat or a dog", None),
]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The file of functions, loaded as lmms-eval does: by its path, and known to no one else."""
    path = tmp_path_factory.mktemp("tasks") / "utils.py"
    path.write_text(lmms_eval.functions())
    spec = importlib.util.spec_from_file_location("exported_utils", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def said(reply: str, labels: tuple[str, ...], texts: tuple[str, ...] = ()) -> str | None:
    place = read(reply, labels, texts).label
    return None if place is None else labels[place]


@pytest.mark.parametrize(("reply", "wanted"), SAYS_TRUTH, ids=[repr(r)[:50] for r, _ in SAYS_TRUTH])
def test_true_and_false(reply: str, wanted: str | None, exported: Any) -> None:
    assert said(reply, TRUTH) == wanted
    assert said(reply, TRUTH[::-1]) == wanted, "the order in which the words were offered must not matter"
    place = None if wanted is None else int(wanted == "true")
    doc = {"task": "statement", "choices": ["false", "true"]}
    assert utils.read_answer(doc, reply) == exported.read_answer(doc, reply) == place


@pytest.mark.parametrize(
    ("reply", "wanted", "texts"),
    [(*one, TEXTS) for one in SAYS_LETTER] + [(*one, ANIMALS) for one in SAYS_ANIMAL],
    ids=[repr(r)[:50] for r, _ in SAYS_LETTER + SAYS_ANIMAL],
)
def test_letters(reply: str, wanted: str | None, texts: tuple[str, ...], exported: Any) -> None:
    assert said(reply, LETTERS, texts) == wanted
    place = None if wanted is None else LETTERS.index(wanted)
    doc = {"task": "choice", "choices": texts}
    assert utils.read_answer(doc, reply) == exported.read_answer(doc, reply) == place


def test_texts_that_differ_in_a_sign_or_are_labels() -> None:
    assert said("5", LETTERS, ("-5", "5", "+", "?")) == "B"
    assert said("+", LETTERS, ("-5", "5", "+", "?")) == "C"
    assert said("B", LETTERS, ("B", "A", "AB", "x")) == "B", "a letter was asked for"
    assert said("AB", LETTERS, ("B", "A", "AB", "x")) == "C"


def test_why_nothing_was_read() -> None:
    assert read("", TRUTH).reason == "empty"
    assert read("True\nFalse", TRUTH).reason == "contradicting"
    assert read("Answer: A or B", LETTERS).reason == "no single answer"
    assert read("a lovely picture", TRUTH).reason == "no answer"


def test_candidates_that_are_the_same_text_are_not_chosen_between() -> None:
    assert said("He is sad.", LETTERS, ("He is sad.", "He is sad.", "x", "y")) is None


def test_eight_letters() -> None:
    assert said("H", tuple("ABCDEFGH")) == "H"
    assert said("I", tuple("ABCDEFGH")) is None


@given(st.text())
def test_no_reply_breaks_the_reader(reply: str) -> None:
    for labels in (TRUTH, LETTERS):
        reading = read(reply, labels, TEXTS)
        assert (reading.label is None) == bool(reading.reason)
        assert reading.label is None or 0 <= reading.label < len(labels)


@given(st.text(string.ascii_lowercase, min_size=1).filter(lambda w: w not in {"true", "false", "yes", "no"}))
def test_a_word_that_only_contains_an_answer_is_none(word: str) -> None:
    for reply in (word, f"no{word}", f"true{word}", f"{word}no", word.capitalize() + " it is"):
        if reply.lower() not in {"true", "false", "yes", "no"}:
            assert said(reply, TRUTH) is None


@given(
    st.sampled_from(LETTERS),
    st.sampled_from(["{}", "{}.", "({})", "**{}**", "Answer: {}", "The answer is {}.", "**Answer: {}**", "[{}]"]),
    st.sampled_from(["", "\n", "  ", "\n\n"]),
)
def test_every_dress_of_a_plain_answer_is_read(letter: str, dress: str, around: str) -> None:
    assert said(around + dress.format(letter) + around, LETTERS) == letter


@given(st.sampled_from(TRUTH), st.text(string.ascii_letters + " ,\n", max_size=60))
def test_a_declared_answer_wins_over_what_was_thought_before(label: str, thoughts: str) -> None:
    if "answer" not in thoughts.lower():
        assert said(f"{thoughts}.\n\nAnswer: {label}", TRUTH) == label


@given(st.text())
def test_cleaning_twice_is_cleaning_once_for_plain_replies(reply: str) -> None:
    if "\\" not in reply and "<" not in reply:
        assert clean(clean(reply)) == clean(reply)
