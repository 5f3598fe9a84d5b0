"""An NLVR2 collection: sets of similar photographs to prune (section 3.1), or sets of eight to write about.

The builder looks at the source and searches it; its work folder stays in the project, so that `build nlvr2
--from-collection` goes on from there. Sets that are offered share no photograph: what people are paid to prune can all
be used, and splits can be kept apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
from veridical.sources import Photograph, Source
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
PRUNE_GOLD = 12  # sets with a picture that is not one of them
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
    work = made.source / WORK
    try:
        room.build(made.folder / "none", builder_options(options), until=until, work=work, workers=Workers(1))
    except UserError as error:
        if "--detector" not in error.fix:
            raise
        raise UserError(error.problem, "Label the photographs in labels.csv, or give --search.") from None
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


def _pictures(made: ProjectFolder, source: Source, photographs: Mapping[str, Photograph]) -> dict[str, Picture]:
    """The pictures of photographs, kept; those that cannot be read are left out."""
    out = {}
    for name, one in photographs.items():
        try:
            out[name] = made.add(name, source.picture(one))
        except UserError:
            continue
    return out


def _pruning(made: ProjectFolder, source: Source, found: Sequence[Found], project: Project) -> list[Task]:
    known = fetch(source, [name for one in found for name in one.photographs], Workers(1))
    shown = _pictures(made, source, known)
    splits = deal([one.set for one in found], [one.synset for one in found], project)
    out = []
    for one in found:
        pictures = tuple(shown[name] for name in one.photographs if name in shown)
        if len(pictures) >= sets.SIZE:
            payload = plain(kinds.Prune(one.synset, one.query, pictures))
            out.append(Task(f"prune:{one.set}", "prune", payload, origin=one.set, split=splits[one.set]))
    things = {shown[name].name: frozenset(o.category for o in known[name].panel.objects) for name in shown}
    return [*out, *prune_gold(out, things, project.seed)]


def prune_gold(tasks: Sequence[Task], shown: Mapping[str, frozenset[str]], seed: int) -> list[Task]:
    """Sets with a picture that surely is not one of them: who prunes removes it. `shown` says what is known to be in a
    picture. Nobody gets a set both with and without it."""
    rng = np.random.default_rng([seed, 3])
    others = [picture for task in tasks for picture in task.payload["pictures"]]
    out: list[Task] = []
    for place in rng.permutation(len(tasks)).tolist():
        task = tasks[place]
        own = {one["name"] for one in task.payload["pictures"]}
        wanted = {task.payload["synset"], task.payload["query"]}
        strange = [o for o in others if o["name"] not in own and shown.get(o["name"]) and not shown[o["name"]] & wanted]
        if len(out) < PRUNE_GOLD and strange:
            planted = strange[int(rng.integers(len(strange)))]
            pictures = list(task.payload["pictures"])
            pictures[int(rng.integers(1, len(pictures)))] = planted
            payload = {**task.payload, "pictures": pictures}
            expected = {"removed": [planted["name"]]}
            out.append(Task(f"gold:{task.id}", "prune", payload, 0, "gold", expected, once=task.id))
    return out


def _writing(made: ProjectFolder, source: Source, options: CollectOptions, project: Project) -> list[Task]:
    tasks = read_lines(made.source / WORK / "tasks.jsonl", PairTask)
    wanted = sorted({name for one in tasks for pair in one.pairs for name in pair})
    shown = _pictures(made, source, fetch(source, wanted, Workers(1)))
    by_set = {one.set: one.synset for one in tasks}
    splits = deal(list(by_set), list(by_set.values()), project)
    whole = [one for one in tasks if all(name in shown for pair in one.pairs for name in pair)]
    return [contrast_task(project, one, shown, splits[one.set]) for one in whole]
