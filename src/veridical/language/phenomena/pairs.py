"""What a sentence asks of the two images of a pair: five sorts of reasoning (NLVR2, arXiv version, Appendix B,
Table 9).

Each mention of an image is read with the few words around it ("in at least one of the", "on the left"): they say
which images are meant, and how many.
"""

from __future__ import annotations

from veridical.language.phenomena import rules
from veridical.language.phenomena.parse import Parse, words
from veridical.language.phenomena.rules import AMOUNTS, IMAGES, names_image

EXACTLY_ONE = "exactly one image"
EXISTENTIAL = "existential quantification"
UNIVERSAL = "universal quantification"
LEFT_RIGHT = "explicit reference to left and/or right image"
COMPARISON = "comparison between images"
PAIR_REASONING = (EXACTLY_ONE, EXISTENTIAL, UNIVERSAL, LEFT_RIGHT, COMPARISON)

LEFT = words("left lefthand leftmost lefthanded")
RIGHT = words("right righthand rightmost righthanded")
BEFORE = (
    LEFT
    | RIGHT
    | words(
        "the of - hand side one 1 both all each every a an any either neither no none two 2 these those and or only "
        "exactly just precisely at least single same"
    )
)
AFTER = LEFT | RIGHT | words("on to at in the - hand side far and")
EVERY = words("both all each every two 2 no none neither")
SOME = words("one 1 a an any either")
EXACT = words("only exactly just precisely single")


def _mentions(parse: Parse) -> list[tuple[list[str], set[str]]]:
    """For each noun that names an image: the words that lead to it, and the sides that follow it."""
    mentions = []
    for noun in parse:
        if noun.lemma not in IMAGES:
            continue
        start = noun.index
        while start and parse.text(start - 1) in BEFORE:
            start -= 1
        end = noun.index + 1
        if parse.text(end) in {"on", "to", "at"} or (parse.text(end) == "in" and parse.text(end + 1) == "the"):
            while parse.text(end) in AFTER:
                end += 1
        mentions.append(
            ([parse.text(i) for i in range(start, noun.index)], {parse.text(i) for i in range(noun.index, end)})
        )
    return mentions


def _quantified(before: list[str], after: set[str]) -> set[str]:
    """The reasoning that one mention calls for."""
    words, found = set(before), set()
    sides = (words | after) & (LEFT | RIGHT)
    if sides:
        found.add(LEFT_RIGHT)
        if words & {"each", "both"}:
            found.add(UNIVERSAL)
        if "only" in words and len(sides) == 1:
            found.add(EXACTLY_ONE)
    elif words & EVERY and not words & {"one", "1"}:
        found.add(UNIVERSAL)
    elif words & SOME:
        found.add(EXACTLY_ONE if words & EXACT else EXISTENTIAL)
    return found


def _bare_side(parse: Parse) -> bool:
    """A side that stands for an image: "the dog on the right" where no image is named, "the lefthand dog"."""
    for word in parse:
        if word.text in {"lefthand", "righthand"} or (word.text in LEFT | RIGHT and word.dep == "nsubj"):
            return True
        preposition = parse.head(word)
        on_side = word.text in LEFT | RIGHT and word.dep == "pobj" and preposition.text in {"on", "in"}
        if on_side and names_image(parse, preposition, word):
            return True
    return False


def _compared(parse: Parse, found: set[str]) -> bool:
    """Is one image measured against the other?"""
    if not rules.comparison(parse):
        return False
    words = [word.text for word in parse]
    together = "left and right" in " ".join(words) or "right and left" in " ".join(words)
    if together and {"same", "similar", "different", "identical", "opposite"} & set(words):
        return True
    for word in parse:
        after = words[word.index + 1 :]
        if word.text in {"same", "equal"} and after[:1] in (["number"], ["amount"], ["quantity"]):
            return True
        if word.text in {"than", "as"} and set(after) & (IMAGES | LEFT | RIGHT | {"other"}):
            return True
        more = word.text in AMOUNTS and rules.compares_amounts(parse, word) and "than" not in after
        # "there are more birds in the left image"
        if more and LEFT_RIGHT in found and rules.existential_quantifier(parse):
            return True
    return False


def image_reasoning(parse: Parse) -> tuple[str, ...]:
    """The reasoning over the two images that a parsed sentence calls for, in the table's order."""
    found: set[str] = set()
    for before, after in _mentions(parse):
        found |= {UNIVERSAL} if "any" in before and rules.negation(parse) else _quantified(before, after)
    if _bare_side(parse):
        found.add(LEFT_RIGHT)
    if _compared(parse, found):
        found.add(COMPARISON)
    return tuple(name for name in PAIR_REASONING if name in found)
