"""Scores from what a model wrote: the model's probabilities where the provider gives them, else its choice.

The text decides what was answered (`common.replies`). Log-probabilities only refine it: they are used where the token
of the answer is found and its most likely label is the one that was read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from veridical.common.replies import read
from veridical.solvers.vlm.prompts import Prompt

_FORMS = {"true": ("true", "yes"), "false": ("false", "no")}
_EDGES = " \t\n\r.,:;!\"'*_`()[]{}$Ġ▁"


@dataclass(frozen=True)
class Token:
    """A generated token, and the most likely ones in its place with their log-probabilities."""

    text: str
    top: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Scored:
    """The scores of one reply."""

    scores: tuple[float, ...]  # in the benchmark's order of candidates; empty where unreadable
    reason: str = ""  # why it is unreadable
    probable: bool = False  # probabilities, not only a choice


def score(prompt: Prompt, reply: str, tokens: Sequence[Token] = ()) -> Scored:
    """Scores of the candidates from a reply to a prompt."""
    reading = read(reply, prompt.labels, prompt.texts)
    if reading.label is None:
        return Scored((), reading.reason)
    shown = _probabilities(prompt.labels, reading.label, reading.start == 0, tokens)
    out = [0.0] * len(prompt.order)
    for place, candidate in enumerate(prompt.order):
        out[candidate] = shown[place] if shown else float(place == reading.label)
    return Scored(tuple(out), probable=shown is not None)


def _probabilities(labels: Sequence[str], said: int, first: bool, tokens: Sequence[Token]) -> list[float] | None:
    """Normalised probabilities of the labels at the token that gave the answer; None where it is not to be found."""
    places = [k for k in range(len(tokens)) if _says(tokens, k, labels[said])]
    if not places:
        return None
    mass = [0.0] * len(labels)
    for text, logprob in tokens[places[0] if first else places[-1]].top:
        label = _label_of(text, labels)
        if label is not None:
            mass[label] += math.exp(logprob)
    total = sum(mass)
    if total <= 0 or max(mass) > mass[said]:
        return None
    return [one / total for one in mass]


def _says(tokens: Sequence[Token], place: int, label: str) -> bool:
    """Whether the label begins at this token, also where it is spelled in several."""
    if not tokens[place].text.strip(_EDGES):
        return False
    text = "".join(token.text for token in tokens[place : place + 6]).lstrip(_EDGES)
    return any(
        text[: len(form)].lower() == form.lower() and not text[len(form) : len(form) + 1].isalnum()
        for form in _FORMS.get(label, (label,))
    )


def _label_of(token: str, labels: Sequence[str]) -> int | None:
    """The label that a token is, or begins and no other does."""
    text = token.strip(_EDGES).lower()
    if not text:
        return None
    forms = [(place, form) for place, label in enumerate(labels) for form in _FORMS.get(label, (label,))]
    fits = {place for place, f in forms if f.lower() == text or (len(labels[place]) > 1 and f.startswith(text))}
    return fits.pop() if len(fits) == 1 else None
