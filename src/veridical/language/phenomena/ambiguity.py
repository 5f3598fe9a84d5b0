"""The papers' three syntactic ambiguities: what a coordination, a prepositional phrase or a clause attaches to.

A parser picks one attachment; the rules look for the places where another one was open to the reader: a phrase that
follows a noun which is itself inside a phrase.
"""

from __future__ import annotations

from veridical.language.phenomena.parse import Parse, ParsedWord, words
from veridical.language.phenomena.rules import MANNERS, names_image

ARRANGED = MANNERS | words("row line circle group")  # "in a row" says how, and takes no phrase of its own
SUBJECTS = ("nsubj", "nsubjpass", "expl")
IMAGE_VERBS = words("show contain have include feature see depict display")


def cc_ambiguity(parse: Parse) -> bool:
    """A modifier beside a coordination may belong to one part or to both: "wears long gloves and boots"."""
    return any(_shares_modifier(parse, word) for word in parse if word.text in {"and", "or"} and word.tag == "CC")


def _shares_modifier(parse: Parse, cc: ParsedWord) -> bool:
    first = parse.head(cc)
    second = next((w for w in parse.children(first, "conj") if w.index > cc.index), None)
    if second is None or parse.children(second, *SUBJECTS) or parse.children(second, "aux", "auxpass"):
        return False
    if first.tag == "VBG" and second.tag == "VBG":
        return bool(parse.children(second, "prep")) and not parse.children(first, "prep", "dobj")
    if not (first.tag.startswith("NN") and second.tag.startswith(("NN", "VBG"))):
        return False
    after = parse.words[second.index + 1] if second.index + 1 < len(parse) else None
    followed = after is not None and (after.tag in {"VBG", "VBN", "WDT"} or (after.text == "," and _with(parse, after)))
    if parse.children(second, "det", "poss"):
        return followed and first.dep == "pobj"
    led = bool(parse.children(first, "amod")) and not parse.children(second, "amod", "compound", "nummod")
    return followed or led or second.tag == "VBG" or _owns_of(parse, first, second)


def _with(parse: Parse, word: ParsedWord) -> bool:
    return parse.text(word.index + 1) == "with"


def _owns_of(parse: Parse, first: ParsedWord, second: ParsedWord) -> bool:
    """ "The head and horns of another animal"."""
    return any(p.text == "of" and p.index > second.index for w in (first, second) for p in parse.children(w, "prep"))


def _phrases(parse: Parse) -> list[tuple[ParsedWord, ParsedWord]]:
    """Prepositional phrases as (preposition, object); not "of", and none that only says which image."""
    found = []
    for word in parse:
        if word.tag not in {"IN", "TO"} or word.text in {"of", "than"} or word.dep not in {"prep", "conj", "advmod"}:
            continue
        objects = parse.children(word, "pobj", "pcomp")
        if objects and not names_image(parse, word, objects[0]):
            found.append((word, objects[0]))
    return found


def _bound(parse: Parse, preposition: ParsedWord, noun: ParsedWord) -> bool:
    """Does a pronoun ("on it", "at her side", "in front of it") settle what the phrase goes with?"""
    inside = parse.words[preposition.index + 1 : noun.index + 3]
    return any(w.tag in {"PRP", "PRP$"} for w in inside)


def pp_ambiguity(parse: Parse) -> bool:
    """Two phrases in a row, or verb, object, "with": the last may belong to either word before it."""
    phrases = _phrases(parse)
    for preposition, noun in phrases:
        if _bound(parse, preposition, noun):
            continue
        start = preposition.index - (
            preposition.text == "to" and parse.text(preposition.index - 1) in {"next", "close"}
        )
        for earlier, inner in phrases:
            if inner.index == start - 1 and not (earlier.text == "in" and inner.lemma in ARRANGED):
                return True
        before = parse.words[start - 1] if start else preposition
        if (
            preposition.text == "with"
            and before.dep == "dobj"
            and parse.head(before).lemma not in IMAGE_VERBS | {"wear"}
        ):
            return True
    return False


def sbar_ambiguity(parse: Parse) -> bool:
    """A clause after a phrase may describe its object or what is before it: "a rodent in a vase that is ..."."""
    for word in parse:
        noun = parse.head(word)
        if noun.dep != "pobj" or noun.index > word.index:
            continue
        preposition = parse.head(noun)
        if preposition.text == "of" or names_image(parse, preposition, noun):
            continue
        if word.dep == "relcl" or (
            word.dep == "acl" and word.tag == "VBG" and preposition.text in {"in", "on", "at", "near"}
        ):
            return True
    return False
