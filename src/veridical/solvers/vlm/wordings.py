"""The words of the prompts: several wordings per task, so that a result does not hang on one of them.

Each wording has an introduction and an ending; the pictures, the query and the candidates stand between. The
endings fix the form of the answer, which `reading` then demands.
"""

from __future__ import annotations

from dataclasses import dataclass

COUNT = 4  # wordings of every task


@dataclass(frozen=True)
class Wording:
    """What stands before and after an item, and what its parts are called."""

    opening: str  # `{pictures}` is what is shown
    query: str  # the name of the sentence or question
    ask: str  # the task in one sentence; `{choices}` is how the answer is to be written


STATEMENT: tuple[Wording, ...] = (
    Wording("Look at {pictures}.", "Statement", "Is the statement true or false of what is shown?"),
    Wording("You are shown {pictures}.", "Sentence", "Decide whether the sentence describes this correctly."),
    Wording("Here: {pictures}.", "Claim", "Check every part of the claim against what you see. Does it hold?"),
    Wording("Study {pictures} carefully.", "Caption", "Judge whether the caption is an accurate description."),
)
MATRIX: tuple[Wording, ...] = (
    Wording(
        "Look at {pictures}.", "Matrix", "The ninth panel of the 3x3 matrix is missing. Which candidate completes it?"
    ),
    Wording(
        "You are shown {pictures}.",
        "Puzzle",
        "The first two rows follow a rule. Which candidate makes the third row follow the same rule?",
    ),
    Wording(
        "Here: {pictures}.",
        "Matrix",
        "Find what the panels of each row share or how they change along it, and choose the missing last panel.",
    ),
    Wording("Study {pictures} carefully.", "Problem", "Pick the one candidate that belongs in the empty place."),
)
ANSWER: tuple[Wording, ...] = (
    Wording("Look at {pictures}.", "Question", "Which answer is right?"),
    Wording("You are shown {pictures}.", "Question", "Choose the most likely answer given the whole situation."),
    Wording("Here: {pictures}.", "Question", "Pick the answer that fits what is happening."),
    Wording("Study {pictures} carefully.", "Question", "Exactly one answer is correct. Which?"),
)
RATIONALE: tuple[Wording, ...] = (
    Wording("Look at {pictures}.", "Question", "Which reason best explains why this answer is right?"),
    Wording("You are shown {pictures}.", "Question", "Choose the rationale that justifies the given answer."),
    Wording("Here: {pictures}.", "Question", "Assume the answer is right. Pick the reason for it."),
    Wording("Study {pictures} carefully.", "Question", "Exactly one reason supports the answer. Which?"),
)

DIRECT = "Answer with {choices} only, and nothing else."
REASON = 'Think step by step. Then write the answer on the last line as "Answer: X", where X is {choices}.'
