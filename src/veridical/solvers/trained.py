"""A trained model of the zoo as a solver: one trial of a run folder.

A model that looks at pictures predicts each view of an item on its own (`item#k`), as NLVR's published evaluation
expects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.benchmark import Benchmark
from veridical.common.addresses import everywhere, local
from veridical.encoders.spread import spread
from veridical.errors import UserError
from veridical.options.running import Context, Workers
from veridical.records import Item, Prediction, Text, view_id
from veridical.solvers.solver import Solver, first_items

if TYPE_CHECKING:
    from veridical.training.trained import Trained

SHARE = 2048  # items that are encoded and scored together; bounds memory


BEST, BEST_ON = "best", "best-on-"  # in place of a trial's number: by validation, or by a split such as dev


def trials_of(run: Path) -> list[str]:
    """The numbers of a run's finished trials."""
    names = [path.parent.name.removeprefix("trial-") for path in run.glob("trial-*/result.json")]
    found = sorted(names, key=lambda name: (len(name), name))
    if not found:
        from veridical.training.pretrained import unfinished

        raise unfinished(run)
    return found


@dataclass(frozen=True)
class OneStage:
    """What is said where a run leaves out a stage."""

    stage: str

    def to_json(self) -> dict[str, object]:
        return {"stage": self.stage}

    def parts(self) -> Iterator[str]:
        yield f"Only the stage {self.stage} was trained, and solved: give a run of the other one with --also."


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
        workers: Workers = Workers(),
    ) -> None:
        self.run, self.device, self.context, self.seed, self.limit = run, device, context, seed, limit
        self.asked, self.workers = str(trial), workers
        self.trial = self._first()
        self.trained = self._load()
        self.also = None if also is None else self._other(Path(also))

    def __reduce__(self) -> tuple[Any, ...]:
        """A worker gets the name of the run, and loads it itself: by its address, if it has one, on any machine."""
        return _opened, (everywhere(self.run), self.trial, self.device, self.context, self.seed)

    def _other(self, run: Path) -> TrainedSolver:
        """The run of the other stage, and of its trials the one that was asked for here."""
        own = (self.asked, self.device, self.context, self.seed, self.limit)
        other = TrainedSolver(run, *own, workers=self.workers)
        if {self.stage, other.stage} != {"answer", "rationale"}:
            raise UserError(
                f"{self.run} was trained on the stage {self.stage}, {run} on {other.stage}.",
                "Give a run of answers and one of rationales: `veridical train MODEL DIR --stage answer`.",
            )
        return other

    @property
    def stage(self) -> str:
        """The stage of VCR that it was trained on."""
        return str(self.trained.about.get("training", {}).get("stage", "both"))

    def predict(self, benchmark: Benchmark, split: str, scheme: str = "main") -> Iterator[Prediction]:
        from veridical.training.batches import assumed, with_context
        from veridical.training.config import of_stage

        for one in (self, self.also):
            if one is not None and benchmark.task not in one.trained.architecture.tasks:
                problem = f"{one.trained.architecture.name} cannot solve {benchmark.task} items."
                raise UserError(problem, "Choose another run.")
        self._choose(benchmark, scheme)
        name = self.trained.architecture.name
        own = [item for item in benchmark.items(split, scheme) if of_stage(item, self.stage)]
        among = first_items(benchmark, split, scheme, self.limit)
        items = [item for item in with_context(own, self.context, self._rng()) if item.id in among]
        answers = assumed(benchmark, items)
        shares = [
            Share(tuple(some), {one.id: answers[one.id] for one in some if one.id in answers})
            for some in (items[start : start + SHARE] for start in range(0, len(items), SHARE))
        ]
        function = partial(predict_share, self, benchmark)
        for found in spread(function, shares, self.workers, f"{name}: solving {split}", "items"):
            yield from found
        if self.also is not None:
            yield from self.also.predict(benchmark, split, scheme)
        elif len(own) < len(benchmark.items_table(split, scheme, ["id"])):
            self.details = OneStage(self.stage)

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
        from veridical.training.config import of_stage

        every = benchmark.items(self.asked.removeprefix(BEST_ON), scheme)
        items = [item for item in every if item.answer is not None and of_stage(item, self.stage)]
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


def _opened(run: str, *told: Any) -> TrainedSolver:
    return TrainedSolver(local(run), *told)


@dataclass(frozen=True)
class Share:
    """Some of the items, which one worker solves at a time: batches are cut within it, whoever solves it."""

    items: tuple[Item, ...]
    answers: Mapping[str, Text]  # that reasons assume

    def __len__(self) -> int:
        return len(self.items)


def predict_share(solver: TrainedSolver, benchmark: Benchmark, share: Share) -> list[Prediction]:
    """The predictions of some items, of each view where the model sees views."""
    from veridical.training.batches import examples_of

    trained = solver.trained
    data = trained.encode(examples_of(benchmark, share.items, share.answers), "")
    views = max((data.views(row) for row in range(len(data))), default=0)
    if not views:
        found = trained.scores(data, device=solver.device)
        return [Prediction(one.item.id, tuple(s.tolist())) for one, s in zip(data.examples, found, strict=True)]
    each = []
    for view in range(views):
        chosen = np.array([min(view, data.views(row) - 1) for row in range(len(data))], np.int64)
        each.append(trained.scores(data, chosen, device=solver.device))
    return [
        Prediction(view_id(example.item.id, view), tuple(each[view][row].tolist()))
        for row, example in enumerate(data.examples)
        for view in range(data.views(row))
    ]
