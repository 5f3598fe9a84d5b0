"""A human study: people answer items of a benchmark, so that it says how well people do.

V-PROM (section 3.3): a random selection, of each relation as many; people may skip. VCR (section 5.1): five people
answer each question, and five others choose the rationale of its right answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from veridical.benchmark import Benchmark
from veridical.benchmark.pictures import panel_bytes, panel_of
from veridical.errors import UserError
from veridical.options.collecting import CollectOptions
from veridical.records import Item, Panel, Text
from veridical.web.collect import kinds
from veridical.web.collect.kinds import plain
from veridical.web.collect.records import Picture, Project, Role, Task
from veridical.web.collect.starting import qualification
from veridical.web.collect.starting.folder import ProjectFolder
from veridical.web.collect.starting.qualification import tokens
from veridical.web.collect.starting.vcr import objects

ANSWERER = "answerer"
VOTERS = 5  # of VCR's stages each
GOLD = 16  # items of training, whose answers are known to everybody
PAY = {"choose": 60}
ROLES = {
    "vprom": (Role(ANSWERER, ("choose",), tutorial=3, pay=200),),
    "vcr": (Role(ANSWERER, ("choose",)),),
}


def start(made: ProjectFolder, options: CollectOptions, project: Project) -> list[Task]:
    """Tasks for items of a benchmark."""
    benchmark = Benchmark(options.benchmark or "")
    wanted = {"vprom": "matrix", "vcr": "choice"}[project.benchmark]
    if benchmark.task != wanted:
        raise UserError(f"{options.benchmark} has items of the task {benchmark.task}.", f"Give one of {wanted} items.")
    scheme = benchmark.schemes[0]
    names = benchmark.splits_of(scheme)
    split = options.split or ("test" if "test" in names else names[0])
    if split not in names:
        raise UserError(f"There is no split {split!r}.", f"Choose one of: {', '.join(names)}.")
    items = list(benchmark.items(split, scheme, answers=benchmark.is_hidden(split)))
    rng = np.random.default_rng([options.seed, 2])
    study = _Study(made, benchmark)
    if project.benchmark == "vprom":
        out = [*qualification.tutorial("vprom", ANSWERER)]
        out += [study.matrix(one) for one in evenly(items, options.items, rng)]
    else:
        out = study.questions(items, options.items, rng)
    others = [name for name in names if name != split and not benchmark.is_hidden(name)]
    if others:
        out += study.gold(list(benchmark.items(others[0], scheme)), rng)
    return out


def evenly(items: Sequence[Item], count: int, rng: np.random.Generator) -> list[Item]:
    """Items at random, of each relation as many as of the others, as far as they are there."""
    by_relation: dict[str, list[Item]] = defaultdict(list)
    for place in rng.permutation(len(items)).tolist():
        by_relation["".join(items[place].tag("relation")[:1])].append(items[place])
    out: list[Item] = []
    depth = 0
    while len(out) < min(count, len(items)):
        layer = [some[depth] for _, some in sorted(by_relation.items()) if depth < len(some)]
        out += layer[: count - len(out)]
        depth += 1
    return out


class _Study:
    """A benchmark whose items become tasks."""

    def __init__(self, made: ProjectFolder, benchmark: Benchmark) -> None:
        self.made, self.benchmark = made, benchmark

    def picture(self, name: str) -> Picture:
        panel = panel_of(self.benchmark, name)
        return self.made.add(f"p-{name}", panel_bytes(self.benchmark, panel))

    def matrix(self, item: Item, prefix: str = "answer") -> Task:
        context = tuple(self.picture(name) for name in item.panels[:8])
        candidates = tuple(self.picture(str(name)) for name in item.candidates)
        shown = kinds.Choose(context, candidates, "matrix")
        relation = "".join(item.tag("relation")[:1])
        return Task(f"{prefix}:{item.id}", "choose", plain(shown), once=item.id, stratum=relation, origin=item.id)

    def questions(self, items: Sequence[Item], count: int, rng: np.random.Generator) -> list[Task]:
        """Answer items, and the rationale items of their right answers, for other people."""
        answers = [one for one in items if one.parent is None]
        chosen = [answers[k] for k in sorted(rng.permutation(len(answers))[:count].tolist())]
        given = {(one.parent, one.given): one for one in items if one.parent is not None}
        out = []
        for one in chosen:
            out.append(self.choice(one, "answer"))
            reason = given.get((one.id, one.answer))
            if reason is not None:
                out.append(self.choice(reason, "rationale", one))
        return out

    def choice(self, item: Item, stage: str, asked: Item | None = None) -> Task:
        panel: Panel = panel_of(self.benchmark, item.panels[0])
        query = (asked or item).query or Text("")
        given = asked.candidates[item.given] if asked is not None and item.given is not None else Text("")
        shown = kinds.Choose(
            (self.picture(item.panels[0]),),
            tuple(_tokens(one) for one in item.candidates if isinstance(one, Text)),
            "rationale" if stage == "rationale" else "answer",
            objects(panel),
            _tokens(query),
            _tokens(given) if isinstance(given, Text) else (),
        )
        origin = item.parent or item.id
        return Task(
            f"answer:{item.id}", "choose", plain(shown), VOTERS, once=item.id, camp=stage, origin=origin
        )  # fmt: skip

    def gold(self, items: Sequence[Item], rng: np.random.Generator) -> list[Task]:
        """Items of another split, whose answers everybody may know."""
        known = [one for one in items if one.answer is not None and one.parent is None]
        out = []
        for k in rng.permutation(len(known))[:GOLD].tolist():
            made = self.matrix(known[k], "gold") if self.benchmark.task == "matrix" else self.choice(known[k], "answer")
            expected = {"choice": known[k].answer, "skip": False}
            out.append(Task(f"gold:{known[k].id}", "choose", made.payload, 0, "gold", expected, once=known[k].id))
        return out


def _tokens(text: Text) -> kinds.Tokens:
    return tokens(text) if text.tokens else ((text.raw,) if text.raw else ())
