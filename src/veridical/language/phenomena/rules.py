"""A rule for each of the ten semantic phenomena of NLVR's Table 2 and the three ambiguities, over a dependency parse.

A rule answers whether the sentence shows the phenomenon as the papers' annotators marked it. Where they were divided
(is "one of the images" a count?) a rule says yes when it was marked about half of the time or more, which is what
maximises F1.
"""

from __future__ import annotations

from veridical.language.phenomena.parse import Parse, ParsedWord, listed, words

IMAGES = words("image picture photo photograph photos pic images pictures photographs")
NUMBERS = listed("numbers")
GROUPS = words("trio duo quartet quintet")
PRONOUNS = words("it its itself they them their theirs themselves he him his himself she her hers herself")

NEGATIONS = words("no not n't nt none never nobody neither nor without")
ALIKE = listed("alike")
AMOUNTS = words("more fewer less")


def is_image(parse: Parse, noun: ParsedWord) -> bool:
    """Is this noun an image or the pair: "the left image", "the image pair", "the set of images"?"""
    if noun.lemma in IMAGES:
        return True
    if noun.lemma not in {"pair", "set", "side", "pairing"}:
        return False
    return any(w.lemma in IMAGES for w in [*parse.children(noun, "compound", "amod", "nmod"), *parse.complements(noun)])


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
    return any(is_image(parse, noun) for noun in parse.complements(word)) and word.index != 1


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
        if word.text == "only" and _plural_follows(parse, word):
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


def _plural_follows(parse: Parse, word: ParsedWord) -> bool:
    """Is the next noun, within the phrase, a plural ("only small dogs"), without a number or an article?"""
    following = parse.words[word.index + 1 : word.index + 6]
    if following and (_is_number(parse, following[0]) or following[0].text in {"a", "an", "the"}):
        return False
    for other in following:
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
        or (
            word.tag in {"JJR", "RBR"}
            and word.text not in AMOUNTS
            and any(w.text == "than" for w in parse.words[word.index + 1 : word.index + 8])
        )
        for word in parse
    )


def compares_amounts(parse: Parse, word: ParsedWord) -> bool:
    """ "More dogs (than ...)", but neither "more than two" nor "two or more"."""
    if parse.text(word.index + 1) == "than":
        than = word.index + 2
        return than < len(parse) and not _is_number(parse, parse.words[than]) and parse.text(than) not in {"a", "half"}
    return parse.text(word.index - 1) not in {"or", "and", "-"}


# --- presupposition ---------------------------------------------------------------------------------------------------

PARTS = listed("parts")  # every image or thing has these, or they name a place in the image


def presupposition(parse: Parse) -> bool:
    """A definite noun phrase that takes for granted that its thing is there: "the lamp", "one of the dogs"."""
    return any(word.text in {"the", "these", "those"} and _presupposes(parse, word) for word in parse)


def _presupposes(parse: Parse, word: ParsedWord) -> bool:
    noun = parse.head(word)
    if noun.index <= word.index or not noun.tag.startswith("NN") or is_image(parse, noun):
        return False
    if noun.lemma in PARTS and not (parse.head(noun).lemma == "touch" and not parse.complements(noun)):
        return False
    if any(w.text in {"same", "other"} for w in parse.children(noun, "amod")):
        return False
    mentioned = {w.lemma for w in parse.words[: word.index]}
    if mentioned.issuperset(w.lemma for w in [noun, *parse.children(noun, "amod", "nummod")]):  # it refers back
        return False
    return not any(d.text in {"a", "an"} for w in parse.complements(noun) for d in parse.children(w, "det"))


# --- spatial relations ------------------------------------------------------------------------------------------------
# Most are prepositions with a thing as their object; the work is in telling "on the left" of a scene from "on the left"
# that names an image, and places from manners ("in a bowl", "in profile").

PLACES = listed("places")  # prepositions that always place their object
ALONE = listed("alone")  # adverbs that place without an object
DIRECTIONS = listed("directions")
HEADINGS = listed("headings") | {"facing"}
MANNERS = listed("manners")  # "in" these is no place
CONTAINERS = listed("containers")
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
        or (word.text == "side" and after in {"by", "-"})
        or (word.text == "upside" and after in {"down", "-"})
        or (word.text == "close" and after == "together")
        or (word.text in {"left", "right"} and after == "of" and parse.text(word.index + 3) not in IMAGES)
        or (word.text in {"front", "out", "top", "bottom", "base", "middle", "center"} and after == "of")
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
    before = parse.words[max(0, word.index - 5) : word.index]
    if word.text in {"direction", "directions", "way", "ways"}:
        return any(w.lemma in HEADINGS for w in before)
    if word.text not in {"left", "right", "forward", "away"}:
        return False
    previous = [w for w in before[-4:] if w.text not in {"to", "toward", "towards"}]
    while previous and previous[-1].text in {"the", "directly", "straight", "slightly", "off", "far"}:
        previous.pop()
    following = parse.text(word.index + 1)
    return bool(previous) and previous[-1].lemma in HEADINGS and following not in IMAGES


def _is_placed(parse: Parse, word: ParsedWord) -> bool:
    """A preposition of place with a thing (not an image) as its object."""
    if word.tag not in {"IN", "RP", "RB", "TO"} or word.dep == "agent" or _limits(parse, word):
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
    places = word.text in PLACES or (word.text in {"in", "at"} and landmark.lemma not in MANNERS)
    return places and not names_image(parse, word, landmark)


def _limits(parse: Parse, word: ParsedWord) -> bool:
    """At most two dogs: an amount, not a place, whatever the parser takes "most" for."""
    after = word.index + (2 if parse.text(word.index + 1) == "the" else 1)
    return word.text == "at" and parse.text(after) in {"most", "least"}


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
    of = parse.complements(landmark)
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


# --- ambiguities ------------------------------------------------------------------------------------------------------
# What a coordination, a prepositional phrase or a clause attaches to. A parser picks one attachment; the rules look for
# the places where another one was open to the reader: a phrase that follows a noun which is itself inside a phrase.

ARRANGED = MANNERS | words("row line circle group")  # "in a row" says how, and takes no phrase of its own
SUBJECTS = ("nsubj", "nsubjpass", "expl")
HAVING = words("show contain have include feature see depict display wear")  # what follows goes with their object


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
    followed = after is not None and (
        after.tag in {"VBG", "VBN", "WDT"} or (after.text == "," and parse.text(after.index + 1) == "with")
    )
    if parse.children(second, "det", "poss"):
        return followed and first.dep == "pobj"
    led = bool(parse.children(first, "amod")) and not parse.children(second, "amod", "compound", "nummod")
    # "the head and horns of another animal"
    owned = any(p.text == "of" and p.index > second.index for w in (first, second) for p in parse.children(w, "prep"))
    return followed or led or second.tag == "VBG" or owned


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


def pp_ambiguity(parse: Parse) -> bool:
    """Two phrases in a row, or verb, object, "with": the last may belong to either word before it."""
    phrases = _phrases(parse)
    for preposition, noun in phrases:
        inside = parse.words[preposition.index + 1 : noun.index + 3]
        if any(w.tag in {"PRP", "PRP$"} for w in inside):  # "on it", "at her side": a pronoun settles what it goes with
            continue
        led = preposition.text == "to" and parse.text(preposition.index - 1) in {"next", "close"}
        start = preposition.index - led
        for earlier, inner in phrases:
            if inner.index == start - 1 and not (earlier.text == "in" and inner.lemma in ARRANGED):
                return True
        before = parse.words[start - 1] if start else preposition
        if preposition.text == "with" and before.dep == "dobj" and parse.head(before).lemma not in HAVING:
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
