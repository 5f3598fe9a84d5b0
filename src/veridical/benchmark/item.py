"""An item that knows its benchmark: its pictures, its words as people read them, and itself as a card in a notebook.

A `Benchmark` gives its items as these. They are records like any other: equal to the plain record, which is also what
other processes get of them.
"""

from __future__ import annotations

import sys
from dataclasses import fields
from operator import attrgetter
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from veridical.benchmark import pictures, tables
from veridical.errors import UserError
from veridical.records import Item, Judgement, Panel, Text, object_names

if TYPE_CHECKING:
    from PIL import Image

    from veridical.benchmark.store import Benchmark

_values = attrgetter(*(field.name for field in fields(Item)))
# What draws an item; by name, because pages are made of benchmarks and not the other way round.
CARD = "veridical.pages.shown:item_html"


class BenchmarkItem(Item):
    """An item of an open benchmark."""

    __slots__ = ("_home",)
    _home: Benchmark

    @classmethod
    def of(cls, home: Benchmark, **values: Any) -> BenchmarkItem:
        """The item of a benchmark with these values."""
        made = cls(**values)
        object.__setattr__(made, "_home", home)
        return made

    def __eq__(self, other: object) -> bool:
        return bool(_values(self) == _values(other)) if isinstance(other, Item) else NotImplemented

    __hash__ = Item.__hash__

    def __reduce__(self) -> tuple[type[Item], tuple[Any, ...]]:
        return Item, _values(self)

    def __copy__(self) -> BenchmarkItem:
        return self  # nothing in it can change

    def __deepcopy__(self, memo: dict[int, Any]) -> BenchmarkItem:
        return self

    @property
    def benchmark(self) -> Benchmark:
        """Where it is from."""
        try:
            return self._home
        except AttributeError:
            problem = f"Item {self.id} was changed: it is no longer an item of a benchmark."
            raise UserError(problem, "Take it from the benchmark again: benchmark[item.id].") from None

    @property
    def scene(self) -> list[Panel]:
        """Its panels, with the objects in them."""
        return [pictures.panel_of(self.benchmark, name) for name in self.panels]

    @property
    def text(self) -> str:
        """Its sentence or question as people read it; tags are called by their objects: person1."""
        return "" if self.query is None else self.query.readable(self._names())

    @property
    def choices(self) -> list[str]:
        """Its candidates as people read them; of a matrix, the ids of their panels."""
        names = self._names()
        return [one.readable(names) if isinstance(one, Text) else one for one in self.candidates]

    @property
    def label(self) -> str | None:
        """The right candidate as people read it; None where the answer is hidden."""
        return None if self.answer is None else self.choices[self.answer]

    def images(self, view: int = 0) -> list[Image.Image]:
        """Its pictures, decoded: one for each panel; of a drawing of several boxes (NLVR) one of the whole.

        Args:
            view: Which of the drawings that an item of NLVR has.
        """
        if self.views:
            return [pictures.decode(pictures.drawing_bytes(self.benchmark, self, view))]
        return [pictures.panel_picture(self.benchmark, name) for name in self.panels]

    def candidate_images(self) -> list[Image.Image]:
        """The pictures to choose from, decoded; none where the candidates are texts."""
        return [pictures.panel_picture(self.benchmark, name) for name in self.candidates if isinstance(name, str)]

    def judgements(self) -> list[Judgement]:
        """What people said about it, where that is public."""
        table = self.benchmark.judgements_table()
        return list(tables.judgements_from(table.filter(pc.equal(table["item"], self.id))))

    def show(self) -> None:
        """Show it: in a notebook as a card with its pictures and boxes, elsewhere in words."""
        notebook = sys.modules.get("IPython")
        if notebook is not None and notebook.get_ipython() is not None:
            notebook.display.display(self)
        else:
            print(self)

    def __str__(self) -> str:
        lines = [self.id, *([self.text] if self.text else [])]
        if self.task == "statement":
            lines.append(f"  {'the answer is hidden' if self.label is None else self.label}")
        else:
            right = self.answer
            lines += [f"  {'*' if k == right else ' '} {chr(65 + k)}. {text}" for k, text in enumerate(self.choices)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return str(resolve_name(CARD)(self))

    def _names(self) -> dict[str, str]:
        """What its objects are called; empty where no text points at any."""
        texts = [text for text in (self.query, *self.candidates) if isinstance(text, Text)]
        pointing = any(not isinstance(token, str) for text in texts for token in text.tokens)
        return object_names(self.scene) if pointing else {}
