"""HTML and SVG as escaped text: whatever is not `Markup` already is escaped when it is put into an element.

So a sentence of a benchmark, a file name or a model's answer can never become part of the page's own code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

_VOID = frozenset({"br", "img", "meta", "hr", "col"})
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def plain(value: object) -> Markup:
    """A value as text of a page; characters that no page may hold are replaced.

    >>> plain("a < b & c")
    'a &lt; b &amp; c'
    """
    if isinstance(value, Markup):
        return value
    return Markup(escape(_CONTROL.sub("\ufffd", str(value))))


def join(parts: Iterable[object]) -> Markup:
    """Parts one after another, each escaped unless it is markup."""
    return Markup("".join(plain(part) for part in parts))


def element(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element. `class_` is the attribute class, an underscore is a hyphen, None leaves an attribute out.

    >>> element("td", "<b>", class_="num", data_x=1)
    '<td class="num" data-x="1">&lt;b&gt;</td>'
    """
    head = name + "".join(
        f' {key.rstrip("_").replace("_", "-")}="{plain(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{head}>")
    return Markup(f"<{head}>{join(children)}</{name}>")
