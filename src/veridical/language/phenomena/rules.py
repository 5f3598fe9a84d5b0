"""A rule for each of the ten semantic phenomena of NLVR's Table 2, over a dependency parse.

A rule answers whether the sentence shows the phenomenon as the papers' annotators marked it. Where they were divided
(is "one of the images" a count?) a rule says yes when it was marked about half of the time or more, which is what
maximises F1.
"""

from __future__ import annotations

from veridical.language.phenomena.parse import Parse, ParsedWord, words

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


def complements(parse: Parse, noun: ParsedWord) -> list[ParsedWord]:
    """The objects of a noun's "of" phrases: "dogs" in "one of the dogs"."""
    return [w for p in parse.children(noun, "prep") if p.text == "of" for w in parse.children(p, "pobj")]


def is_image(parse: Parse, noun: ParsedWord) -> bool:
    """Is this noun an image or the pair: "the left image", "the image pair", "the set of images"?"""
    if noun.lemma in IMAGES:
        return True
    if noun.lemma not in {"pair", "set", "side", "pairing"}:
        return False
    return any(
        w.lemma in IMAGES for w in [*parse.children(noun, "compound", "amod", "nmod"), *complements(parse, noun)]
    )


# --- counting ---------------------------------------------------------------------------------------------------------


def _is_number(parse: Parse, word: ParsedWord) -> bool:
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


def _means_some_image(parse: Parse, word: ParsedWord) -> bool:
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


def _is_adverb(parse: Parse, word: ParsedWord) -> bool:
    """Not every "all" quantifies: an all white dog, all-metal, not at all, on all fours."""
    before, after = parse.text(word.index - 1), parse.text(word.index + 1)
    if before == "at" or after in {"-", "fours"}:
        return True
    within = word.index > 0 and parse.words[word.index - 1].tag in {"DT", "CD"}
    return within and word.index + 1 < len(parse) and parse.words[word.index + 1].tag == "JJ"


def _number_follows(parse: Parse, word: ParsedWord) -> bool:
    return word.index + 1 < len(parse) and (
        _is_number(parse, parse.words[word.index + 1]) or parse.text(word.index + 1) in {"a", "an", "the"}
    )


def _plural_follows(parse: Parse, word: ParsedWord) -> bool:
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


def _than_after(parse: Parse, word: ParsedWord) -> bool:
    return any(w.text == "than" for w in parse.words[word.index + 1 : word.index + 8])


def compares_amounts(parse: Parse, word: ParsedWord) -> bool:
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


def _presupposes(parse: Parse, word: ParsedWord) -> bool:
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


# --- spatial relations ------------------------------------------------------------------------------------------------
# Most are prepositions with a thing as their object; the work is in telling "on the left" of a scene from "on the left"
# that names an image, and places from manners ("in a bowl", "in profile").

PLACES = words(  # prepositions that always place their object
    "above across against along alongside among amongst amid around atop before behind below beneath beside between "
    "inside into near off on onto outside over toward towards under underneath upon within through throughout"
)
ALONE = words(  # adverbs that place without an object
    "inside outside overhead nearby below above beneath underneath alongside indoors outdoors"
)
DIRECTIONS = words(
    "leftward rightward leftwards rightwards upward downward upwards downwards backward backwards sideways"
)
HEADINGS = words("face look point turn head aim angle gaze walk run move swim fly lean lie lay stare travel")
MANNERS = words(  # "in" these is no place
    "color colour hue tone shade total all profile shape size style pattern pose position motion action focus view "
    "direction background foreground addition number length height way bloom flight half expression manner fashion "
    "angle least white black red blue green yellow pink brown purple orange gray grey tan beige "
    "jean jeans dress shirt uniform hat coat suit bikini clothes clothing robe outfit gown costume jacket vest attire "
    "shorts pants swimsuit bathing helmet cap sweater gear collar harness"
)
CONTAINERS = words(
    "vase case jar bowl box basket frame shelf bookcase glass cup mug bottle bag plate tray stand rack cabinet can "
    "container pot dish package carrier holder beaker pan drawer bucket crate cage tank bin barrel pouch wagon cart"
)
SIDES = words("left right side other")


def spatial_relation(parse: Parse) -> bool:
    """Where things are to each other: on, next to, behind, facing left; not where in the pair ("in the left image")."""
    return any(
        _stands_in_relation(parse, word)
        or _contains(parse, word)
        or _heads_somewhere(parse, word)
        or _is_placed(parse, word)
        for word in parse
    )


def _stands_in_relation(parse: Parse, word: ParsedWord) -> bool:
    """Relations in fixed words: next to, in front of, side by side, touching, upside down."""
    after = parse.text(word.index + 1)
    return (
        (word.text in {"next", "adjacent", "close", "closer"} and after == "to")
        or (word.text == "front" and after == "of")
        or (word.text == "out" and after == "of")
        or (word.text == "side" and after in {"by", "-"})
        or (word.text == "upside" and after in {"down", "-"})
        or (word.text == "close" and after == "together")
        or (word.text in {"left", "right"} and after == "of" and parse.text(word.index + 3) not in IMAGES)
        or (word.text in {"top", "bottom", "base", "middle", "center"} and after == "of")
        or (word.text in {"top", "bottom"} and parse.text(word.index - 1) in {"on", "at"})
        or (word.lemma in {"touch", "surround", "overlap", "encircle", "flank"})
    )


def _contains(parse: Parse, word: ParsedWord) -> bool:
    """A vase holding flowers, a bottle filled with juice."""
    if word.lemma not in {"hold", "contain", "fill"} or not word.tag.startswith("VB"):
        return False
    holders = [parse.head(word), *parse.children(word, "nsubj", "nsubjpass")]
    return any(noun.lemma in CONTAINERS for noun in holders)


def _heads_somewhere(parse: Parse, word: ParsedWord) -> bool:
    """Facing left, headed leftward, turned to the right."""
    if word.text in DIRECTIONS and parse.text(word.index + 1) != "-":
        return True
    if word.text in {"direction", "directions", "way", "ways"}:
        return any(w.lemma in HEADINGS | {"facing"} for w in parse.words[max(0, word.index - 5) : word.index])
    if word.text not in {"left", "right", "forward", "away"}:
        return False
    previous = [
        w for w in parse.words[max(0, word.index - 4) : word.index] if w.text not in {"to", "toward", "towards"}
    ]
    while previous and previous[-1].text in {"the", "directly", "straight", "slightly", "off", "far"}:
        previous.pop()
    following = parse.text(word.index + 1)
    return bool(previous) and previous[-1].lemma in HEADINGS | {"facing"} and following not in IMAGES


def _is_placed(parse: Parse, word: ParsedWord) -> bool:
    """A preposition of place with a thing (not an image) as its object."""
    if word.tag not in {"IN", "RP", "RB", "TO"} or word.dep == "agent":
        return False
    landmark = _landmark(parse, word)
    if landmark is None:
        return word.text in ALONE
    if landmark.text in {"it", "them"} and word.text == "on":
        return False
    if word.text == "by":
        return word.dep == "prep" and landmark.tag.startswith("NN") and parse.head(word).tag != "VBN"
    if word.text == "from":
        return parse.head(word).lemma in {"hang", "dangle", "suspend", "protrude"}
    if word.text not in PLACES and word.text not in {"in", "at"}:
        return False
    if word.text in {"in", "at"} and landmark.lemma in MANNERS:
        return False
    return not names_image(parse, word, landmark)


def _landmark(parse: Parse, preposition: ParsedWord) -> ParsedWord | None:
    """The object of a preposition; the next noun phrase where the parser saw a particle ("lifted off the ground")."""
    objects = parse.children(preposition, "pobj", "pcomp")
    if objects:
        return objects[0]
    after = preposition.index + 1
    if after < len(parse) and parse.words[after].tag in {"DT", "PRP$"} and parse.head(parse.words[after]).index > after:
        return parse.head(parse.words[after])
    return None


def names_image(parse: Parse, preposition: ParsedWord, landmark: ParsedWord) -> bool:
    """Does "in the left image", "on the right" or "in one of the pictures" say which image, not which place?"""
    if is_image(parse, landmark):
        return True
    of = complements(parse, landmark)
    if of:
        return is_image(parse, of[0])
    if landmark.text == "both":
        return True
    if landmark.text not in SIDES or parse.children(landmark, "poss"):
        return False
    if any(d.text in {"either", "each", "one", "both", "far"} for d in parse.children(landmark)):
        return False
    mentions = [w.index for w in parse if w.lemma in IMAGES]
    return not mentions or any(i in mentions for i in range(preposition.index - 2, landmark.index + 3))
