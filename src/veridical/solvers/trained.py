"""A trained model of the zoo as a solver: one trial of a run folder.

A model that looks at pictures predicts each view of an item on its own (`item#k`), as NLVR's published evaluation
expects.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from veridical.benchmark import Benchmark
from veridical.engine.progress import Progress
from veridical.errors import UserError
from veridical.options.running import Context
from veridical.records import Prediction, view_id
from veridical.solvers.solver import Solver, first_items

if TYPE_CHECKING:
    from veridical.training.trained import Trained


BEST, BEST_ON = "best", "best-on-"  # in place of a trial's number: by validation, or by a split such as dev


def trials_of(run: Path) -> list[str]:
    """The numbers of a run's finished trials."""
    names = [path.parent.name.removeprefix("trial-") for path in run.glob("trial-*/result.json")]
    found = sorted(names, key=lambda name: (len(name), name))
    if not found:
        raise UserError(f"{run} has no finished trial.", "Give a run folder that `veridical train` wrote.")
    return found


class TrainedSolver(Solver):
    """One trial of a run of `veridical train`, by its number or name, or the best one.

    `context` is a control for matrices: `other` gives every item the context of another one, `shuffled` its own in a
    random order (by `seed`).
    """

    shows_progress = True

    def __init__(
        self,
        run: Path,
        trial: int | str = 0,
        device: str = "cpu",
        context: Context = "own",
        seed: int = 0,
        limit: int | None = None,
        also: Path | str | None = None,
    ) -> None:
        self.run, self.device, self.context, self.seed, self.limit = run, device, context, seed, limit
        self.asked = str(trial)
        self.trial = self._first()
        self.trained = self._load()
        self._also = also

    @cached_property
    def also(self) -> TrainedSolver | None:
        """The run of the other stage."""
        if self._also is None:
            return None
        other = TrainedSolver(Path(self._also), self.trial, self.device, self.context, self.seed, self.limit)
        if {self.stage, other.stage} != {"answer", "rationale"}:
            raise UserError(
                f"{self.run} was trained on the stage {self.stage}, {self._also} on {other.stage}.",
                "Give a run of answers and one of rationales: `veridical train MODEL DIR --stage answer`.",
            )
        return other

    @property
    def stage(self) -> str:
        """The stage of VCR that it was trained on."""
        return str(self.trained.about.get("training", {}).get("stage", "both"))

    def predict(self, benchmark: Benchmark, split: str, scheme: str = "main") -> Iterator[Prediction]:
        from veridical.training.batches import examples_of, with_context
        from veridical.training.config import of_stage

        self._choose(benchmark, scheme)
        trained, name, other = self.trained, self.trained.architecture.name, self.also
        if benchmark.task not in trained.architecture.tasks:
            raise UserError(f"{name} cannot solve {benchmark.task} items.", "Choose another run.")
        own = [item for item in benchmark.items(split, scheme) if of_stage(item, self.stage)]
        among = first_items(benchmark, split, scheme, self.limit)
        items = [item for item in with_context(own, self.context, self._rng()) if item.id in among]
        data = trained.encode(examples_of(benchmark, items), f"{name}: encoding {split}")
        views = max((data.views(row) for row in range(len(data))), default=0)
        if not views:
            for example, scores in zip(data.examples, trained.scores(data, device=self.device), strict=True):
                yield Prediction(example.item.id, tuple(scores.tolist()))
            if other is not None:
                yield from other.predict(benchmark, split, scheme)
            return
        each = []
        with Progress(f"{name}: {split}", views * len(data), "views") as progress:
            for view in range(views):
                chosen = np.array([min(view, data.views(row) - 1) for row in range(len(data))], np.int64)
                each.append(trained.scores(data, chosen, device=self.device))
                progress.advance(len(data))
        for row, example in enumerate(data.examples):
            for view in range(data.views(row)):
                yield Prediction(view_id(example.item.id, view), tuple(each[view][row].tolist()))

    def _first(self) -> str:
        """The trial that was asked for; where a split chooses, the first."""
        from veridical.training.pretrained import best_trial

        if self.asked == BEST:
            return best_trial(self.run).name.removeprefix("trial-")
        return trials_of(self.run)[0] if self.asked.startswith(BEST_ON) else self.asked.removeprefix("trial-")

    def _choose(self, benchmark: Benchmark, scheme: str) -> None:
        """Take the trial that is right of the most items of a split, the first of equals."""
        if not self.asked.startswith(BEST_ON):
            return
        from veridical.training.batches import examples_of

        items = [i for i in benchmark.items(self.asked.removeprefix(BEST_ON), scheme) if i.answer is not None]
        right: dict[str, float] = {}
        for number in trials_of(self.run):
            self.trial = number
            trained = self._load()
            right[number] = trained.accuracy(trained.encode(examples_of(benchmark, items)))
        self.trial = max(right, key=lambda trial: right[trial])
        self.trained = self._load()

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, 5])

    def about(self) -> dict[str, object]:
        made = {key: self.trained.about.get(key) for key in ("model", "config", "seed", "benchmark", "veridical")}
        control = {} if self.context == "own" else {"context": self.context, "context_seed": self.seed}
        learned = self.trained.about.get("training", {}).get("context", "own")
        contexts = "other" if "other" in (self.context, learned) else "own"
        blind = self.trained.architecture.blind(self.trained.config, contexts)
        also = {} if self.also is None else {"also": self.also.about()}
        chosen = {"chosen": self.asked} if self.asked.startswith(BEST) else {}
        return {"trial": int(self.trial), **chosen, "device": self.device, **made, "blind": blind, **control, **also}

    def _load(self) -> Trained:
        from veridical.training.run import check_device
        from veridical.training.trained import load_trained

        folder = self.run / f"trial-{self.trial}"
        if not folder.is_dir():
            known = sorted(path.name for path in self.run.glob("trial-*"))
            fix = f"It has: {', '.join(known)}." if known else "Give a run folder that `veridical train` wrote."
            raise UserError(f"{self.run} has no trial {self.trial}.", fix)
        if not (folder / "result.json").exists():
            raise UserError(
                f"Trial {self.trial} of {self.run} is not finished.", "Run the same `veridical train` again."
            )
        check_device(self.device)
        return load_trained(folder)
