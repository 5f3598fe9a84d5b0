"""Learning curves: TensorBoard logs while training runs, and one SVG picture for people who have none.

Both are written anew from the history when a run continues, so a killed run leaves no doubled points.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from veridical.pages.plots import Series, colour, lines, picture

LOGS = "logs"


class Log:
    """TensorBoard events of one trial."""

    def __init__(self, folder: Path, history: Sequence[dict[str, float]]) -> None:
        self.folder, self._history = folder / LOGS, list(history)

    def __enter__(self) -> Self:
        from torch.utils.tensorboard import SummaryWriter

        shutil.rmtree(self.folder, ignore_errors=True)
        self._writer = SummaryWriter(str(self.folder))
        for row in self._history:
            self.add(row)
        return self

    def __exit__(
        self, raised: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()

    def add(self, row: dict[str, float]) -> None:
        """One epoch."""
        for name, tag in (("loss", "loss/train"), ("train", "accuracy/train"), ("validation", "accuracy/validation")):
            self._writer.add_scalar(tag, row[name], int(row["epoch"]))
        self._writer.add_scalar("rate", row["rate"], int(row["epoch"]))
        self._writer.flush()


def curves_svg(title: str, histories: Sequence[Sequence[dict[str, float]]]) -> str:
    """Accuracy and loss by epoch, a line per trial, as one SVG picture."""
    accuracy, loss = [], []
    for trial, rows in enumerate(histories):
        of = f", trial {trial}" if len(histories) > 1 else ""
        for name, dashed in (("validation", False), ("train", True)):
            points = tuple((row["epoch"], row[name]) for row in rows)
            accuracy.append(Series(f"{name}{of}", points, colour(trial), dashed))
        loss.append(Series(f"loss{of}", tuple((row["epoch"], row["loss"]) for row in rows), colour(trial)))
    drawn = [
        lines("Accuracy by epoch", accuracy, "epoch", "accuracy, % (dashed: on training items)"),
        lines("Loss by epoch", loss, "epoch", "training loss", in_percent=False),
    ]
    keys = [(f"trial {trial}", colour(trial)) for trial in range(len(histories))] if len(histories) > 1 else []
    return picture(f"{title}: learning curves", drawn, keys)
