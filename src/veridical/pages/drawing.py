"""What plots are drawn with: elements of SVG at a place, labels that fit, axes; for a wide screen and for a phone.

Colours are variables of the style sheet, which has them dark and light.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ParamSpec

from markupsafe import Markup

from veridical.pages.markup import element, join

GREY, LINE, INK = "var(--faint)", "var(--line)", "var(--ink)"
WIDTH, NARROW = 760, 372  # of every plot, and on a phone
LETTER = 6.6  # pixels of an average letter at the size used
_MOST_ROOM = 250  # pixels at most for labels at the left

P = ParamSpec("P")


def shorten(text: str, letters: int) -> str:
    """A label that fits; the whole stands in its title."""
    return text if len(text) <= letters else text[: max(letters - 1, 1)].rstrip() + "…"


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers that cover a range.

    >>> ticks(0, 1)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    span = max(high - low, 1e-9)
    rough = span / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(float(k * step), 10) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def responsive(draw: Callable[P, Markup]) -> Callable[P, Markup]:
    """A plot for both widths; whoever names a `width` gets that one alone."""

    @wraps(draw)
    def both(*args: P.args, **options: P.kwargs) -> Markup:
        one: Callable[..., Markup] = draw
        given: dict[str, Any] = options
        if "width" in given:
            return one(*args, **given)
        return join(one(*args, **given, width=width) for width in (WIDTH, NARROW))

    return both


def label_room(labels: Sequence[str]) -> int:
    """Pixels to leave for labels at the left."""
    return min(_MOST_ROOM, max(70, round(max(map(len, labels), default=0) * LETTER * 1.2) + 20))


def grid_lines(low: float, high: float, x: Callable[[float], float], top: float, bottom: float) -> list[object]:
    """Vertical lines at round percentages, each with its number below."""
    parts: list[object] = []
    for tick in ticks(low, high):
        parts.append(line_to(x(tick), top, x(tick), bottom, LINE))
        parts.append(text_at(x(tick), bottom + 14, f"{100 * tick:g}", anchor="middle"))
    return parts


def wrapped(text: str, room: float) -> list[str]:
    """A label in one line or two; what is longer still is shortened."""
    letters = max(int(room / LETTER), 8)
    rows = textwrap.wrap(text, letters)
    return rows if len(rows) < 2 else [rows[0], shorten(" ".join(rows[1:]), letters)]


def label_at(x: float, y: float, text: str, room: float) -> Markup:
    """A label that ends at x, around y."""
    rows = wrapped(text, room) or [text]
    up = 7 * (len(rows) - 1)
    lined = [element("tspan", row, x=fixed(x), y=fixed(y - up + 14 * k)) for k, row in enumerate(rows)]
    tip = [element("title", text)] if rows[-1].endswith("…") else []
    return element("text", *tip, *lined, text_anchor="end", class_="t-label")


def label_above(text: str, y: float, width: int) -> Markup:
    """A label above what it names."""
    return text_at(2, y, shorten(text, int(width / LETTER)), class_="t-label")


def text_at(x: float, y: float, text: str, anchor: str = "start", **more: object) -> Markup:
    return element("text", text, x=fixed(x), y=fixed(y), text_anchor=anchor, **more)


def line_to(
    x1: float, y1: float, x2: float, y2: float, stroke: str, width: float = 1, dash: str | None = None
) -> Markup:
    ends = {"x1": fixed(x1), "y1": fixed(y1), "x2": fixed(x2), "y2": fixed(y2)}
    return element("line", **ends, stroke=stroke, stroke_width=width, stroke_dasharray=dash)


def svg(title: str, height: float, parts: Sequence[object], width: int = WIDTH) -> Markup:
    box, look = f"0 0 {width} {math.ceil(height)}", "plot" if width == WIDTH else "plot narrow"
    return element("svg", element("title", title), join(parts), viewBox=box, role="img", class_=look)


def fixed(value: float) -> str:
    """A coordinate: two decimals at most, so that pages are small and the same everywhere."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
