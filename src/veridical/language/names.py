"""What to call tagged objects where only text is seen: things by their class, people by gender-neutral names.

VCR's text-only models read "Casey is handing a cup to Riley" in place of "[person1] is handing [cup1] to [person2]"
(section 6.1), so that pretrained language models meet ordinary sentences and no gender is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable

from veridical.records import Panel

# Classes that are people: their tags may be exchanged for each other.
PEOPLE = frozenset(
    {"person", "people", "man", "woman", "boy", "girl", "child", "kid", "baby", "lady", "guy", "men", "women"}
)
NEUTRAL = (
    "Casey", "Riley", "Jessie", "Jackie", "Avery", "Jaime", "Peyton", "Kerry", "Jody", "Kendall", "Skyler", "Frankie",
    "Pat", "Quinn",
)  # fmt: skip


def plain_names(panels: Iterable[Panel]) -> dict[str, str]:
    """A name for each object: the k-th person is the k-th neutral name (then numbered), a thing its class.

    >>> from veridical.records import SceneObject
    >>> objects = [SceneObject(str(k), name) for k, name in enumerate(("Woman", "cup", "person"))]
    >>> plain_names([Panel("p", objects=tuple(objects))])
    {'0': 'Casey', '1': 'cup', '2': 'Riley'}
    """
    names: dict[str, str] = {}
    people = 0
    for panel in panels:
        for one in panel.objects:
            if one.category.strip().lower() in PEOPLE:
                again = people // len(NEUTRAL)
                names[one.id] = NEUTRAL[people % len(NEUTRAL)] + (f" {again + 1}" if again else "")
                people += 1
            else:
                names[one.id] = one.category
    return names
