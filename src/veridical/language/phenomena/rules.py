"""A rule for each semantic phenomenon of NLVR's Table 2 but the spatial one (its own file), over a dependency parse.

A rule answers whether the sentence shows the phenomenon as the papers' annotators marked it. Where they were divided
(is "one of the images" a count?) a rule says yes when it was marked about half of the time or more, which is what
maximises F1.
"""

from __future__ import annotations

from veridical.language.phenomena.parse import Parse, Word, words

IMAGES = words("image picture photo photograph photos pic images pictures photographs")
NUMBERS = words(
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen twenty thirty forty fifty hundred dozen zero"
)
GROUPS = words("trio duo quartet quintet")
PRONOUNS = words("it its itself they them their theirs themselves he him his himself she her hers herself")

NEGATIONS = words("no not n't nt none never nobody neither nor without")
ALIKE = words(
    "same different similar identical equal opposite differ differently alike similarly equally unlike match matching"
)
AMOUNTS = words("more fewer less")


def complements(parse: Parse, noun: Word) -> list[Word]:
    """The objects of a noun's "of" phrases: "dogs" in "one of the dogs"."""
    return [w for p in parse.children(noun, "prep") if p.text == "of" for w in parse.children(p, "pobj")]


def is_image(parse: Parse, noun: Word) -> bool:
    """Is this noun an image or the pair: "the left image", "the image pair", "the set of images"?"""
    if noun.lemma in IMAGES:
        return True
    if noun.lemma not in {"pair", "set", "side", "pairing"}:
        return False
    return any(
        w.lemma in IMAGES for w in [*parse.children(noun, "compound", "amod", "nmod"), *complements(parse, noun)]
    )


# --- counting ---------------------------------------------------------------------------------------------------------


def _is_number(parse: Parse, word: Word) -> bool:
    if word.text in NUMBERS or word.text.isdigit():
        return True
    around = parse.text(word.index - 1), parse.text(word.index + 1)
    return word.text == "one" and around[0] not in {"no", "another"} and around[1] != "another"


def _bounded(parse: Parse, index: int) -> bool:
    """Does a word before or after the number at `index` make it a range ("at least two", "two or more")?"""
    before = [parse.text(index - k) for k in range(1, 6)]
    if before[1::-1] in (["at", "least"], ["at", "most"], ["more", "than"], ["less", "than"], ["fewer", "than"]):
        return True
    if before[0] == "than" and {"greater", "bigger", "larger", "more", "less"} & set(before[1:3]):
        return True
    if before[1::-1] == ["up", "to"] or (before[0] == "of" and before[1] in {"minimum", "maximum"}):
        return True
    if before[0] in {"over", "under"} and parse.words[index - 1].dep in {"quantmod", "advmod"}:
        return True
    after = [parse.text(index + k) for k in range(1, 4)]
    if after[0] in {"or", "and"} and after[1] in {"more", "less", "fewer", "above", "below", "greater"}:
        return True
    return (before[0] == "between" and after[0] == "and") or (before[0] == "and" and "between" in before[1:3])


def soft_cardinality(parse: Parse) -> bool:
    """A range of counts: at least, at most, more than three, two or more."""
    return any(_is_number(parse, word) and _bounded(parse, word.index) for word in parse)


def _means_some_image(parse: Parse, word: Word) -> bool:
    """Is this "one" of "one image" or "one of the images", which mean "an image"?

    The annotators mostly marked a fronted "In one of the images" as a count.
    """
    if word.dep == "nummod" and parse.head(word).lemma in IMAGES:
        return True
    return any(is_image(parse, noun) for noun in complements(parse, word)) and word.index != 1


def hard_cardinality(parse: Parse) -> bool:
    """An exact count: two, exactly one, a single, a trio of."""
    for word in parse:
        if (word.text in {"single", "lone"} and word.dep == "amod") or word.text in GROUPS:
            return True
        if not _is_number(parse, word) or _bounded(parse, word.index):
            continue
        exact = parse.text(word.index - 1) in {"exactly", "only", "just", "precisely"}
        if word.text not in {"one", "1"} or exact or not _means_some_image(parse, word):
            return True
    return False


# --- quantifiers ------------------------------------------------------------------------------------------------------


def existential_quantifier(parse: Parse) -> bool:
    """There is, there are."""
    verbs = {"is", "are", "'s", "s", "exist"}
    return any(
        word.text == "there" and (word.index == 0 or word.tag == "EX" or parse.text(word.index + 1) in verbs)
        for word in parse
    )


def universal_quantifier(parse: Parse) -> bool:
    """Each, every, all, both; and "only blue cars"."""
    for word in parse:
        after = parse.text(word.index + 1)
        if word.text in {"each", "every", "everything", "everyone"} and after != "other":
            return True
        if word.text == "all" and not _is_adverb(parse, word):
            return True
        if word.text == "both" and not parse.children(word, "cc"):
            return True
        if word.text == "only" and not _number_follows(parse, word) and _plural_follows(parse, word):
            return True
        if word.text == "either" and after in {"side", "end"}:
            return True
    return False


def _is_adverb(parse: Parse, word: Word) -> bool:
    """Not every "all" quantifies: an all white dog, all-metal, not at all, on all fours."""
    before, after = parse.text(word.index - 1), parse.text(word.index + 1)
    if before == "at" or after in {"-", "fours"}:
        return True
    within = word.index > 0 and parse.words[word.index - 1].tag in {"DT", "CD"}
    return within and word.index + 1 < len(parse) and parse.words[word.index + 1].tag == "JJ"


def _number_follows(parse: Parse, word: Word) -> bool:
    return word.index + 1 < len(parse) and (
        _is_number(parse, parse.words[word.index + 1]) or parse.text(word.index + 1) in {"a", "an", "the"}
    )


def _plural_follows(parse: Parse, word: Word) -> bool:
    """Is the next noun, within the phrase, a plural ("only small dogs")?"""
    for other in parse.words[word.index + 1 : word.index + 6]:
        if other.tag in {"NNS", "NNPS"}:
            return True
        if not other.tag.startswith(("JJ", "NN", "CC", "VBN", "HYPH", "RB")):
            return False
    return False


# --- structure --------------------------------------------------------------------------------------------------------


def coordination(parse: Parse) -> bool:
    """Two constituents joined: and, or, but, while."""
    return any(
        (word.tag == "CC" and parse.text(word.index - 1) != "-") or word.text in {"while", "whereas"} for word in parse
    )


def coreference(parse: Parse) -> bool:
    """A pronoun for something in the sentence; each other."""
    return any(
        word.text in PRONOUNS or (word.text == "each" and parse.text(word.index + 1) == "other") for word in parse
    )


def negation(parse: Parse) -> bool:
    """No, not, none, never, without."""
    return any(word.text in NEGATIONS for word in parse)


def comparison(parse: Parse) -> bool:
    """Same, different, more X (than), twice as many: not "more than three"."""
    return any(
        word.lemma in ALIKE
        or (word.text == "as" and parse.text(word.index + 1) in {"many", "much", "few"})
        or (word.text in AMOUNTS and compares_amounts(parse, word))
        or (word.tag in {"JJR", "RBR"} and word.text not in AMOUNTS and _than_after(parse, word))
        for word in parse
    )


def _than_after(parse: Parse, word: Word) -> bool:
    return any(w.text == "than" for w in parse.words[word.index + 1 : word.index + 8])


def compares_amounts(parse: Parse, word: Word) -> bool:
    """ "More dogs (than ...)", but neither "more than two" nor "two or more"."""
    if parse.text(word.index + 1) == "than":
        than = word.index + 2
        return than < len(parse) and not _is_number(parse, parse.words[than]) and parse.text(than) not in {"a", "half"}
    return parse.text(word.index - 1) not in {"or", "and", "-"}


# --- presupposition ---------------------------------------------------------------------------------------------------

PARTS = words(  # every image or thing has these, or they name a place in the image
    "left right top bottom front back side end middle center edge corner base rear camera background foreground face "
    "head number other color way half first second third majority pair set rest total distance"
)


def presupposition(parse: Parse) -> bool:
    """A definite noun phrase that takes for granted that its thing is there: "the lamp", "one of the dogs"."""
    return any(word.text in {"the", "these", "those"} and _presupposes(parse, word) for word in parse)


def _presupposes(parse: Parse, word: Word) -> bool:
    noun = parse.head(word)
    if noun.index <= word.index or not noun.tag.startswith("NN") or is_image(parse, noun):
        return False
    if noun.lemma in PARTS and not (parse.head(noun).lemma == "touch" and not complements(parse, noun)):
        return False
    if any(w.text in {"same", "other"} for w in parse.children(noun, "amod")):
        return False
    mentioned = {w.lemma for w in parse.words[: word.index]}
    if mentioned.issuperset(w.lemma for w in [noun, *parse.children(noun, "amod", "nummod")]):  # it refers back
        return False
    return not any(d.text in {"a", "an"} for w in complements(parse, noun) for d in parse.children(w, "det"))
