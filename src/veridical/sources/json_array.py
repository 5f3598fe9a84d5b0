"""The elements of a JSON array of objects, one by one, from a file of any size in little memory.

Only brackets outside of strings matter for where an element ends. Quotes become bits of 64-bit words, and a prefix
XOR over them (as in simdjson, Langdale and Lemire 2019) marks all bytes that lie in strings: a few NumPy passes over
each chunk, and no Python per byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from veridical.common.arrays import Ints, Pixels
from veridical.errors import UserError

CHUNK = 1 << 17  # bytes: what a pass makes of it stays in the processor's cache
_BOM = b"\xef\xbb\xbf"
_QUOTE, _BACKSLASH = 0x22, 0x5C
_OPEN, _CLOSE = 0x7B, 0x7D  # { and }; [ and ] are the same but for one bit
_SHOWN = 40  # bytes of what was found in an error


def elements(file: BinaryIO, name: str, chunk_bytes: int = CHUNK) -> Iterator[tuple[int, bytes]]:
    """Each object (or array) of the array in `file`, with its place in it; errors call the file `name`."""
    scanner = _Scanner()
    pending = bytearray()  # what is read and not yet given out
    origin = cursor = 0  # places in the file: of pending's first byte, of the end of the last element
    edges: list[int] = []  # where elements start and end, in turn
    held = b""  # a backslash whose next character is in the next chunk
    count = 0
    while block := file.read(chunk_bytes):
        chunk = held + block
        held = b"\\" if (len(chunk) - len(chunk.rstrip(b"\\"))) % 2 else b""
        chunk = chunk[: len(chunk) - len(held)]
        if not chunk:
            continue
        first = origin + len(pending)
        pending += chunk
        edges += (scanner.edges(chunk) + first).tolist()
        whole = len(edges) // 2 * 2
        with memoryview(pending) as view:
            for start, end in zip(edges[:whole:2], edges[1:whole:2], strict=True):
                _check_gap(bytes(view[cursor - origin : start - origin]), b"," if count else b"[", cursor, name)
                yield start, bytes(view[start - origin : end - origin])
                count, cursor = count + 1, end
        edges = edges[whole:]
        del pending[: cursor - origin]
        origin = cursor
    if scanner.depth > 0 or scanner.in_string or held:
        raise UserError(f"{name} is cut off: it ends within its array.", "Fetch it again.")
    _check_gap(bytes(pending), b"]" if count else b"[]", cursor, name)


def _check_gap(found: bytes, expected: bytes, place: int, name: str) -> None:
    if place == 0:
        found = found.removeprefix(_BOM)
    if b"".join(found.split()) != expected:
        shown = found.strip()[:_SHOWN].decode("utf-8", "replace")
        raise UserError(
            f"{name}, byte {place:,}: found {shown!r} where {expected.decode()!r} should be.",
            "The file should be one JSON array of objects, one for each image. Fetch it again.",
        )


@dataclass
class _Scanner:
    """Where elements start and end in the chunks of a file, one after the other. No chunk ends within an escape."""

    depth: int = 0  # brackets that are open
    in_string: bool = False

    def edges(self, chunk: bytes) -> Ints:
        """Places in the chunk where an element of the outermost array starts, or has just ended."""
        data = np.frombuffer(chunk, np.uint8)
        folded = data | 0x20  # [ becomes {, ] becomes }
        brackets = np.packbits((folded == _OPEN) | (folded == _CLOSE), bitorder="little")
        brackets &= ~self._strings(data, chunk)
        places = np.flatnonzero(np.unpackbits(brackets, count=len(data), bitorder="little").view(bool))
        if not len(places):
            return places
        opens = folded[places] == _OPEN
        depths = np.cumsum(np.where(opens, 1, -1)) + self.depth  # after each bracket
        self.depth = int(depths[-1])
        edge = depths == np.where(opens, 2, 1)
        found: Ints = places[edge] + ~opens[edge]
        return found

    def _strings(self, data: Pixels, chunk: bytes) -> Pixels:
        """A bit for each byte, packed: whether it lies in a string (its opening quote does, its closing does not)."""
        quotes = data == _QUOTE
        if b"\\" in chunk:
            slashes = np.concatenate(([False], data == _BACKSLASH, [False]))
            turns = np.flatnonzero(slashes[1:] != slashes[:-1])
            starts, ends = turns[::2], turns[1::2]
            quotes[ends[(ends - starts) % 2 == 1]] = False  # after an odd number of backslashes
        bits = np.packbits(quotes, bitorder="little")
        words = np.zeros(len(bits) // 8 + 1, np.uint64)
        words.view(np.uint8)[: len(bits)] = bits
        for shift in (1, 2, 4, 8, 16, 32):  # bit k becomes the parity of all quotes up to k in its word
            words ^= words << np.uint64(shift)
        parity = words >> np.uint64(63)
        before = np.empty_like(words)  # parity of all quotes in the words before
        before[0] = self.in_string
        before[1:] = np.bitwise_xor.accumulate(parity)[:-1] ^ before[0]
        words ^= np.uint64(0) - before  # all bits turn where it is odd
        self.in_string = bool(before[-1] ^ parity[-1])
        return words.view(np.uint8)[: len(bits)]
