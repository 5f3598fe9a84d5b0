"""Reading an answer out of what a model wrote: strictly, so that nothing is guessed on the model's behalf.

A reply is read where it declares an answer ("Answer: B"), where it is one, or where it asserts one ("the statement is
not true"); everything it says must agree. What is left (hedges, two answers, refusals, other languages) is unreadable
and counted as such: "notice" is not "no", and "No dogs are here, so the statement is true" is true.

`score` makes of it one score per candidate: the model's probabilities where the provider gives them, else its choice.
The text decides what was answered. Log-probabilities only refine it: they are used where the token of the answer is
found and its most likely label is the one that was read.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from veridical.solvers.vlm.prompts import Prompt

NEGATION = r"(?:not|n't|never)"
_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_UNCLOSED = re.compile(r"<(?:think|thinking|reasoning)>.*", re.DOTALL | re.IGNORECASE)
_WRAPPING = re.compile(r"\\(?:boxed|text|textbf|mathrm|mathbf)\s*\{([^{}]*)\}")
_MARKS = re.compile(r"[*_`\"“”‘’«»$#]|(?<!\w)'|'(?!\w)|</?(?:answer|final|result|b|strong|p)>")
# "Answer: X" at the start of a line, in the many dresses models give it. What follows is read as a label.
_DECLARED = re.compile(
    r"^[\s{\[(>\-•]*(?:my\s+|the\s+)?(?:final\s+|correct\s+|best\s+)?(?:answer|verdict|conclusion|choice|judge?ment)"
    r"(?:\s+is)?\s*[:=]\s*(?P<rest>.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_ANSWER_IS = re.compile(
    r"\b(?:the|my)\s+(?:(?:final|correct|right|best|most\s+likely)\s+)?"
    r"(?:answer|verdict|option|choice|candidate|panel|one|response)\s+(?:is|would\s+be|must\s+be)\s*:?\s*(?P<rest>.*)",
    re.IGNORECASE,
)
_SUPPOSING = re.compile(
    r"\b(?:whether|if|unless|assum\w*|suppos\w*|determin\w*|decid\w*|verif\w*|check\w*|could|might|may|perhaps|possibly|"
    r"probably|cannot|can't|unclear|unsure|not\s+sure|not\s+certain|neither|would)\b[^.;!?\n]*$",
    re.IGNORECASE,
)
_SUBJECT = r"(?:statement|sentence|caption|claim|description|assertion|it|this|that|answer)"
_ASSERTED = re.compile(
    rf"\b{_SUBJECT}\s*(?:is|'s|was|holds\s+as)\s*(?P<not>\s{NEGATION}\b|(?<=is)n't\b)?\s*"
    r"(?:clearly\s+|therefore\s+|thus\s+|indeed\s+|definitely\s+|actually\s+|in\s+fact\s+)?"
    r"(?P<word>true|false|correct|incorrect|accurate|inaccurate|wrong)\b(?P<after>[^.;!?\n]{0,12})",
    re.IGNORECASE,
)
_TRUE = ("true", "yes", "correct", "accurate")  # all other words of the patterns say false
_ENDS = (
    r"(?=\s*(?:$|[.,;:!\n)\]}]|\s[-–—]\s))"  # a label must stand alone: "No." but not "No dogs", "A." but not "A dog"
)
_FORMS = {"true": ("true", "yes"), "false": ("false", "no")}
_EDGES = " \t\n\r.,:;!\"'*_`()[]{}$Ġ▁"


@dataclass(frozen=True)
class Reading:
    """What was read: the place of a label, and where in the reply it stands; or why nothing was read."""

    label: int | None = None  # index into the labels
    start: int = 0  # of the label in the reply as `clean` gives it
    reason: str = ""  # empty, contradicting, no answer ...


def clean(reply: str) -> str:
    """A reply without reasoning tags and typographic dress; full-width letters become plain ones.

    >>> clean("**True**"), clean("<think>No... yes</think> Answer: \\\\boxed{B}")
    ('True', 'Answer: B')
    """
    text = unicodedata.normalize("NFKC", reply)
    text = _UNCLOSED.sub("", _THINKING.sub("", text))
    while (unwrapped := _WRAPPING.sub(r" \1 ", text)) != text:
        text = unwrapped
    text = _MARKS.sub("", text.replace("’", "'"))
    return re.sub(r"[ \t]+", " ", text).strip()


def read(reply: str, labels: Sequence[str], texts: Sequence[str] = ()) -> Reading:
    """Which of the labels a reply gives. `texts` are the candidates' texts: a reply may repeat one instead.

    >>> read("Answer: B.", "ABCD").label, read("I notice a dog.", ("true", "false")).reason
    (1, 'no answer')
    """
    text = clean(reply)
    if not text:
        return Reading(reason="empty")
    truth = set(labels) == {"true", "false"}
    found = list(_declared(text, labels, truth))
    if not found:
        found = list(_asserted_truth(text, labels) if truth else _asserted_letter(text, labels))
        if not found and not truth:
            same = [k for k, one in enumerate(texts) if one and _plain(clean(one)) == _plain(text)]  # word for word
            found = [(same[0], 0)] if len(same) == 1 else []
    places = {place for place, _ in found}
    if not places:
        return Reading(reason="no answer")
    if None in places or len(places) > 1:
        return Reading(reason="contradicting" if len(places - {None}) > 1 else "no single answer")
    place, start = found[-1]
    return Reading(place, start)


_Found = tuple[int | None, int]  # the place of a label (None: something that is no single label), where it stands


def _declared(text: str, labels: Sequence[str], truth: bool) -> Iterator[_Found]:
    """Answers declared on a line of their own. A declaration that cannot be read makes the reply unreadable."""
    for match in _DECLARED.finditer(text):
        start = match.start("rest")
        rest = match["rest"]
        if not rest.strip():  # "Answer:" and the answer on the next line
            following = text[match.end() :].lstrip()
            start, rest = len(text) - len(following), following.split("\n", 1)[0]
            if not rest:
                continue
        yield _label(rest, start, labels, truth, alone=False)


def _label(rest: str, start: int, labels: Sequence[str], truth: bool, *, alone: bool) -> _Found:
    """The label at the start of `rest`; None where there is none, or more than one."""
    if truth:
        match = re.match(r"\s*(?:that\s+)?(?:it'?s?\s+(?:is\s+)?)?(true|false|yes|no)\b" + _ENDS, rest, re.IGNORECASE)
        if match is None:
            negated = re.match(r"\s*not\s+(true|false)\b" + _ENDS, rest, re.IGNORECASE)
            if negated is None:
                return None, start
            return labels.index("false" if negated[1].lower() == "true" else "true"), start + negated.start(1)
        others = re.search(r"\b(?:or|and|/)\s*(true|false|yes|no)\b", rest[match.end() :], re.IGNORECASE)
        value = "true" if match[1].lower() in _TRUE else "false"
        return (None if others else labels.index(value)), start + match.start(1)
    names = "".join(labels)
    match = re.match(
        rf"\s*(?:option|choice|candidate|panel|image|picture|letter)?\s*[(\[]?([{names}])[)\]]?{_ENDS}", rest, re.I
    )
    if match is None:
        return None, start
    rest_of = rest[match.end() :]
    other = re.match(
        rf"\s*(?:,|;|/|\.|and\b|or\b|&)*\s*(?:or\s+|and\s+)?[(\[]?([{names}])[)\]]?(?:[.,;!)]|\s*$)", rest_of
    )
    if other is not None and other[1].upper() != match[1].upper():
        return None, start
    if match[1].islower() and alone and rest.strip(" .()[]") != match[1]:
        return None, start  # a small letter in running text is a word
    return names.index(match[1].upper()), start + match.start(1)


def _asserted_truth(text: str, labels: Sequence[str]) -> Iterator[_Found]:
    """Everything in a reply that says true or false of the statement."""
    for match in re.finditer(r"^\s*(?:true|false|yes|no)\b" + _ENDS, text, re.IGNORECASE | re.MULTILINE):
        line = text[match.start() :].split("\n", 1)[0]
        if match.start() == 0 or not line.strip()[len(match[0].strip()) :].strip(" .!"):  # begins the reply, or a line
            yield _label(line, match.start(), labels, True, alone=True)
    yield from _answer_is(text, labels, True)
    for match in _meant(_ASSERTED, text):
        if re.match(r"\s*(?:or|and|/|,\s*or)\b", match["after"]):
            continue  # "true or false": the question repeated
        value = (match["word"].lower() in _TRUE) != bool(match["not"])
        yield labels.index("true" if value else "false"), match.start("word")


def _asserted_letter(text: str, labels: Sequence[str]) -> Iterator[_Found]:
    """A reply that is a letter, or begins with one that stands alone, or says which is right."""
    names = "".join(labels)
    if re.match(rf"[(\[]?[{names}][)\]]?\s*(?:[,/&;]|and\b|or\b)\s*[(\[]?[{names}]\b", text):
        yield None, 0  # "A or B"
        return
    for match in re.finditer(r"^.+$", text, re.MULTILINE):  # each line: candidates that are only listed contradict
        place = _label(match[0], match.start(), labels, False, alone=True)
        if place[0] is not None:
            yield place
    yield from _answer_is(text, labels, False)
    said = rf"(?<![\w'])[(\[]?([{names}])[)\]]?\s+is\s+(?:the\s+)?(?:correct|right|best)\b"
    for match in _meant(re.compile(said), text):
        yield names.index(match[1]), match.start(1)


def _meant(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Where a pattern stands and is asserted, not only supposed."""
    return (match for match in pattern.finditer(text) if not _SUPPOSING.search(text[: match.start()]))


def _answer_is(text: str, labels: Sequence[str], truth: bool) -> Iterator[_Found]:
    """Answers in running text: "the answer is B"."""
    for match in _meant(_ANSWER_IS, text):
        place = _label(match["rest"], match.start("rest"), labels, truth, alone=True)
        if place[0] is not None:
            yield place


def _plain(text: str) -> str:
    return re.sub(r"[^\w]+", " ", text).strip().lower()


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
