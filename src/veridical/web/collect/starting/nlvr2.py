"""An NLVR2 collection: sets of similar photographs to prune (section 3.1), or sets of eight to write about.

The builder looks at the source and searches it; its work folder stays in the project, so that `build nlvr2
--from-collection` goes on from there. Sets that are offered share no photograph: what people are paid to prune can all
be used, and splits can be kept apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from veridical.benchmark.splits import split_by_origin
from veridical.builders.nlvr2 import build as room
from veridical.builders.nlvr2 import sets
from veridical.builders.nlvr2.photographs import fetch
from veridical.builders.nlvr2.work import Found
from veridical.builders.nlvr2.work import Task as PairTask
from veridical.common.files import read_lines
from veridical.errors import UserError
from veridical.options.building import NLVR2Options
from veridical.options.collecting import CollectOptions
from veridical.options.running import Workers
from veridical.sources import Source
from veridical.sources.icons.worlds import IconSeries
from veridical.web.collect import kinds
from veridical.web.collect.following import contrast_task
from veridical.web.collect.kinds import plain
from veridical.web.collect.records import Picture, Project, Role, Task
from veridical.web.collect.starting import qualification
from veridical.web.collect.starting.folder import ProjectFolder
from veridical.web.collect.starting.qualification import GUIDELINES, VALIDATOR, WRITER

WORK = "work"
MOST = 16  # photographs of a set to prune
ICON_SETS = 100
HELD_OUT, TRAIN = "held-out", "train"
ROLES = (
    Role("pruner", ("prune",)),
    Role(WRITER, ("sets", "contrast"), tutorial=6, questions=GUIDELINES, least_right=15, writing=True, pay=1500),
    Role(VALIDATOR, ("validate",), questions=8, least_right=7, pay=500),
)
# about the cost of each task of the paper's Table 4 (draft), bonuses apart
PAY = {"prune": 40, "sets": 80, "contrast": 240, "flag": 50, "validate": 30}


def start(made: ProjectFolder, options: CollectOptions, project: Project) -> list[Task]:
    """Sets to prune or to write about, qualification, and gold where the truth of pictures is known."""
    if options.begin not in ("prune", "write"):
        raise UserError(f"There is no first task {options.begin!r}.", "Choose prune or write.")
    source = opened(options)
    until = "found" if options.begin == "prune" else "tasks"
    room.build(made.folder / "none", builder_options(options), until=until, work=made.source / WORK, workers=Workers(1))
    work = made.source / WORK
    found = read_lines(work / "found.jsonl", Found)
    tasks = _writing(made, source, options, project) if options.begin == "write" else None
    if tasks is None:
        tasks = _pruning(made, source, disjoint(found, options.sets or _default(options)), project)
    out = [*qualification.nlvr2(made, options.seed), *tasks]
    if isinstance(source, IconSeries):
        out += qualification.icon_gold(made, 48, options.seed)
    return out


def _default(options: CollectOptions) -> int | None:
    return ICON_SETS if options.source == "icons" else None


def builder_options(options: CollectOptions) -> NLVR2Options:
    """What the builder is told, now and when it goes on."""
    count = options.sets or _default(options)
    return NLVR2Options(source=options.source, sets=count, seed=options.seed, synsets=options.synsets,
                        search=options.search, hide=(), share=False)  # fmt: skip


def opened(options: CollectOptions) -> Source:
    """The source of photographs, as the builder opens it."""
    from pathlib import Path

    from veridical.builders.nlvr2.photographs import open_photographs

    if not isinstance(options.source, str):
        found: Source = options.source
        return found
    source = open_photographs(builder_options(options), Path("detections.jsonl"), Workers(1))
    if source is None:
        raise UserError("People need pictures to look at.", "Give a --source with the photographs.")
    return source


def disjoint(found: Sequence[Found], most: int | None) -> list[Found]:
    """Sets that share no photograph, the synsets taking turns; photographs that another set has are left out of one."""
    used: set[str] = set()
    out: list[Found] = []
    for one in sets.turns(found):
        if len(out) == most:
            break
        left = [k for k, name in enumerate(one.photographs) if name not in used][:MOST]
        if len(left) < sets.SIZE or one.photographs[0] in used:
            continue
        names = tuple(one.photographs[k] for k in left)
        used.update(names)
        alike = tuple(one.similarities[k] for k in left if k < len(one.similarities))
        out.append(Found(one.set, one.synset, one.query, one.rank, names, alike))
    if not out:
        raise UserError("No set of eight similar photographs was found.", "Give more photographs, or other --synsets.")
    return out


def deal(origins: Sequence[str], synsets: Sequence[str], project: Project) -> dict[str, str]:
    """Which sets are held out, each synset in equal proportion."""
    if not 0 < project.held_out < 1 or len(origins) < 2:
        return dict.fromkeys(origins, TRAIN if project.held_out < 1 else HELD_OUT)
    shares = {TRAIN: 1 - project.held_out, HELD_OUT: project.held_out}
    rng = np.random.default_rng([project.seed, 1])
    return dict(zip(origins, split_by_origin([[o] for o in origins], shares, rng, list(synsets)), strict=True))


def _pictures(made: ProjectFolder, source: Source, names: Sequence[str]) -> dict[str, Picture]:
    """The pictures of photographs, kept; those that cannot be read are left out."""
    out = {}
    for name, one in fetch(source, names, Workers(1)).items():
        try:
            out[name] = made.add(name, source.picture(one))
        except UserError:
            continue
    return out


def _pruning(made: ProjectFolder, source: Source, found: Sequence[Found], project: Project) -> list[Task]:
    shown = _pictures(made, source, [name for one in found for name in one.photographs])
    splits = deal([one.set for one in found], [one.synset for one in found], project)
    out = []
    for one in found:
        pictures = tuple(shown[name] for name in one.photographs if name in shown)
        if len(pictures) >= sets.SIZE:
            payload = plain(kinds.Prune(one.synset, one.query, pictures))
            out.append(Task(f"prune:{one.set}", "prune", payload, origin=one.set, split=splits[one.set]))
    return out


def _writing(made: ProjectFolder, source: Source, options: CollectOptions, project: Project) -> list[Task]:
    tasks = read_lines(made.source / WORK / "tasks.jsonl", PairTask)
    shown = _pictures(made, source, sorted({name for one in tasks for pair in one.pairs for name in pair}))
    by_set = {one.set: one.synset for one in tasks}
    splits = deal(list(by_set), list(by_set.values()), project)
    whole = [one for one in tasks if all(name in shown for pair in one.pairs for name in pair)]
    return [contrast_task(project, one, shown, splits[one.set]) for one in whole]
