"""Plots as inline SVG, drawn by us: no script, no outside file, a title for people who cannot see them.

All values are fractions; every mark carries its own `<title>`, so that hovering shows the exact numbers.
"""

from __future__ import annotations

import colorsys
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from markupsafe import Markup

from veridical.common.intervals import Estimate
from veridical.pages.markup import element, join, style

COLOURS = ("#2b5c8a", "#c2593f", "#3d8b6d", "#8765a8", "#b08a2e", "#3e97a8", "#a34d7c", "#6b7480")
GREY, LINE, INK = "#8a93a0", "#e4e7eb", "#1d2531"
WIDTH, LINES_HEIGHT = 760, 294  # of every plot, and of one of lines
_LEFT, _RIGHT, _TOP = 60, 20, 10  # around the plots with an axis of values
_GOLDEN = (5**0.5 - 1) / 2  # steps of it round the circle of hues keep clear of all steps before
_LETTER = 6.6  # pixels of an average letter at the size used


@dataclass(frozen=True)
class PlotMark:
    """A value with its interval."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    colour: str = COLOURS[0]
    against: tuple[str, float] | None = None  # the name and value that it is held against, marked in its row

    @classmethod
    def of(cls, label: str, value: Estimate, place: int) -> Self:
        """The mark of an estimate, in the colour of the n-th system."""
        return cls(label, value.value, value.low, value.high, colour(place))


@dataclass(frozen=True)
class Series:
    """A line."""

    name: str
    points: tuple[tuple[float, float], ...]
    colour: str
    dashed: bool = False
    whiskers: tuple[tuple[float, float], ...] = ()  # low and high of each point


def colour(place: int) -> str:
    """The colour of the n-th system, the same in every plot of a page; no two systems share one.

    >>> colour(0), colour(8)
    ('#2b5c8a', '#ff3377')
    """
    if place < len(COLOURS):
        return COLOURS[place]
    hue = place * _GOLDEN % 1.0
    red, green, blue = colorsys.hls_to_rgb(hue, (0.3, 0.45, 0.6)[place % 3], 1.0)
    return f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}"


def percent(value: float) -> str:
    """A fraction as percent with one decimal.

    >>> percent(0.8934)
    '89.3'
    """
    return f"{100 * value:.1f}"


def interval(mark: PlotMark) -> str:
    """A value with its interval, in percent."""
    if mark.low is None or mark.high is None:
        return percent(mark.value)
    return str(Estimate(mark.value, mark.low, mark.high))


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


def dots(title: str, marks: Sequence[PlotMark], references: Sequence[tuple[str, float]] = ()) -> Markup:
    """Values as dots with whiskers, one row each; references (chance, people) as labelled vertical lines."""
    right, row, top = (90 if all(mark.against for mark in marks) else 150), 30, 14
    left = _room([mark.label for mark in marks])
    values = [v for m in marks for v in (m.value, m.low, m.high) if v is not None]
    values += [v for _, v in (*references, *(m.against for m in marks if m.against))]
    low, high = max(0.0, min(values) - 0.04), min(1.0, max(values) + 0.04)
    low, high = (math.floor(low * 20) / 20, math.ceil(high * 20) / 20) if high > low else (0.0, 1.0)
    wide = WIDTH - left - right
    bottom = top + row * len(marks)

    def x(value: float) -> float:
        return left + wide * (value - low) / (high - low)

    parts: list[object] = _grid(low, high, x, top, bottom)
    taken: list[float] = []
    for name, value in sorted(references, key=lambda r: r[1]):
        level = sum(1 for t in taken if abs(t - x(value)) < 70)
        taken.append(x(value))
        parts.append(_line(x(value), top - 6, x(value), bottom + 20 + 14 * level, GREY, dash="3 3"))
        label = f"{name} {percent(value)}"
        parts.append(_text(x(value), bottom + 32 + 14 * level, label, anchor="middle", class_="t-ref"))
    for place, mark in enumerate(marks):
        y = top + row * (place + 0.5)
        parts += [_dot(mark, x, y), _label(left - 12, y + 4, mark.label, left - 16)]
        beside = f"{percent(mark.value)} ({percent(mark.against[1])})" if mark.against else interval(mark)
        parts.append(_text(WIDTH - right + 12, y + 4, beside, class_="t-num"))
    levels = max((sum(1 for t in taken[:k] if abs(t - v) < 70) for k, v in enumerate(taken)), default=-1) + 1
    return _svg(title, bottom + 28 + 14 * levels, parts)


def _dot(mark: PlotMark, x: Callable[[float], float], y: float) -> Markup:
    told = f"; {mark.against[0]} {percent(mark.against[1])}" if mark.against else ""
    inner: list[object] = [element("title", f"{mark.label}: {interval(mark)}{told}")]
    if mark.low is not None and mark.high is not None:
        inner.append(_line(x(mark.low), y, x(mark.high), y, mark.colour, width=2))
        inner += [_line(x(v), y - 4, x(v), y + 4, mark.colour, width=2) for v in (mark.low, mark.high)]
    if mark.against:
        inner.append(_line(x(mark.against[1]), y - 9, x(mark.against[1]), y + 9, INK, width=2))
    return element("g", *inner, element("circle", cx=_n(x(mark.value)), cy=_n(y), r=5, fill=mark.colour))


def bars(title: str, groups: Sequence[tuple[str, str, Sequence[PlotMark]]]) -> Markup:
    """Horizontal bars with whiskers in groups: (label, small note, one mark per system)."""
    right, thick, gap, top = 60, 11, 12, 6
    left = _room([text for label, note, _ in groups for text in (label, note)])
    wide = WIDTH - left - right
    y = float(top)
    shapes: list[object] = []
    for label, note, marks in groups:
        middle = y + thick * len(marks) / 2
        shapes.append(_label(left - 12, middle + (4 if not note else -1), label, left - 16))
        if note:
            shapes.append(_text(left - 12, middle + 12, note, anchor="end", class_="t-note"))
        tall = max(thick * len(marks), 26 if note else 16)
        at = y + (tall - thick * len(marks)) / 2
        for mark in marks:
            shapes.append(_bar(mark, left, wide, at, thick - 2))
            shapes.append(_text(left + wide + 8, at + 9, percent(mark.value), class_="t-num t-small"))
            at += thick
        y += tall + gap
    grid = _grid(0.0, 1.0, lambda v: left + wide * v, top, y - gap + 2)
    return _svg(title, y + 14, [*grid, *shapes])


def _bar(mark: PlotMark, left: float, wide: float, y: float, thick: float) -> Markup:
    box = {"x": left, "y": _n(y), "width": _n(wide * mark.value), "height": _n(thick)}
    inner = [element("title", f"{mark.label}: {interval(mark)}"), element("rect", **box, rx=1.5, fill=mark.colour)]
    if mark.low is not None and mark.high is not None:
        middle = y + thick / 2
        inner.append(_line(left + wide * mark.low, middle, left + wide * mark.high, middle, INK, width=1.2))
    return element("g", *inner)


def stacks(title: str, rows: Sequence[tuple[str, Sequence[tuple[str, float, str]]]]) -> Markup:
    """Shares that add up to one, a row each: (label, [(part, share, colour)])."""
    row, top = 34, 4
    left = _room([label for label, _ in rows])
    wide = WIDTH - left - 10
    parts: list[object] = []
    for place, (label, shares) in enumerate(rows):
        y, x = top + row * place, float(left)
        parts.append(_label(left - 12, y + 17, label, left - 16))
        for name, share, fill in shares:
            box = element("rect", x=_n(x), y=y + 2, width=_n(max(wide * share - 1, 0)), height=22, fill=fill)
            parts.append(element("g", element("title", f"{label}, {name}: {percent(share)}%"), box))
            if share > 0.06:
                red, green, blue = (int(fill[k : k + 2], 16) for k in (1, 3, 5))
                shade = "t-in t-dark" if 0.3 * red + 0.59 * green + 0.11 * blue > 150 else "t-in"  # dark on light
                parts.append(_text(x + wide * share / 2, y + 17, percent(share), anchor="middle", class_=shade))
            x += wide * share
    return _svg(title, top + row * len(rows), parts)


def lines(
    title: str,
    series: Sequence[Series],
    x_label: str,
    y_label: str,
    *,
    in_percent: bool = True,
    y_range: tuple[float, float] | None = None,
    places: Sequence[str] = (),
    references: Sequence[float] = (),
) -> Markup:
    """Lines over an axis of numbers, or of named places 0, 1, 2 ...; a marker at each point where there are few."""
    points = [p for s in series for p in s.points]
    x_low, x_high = min(p[0] for p in points), max(p[0] for p in points)
    if places:
        x_low, x_high = -0.5, len(places) - 0.5
    x_high = x_high if x_high > x_low else x_low + 1
    low, high = min(p[1] for p in points), max(p[1] for p in points)
    margin = (high - low) * 0.08 or max(abs(high) * 0.1, 0.05)
    y_low, y_high = y_range or (max(0.0, low - margin) if low >= 0 else low - margin, high + margin)
    wide, bottom = WIDTH - _LEFT - _RIGHT, LINES_HEIGHT - 44
    tall = bottom - _TOP

    def place(x: float, y: float) -> tuple[float, float]:
        return _LEFT + wide * (x - x_low) / (x_high - x_low), bottom - tall * (y - y_low) / (y_high - y_low)

    parts: list[object] = []
    for tick in sorted({*ticks(y_low, y_high), *references}):
        y = place(x_low, tick)[1]
        marked = tick in references
        parts.append(_line(_LEFT, y, WIDTH - _RIGHT, y, GREY if marked else LINE, dash="4 3" if marked else None))
        label = f"{100 * tick:g}{'%' if marked else ''}" if in_percent else f"{tick:g}"
        parts.append(_text(_LEFT - 8, y + 4, label, anchor="end"))
    whole = all(float(p[0]).is_integer() for p in points)  # then half an epoch is no place to name
    numbers = [(t, f"{t:,.10g}") for t in ticks(x_low, x_high, 8) if t.is_integer() or not whole]
    for at, name in enumerate(places) if places else numbers:
        parts.append(_text(place(at, y_low)[0], bottom + 18, name, anchor="middle"))
    parts.append(_line(_LEFT, bottom, WIDTH - _RIGHT, bottom, GREY))
    for one in series:
        said = [f"{percent(value)}%" if in_percent else f"{value:.4g}" for _, value in one.points]
        names = [f"{x_label} {places[round(at)] if places else f'{at:,.10g}'}" for at, _ in one.points]
        tips = [f"{one.name}, {name}: {value}" for name, value in zip(names, said, strict=True)]
        parts += _series(one, place, tips)
    parts.append(_text(_LEFT + wide / 2, bottom + 36, x_label, anchor="middle", class_="t-note"))
    turn = f"rotate(-90 14 {_TOP + tall / 2:g})"
    parts.append(_text(14, _TOP + tall / 2, y_label, anchor="middle", class_="t-note", transform=turn))
    return _svg(title, LINES_HEIGHT, parts)


def _series(one: Series, place: Callable[[float, float], tuple[float, float]], tips: Sequence[str]) -> list[Markup]:
    """A line, with whiskers where it has them, and where it has few points a marker at each."""
    where = [place(*point) for point in one.points]
    look = {"fill": "none", "stroke": one.colour, "stroke_width": 2, "stroke_dasharray": "5 4" if one.dashed else None}
    path = element("polyline", points=" ".join(f"{_n(x)},{_n(y)}" for x, y in where), **look)
    out = []
    for (at, _), (low, high) in zip(one.points, one.whiskers, strict=False):
        out.append(_line(*place(at, low), *place(at, high), one.colour))
    if len(where) <= 30:
        for (x, y), tip in zip(where, tips, strict=True):
            out.append(element("circle", element("title", tip), cx=_n(x), cy=_n(y), r=3, fill=one.colour))
    return [*out, element("g", element("title", one.name), path)]


def ranked(title: str, counts: Sequence[tuple[str, int]], what: str) -> Markup:
    """How often each value occurs, most frequent first, as thin upright bars; the ends are named."""
    left, top, tall, right = _LEFT, _TOP, 170, _RIGHT
    wide = WIDTH - left - right
    most = max(number for _, number in counts)
    step = wide / len(counts)
    parts: list[object] = []
    for tick in ticks(0, most, 4):
        y = top + tall * (1 - tick / most)
        parts += [_line(left, y, WIDTH - right, y, LINE), _text(left - 8, y + 4, f"{tick:,.10g}", anchor="end")]
    for place, (name, number) in enumerate(counts):
        high = tall * number / most
        tip = element("title", f"{name}: {number:,} {what}")
        box = {"x": _n(left + place * step), "y": _n(top + tall - high), "width": _n(max(step - 0.8, 0.6))}
        parts.append(element("rect", tip, **box, height=_n(high), fill=COLOURS[0]))
    first, last = ", ".join(n for n, _ in counts[:3]), ", ".join(n for n, _ in counts[-3:])
    parts.append(_text(left, top + tall + 18, f"{shorten(first, 50)} …"))
    parts.append(_text(WIDTH - right, top + tall + 18, f"… {shorten(last, 50)}", anchor="end"))
    return _svg(title, top + tall + 26, parts)


def picture(title: str, drawn: Sequence[Markup], keys: Sequence[tuple[str, str]] = ()) -> str:
    """Plots of `lines` side by side as a file of their own, with names beside their colours below."""
    wide, tall, x = WIDTH * len(drawn), LINES_HEIGHT, 12.0
    parts: list[object] = [element("title", title), element("style", style("plot.css"))]
    for place, plot in enumerate(drawn):
        parts.append(element("svg", plot, x=WIDTH * place, y=26, width=WIDTH, height=LINES_HEIGHT))
    y = tall + 44
    for name, fill in keys:
        needed = 40 + len(name) * _LETTER
        if x > 12 and x + needed > wide:
            x, y = 12.0, y + 18
        parts += [element("circle", cx=_n(x + 6), cy=y - 4, r=5, fill=fill), _text(x + 18, y, name, class_="t-label")]
        x += needed
    parts.append(_text(12, 18, title, class_="t-title"))
    box, fonts = f"0 0 {wide} {y + 12}", {"font_family": "system-ui, sans-serif", "font_size": 12}
    ground = element("rect", width=wide, height=y + 12, fill="#fff")
    head = {"xmlns": "http://www.w3.org/2000/svg", "width": wide, "height": y + 12, "role": "img"}
    return f"{element('svg', *parts[:2], ground, *parts[2:], viewBox=box, **head, **fonts)}\n"


def _room(labels: Sequence[str]) -> int:
    """Pixels to leave for labels at the left."""
    return min(210, max(70, round(max(map(len, labels), default=0) * _LETTER * 1.2) + 20))


def _grid(low: float, high: float, x: Callable[[float], float], top: float, bottom: float) -> list[object]:
    parts: list[object] = []
    for tick in ticks(low, high):
        parts.append(_line(x(tick), top, x(tick), bottom, LINE))
        parts.append(_text(x(tick), bottom + 14, f"{100 * tick:g}", anchor="middle"))
    return parts


def _label(x: float, y: float, text: str, room: float) -> Markup:
    short = shorten(text, int(room / _LETTER))
    inner: list[object] = [element("title", text), short] if short != text else [text]
    return element("text", *inner, x=_n(x), y=_n(y), text_anchor="end", class_="t-label")


def _text(x: float, y: float, text: str, anchor: str = "start", **more: object) -> Markup:
    return element("text", text, x=_n(x), y=_n(y), text_anchor=anchor, **more)


def _line(x1: float, y1: float, x2: float, y2: float, stroke: str, width: float = 1, dash: str | None = None) -> Markup:
    ends = {"x1": _n(x1), "y1": _n(y1), "x2": _n(x2), "y2": _n(y2)}
    return element("line", **ends, stroke=stroke, stroke_width=width, stroke_dasharray=dash)


def _svg(title: str, height: float, parts: Sequence[object]) -> Markup:
    box = f"0 0 {WIDTH} {math.ceil(height)}"
    return element("svg", element("title", title), join(parts), viewBox=box, role="img", class_="plot")


def _n(value: float) -> str:
    """A coordinate: two decimals at most, so that pages are small and the same everywhere."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
