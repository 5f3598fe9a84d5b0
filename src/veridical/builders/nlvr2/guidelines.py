"""What writers are asked to avoid (NLVR2 draft, Table 3), found by rules over a sentence's words.

A warning is advice to the writer and a tag on the item, never a reason to drop it: the last two are allowed where the
sentence reasons otherwise too. Whether a truth value reduces to the presence of an object depends on the pictures, so
it is asked of their objects.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from veridical.language.writing.pairs.words import NUMBERS, plural

SUBJECTIVE = "subjective opinion"
PHOTOGRAPH = "property of the photograph"
TEXT = "text in the photograph"
PRESENCE = "presence of a single object"
DISJUNCTION = "disjunction over the images"
IDENTIFICATION = "object identification"
GUIDELINES: dict[str, str] = {
    SUBJECTIVE: "Say what can be seen, not what you think of it.",
    PHOTOGRAPH: "Write about what the photographs show, not how they were taken.",
    TEXT: "Do not mention letters, numbers or brands in the photographs.",
    PRESENCE: "Say more than that one object is there.",
    DISJUNCTION: "Do not describe the two images apart from each other; compare them.",
    IDENTIFICATION: "Finding one kind of object decides this sentence; say more about it.",
}

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
_MANY = "|".join([*NUMBERS[2:], "several", "many", "more", "fewer", "no", "only"])
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
