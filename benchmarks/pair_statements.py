"""How fast sentences about two images are written, beside NLVR's statements in the same run; and how they come out.

    .venv/bin/python benchmarks/pair_statements.py [SETS]

Prints sentences a second of one core, the shares of phenomena beside Table 5 of the NLVR2 paper, and how truth goes
with what the images alone show.
"""

from __future__ import annotations

import sys
import time
from collections import Counter

import numpy as np

from veridical.language.english import icon_nouns
from veridical.language.writing.boxes.statements import make_plan
from veridical.language.writing.boxes.statements import write as write_boxes
from veridical.language.writing.pairs.statements import blindness
from veridical.language.writing.pairs.statements import write as write_pair
from veridical.records import Panel
from veridical.sources.icons.glyphs import CATEGORIES
from veridical.sources.icons.scene import Group, NoRoom, compose, panel

PAPER = {  # Table 5, NLVR2
    "hard cardinality": 41.1,
    "soft cardinality": 23.6,
    "existential quantifier": 23.6,
    "universal quantifier": 16.8,
    "coordination": 33.3,
    "coreference": 14.6,
    "spatial relation": 49.0,
    "comparison": 8.0,
    "presupposition": 20.6,
    "negation": 9.6,
}


def a_set(rng: np.random.Generator) -> tuple[list[tuple[Panel, Panel]], str]:
    """Four pairs of icon scenes that share a few categories, and the category they are about."""
    menu = [str(c) for c in rng.choice(list(CATEGORIES), 3, replace=False)]
    if rng.random() < 0.4:
        menu[0] = "person"
    panels: list[Panel] = []
    while len(panels) < 8:
        groups = [Group(c, int(rng.integers(k == 0, 5))) for k, c in enumerate(menu)]
        try:
            panels.append(panel(compose(rng, groups), str(len(panels))))
        except NoRoom:
            continue
    return list(zip(panels[::2], panels[1::2], strict=True)), menu[0]


def main(sets: int = 400) -> None:
    rng = np.random.default_rng(0)
    made = [a_set(rng) for _ in range(sets)]
    truths = [rng.permutation([True, True, False, False]).tolist() for _ in made]
    nouns = icon_nouns()
    start = time.process_time()
    written = [write_pair(rng, p, t, nouns=nouns, synset=s) for (p, s), t in zip(made, truths, strict=True)]
    pairs = sets / (time.process_time() - start)
    plan, some = make_plan(), max(20, sets // 10)
    write_boxes(rng, plan, "scatter")
    start = time.process_time()
    for k in range(some):
        write_boxes(rng, plan, ("tower", "scatter")[k % 2])
    boxes = some / (time.process_time() - start)
    print(f"two images  {pairs:8.1f} sentences/s on one core")
    print(
        f"NLVR boxes  {boxes:8.1f} statements/s on one core (sampling of scenes included)   ratio {pairs / boxes:.2f}"
    )
    found = [w for w in written if w is not None]
    print(f"{len(found)} of {sets} sets have a sentence, {len({w.sentence for w in found})} different ones")
    shown = Counter(name for w in found for name in w.phenomena)
    for name, share in PAPER.items():
        print(f"  {name:24} {100 * shown[name] / len(found):5.1f} %   paper {share:5.1f} %")
    judged = [
        (left, right, bool(value))
        for w, (p, _), t in zip(written, made, truths, strict=True)
        if w is not None
        for (left, right), value in zip(p, t, strict=True)
    ]
    for name, value in blindness(judged).items():
        print(f"  truth with {name:20} r = {value:+.3f}   (chance: within {2 / len(judged) ** 0.5:.3f})")
    for family, count in Counter(w.family for w in found).most_common():
        print(f"  {family:24} {100 * count / len(found):5.1f} %")


if __name__ == "__main__":
    main(*(int(arg) for arg in sys.argv[1:]))
