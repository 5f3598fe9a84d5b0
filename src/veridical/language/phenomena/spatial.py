"""The rule for spatial relations: where things are to each other, not which image they are in.

Most relations are prepositions with a thing as their object; the work is in telling "on the left" of a scene from "on
the left" that names an image, and places from manners ("in a bowl", "in profile").
"""

from __future__ import annotations

from veridical.language.phenomena.parse import Parse, Word, words
from veridical.language.phenomena.rules import IMAGES, complements, is_image

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


def _stands_in_relation(parse: Parse, word: Word) -> bool:
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


def _contains(parse: Parse, word: Word) -> bool:
    """A vase holding flowers, a bottle filled with juice."""
    if word.lemma not in {"hold", "contain", "fill"} or not word.tag.startswith("VB"):
        return False
    holders = [parse.head(word), *parse.children(word, "nsubj", "nsubjpass")]
    return any(noun.lemma in CONTAINERS for noun in holders)


def _heads_somewhere(parse: Parse, word: Word) -> bool:
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


def _is_placed(parse: Parse, word: Word) -> bool:
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


def _landmark(parse: Parse, preposition: Word) -> Word | None:
    """The object of a preposition; the next noun phrase where the parser saw a particle ("lifted off the ground")."""
    objects = parse.children(preposition, "pobj", "pcomp")
    if objects:
        return objects[0]
    after = preposition.index + 1
    if after < len(parse) and parse.words[after].tag in {"DT", "PRP$"} and parse.head(parse.words[after]).index > after:
        return parse.head(parse.words[after])
    return None


def names_image(parse: Parse, preposition: Word, landmark: Word) -> bool:
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
