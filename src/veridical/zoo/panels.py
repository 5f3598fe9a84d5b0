"""An item's panels, one to three, as pixels (P, 3, height, width) or as stored maps (P, C, h, w): what towers look at.

Every picture is decoded (or drawn) once and kept as bytes in one memory-mapped file; an example keeps the row numbers
of all its views, and a batch is one gather. Boxes whose picture is not stored are drawn where they stand in their own
drawing; a view only puts them in another order.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from math import isqrt

import numpy as np

from veridical.common import arrays
from veridical.common.arrays import Floats, Ints
from veridical.common.pictures import stored_picture
from veridical.encoders import panel_key
from veridical.errors import UserError
from veridical.records import Panel, View
from veridical.zoo.architecture import Example
from veridical.zoo.inputs import Pixels, StoredRows, cut, resize

BOXES = ((0, 0, 100, 100), (150, 0, 250, 100), (300, 0, 400, 100))  # of NLVR's drawing
GROWTH = 4096  # pictures that the file grows by at a time

Key = tuple[str, ...]  # what tells pictures apart
Shown = tuple[Key, Callable[[], arrays.Pixels]]  # one picture of a view, and how to make it


class PanelPixels:
    """The panels of every view: (V, P) row numbers, looked up as (P, 3, height, width) bytes of the chosen view.

    With `joined` they stand side by side in one picture of that size (P = 1), as CNN+RNN sees them.
    """

    per_view = False
    by_view = True
    state: None = None
    size = 3

    def __init__(self, width: int, height: int, joined: bool = False) -> None:
        self.width, self.height = width, height
        self.whole = Pixels(width, height) if joined else None
        self._rows: dict[Key, int] = {}  # 0 is no picture: black
        self._file = tempfile.TemporaryFile(prefix="veridical-panels-")  # noqa: SIM115 - kept as long as the input
        self._bytes = self._grown()

    def learn(self, examples: Sequence[Example]) -> None:
        """Nothing to learn."""

    def encode(self, example: Example) -> Ints:
        views: Sequence[View | None] = example.item.views or (None,)
        if self.whole is None and all(view is None or view.image is None for view in views):
            own = self._number(_panels(example, tuple(range(len(example.panels)))))  # (P,)
            return own[[view.order if view else range(len(own)) for view in views]]
        return np.stack([self._number(self._view(example, number, view)) for number, view in enumerate(views)])

    def look_up(self, rows: Ints) -> arrays.Pixels:
        """(B, P) -> (B, P, 3, height, width) bytes."""
        return self._bytes[rows]

    @property
    def count(self) -> int:
        """How many pictures there are; their rows begin at 1."""
        return len(self._rows)

    def _view(self, example: Example, number: int, view: View | None) -> Iterator[Shown]:
        if self.whole is not None:
            one, whole = Example(example.item, example.panels, example.image, number), self.whole
            yield _key(example, *example.item.panels, str(number)), lambda: whole.encode(one).transpose(1, 2, 0)
        elif view is not None and view.image is not None:
            yield from _boxes(example, view.image)
        else:
            yield from _panels(example, view.order if view else tuple(range(len(example.panels))))

    def _number(self, shown: Iterator[Shown]) -> Ints:
        """Row numbers of pictures, (P,); those that are new are made."""
        return np.array([self._rows.get(key) or self._add(key, make()) for key, make in shown], np.int64)

    def _add(self, key: Key, pixels: arrays.Pixels) -> int:
        row = len(self._rows) + 1
        if row >= len(self._bytes):
            self._bytes = self._grown()
        self._bytes[row] = resize(pixels[..., :3], self.width, self.height).transpose(2, 0, 1)
        self._rows[key] = row
        return row

    def _grown(self) -> arrays.Pixels:
        """The file with room for more pictures; it has no name, and goes with the process."""
        shape = (len(self._rows) + 1 + GROWTH, 3, self.height, self.width)
        self._file.truncate(int(np.prod(shape)))
        return np.memmap(self._file, np.uint8, "r+", shape=shape)


def _key(example: Example, *parts: str) -> Key:
    return (str(example.folder), *parts)


def _boxes(example: Example, image: str) -> Iterator[Shown]:
    """The boxes of a stored drawing, from left to right; decoded once, when the first is asked for."""
    decoded: list[arrays.Pixels] = []

    def box(left: int, right: int) -> arrays.Pixels:
        if not decoded:
            decoded.append(np.asarray(stored_picture(example.image(image), image).convert("RGB")))
        scale = decoded[0].shape[1] / BOXES[-1][2]
        return decoded[0][:, round(scale * left) : round(scale * right)]

    for left, _, right, _ in BOXES:
        yield _key(example, image, str(left)), lambda left=left, right=right: box(left, right)  # type: ignore[misc]


def _panels(example: Example, order: Sequence[int]) -> Iterator[Shown]:
    """Panels with pictures of their own, or boxes that are drawn."""
    panels = [example.panels[number] for number in order]
    drawn: list[arrays.Pixels] = []

    def draw_box(panel: Panel) -> arrays.Pixels:
        from veridical.sources.boxes.drawings import draw

        if not drawn:
            drawn.append(draw(example.panels))
        left, _, right, _ = map(int, panel.region or ())
        return drawn[0][:, left:right]

    for panel in panels:
        if panel.image is not None:
            address = panel.image
            yield (
                _key(example, panel_key(panel) or ""),
                lambda address=address, panel=panel: cut(example.image(address), panel.region),  # type: ignore[misc]
            )
        elif panel.region is not None and len(panels) == len(BOXES):
            yield _key(example, "drawn", panel.id), lambda panel=panel: draw_box(panel)  # type: ignore[misc]
        else:
            raise UserError(
                f"Item {example.item.id} has no picture in the benchmark.",
                "Import it with its images, or train a text model.",
            )


class PanelMaps(StoredRows):
    """An encoder's maps of the panels: (1, P) row numbers, looked up as (P, C, h, w) of the same scale everywhere."""

    by_view = True

    def learn(self, examples: Sequence[Example]) -> None:
        from veridical.encoders import open_encoder

        channels = open_encoder(self.encoder).channels
        if not channels:
            raise UserError(
                f"The encoder {self.encoder} gives one vector of a picture, and no map.",
                "Use efficientnet-lite0-map, or leave out `maps` to learn from pixels.",
            )
        self.state = {"size": 0, "channels": channels}
        self.state["size"] = self.file(examples[0]).size

    @property
    def size(self) -> int:
        return int(self.state.get("channels", 0))

    def encode(self, example: Example) -> Ints:
        keys = [panel_key(panel) for panel in example.panels]
        if None in keys:
            raise UserError(
                f"A photograph of item {example.item.id} is not in the benchmark.", "Import it with its images."
            )
        own = self.places(example, [key or "" for key in keys])  # (P,)
        return own[[view.order for view in example.item.views] or [tuple(range(len(own)))]]

    def look_up(self, rows: Ints) -> Floats:
        found = self.vectors(rows)  # (B, P, h w C)
        side = isqrt(found.shape[-1] // self.size)
        return np.moveaxis(found.reshape(*rows.shape, side, side, self.size), -1, -3)
