"""Learning curves: TensorBoard logs while training runs, and one SVG picture for people who have none.

Both are written anew from the history when a run continues, so a killed run leaves no doubled points.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from html import escape
from pathlib import Path
from types import TracebackType
from typing import Self

LOGS = "logs"
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 420, 240, 48, 34, 34
_COLORS = ("#1b6ca8", "#d1495b", "#2e933c", "#8e5ea2", "#b0803a", "#444444")

Point = tuple[float, float]


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
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
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
    accuracy = [
        (f"{name}{f' {n}' if len(histories) > 1 else ''}", [(r["epoch"], 100 * r[name]) for r in rows])
        for n, rows in enumerate(histories)
        for name in ("train", "validation")
    ]
    loss = [
        (f"loss{f' {n}' if len(histories) > 1 else ''}", [(r["epoch"], r["loss"]) for r in rows])
        for n, rows in enumerate(histories)
    ]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * _WIDTH}" height="{_HEIGHT}" '
        f'font-family="sans-serif" font-size="11" role="img" aria-label="{escape(title)}: learning curves">',
        f'<rect width="{2 * _WIDTH}" height="{_HEIGHT}" fill="white"/>',
        _panel(f"{title}: accuracy, %", accuracy, 0),
        _panel("training loss", loss, _WIDTH),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _panel(title: str, lines: Sequence[tuple[str, Sequence[Point]]], offset: int) -> str:
    """Axes with three ticks each, lines, and a legend for the first six lines."""
    points = [point for _, line in lines for point in line]
    if not points:
        return ""
    x0, x1 = min(x for x, _ in points), max(x for x, _ in points)
    y0, y1 = min(y for _, y in points), max(y for _, y in points)
    x1, y1 = max(x1, x0 + 1), max(y1, y0 + 1e-3)
    right, bottom = _WIDTH - 12, _HEIGHT - _BOTTOM

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            offset + _LEFT + (x - x0) / (x1 - x0) * (right - _LEFT),
            bottom - (y - y0) / (y1 - y0) * (bottom - _TOP),
        )

    out = [f'<text x="{offset + _LEFT}" y="16" font-weight="bold">{escape(title)}</text>']
    for share in (0.0, 0.5, 1.0):
        x, y = x0 + share * (x1 - x0), y0 + share * (y1 - y0)
        px, py = place(x, y)
        out.append(f'<path d="M{offset + _LEFT},{py:.1f}H{offset + right}" stroke="#ddd"/>')
        out.append(f'<text x="{offset + _LEFT - 5}" y="{py + 4:.1f}" text-anchor="end">{y:.3g}</text>')
        out.append(f'<text x="{px:.1f}" y="{bottom + 15}" text-anchor="middle">{x:.0f}</text>')
    out.append(f'<text x="{offset + (_LEFT + right) // 2}" y="{_HEIGHT - 5}" text-anchor="middle">epoch</text>')
    for number, (name, line) in enumerate(lines):
        color = _COLORS[number % len(_COLORS)]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in (place(x, y) for x, y in line))
        out.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.6"/>')
        if number < len(_COLORS):
            x = offset + _LEFT + 10 + 62 * number
            out.append(f'<text x="{x}" y="28" fill="{color}">{escape(name)}</text>')
    return "\n".join(out)
