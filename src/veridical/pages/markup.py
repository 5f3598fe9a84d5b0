"""HTML and SVG in which everything is escaped: pages come from templates, drawings from elements.

Whatever is not markup already is escaped when a template or an element takes it, so that a sentence of a benchmark, a
file name or a model's answer can never become part of a page's own code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from markupsafe import Markup, escape

from veridical import __version__

if TYPE_CHECKING:
    from jinja2 import Environment

# Nothing is loaded from anywhere, whatever text a benchmark holds.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


# --- escaping --------------------------------------------------------------------------------------------------------


def plain(value: object) -> Markup:
    """A value as text of a page; characters that no page may hold are replaced.

    >>> plain("a < b & c")
    Markup('a &lt; b &amp; c')
    """
    return escape(_clean(value))


def _clean(value: object) -> object:
    """What a template or element takes: markup and blocks as they are, anything else as text that a page may hold."""
    return value if hasattr(value, "__html__") else _CONTROL.sub("\ufffd", str(value))


def join(parts: Iterable[object]) -> Markup:
    """Parts one after another, each escaped unless it is markup."""
    return Markup("".join(plain(part) for part in parts))


def element(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element of a drawing. `class_` is the attribute class, an underscore a hyphen, None leaves an attribute out.

    >>> print(element("text", "<b>", class_="num", font_size=1))
    <text class="num" font-size="1">&lt;b&gt;</text>
    """
    head = name + "".join(
        f' {key.rstrip("_").replace("_", "-")}="{plain(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{head}>{join(children)}</{name}>")


# --- templates -------------------------------------------------------------------------------------------------------


@cache
def environment() -> Environment:
    """The one environment of all templates: whatever they are given is escaped, and a name they lack is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("veridical.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_clean,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"policy": POLICY, "version": __version__}
    return made


def style(name: str) -> Markup:
    """The text of a style sheet."""
    return Markup(environment().get_template(name).render())


class Block:
    """A part of a page, which a macro of `blocks.html` draws. A template writes it as `{{ block }}`."""

    macro: ClassVar[str]

    def __html__(self) -> str:
        return str(getattr(environment().get_template("blocks.html").module, self.macro)(self))


@dataclass(frozen=True)
class Paragraph(Block):
    """A few sentences; `look` is lead, note or warning."""

    macro = "paragraph"
    text: str
    look: str = ""


@dataclass(frozen=True)
class Bullets(Block):
    """What was found, line by line."""

    macro = "bullets"
    lines: tuple[str, ...]


@dataclass(frozen=True)
class PlotFigure(Block):
    """A plot with its legend above and its caption below."""

    macro = "figure"
    plot: Markup
    caption: str
    keys: Sequence[tuple[str, str]] = ()  # names beside their colours
    title: str = ""


@dataclass(frozen=True)
class Section:
    """A titled part of a chapter."""

    title: str
    parts: tuple[Block, ...]


@dataclass(frozen=True)
class Chapter:
    """A part of a page with sections of its own, after what leads to them."""

    title: str
    lead: tuple[Block, ...]
    sections: tuple[Section, ...] = ()


def page(brand: str, title: str, lead: Sequence[Block], chapters: Sequence[Chapter]) -> str:
    """A whole page: one HTML file with its style inside, no script, nothing to fetch."""
    template = environment().get_template("page.html")
    anchored = [(own, chapter, inner) for chapter, (own, inner) in zip(chapters, _anchors(chapters), strict=True)]
    return template.render(brand=brand, title=title, lead=lead, chapters=anchored)


def _anchors(chapters: Sequence[Chapter]) -> list[tuple[str, list[tuple[str, Section]]]]:
    """Names to link to, each once on the page: of a chapter, and of each of its sections."""
    taken: set[str] = set()

    def anchor(text: str) -> str:
        name = base = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "part"
        number = 2
        while name in taken:
            name, number = f"{base}-{number}", number + 1
        taken.add(name)
        return name

    return [(anchor(c.title), [(anchor(f"{c.title} {s.title}"), s) for s in c.sections]) for c in chapters]
