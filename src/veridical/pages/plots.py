"""Plots as inline SVG, drawn by us: no script, no outside file, a title for people who cannot see them.

All values are fractions; every mark carries its own `<title>`, so that hovering shows the exact numbers. A plot is
drawn twice, for a wide screen and for a phone (labels stand above what they name there); the style sheet shows one.
"""

from __future__ import annotations

import colorsys
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from markupsafe import Markup

from veridical.common.intervals import Estimate
from veridical.pages.drawing import (
    GREY,
    INK,
    LETTER,
    LINE,
    WIDTH,
    fixed,
    grid_lines,
    label_above,
    label_at,
    label_room,
    line_to,
    responsive,
    shorten,
    svg,
    text_at,
    ticks,
    wrapped,
)
from veridical.pages.markup import element, style

COLOURS = ("#2b5c8a", "#c2593f", "#3d8b6d", "#8765a8", "#b08a2e", "#3e97a8", "#a34d7c", "#6b7480")
LINES_HEIGHT = 294  # of a plot of lines
_LEFT, _RIGHT, _TOP = 60, 20, 10  # around the plots with an axis of values
_GOLDEN = (5**0.5 - 1) / 2  # steps of it round the circle of hues keep clear of all steps before


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


@responsive
def dots(
    title: str, marks: Sequence[PlotMark], references: Sequence[tuple[str, float]] = (), *, width: int = WIDTH
) -> Markup:
    """Values as dots with whiskers, one row each; references (chance, people) as labelled vertical lines."""
    above = width < WIDTH  # labels stand there, and only the value beside
    right = 90 if all(mark.against for mark in marks) else 50 if above else 150
    row, top = (40 if above else 30), 14
    left = 12 if above else label_room([mark.label for mark in marks])
    values = [v for m in marks for v in (m.value, m.low, m.high) if v is not None]
    values += [v for _, v in (*references, *(m.against for m in marks if m.against))]
    low, high = max(0.0, min(values) - 0.04), min(1.0, max(values) + 0.04)
    low, high = (math.floor(low * 20) / 20, math.ceil(high * 20) / 20) if high > low else (0.0, 1.0)
    wide = width - left - right
    bottom = top + row * len(marks)

    def x(value: float) -> float:
        return left + wide * (value - low) / (high - low)

    parts: list[object] = grid_lines(low, high, x, top, bottom)
    parts += _references(references, x, top, bottom, width)
    for place, mark in enumerate(marks):
        y = top + row * (place + (0.7 if above else 0.5))
        parts.append(_dot(mark, x, y))
        parts.append(
            label_above(mark.label, y - 12, width) if above else label_at(left - 12, y + 4, mark.label, left - 16)
        )
        shown = percent(mark.value) if above else interval(mark)
        beside = f"{percent(mark.value)} ({percent(mark.against[1])})" if mark.against else shown
        parts.append(text_at(width - right + 12, y + 4, beside, class_="t-num"))
    return svg(title, bottom + 28 + 14 * len(references), parts, width)


def _references(
    references: Sequence[tuple[str, float]], x: Callable[[float], float], top: float, bottom: float, width: int
) -> list[Markup]:
    """Labelled vertical lines; each label has a line of its own, and none is drawn over by a line."""
    drawn, named = [], []
    for level, (name, value) in enumerate(sorted(references, key=lambda r: r[1])):
        drawn.append(line_to(x(value), top - 6, x(value), bottom + 20 + 14 * level, GREY, dash="3 3"))
        label = f"{name} {percent(value)}"
        half = len(label) * LETTER / 2
        at = min(max(x(value), half), width - half)  # it does not leave the picture
        named.append(text_at(at, bottom + 32 + 14 * level, label, anchor="middle", class_="t-ref"))
    return [*drawn, *named]


def _dot(mark: PlotMark, x: Callable[[float], float], y: float) -> Markup:
    told = f"; {mark.against[0]} {percent(mark.against[1])}" if mark.against else ""
    inner: list[object] = [element("title", f"{mark.label}: {interval(mark)}{told}")]
    if mark.low is not None and mark.high is not None:
        inner.append(line_to(x(mark.low), y, x(mark.high), y, mark.colour, width=2))
        inner += [line_to(x(v), y - 4, x(v), y + 4, mark.colour, width=2) for v in (mark.low, mark.high)]
    if mark.against:
        inner.append(line_to(x(mark.against[1]), y - 9, x(mark.against[1]), y + 9, INK, width=2))
    return element("g", *inner, element("circle", cx=fixed(x(mark.value)), cy=fixed(y), r=5, fill=mark.colour))


@responsive
def bars(title: str, groups: Sequence[tuple[str, str, Sequence[PlotMark]]], *, width: int = WIDTH) -> Markup:
    """Horizontal bars with whiskers in groups: (label, small note, one mark per system)."""
    above = width < WIDTH
    right, thick, gap, top = 60, 11, 12, 6
    left = 8 if above else label_room([text for label, note, _ in groups for text in (label, note)])
    wide = width - left - right
    y = float(top)
    shapes: list[object] = []
    for label, note, marks in groups:
        tall = float(thick * len(marks))
        if above:
            shapes.append(label_above(", ".join(filter(None, (label, note))), y + 10, width))
            y += 16
        else:
            lined = len(wrapped(label, left - 16))
            tall = max(tall, 13.0 * lined + (13 if note else 3))
            first = y + tall / 2 - (6.5 if note else 0)
            shapes.append(label_at(left - 12, first + 4, label, left - 16))
            if note:
                shapes.append(text_at(left - 12, first + 4 + 7 * (lined - 1) + 13, note, anchor="end", class_="t-note"))
        at = y + (tall - thick * len(marks)) / 2
        for mark in marks:
            shapes.append(_bar(mark, left, wide, at, thick - 2))
            shapes.append(text_at(left + wide + 8, at + 9, percent(mark.value), class_="t-num t-small"))
            at += thick
        y += tall + gap
    grid = grid_lines(0.0, 1.0, lambda v: left + wide * v, top, y - gap + 2)
    return svg(title, y + 14, [*grid, *shapes], width)


def _bar(mark: PlotMark, left: float, wide: float, y: float, thick: float) -> Markup:
    box = {"x": left, "y": fixed(y), "width": fixed(wide * mark.value), "height": fixed(thick)}
    inner = [element("title", f"{mark.label}: {interval(mark)}"), element("rect", **box, rx=1.5, fill=mark.colour)]
    if mark.low is not None and mark.high is not None:
        middle = y + thick / 2
        inner.append(line_to(left + wide * mark.low, middle, left + wide * mark.high, middle, INK, width=1.2))
    return element("g", *inner)


@responsive
def stacks(title: str, rows: Sequence[tuple[str, Sequence[tuple[str, float, str]]]], *, width: int = WIDTH) -> Markup:
    """Shares that add up to one, a row each: (label, [(part, share, colour)])."""
    above = width < WIDTH
    row, top = (48 if above else 34), (18 if above else 4)
    left = 8 if above else label_room([label for label, _ in rows])
    wide = width - left - 10
    parts: list[object] = []
    for place, (label, shares) in enumerate(rows):
        y, x = top + row * place, float(left)
        parts.append(label_above(label, y - 4, width) if above else label_at(left - 12, y + 17, label, left - 16))
        for name, share, fill in shares:
            box = element("rect", x=fixed(x), y=y + 2, width=fixed(max(wide * share - 1, 0)), height=22, fill=fill)
            parts.append(element("g", element("title", f"{label}, {name}: {percent(share)}%"), box))
            if wide * share > 34:
                red, green, blue = (int(fill[k : k + 2], 16) for k in (1, 3, 5))
                shade = "t-in t-dark" if 0.3 * red + 0.59 * green + 0.11 * blue > 150 else "t-in"  # dark on light
                parts.append(text_at(x + wide * share / 2, y + 17, percent(share), anchor="middle", class_=shade))
            x += wide * share
    return svg(title, top + row * len(rows), parts, width)


@responsive
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
    width: int = WIDTH,
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
    wide, bottom = width - _LEFT - _RIGHT, LINES_HEIGHT - 44
    tall = bottom - _TOP

    def place(x: float, y: float) -> tuple[float, float]:
        return _LEFT + wide * (x - x_low) / (x_high - x_low), bottom - tall * (y - y_low) / (y_high - y_low)

    parts: list[object] = []
    for tick in sorted({*ticks(y_low, y_high), *references}):
        y = place(x_low, tick)[1]
        marked = tick in references
        parts.append(line_to(_LEFT, y, width - _RIGHT, y, GREY if marked else LINE, dash="4 3" if marked else None))
        label = f"{100 * tick:g}{'%' if marked else ''}" if in_percent else f"{tick:g}"
        parts.append(text_at(_LEFT - 8, y + 4, label, anchor="end"))
    whole = all(float(p[0]).is_integer() for p in points)  # then half an epoch is no place to name
    numbers = [
        (t, f"{t:,.10g}") for t in ticks(x_low, x_high, 8 if width == WIDTH else 4) if t.is_integer() or not whole
    ]
    for at, name in enumerate(places) if places else numbers:
        parts.append(text_at(place(at, y_low)[0], bottom + 18, name, anchor="middle"))
    parts.append(line_to(_LEFT, bottom, width - _RIGHT, bottom, GREY))
    for one in series:
        said = [f"{percent(value)}%" if in_percent else f"{value:.4g}" for _, value in one.points]
        names = [f"{x_label} {places[round(at)] if places else f'{at:,.10g}'}" for at, _ in one.points]
        tips = [f"{one.name}, {name}: {value}" for name, value in zip(names, said, strict=True)]
        parts += _series(one, place, tips)
    parts.append(text_at(_LEFT + wide / 2, bottom + 36, x_label, anchor="middle", class_="t-note"))
    turn = f"rotate(-90 14 {_TOP + tall / 2:g})"
    parts.append(text_at(14, _TOP + tall / 2, y_label, anchor="middle", class_="t-note", transform=turn))
    return svg(title, LINES_HEIGHT, parts, width)


def _series(one: Series, place: Callable[[float, float], tuple[float, float]], tips: Sequence[str]) -> list[Markup]:
    """A line, with whiskers where it has them, and where it has few points a marker at each."""
    where = [place(*point) for point in one.points]
    look = {"fill": "none", "stroke": one.colour, "stroke_width": 2, "stroke_dasharray": "5 4" if one.dashed else None}
    path = element("polyline", points=" ".join(f"{fixed(x)},{fixed(y)}" for x, y in where), **look)
    out = []
    for (at, _), (low, high) in zip(one.points, one.whiskers, strict=False):
        out.append(line_to(*place(at, low), *place(at, high), one.colour))
    if len(where) <= 30:
        for (x, y), tip in zip(where, tips, strict=True):
            out.append(element("circle", element("title", tip), cx=fixed(x), cy=fixed(y), r=3, fill=one.colour))
    return [*out, element("g", element("title", one.name), path)]


@responsive
def ranked(title: str, counts: Sequence[tuple[str, int]], what: str, *, width: int = WIDTH) -> Markup:
    """How often each value occurs, most frequent first, as thin upright bars; the ends are named."""
    left, top, tall, right = _LEFT, _TOP, 170, _RIGHT
    wide = width - left - right
    most = max(number for _, number in counts)
    step = wide / len(counts)
    parts: list[object] = []
    for tick in ticks(0, most, 4):
        y = top + tall * (1 - tick / most)
        parts += [line_to(left, y, width - right, y, LINE), text_at(left - 8, y + 4, f"{tick:,.10g}", anchor="end")]
    for place, (name, number) in enumerate(counts):
        high = tall * number / most
        tip = element("title", f"{name}: {number:,} {what}")
        box = {"x": fixed(left + place * step), "y": fixed(top + tall - high), "width": fixed(max(step - 0.8, 0.6))}
        parts.append(element("rect", tip, **box, height=fixed(high), fill=COLOURS[0]))
    first, last = ", ".join(n for n, _ in counts[:3]), ", ".join(n for n, _ in counts[-3:])
    room = int(wide / 2 / LETTER) - 3
    parts.append(text_at(left, top + tall + 18, f"{shorten(first, room)} …"))
    parts.append(text_at(width - right, top + tall + 18, f"… {shorten(last, room)}", anchor="end"))
    return svg(title, top + tall + 26, parts, width)


def picture(title: str, drawn: Sequence[Markup], keys: Sequence[tuple[str, str]] = ()) -> str:
    """Plots of `lines` side by side as a file of their own, with names beside their colours below."""
    wide, tall, x = WIDTH * len(drawn), LINES_HEIGHT, 12.0
    parts: list[object] = [element("title", title), element("style", style("plot.css"))]
    for place, plot in enumerate(drawn):
        parts.append(element("svg", plot, x=WIDTH * place, y=26, width=WIDTH, height=LINES_HEIGHT))
    y = tall + 44
    for name, fill in keys:
        needed = 40 + len(name) * LETTER
        if x > 12 and x + needed > wide:
            x, y = 12.0, y + 18
        parts += [
            element("circle", cx=fixed(x + 6), cy=y - 4, r=5, fill=fill),
            text_at(x + 18, y, name, class_="t-label"),
        ]
        x += needed
    parts.append(text_at(12, 18, title, class_="t-title"))
    box, fonts = f"0 0 {wide} {y + 12}", {"font_family": "system-ui, sans-serif", "font_size": 12}
    ground = element("rect", width=wide, height=y + 12, fill="#fff")
    head = {"xmlns": "http://www.w3.org/2000/svg", "width": wide, "height": y + 12, "role": "img"}
    return f"{element('svg', *parts[:2], ground, *parts[2:], viewBox=box, **head, **fonts)}\n"
