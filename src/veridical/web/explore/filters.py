"""Which items are looked at: some values of some facets, and words; the query of an address and back.

Values of one facet are alternatives, facets and words are conditions: `split=dev&split=test&phenomenon=negation&q=box`
are items of dev or test that show negation and have the word box.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Self
from urllib.parse import urlencode

WORDS, SCHEME, PAGE, WHOLE, ITEM = "q", "scheme", "page", "all", "id"  # keys of a query that are no facet
KEYS = frozenset({WORDS, SCHEME, PAGE, WHOLE, ITEM})
MOST_WORDS = 20
MOST_VALUES = 50  # of all facets together: every link of a page repeats them


@dataclass(frozen=True)
class ItemFilter:
    """Items of one scheme that have one of the chosen values of each chosen facet, and all the words."""

    scheme: str
    chosen: tuple[tuple[str, tuple[str, ...]], ...] = ()  # facet -> values, in the order they were chosen
    text: str = ""  # as it was typed

    @classmethod
    def of(cls, query: Iterable[tuple[str, str]], schemes: Iterable[str], usual: str) -> Self:
        """The filter that the query of an address says; keys that are no facet and values too many are passed over."""
        scheme, text = usual, ""
        known = set(schemes)
        pairs: dict[tuple[str, str], None] = {}
        for key, value in query:
            if key == SCHEME:
                scheme = value if value in known else usual
            elif key == WORDS:
                text = " ".join(value.split())
            elif key not in KEYS:
                pairs[facet_of(key), value] = None
        chosen: dict[str, list[str]] = {}
        for facet, value in islice(pairs, MOST_VALUES):
            chosen.setdefault(facet, []).append(value)
        return cls(scheme, tuple((facet, tuple(values)) for facet, values in chosen.items()), text)

    @property
    def words(self) -> tuple[str, ...]:
        """What must stand in the text, each somewhere."""
        return tuple(dict.fromkeys(self.text.lower().split()))[:MOST_WORDS]

    @property
    def facets(self) -> Mapping[str, tuple[str, ...]]:
        return dict(self.chosen)

    def has(self, facet: str, value: str) -> bool:
        return value in self.facets.get(facet, ())

    def without(self, facet: str) -> ItemFilter:
        """The same, whatever the facet's value."""
        return replace(self, chosen=tuple(one for one in self.chosen if one[0] != facet))

    def only(self, facet: str, *values: str) -> ItemFilter:
        """The same with these values of a facet and no others."""
        return replace(self, chosen=(*self.without(facet).chosen, (facet, values)))

    def toggled(self, facet: str, value: str) -> ItemFilter:
        """The same with a value more, or without it where it was chosen."""
        values = self.facets.get(facet, ())
        kept = tuple(one for one in values if one != value) if value in values else (*values, value)
        changed = tuple((name, kept if name == facet else own) for name, own in self.chosen)
        return replace(self, chosen=tuple(one for one in changed if one[1])) if values else self.only(facet, value)

    def searching(self, text: str) -> ItemFilter:
        """The same with other words."""
        return replace(self, text=" ".join(text.split()))

    def fields(self) -> list[tuple[str, str]]:
        """The chosen values as the fields of a form."""
        return [(key_of(facet), value) for facet, values in self.chosen for value in values]

    def query(self, **more: object) -> str:
        """The query of an address; `more` are keys such as page and id, left out where None."""
        pairs = [(SCHEME, self.scheme), *self.fields()]
        pairs += [(WORDS, self.text)] if self.text else []
        return urlencode(pairs + [(key, str(value)) for key, value in more.items() if value is not None])


def key_of(facet: str) -> str:
    """The key of a facet in a query: its name, with a mark where that means something else."""
    return f".{facet}" if facet in KEYS or facet.startswith(".") else facet


def facet_of(key: str) -> str:
    """The facet of a key.

    >>> [facet_of(key_of(name)) for name in ("split", "page", ".page")]
    ['split', 'page', '.page']
    """
    return key.removeprefix(".")
