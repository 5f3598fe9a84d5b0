"""Counting as a lesson: while a model trains on statements whose programs are known, it also learns how many things
each set of the program holds, and of how many panels (or towers) it speaks.

A true or false says little of where a model goes wrong; a count says it at once. The lesson has no weights of its own:
a model names soft numbers it has anyway, and they are drawn to the right whole ones. Items without a program (all that
people wrote) give no lesson, and nothing of this is there when a model answers.
"""

from __future__ import annotations

from functools import lru_cache, partial

import torch
from torch import Tensor

from veridical.language.programs.domain import Domain, domain_of
from veridical.language.programs.execution import compiled
from veridical.language.programs.terms import Term, parse
from veridical.zoo.architecture import Example, Target

Scores = Tensor | tuple[Tensor, dict[str, Tensor]]  # what a module returns; with its logits while it trains

SETS, MOST = 4, 12  # sets of a program that are counted, up to so many things
CLOSE = 2.0  # how sharply a soft number must be a whole one
TARGETS = (*(f"things-{number}" for number in range(SETS)), "panels")


class Counted:
    """How many things are in the sets of items' programs; scenes are prepared once for all their statements."""

    def __init__(self) -> None:
        self._domains: dict[tuple[str, ...], Domain] = {}

    def __call__(self, example: Example, name: str) -> list[str]:
        """As an auxiliary loss names it; empty where the item has no such set."""
        if example.item.program is None:
            return []
        kept, held = program_sets(example.item.program)
        among = held if name == "panels" else kept
        number = 0 if name == "panels" else int(name.rpartition("-")[2])
        if number >= len(among):
            return []
        return self.count(among[number], example)

    def count(self, held: Term, example: Example) -> list[str]:
        """How many things or panels a set of an example holds, as the name of a loss's class."""
        scene = str(example.folder), *example.item.panels
        if scene not in self._domains:
            self._domains[scene] = domain_of(example.panels)
        return [str(min(len(compiled(held)(self._domains[scene])), MOST))]


@lru_cache(maxsize=1 << 16)
def program_sets(program: str) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """The sets of things and of panels in a program, in its order."""
    found: dict[str, dict[Term, None]] = {"keep": {}, "where": {}}
    waiting = [parse(program)]
    while waiting:
        term = waiting.pop()
        if term.op in found:
            found[term.op][term] = None
        waiting += [arg for arg in reversed(term.args) if isinstance(arg, Term)]
    return tuple(found["keep"]), tuple(found["where"])


def targets(config: object) -> dict[str, Target]:
    """The auxiliary losses, for any model."""
    numbers, counted = tuple(map(str, range(MOST + 1))), Counted()
    return {name: Target(numbers, partial(counted, name=name)) for name in TARGETS}


def close_to(things: Tensor, panels: Tensor) -> dict[str, Tensor]:
    """Soft numbers of things (B, 4) and panels (B,) -> logits of the whole numbers (B, 13), by the losses' names."""
    close = near(torch.cat([things, panels[:, None]], dim=1))  # (B, 5, 13)
    return dict(zip(TARGETS, close.unbind(1), strict=True))


def near(numbers: Tensor) -> Tensor:
    """Soft numbers (...) -> logits of the whole numbers (..., 13)."""
    whole = torch.arange(MOST + 1, device=numbers.device)
    return -CLOSE * (numbers[..., None] - whole).square()
