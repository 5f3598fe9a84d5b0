"""A collection for visual commonsense reasoning (VCR): photographs with tagged objects to ask about (section 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from veridical.builders.vcr import photographs as worth
from veridical.errors import UserError
from veridical.options.collecting import CollectOptions
from veridical.records import Panel, object_names
from veridical.sources import Source, open_source
from veridical.sources.icons.stories import FOUR, IconStories
from veridical.web.collect import kinds
from veridical.web.collect.kinds import plain
from veridical.web.collect.records import Project, Role, Tagged, Task
from veridical.web.collect.starting import qualification
from veridical.web.collect.starting.folder import ProjectFolder
from veridical.web.collect.starting.qualification import VALIDATOR, WRITER

ROLES = (
    Role(WRITER, ("questions",), tutorial=6, writing=True, pay=1500),
    Role(VALIDATOR, ("accept",), questions=8, least_right=7, pay=500),
)
PAY = {"questions": 450, "accept": 60}  # a question; a check


def opened(about: Mapping[str, Any]) -> Source:
    """The source that a collection was made from; stories are told again from their seed."""
    if about["source"] == "icons":
        return IconStories(-(-int(about["photographs"]) // FOUR) * FOUR, int(about["seed"]))
    return open_source(str(about["source"]))


def start(made: ProjectFolder, options: CollectOptions, project: Project) -> list[Task]:
    """A task for each photograph that is worth asking about, and qualification."""
    source: Source = opened(project.about) if isinstance(options.source, str) else options.source
    photographs = worth.by_id(source)
    kept, pruned, _ = worth.choose([one.panel for one in photographs.values()], seed=options.seed)
    out = qualification.vcr(made, options.seed)
    asked = 0
    for panel in kept:
        if asked == options.photographs:
            break
        try:
            picture = made.add(panel.id, source.picture(photographs[panel.id]))
        except UserError:
            continue
        asked += 1
        shown = kinds.Asking(picture, objects(panel), photographs[panel.id].captions)
        out.append(Task(f"ask:{panel.id}", "questions", plain(shown), origin=panel.id))
    if not asked:
        problem = "No photograph is worth asking about: each needs three objects that people can tag."
        raise UserError(problem, f"{len(pruned):,} were left out. Give annotated photographs.")
    return out


def objects(panel: Panel) -> tuple[Tagged, ...]:
    """What can be tagged, by the names that pages show."""
    names = object_names([panel])
    boxes = ((names[o.id], o.box or (0.0, 0.0, 0.0, 0.0)) for o in panel.objects)
    return tuple(Tagged(name, (float(x), float(y), float(z), float(w))) for name, (x, y, z, w) in boxes)
