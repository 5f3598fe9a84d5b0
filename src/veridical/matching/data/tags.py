"""Tags in borrowed responses: which photographs have the objects a response talks of, and re-pointing it to them.

A response that tags two people and a cup can stand beside a photograph with two people and a cup: its tags then point
at those. Which ones is chosen so that nothing gives the borrowed response away: an object that its own question names
becomes one that the new question names, and the first person stays a first person where that one is free. Otherwise
"which answer tags whom the question tags" would find the right one.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from veridical.language.english import PEOPLE
from veridical.records import Panel, Ref, Text

NOWHERE = "(unknown)"  # the class of a tag that points at nothing: no photograph has it


def tag_class(category: str) -> str:
    """The class that decides whether a tag may be re-pointed: people to people.

    >>> tag_class("Woman"), tag_class("dining table")
    ('person', 'dining table')
    """
    name = category.strip().lower()
    return "person" if name in PEOPLE else name


def tagged(text: Text) -> list[str]:
    """The objects that a text tags, each once, in the order of their first mention."""
    found = [name for token in text.tokens if isinstance(token, Ref) for name in token.objects]
    return list(dict.fromkeys(found))


def plain(text: Text, panel: Panel | None) -> str:
    """The text with tags replaced by the names of their classes: what models read, and what makes two texts the same.

    >>> from veridical.records import SceneObject
    >>> panel = Panel("p", objects=(SceneObject("0", "person"), SceneObject("1", "Woman")))
    >>> plain(Text("", (Ref(("0", "1")), "are", "sad", ".")), panel)
    'person and person are sad .'
    """
    if not text.tokens:
        return text.raw
    known = {one.id: tag_class(one.category) for one in (panel.objects if panel else ())}
    return " ".join(
        # in the order of the alphabet: re-pointing may change the order of a list
        token if isinstance(token, str) else " and ".join(sorted(known.get(o, o) for o in token.objects))
        for token in text.tokens
    )


def needs_and_have(
    texts: Sequence[Text], panels: Sequence[Panel]
) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int16], tuple[str, ...]]:
    """What each response needs and each photograph has, in objects per class: (N, C), (N, C), names of the classes.

    Row i of the texts belongs to row i of the panels. Response j may stand beside photograph i where
    `(needs[j] <= have[i]).all()`. Only classes that some response tags are counted.
    """
    wanted = [Counter(_classes(tagged(text), panel)) for text, panel in zip(texts, panels, strict=True)]
    names = tuple(sorted({name for one in wanted for name in one}))
    place = {name: k for k, name in enumerate(names)}
    needs = np.zeros((len(texts), len(names)), np.int16)
    have = np.zeros((len(texts), len(names)), np.int16)
    held: dict[int, npt.NDArray[np.int16]] = {}  # one panel has many questions
    for row, (one, panel) in enumerate(zip(wanted, panels, strict=True)):
        for name, count in one.items():
            needs[row, place[name]] = count
        if id(panel) not in held:
            held[id(panel)] = np.zeros(len(names), np.int16)
            for item in panel.objects:
                if (k := place.get(tag_class(item.category))) is not None:
                    held[id(panel)][k] += 1
        have[row] = held[id(panel)]
    return needs, have, names


def repoint(
    text: Text,
    source: Panel,
    target: Panel,
    rng: np.random.Generator,
    *,
    asked: Text | None = None,
    asks: Text | None = None,
) -> Text:
    """A response of the photograph `source` with its tags pointed at objects of `target`: same class, one to one.

    `asked` is the response's own question and `asks` the one it is borrowed for: what the response shares with the
    first it shares with the second, as far as that names objects of the class. A response that does not fit is a
    `ValueError`: `needs_and_have` says beforehand which do.
    """
    objects = tagged(text)
    if not objects:
        return text
    new = _assign(objects, source, target, set(tagged(asked) if asked else ()), set(tagged(asks) if asks else ()), rng)
    old_place, new_place = _places(source), _places(target)
    tokens: list[str | Ref] = []
    for token in text.tokens:
        if isinstance(token, str):
            tokens.append(token)
            continue
        moved = [new[name] for name in token.objects]
        places = [old_place[name] for name in token.objects]
        if places == sorted(places):  # people list tags in the order of objects; a borrowed list should not differ
            moved.sort(key=new_place.__getitem__)
        tokens.append(Ref(tuple(moved)))
    return Text(_raw(tokens), tuple(tokens))


def _assign(
    objects: Sequence[str], source: Panel, target: Panel, asked: set[str], asks: set[str], rng: np.random.Generator
) -> dict[str, str]:
    """A new object for each old one."""
    classes = dict(zip(objects, _classes(objects, source), strict=True))
    old_rank, _ = _ranks(source)
    new_rank, by_class = _ranks(target)
    out: dict[str, str] = {}
    for wanted, own in _grouped(objects, classes).items():
        free = list(by_class.get(wanted, ()))
        if len(free) < len(own):
            raise ValueError(f"{target.id} has {len(free)} objects of class {wanted!r}; the response tags {len(own)}")
        # Objects shared with the question choose first, since few objects are named by the new question. Those that
        # are not leave its objects alone, where they can.
        for name in sorted(own, key=lambda o: (o not in asked, old_rank[o])):
            liked = [o for o in free if (o in asks) == (name in asked)] or free
            same = [o for o in liked if new_rank[o] == old_rank[name]]
            chosen = same[0] if same else liked[int(rng.integers(len(liked)))]
            free.remove(chosen)
            out[name] = chosen
    return out


def _grouped(objects: Sequence[str], classes: Mapping[str, str]) -> dict[str, list[str]]:
    out: dict[str, list[str]] = defaultdict(list)
    for name in objects:
        out[classes[name]].append(name)
    return out


def _classes(objects: Sequence[str], panel: Panel) -> list[str]:
    known = {one.id: tag_class(one.category) for one in panel.objects}
    return [known.get(name, NOWHERE) for name in objects]


def _places(panel: Panel) -> dict[str, int]:
    return {one.id: k for k, one in enumerate(panel.objects)}


def _ranks(panel: Panel) -> tuple[dict[str, int], dict[str, list[str]]]:
    """How manieth of its class each object is, and the objects of each class."""
    by_class: dict[str, list[str]] = defaultdict(list)
    rank: dict[str, int] = {}
    for one in panel.objects:
        one_class = tag_class(one.category)
        rank[one.id] = len(by_class[one_class])
        by_class[one_class].append(one.id)
    return rank, by_class


def _raw(tokens: Sequence[str | Ref]) -> str:
    """A token list as the official files write it: tags are lists of numbers."""
    listed = [t if isinstance(t, str) else [int(o) if _is_index(o) else o for o in t.objects] for t in tokens]
    return json.dumps(listed, ensure_ascii=False)


def _is_index(name: str) -> bool:
    return name.isascii() and name.isdigit() and str(int(name)) == name
