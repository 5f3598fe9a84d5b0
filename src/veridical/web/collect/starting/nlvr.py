"""An NLVR collection: presentations of four drawings, made from a seed; gold from statements whose programs run."""

from __future__ import annotations

import shutil

import numpy as np

from veridical.benchmark.splits import split_by_origin
from veridical.builders.nlvr import build as room
from veridical.builders.nlvr.people import read_presentations
from veridical.builders.nlvr.scenes import Packed, Sampling, unpack, write_batch
from veridical.language.programs.execution import execute
from veridical.language.programs.terms import parse
from veridical.options.building import NLVROptions
from veridical.options.collecting import CollectOptions
from veridical.options.running import Workers
from veridical.sources.boxes.drawings import draw_png
from veridical.web.collect import kinds
from veridical.web.collect.kinds import plain
from veridical.web.collect.records import Picture, Project, Role, Task
from veridical.web.collect.starting import qualification
from veridical.web.collect.starting.folder import ProjectFolder
from veridical.web.collect.starting.qualification import VALIDATOR, WRITER, asked

GOLD = 12  # presentations: four tasks each
ROLES = (
    Role(WRITER, ("sentence",), tutorial=6, writing=True, pay=1000),
    Role(VALIDATOR, ("validate",), questions=8, least_right=7, pay=500),
)
PAY = {"sentence": 600, "validate": 110}  # with 28,723 judgements on 3,974 sentences about the paper's $5,526


def start(made: ProjectFolder, options: CollectOptions, project: Project) -> list[Task]:
    """Presentations, qualification and gold."""
    report = room.build(made.source, NLVROptions(presentations=options.presentations, seed=options.seed, hide=()),
                        until="presentations", workers=Workers(1))  # fmt: skip
    shown = read_presentations(report.out / room.PRESENTATIONS)
    for one in shown:
        for name in one.ids:
            made.add(name, (made.source / "images" / f"{name}.png").read_bytes())
    shutil.rmtree(made.source / "images")
    splits = deal(shown, project)
    out = []
    for one in shown:
        drawings = plain(kinds.Drawings(tuple(_picture(made, name) for name in one.ids)))
        split = splits[one.presentation]
        out.append(Task(f"write:{one.presentation}", "sentence", drawings, origin=one.presentation, split=split))
    return [*_qualification(made, options.seed), *out]


def deal(shown: list[Packed], project: Project) -> dict[str, str]:
    """A split of each presentation: three equal ones of what is held out, both arrangements in each."""
    part = project.held_out / 3
    shares = {"train": 1 - project.held_out, "dev": part, "test-p": part, "test-u": part}
    if len(shown) < len(shares) or not 0 < project.held_out < 1:
        return {one.presentation: "train" if project.held_out < 1 else "dev" for one in shown}
    rng = np.random.default_rng([project.seed, 1])
    names = split_by_origin([[one.presentation] for one in shown], shares, rng, [one.arrangement for one in shown])
    return {one.presentation: name for one, name in zip(shown, names, strict=True)}


def _picture(made: ProjectFolder, name: str) -> Picture:
    found = made.pictures[name]
    return Picture(found.name, found.width, found.height)


def _qualification(made: ProjectFolder, seed: int) -> list[Task]:
    """Six tutorial questions and a sentence for writers, eight examples for validators; gold that looks like work."""
    written = write_batch(Sampling(seed + qualification.OTHER), [(k, False) for k in range(GOLD + 4)])
    judged = []  # sentence, picture, truth
    for one in written:
        program = parse(one.program or "")
        for name, packed in zip(one.ids, one.scenes, strict=True):
            scene = unpack(packed)
            judged.append((one.sentence, made.add(f"q-{name}", draw_png(scene)), bool(execute(program, scene))))
    out = qualification.tutorial("nlvr", WRITER)
    last = kinds.Drawings(tuple(picture for _, picture, _ in judged[-4:]))
    out.append(asked(WRITER, len(out), "sentence", last, None))
    for number, (sentence, picture, truth) in enumerate(judged[4 * GOLD : 4 * GOLD + 8]):
        shown = kinds.Validate(sentence, (picture,))
        out.append(asked(VALIDATOR, number, "validate", shown, {"verdict": truth}))
    for number, (sentence, picture, truth) in enumerate(judged[: 4 * GOLD]):
        looks = plain(kinds.Validate(sentence, (picture,)))
        out.append(Task(f"gold:drawn-{number}", "validate", looks, 0, "gold", {"verdict": truth}))
    return out
