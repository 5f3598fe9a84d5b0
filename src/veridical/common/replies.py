"""Reading an answer out of what a model wrote: strictly, so that nothing is guessed on the model's behalf.

A reply is read where it repeats a candidate's text, where it declares an answer ("Answer: B"), where it is one, or
where it asserts one ("the statement is not true"); everything it says must agree. What is left (hedges, two answers,
refusals, other languages) is unreadable and counted as such: "notice" is not "no", and "No dogs are here, so the
statement is true" is true.

It needs nothing but the standard library: `export lmms-eval` puts it into the file that reads replies there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_NEGATION = r"(?:not|n't|never)"
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
    rf"\b{_SUBJECT}\s*(?:is|'s|was|holds\s+as)\s*(?P<not>\s{_NEGATION}\b|(?<=is)n't\b)?\s*"
    r"(?:clearly\s+|therefore\s+|thus\s+|indeed\s+|definitely\s+|actually\s+|in\s+fact\s+)?"
    r"(?P<word>true|false|correct|incorrect|accurate|inaccurate|wrong)\b(?P<after>[^.;!?\n]{0,12})",
    re.IGNORECASE,
)
_TRUTH = {"true", "false"}
_TRUE = ("true", "yes", "correct", "accurate")  # all other words of the patterns say false
_ENDS = (
    r"(?=\s*(?:$|[.,;:!\n)\]}]|\s[-–—]\s))"  # a label must stand alone: "No." but not "No dogs", "A." but not "A dog"
)


class Reading(NamedTuple):
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
    asked = _Asked(tuple(labels), () if set(labels) == _TRUTH else tuple(map(clean, texts)))
    if (same := _repeated(text, asked)) is not None:
        return Reading(same)
    found = list(_declared(text, asked))
    if not found:
        found = list(_asserted_truth(text, asked) if asked.truth else _asserted_letter(text, asked))
    places = {place for place, _ in found}
    if not places:
        return Reading(reason="no answer")
    if None in places or len(places) > 1:
        return Reading(reason="contradicting" if len(places - {None}) > 1 else "no single answer")
    place, start = found[-1]
    return Reading(place, start)


class _Asked(NamedTuple):
    """What a reply may give."""

    labels: tuple[str, ...]
    texts: tuple[str, ...]  # of the candidates, clean; none of a statement

    @property
    def truth(self) -> bool:
        return set(self.labels) == _TRUTH


_Found = tuple[int | None, int]  # the place of a label (None: something that is no single label), where it stands


def _declared(text: str, asked: _Asked) -> Iterator[_Found]:
    """Answers declared on a line of their own. A declaration that cannot be read makes the reply unreadable."""
    for match in _DECLARED.finditer(text):
        start = match.start("rest")
        rest = match["rest"]
        if not rest.strip():  # "Answer:" and the answer on the next line
            following = text[match.end() :].lstrip()
            start, rest = len(text) - len(following), following.split("\n", 1)[0]
            if not rest:
                continue
        yield _said(rest, start, asked)


def _said(rest: str, start: int, asked: _Asked) -> _Found:
    """The candidate that is named after "the answer is": by its whole text, or else by its label."""
    same = _text_at_start(rest, asked)
    return _label(rest, start, asked) if same is None else (same, start)


def _label(rest: str, start: int, asked: _Asked) -> _Found:
    """The label at the start of `rest`; None where there is none, or more than one."""
    if asked.truth:
        match = re.match(r"\s*(?:that\s+)?(?:it'?s?\s+(?:is\s+)?)?(true|false|yes|no)\b" + _ENDS, rest, re.IGNORECASE)
        if match is None:
            negated = re.match(r"\s*not\s+(true|false)\b" + _ENDS, rest, re.IGNORECASE)
            if negated is None:
                return None, start
            return asked.labels.index("false" if negated[1].lower() == "true" else "true"), start + negated.start(1)
        others = re.search(r"\b(?:or|and|/)\s*(true|false|yes|no)\b", rest[match.end() :], re.IGNORECASE)
        value = "true" if match[1].lower() in _TRUE else "false"
        return (None if others else asked.labels.index(value)), start + match.start(1)
    names = "".join(asked.labels)
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
    if match[1].islower() and rest.strip(" .()[]") != match[1]:
        return None, start  # a small letter that is not all is a word
    return names.index(match[1].upper()), start + match.start(1)


def _asserted_truth(text: str, asked: _Asked) -> Iterator[_Found]:
    """Everything in a reply that says true or false of the statement."""
    for match in re.finditer(r"^\s*(?:true|false|yes|no)\b" + _ENDS, text, re.IGNORECASE | re.MULTILINE):
        line = text[match.start() :].split("\n", 1)[0]
        if match.start() == 0 or not line.strip()[len(match[0].strip()) :].strip(" .!"):  # begins the reply, or a line
            yield _label(line, match.start(), asked)
    yield from _answer_is(text, asked)
    for match in _meant(_ASSERTED, text):
        if re.match(r"\s*(?:or|and|/|,\s*or)\b", match["after"]):
            continue  # "true or false": the question repeated
        value = (match["word"].lower() in _TRUE) != bool(match["not"])
        yield asked.labels.index("true" if value else "false"), match.start("word")


def _asserted_letter(text: str, asked: _Asked) -> Iterator[_Found]:
    """A reply that is a letter, or begins with one that stands alone, or says which is right."""
    names = "".join(asked.labels)
    if re.match(rf"[(\[]?[{names}][)\]]?\s*(?:[,/&;]|and\b|or\b)\s*[(\[]?[{names}]\b", text):
        yield None, 0  # "A or B"
        return
    for match in re.finditer(r"^.+$", text, re.MULTILINE):  # each line: candidates that are only listed contradict
        place = _label(match[0], match.start(), asked)
        if place[0] is not None:
            yield place
    yield from _answer_is(text, asked)
    said = rf"(?<![\w'])[(\[]?([{names}])[)\]]?\s+is\s+(?:the\s+)?(?:correct|right|best)\b"
    for match in _meant(re.compile(said), text):
        yield names.index(match[1]), match.start(1)


def _meant(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Where a pattern stands and is asserted, not only supposed."""
    return (match for match in pattern.finditer(text) if not _SUPPOSING.search(text[: match.start()]))


def _answer_is(text: str, asked: _Asked) -> Iterator[_Found]:
    """Answers in running text: "the answer is B"."""
    for match in _meant(_ANSWER_IS, text):
        place = _said(match["rest"], match.start("rest"), asked)
        if place[0] is not None:
            yield place


def _repeated(text: str, asked: _Asked) -> int | None:
    """The only candidate whose whole text this is: letter for letter, or else word for word."""
    for form in (_spelled, _plain):
        same = [k for k, one in enumerate(asked.texts) if form(one) and form(one) == form(text)]
        if same:  # a text that is a label ("B", of the candidate A) is one
            return same[0] if len(same) == 1 and form(text).upper() not in asked.labels else None
    return None


def _text_at_start(rest: str, asked: _Asked) -> int | None:
    """The candidate whose whole text begins `rest` and ends with it, or with a sentence of it."""
    ends = [len(rest), *(match.start() for match in re.finditer(r"[.;!](?=\s|$)", rest))]
    found = {_repeated(rest[:end], asked) for end in ends} - {None}
    return found.pop() if len(found) == 1 else None


def _spelled(text: str) -> str:
    return " ".join(text.lower().split()).strip(" .")


def _plain(text: str) -> str:
    return re.sub(r"[^\w]+", " ", text).strip().lower()
