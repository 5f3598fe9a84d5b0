"""A benchmark opened to be looked at: its solvers, what an audit found, and a catalogue for each scheme.

Nothing is written anywhere, and hidden answers are not read unless they may be shown.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock

import pyarrow as pa

from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.evaluation import Compared, compare
from veridical.reporting.inputs import Inputs, read_inputs
from veridical.web.explore.catalogue import Catalogue
from veridical.web.explore.filters import ItemFilter
from veridical.web.explore.findings import findings_by_item
from veridical.web.explore.solvers import ExploredSolver, Part, open_solvers

KEPT = 2  # catalogues at a time: each holds a scheme


class Explorer:
    """A benchmark with what was said about it."""

    def __init__(
        self,
        benchmark: str | os.PathLike[str],
        predictions: Sequence[Path | str] = (),
        audit: Sequence[Path | str] = (),
        hidden: bool = False,
    ) -> None:
        self.benchmark = benchmark if isinstance(benchmark, Benchmark) else Benchmark(benchmark)
        if hidden and not self.benchmark.hidden_directory.is_dir():
            problem = f"{self.benchmark.hidden_directory} is not here: there are no hidden answers to show."
            raise UserError(problem, "Leave out --hidden.")
        self.hidden = hidden
        given = [*predictions, *audit]
        inputs = read_inputs(given) if given else Inputs((), (), ())
        self.solvers = open_solvers(self.benchmark, inputs.files, hidden)
        pa.default_memory_pool().release_unused()  # what reading the predictions took
        self.findings = findings_by_item(inputs.audits)
        self._catalogues: dict[str, Catalogue] = {}
        self._compared: dict[tuple[str, str, Part], Compared] = {}
        self._lock, self._comparing = Lock(), Lock()
        if not self.benchmark.parts:
            raise UserError(f"{self.benchmark.name} has no items.", "Look at another benchmark.")

    @cached_property
    def scheme(self) -> str:
        """The scheme that is shown first: the one that the predictions are about, or the usual one."""
        parts = [part for solver in self.solvers for part in solver.files]
        own = self.benchmark.scheme
        return own if not parts or any(scheme == own for scheme, _ in parts) else parts[0][0]

    def everything(self) -> ItemFilter:
        return ItemFilter(self.scheme)

    def catalogue(self, scheme: str) -> Catalogue:
        """The items of a scheme; the last ones that were asked for are kept."""
        with self._lock:
            made = self._catalogues.pop(scheme, None)
            if made is None:
                while len(self._catalogues) >= KEPT:
                    self._catalogues.pop(next(iter(self._catalogues)))
                made = Catalogue(self.benchmark, scheme, self.solvers, self.findings, self.hidden)
                pa.default_memory_pool().release_unused()  # what loading it took
            self._catalogues[scheme] = made
            return made

    def solver(self, name: str) -> ExploredSolver | None:
        return next((one for one in self.solvers if one.name == name), None)

    def on(self, part: Part) -> list[ExploredSolver]:
        """The solvers that were run on a part."""
        return [one for one in self.solvers if part in one.files]

    def compare(self, one: ExploredSolver, other: ExploredSolver, part: Part) -> Compared:
        """What `veridical compare` says of two solvers; asked once."""
        key = (one.name, other.name, part)
        with self._comparing:
            if key not in self._compared:
                files = (one.files[part].path, other.files[part].path)
                self._compared[key] = compare(self.benchmark, *files, scheme=part[0], split=part[1])
            return self._compared[key]
