"""Thumbnails: made once, kept within a bound, named by what they show, so that a browser may keep them for ever.

The name of a thumbnail is the content address of its image, the pixels of its longer side, and the region shown.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from threading import Lock

from veridical.benchmark import Benchmark
from veridical.pages.cards import PAIR_SIDE, SIDE, SMALL_SIDE, Thumbnail, thumbnail
from veridical.records import Box

LARGE_SIDES = (1000, 640, 220)  # on an item's own page: of a photograph, one of two, a matrix panel
SIDES = frozenset({SIDE, PAIR_SIDE, SMALL_SIDE, *LARGE_SIDES})
KEPT_BYTES = 48_000_000
FARTHEST = 1_000_000.0  # no picture is so wide
_NAME = re.compile(r"(?P<address>[0-9a-f]{8,128})-(?P<side>[0-9]{1,4})(?P<region>(-[0-9]{1,7}\.[0-9]{3}){4})?")


def picture_name(address: str, region: Box | None, side: int) -> str:
    """The name of a thumbnail.

    >>> picture_name("ab" * 4, (0, 1.5, 20, 30), 120)
    'abababab-120-0.000-1.500-20.000-30.000'
    """
    edges = "" if region is None else "".join(f"-{min(max(edge, 0), FARTHEST):.3f}" for edge in region)
    return f"{address}-{side}{edges}"


class Thumbnails:
    """The thumbnails of a benchmark, the last ones asked for in memory."""

    def __init__(self, benchmark: Benchmark, kept: int = KEPT_BYTES) -> None:
        self._benchmark, self._most = benchmark, kept
        self._made: OrderedDict[str, Thumbnail] = OrderedDict()
        self._lock = Lock()
        self.bytes = 0

    def get(self, name: str) -> Thumbnail | None:
        """The thumbnail of a name; None where there is no such picture, or it cannot be read."""
        with self._lock:
            if name in self._made:
                self._made.move_to_end(name)
                return self._made[name]
        found = self._make(name)
        if found is not None:
            self._keep(name, found)
        return found

    def _make(self, name: str) -> Thumbnail | None:
        match = _NAME.fullmatch(name)
        if match is None or int(match["side"]) not in SIDES or not self._benchmark.has_image(match["address"]):
            return None
        edges = [float(edge) for edge in (match["region"] or "").split("-")[1:]]
        region = (edges[0], edges[1], edges[2], edges[3]) if edges else None
        return thumbnail(bytes(self._benchmark.image(match["address"])), region, int(match["side"]))

    def _keep(self, name: str, found: Thumbnail) -> None:
        with self._lock:
            if name not in self._made:
                self.bytes += len(found.data)
            self._made[name] = found
            while self.bytes > self._most and len(self._made) > 1:
                self.bytes -= len(self._made.popitem(last=False)[1].data)
