"""What pages are put together from: titled sections, and figures with their captions."""

from __future__ import annotations

from dataclasses import dataclass

from veridical.pages.markup import Markup, element


@dataclass(frozen=True)
class Section:
    """A titled part of the page."""

    title: str
    parts: tuple[Markup, ...]


def figure(picture: Markup, caption: str, keys: Markup | None = None) -> Markup:
    """A plot with its legend above and its caption below."""
    return element("figure", *([keys] if keys else []), picture, element("figcaption", caption))
