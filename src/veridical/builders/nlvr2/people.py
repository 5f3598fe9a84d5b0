"""What people do for NLVR2, as JSON lines: marks on photographs, sentences, judgements.

removals     {"set": "12", "photograph": "...", "reason": "no instance of the synset"}      image pruning
dull         {"set": "12", "photograph": "..."}                                            not interesting, or
             {"set": "12", "photograph": "...", "reason": "duplicate"}                     a duplicate
labels       {"photograph": "...", "interesting": true}                                    for a classifier
sentences    {"task": "12-0", "sentence": "...", "selected": [0, 2], "writer": "w3"}        or a task and "flagged"
judgements   {"item": "set-12-3-0", "worker": "w5", "verdict": true, "kind": "validation"} or false, "nonsense", "skip"

And what writers are asked to avoid (Table 3 of the draft), found by rules over a sentence's words. A warning is advice
to the writer and a tag on the item, never a reason to drop it: the last two are allowed where the sentence reasons
otherwise too. Whether a truth value reduces to the presence of an object depends on the pictures, so it is asked of
their objects.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from veridical.builders.nlvr2.pairs import PAIRS
from veridical.builders.nlvr2.sets import MARKED
from veridical.builders.nlvr2.work import Found, PrunedSet, Sentence, Task, Verdict, item_id
from veridical.common.files import bad_line, numbered_lines
from veridical.errors import UserError
from veridical.language.english import NUMBER_WORDS, plural

NO_SENTENCE = "no sentence was written"
_VERDICTS = (True, False, "nonsense", "skip")
_KINDS = ("validation", "extra")
_UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})  # controls, halves of characters, separators of lines and paragraphs


@dataclass(frozen=True)
class MarkedPhotograph:
    """A photograph that somebody marked in a set."""

    set: str
    photograph: str
    reason: str = ""


@dataclass(frozen=True)
class LabelledPhotograph:
    """Whether somebody found a photograph interesting."""

    photograph: str
    interesting: bool


def read_marks(path: Path, sets: Iterable[Found | PrunedSet]) -> dict[tuple[str, str], str]:
    """Reasons by set and photograph; marks on what is not there are refused."""
    known = {one.set: {*one.photographs, *getattr(one, "removed", ())} for one in sets}
    out = {}
    for number, mark in numbered_lines(path, MarkedPhotograph):
        if mark.set not in known:
            raise bad_line(path, number, f"there is no set {mark.set!r}")
        if mark.photograph not in known[mark.set]:
            raise bad_line(path, number, f"set {mark.set} has no photograph {mark.photograph!r}")
        out[mark.set, mark.photograph] = mark.reason or MARKED
    return out


def read_labels(path: Path, photographs: Collection[str]) -> dict[str, bool]:
    """Which photographs people found interesting."""
    out = {}
    for number, label in numbered_lines(path, LabelledPhotograph):
        if label.photograph not in photographs:
            raise bad_line(path, number, f"there is no photograph {label.photograph!r}")
        out[label.photograph] = label.interesting
    return out


def read_sentences(path: Path, tasks: Sequence[Task]) -> list[Sentence]:
    """A line for each task: its sentence, or why it has none. Tasks that nobody took are removed, as in the paper."""
    known = {task.task: task for task in tasks}
    written: dict[str, Sentence] = {}
    for number, line in numbered_lines(path, Sentence):
        if line.task not in known:
            raise bad_line(path, number, f"there is no task {line.task!r}")
        if line.task in written:
            raise bad_line(path, number, f"a second sentence for task {line.task}")
        if not line.flagged:
            _check_sentence(path, number, line)
        written[line.task] = replace(line, sentence=line.sentence.strip())
    if not any(one.sentence for one in written.values()):
        raise UserError(f"{path} has no sentence.", "Give a line for each task that was written about.")
    return [written.get(task.task) or Sentence(task.task, flagged=NO_SENTENCE) for task in tasks]


def _check_sentence(path: Path, number: int, line: Sentence) -> None:
    for noun, text in (("sentence", line.sentence), ("writer", line.writer)):
        if not text.strip():
            raise bad_line(path, number, f"the {noun} is empty")
        bad = next((c for c in text.strip() if unicodedata.category(c) in _UNSEEN), None)
        if bad is not None:
            raise bad_line(path, number, f"the {noun} has the control character U+{ord(bad):04X}")
    chosen = set(line.selected)
    if len(line.selected) != PAIRS // 2 or len(chosen) != PAIRS // 2 or not chosen <= set(range(PAIRS)):
        raise bad_line(path, number, f"the selected pairs are {list(line.selected)}; expected two of 0 to 3")


def read_verdicts(path: Path, tasks: Mapping[str, Task], sentences: Sequence[Sentence]) -> list[Verdict]:
    """Judgements on the items of written tasks: one validation an item, and any number of extra ones."""
    items = {item_id(tasks[one.task], pair) for one in sentences if one.sentence for pair in range(PAIRS)}
    seen: set[tuple[str, str, str]] = set()
    validated: set[str] = set()
    out = []
    for number, line in numbered_lines(path, Verdict):
        if line.item not in items:
            raise bad_line(path, number, f"there is no item {line.item!r} that has a sentence")
        if line.verdict not in _VERDICTS:
            raise bad_line(path, number, f"the verdict is {line.verdict!r}; expected true, false, nonsense or skip")
        if line.kind not in _KINDS:
            raise bad_line(path, number, f"the kind is {line.kind!r}; expected validation or extra")
        if not line.worker.strip():
            raise bad_line(path, number, "the worker is empty")
        if (line.item, line.worker, line.kind) in seen:
            raise bad_line(path, number, f"a second judgement on {line.item} by {line.worker}")
        if line.kind == "validation" and line.verdict != "skip":
            if line.item in validated:
                raise bad_line(path, number, f"a second validation of {line.item}; give it the kind extra")
            validated.add(line.item)
        seen.add((line.item, line.worker, line.kind))
        out.append(line)
    return out


SUBJECTIVE = "subjective opinion"
PHOTOGRAPH = "property of the photograph"
TEXT = "text in the photograph"
PRESENCE = "presence of a single object"
DISJUNCTION = "disjunction over the images"
IDENTIFICATION = "object identification"

_SUBJECTIVE = (
    "nice|nicely|pretty|beautiful|beautifully|cute|cutest|adorable|ugly|lovely|amazing|awesome|gorgeous|stunning|"
    "delicious|tasty|yummy|appetizing|weird|strange|funny|cool|scary|creepy|interesting|boring|perfect|great|"
    "wonderful|fancy|elegant|attractive|unattractive|charming|majestic|happy|sad|angry|bored|lonely|friendly|seems|"
    "seem|probably|maybe|perhaps|apparently|might|i think|i believe|my favorite|best|worst|good-looking|expensive|"
    "cheap|comfortable|cozy"
)
_PHOTOGRAPH = (
    r"cropped|blurry|blurred|out of focus|in focus|unfocused|grainy|pixelated|watermark(?:ed|s)?|sepia|close[- ]?up|"
    r"black[- ]and[- ]white (?:photo|image|picture)\w*|zoomed|resolution|camera angle|photographers?|photoshopped|"
    r"stock photo|the (?:photo|picture|image) (?:is|was) (?:taken|shot)|cut off|photography|filtered|overexposed|"
    r"screenshot|collage|edited"
)
_TEXT = (
    r"text|caption(?:ed|s)?|letters?|lettering|logos?|brand(?:ed|s)?|written|writing|words? (?:on|above|below|in)|"
    r"reads|says|labell?ed|numbered|the (?:word|letter)s?|inscription|inscribed|signs? (?:that )?(?:say|read)s?|"
    r"spells?|website|url"
)
_SIDE = re.compile(
    r"\b(?:(?:the )?(?:left|right)(?:[- ]hand|most)? (?:image|photo|picture|one)|(?:the )?image (?:on|to) the "
    r"(?:left|right))\b"
)
_JOIN = re.compile(r"\b(?:and|while|or|but|whereas)\b|[;,]")
_COMPARES = re.compile(
    r"\b(?:more|fewer|less|than|same|other|both|each|total|either|twice|as many|equal|only|exactly|no|not|n't|none|all|"
    r"together|combined|differ\w*|also|at least|at most)\b"
)
_MANY = "|".join([*NUMBER_WORDS[2:21], "several", "many", "more", "fewer", "no", "only"])
_PRESENCE = re.compile(
    r"(?:there (?:is|are)|i see|we see|(?:an|one|the (?:left|right)|at least one|one of the|each|both) "
    r"(?:images?|photos?|pictures?) (?:shows?|contains?|has|have|includes?|depicts?|features?))"
    rf" (?:an?|one|a single|some)? ?(?!(?:{_MANY}) )((?:[a-z'-]+ ){{0,1}}[a-z'-]+)"
    r"(?: in (?:the|an|one|one of the|at least one|the left|the right|the left-hand|the right-hand) "
    r"(?:images?|photos?|pictures?|pair))?"
)
_FIND = {
    SUBJECTIVE: re.compile(rf"\b(?:{_SUBJECTIVE})\b"),
    PHOTOGRAPH: re.compile(rf"\b(?:{_PHOTOGRAPH})\b"),
    TEXT: re.compile(rf"\b(?:{_TEXT})\b"),
}
_QUOTED = re.compile(r"[\"“][^\"”]+[\"”]")


def check_sentence(sentence: str) -> tuple[str, ...]:
    """The guidelines that a sentence seems to break.

    >>> check_sentence("The dog's fur has a nice color pattern."), check_sentence("There is a hammer.")
    (('subjective opinion',), ('presence of a single object',))
    >>> check_sentence("There are more birds in the image on the left than in the image on the right.")
    ()
    """
    text = re.sub(r"\s+", " ", sentence.lower().replace("’", "'")).strip()
    out = [name for name, pattern in _FIND.items() if pattern.search(text)]
    if TEXT not in out and _QUOTED.search(text):
        out.append(TEXT)
    if _PRESENCE.fullmatch(text.rstrip(".! ")):
        out.append(PRESENCE)
    if _disjunction(text):
        out.append(DISJUNCTION)
    return tuple(out)


def _disjunction(text: str) -> bool:
    """Each image is described in a clause of its own, and nothing compares them."""
    sides = list(_SIDE.finditer(text))
    if len(sides) < 2 or _COMPARES.search(text):
        return False
    first, second = sides[0], sides[1]
    different = ("left" in first[0]) != ("left" in second[0])
    return different and bool(_JOIN.search(text, first.end(), second.start()))


def check_presence(sentence: str, pairs: Sequence[set[str]], truth: Sequence[bool]) -> tuple[str, ...]:
    """Whether one category that the sentence names is in all pairs it is true of and in none of the others.

    >>> check_presence("A cup on a chair.", [{"cup", "chair"}, {"chair"}, {"cup"}, set()], [True, True, False, False])
    ('object identification',)
    """
    text = f" {re.sub(r'[^a-z]+', ' ', sentence.lower())} "
    for category in sorted(set().union(*pairs)):
        named = any(f" {word} " in text for word in (category.lower(), plural(category.lower())))
        if named and [category in pair for pair in pairs] == list(truth):
            return (IDENTIFICATION,)
    return ()
