"""Random pairs of toy photographs, and words for them."""

from __future__ import annotations

import numpy as np

from veridical.language.english import Named, Nouns, Spoken, Word, word
from veridical.records import Panel, SceneObject

HYPERNYMS = {"dog": "animal", "cat": "animal", "horse": "animal", "car": "vehicle", "bus": "vehicle"}
PLAIN = ("umbrella", "scissors")
COLORS = ("red", "blue", "green")
NOUNS = Nouns(
    {name: word(name) for name in (*HYPERNYMS, *PLAIN, "person")},
    {name: word(name) for name in ("animal", "vehicle")},
    HYPERNYMS,
    None,
    (
        Spoken("pattern", values=frozenset(["striped"])),
        Spoken("color", "{noun} in {value}", "wearing {value}", of=frozenset(["person"])),
        Spoken("color", noun="color", of=frozenset([*HYPERNYMS, *PLAIN])),
        Spoken("action", "{noun} {value}", of=frozenset(["person"])),
    ),
    (
        Named(Word("woman", "women"), (("category", "person"), ("gender", "female"))),
        Named(Word("man", "men"), (("category", "person"), ("gender", "male"))),
    ),
)


def photograph(rng: np.random.Generator, menu: list[str], name: str, most: int = 4) -> Panel:
    """Up to `most` things of each category on a menu, anywhere."""
    objects = []
    for category in menu:
        usual = COLORS[int(rng.integers(3))]
        for _ in range(int(rng.integers(0, most + 1))):
            x, y, w, h = (float(v) for v in rng.integers((0, 0, 30, 30), (320, 220, 80, 80)))
            color = usual if rng.random() < 0.6 else COLORS[int(rng.integers(3))]
            values = (("color", color), ("pattern", "striped" if rng.random() < 0.3 else "solid"))
            if category == "person":
                gender, action = ("female", "male")[int(rng.integers(2))], ("running", "sitting")[int(rng.integers(2))]
                values = (("color", color), ("gender", gender), ("action", action))
            objects.append(SceneObject(str(len(objects)), category, values, (x, y, x + w, y + h)))
    return Panel(name, width=400, height=300, objects=tuple(objects))


def four_pairs(rng: np.random.Generator) -> list[tuple[Panel, Panel]]:
    """Four pairs of photographs of the same few categories."""
    menu = [str(c) for c in rng.choice([*HYPERNYMS, *PLAIN, "person"], 3, replace=False)]
    return [(photograph(rng, menu, f"{k}-left"), photograph(rng, menu, f"{k}-right")) for k in range(4)]


def two_of_four(rng: np.random.Generator) -> tuple[bool, ...]:
    """Which two of four pairs are to be true."""
    return tuple(bool(t) for t in rng.permutation([True, True, False, False]))
