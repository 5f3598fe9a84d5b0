"""PNG files of drawings, written by an encoder of our own so that the same scene gives the same bytes on every machine.

Neither zlib (several implementations go by that name) nor isal (which chooses code by processor) promises that. A
drawing's rows mostly repeat the row above, so only two sorts of match are looked for: the row above and the pixel
before. Written for numba; without it the same code runs as plain Python, slower, to the same bytes.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from functools import cache

import numpy as np

from veridical.common.arrays import Ints, Pixels, Words, compiled, has_numba
from veridical.sources.boxes.scenes import HEIGHT, WIDTH
from veridical.sources.boxes.sprites import background, sprites

PAD = 8  # bytes before a row's first pixel: seven unused, then PNG's filter byte, so that rows are whole words
STRIDE = PAD + WIDTH
LONGEST = 258  # bytes that one match of deflate can name
ABOVE, BEFORE = 0, 1  # what a match repeats: the row above, or the byte before
_CAPACITY = STRIDE * HEIGHT  # of tokens, and of bytes: literals of palette indices under 144 take eight bits
_MATCH = 256  # tokens below are literal bytes; above: twice the length, plus what is repeated


def canvas(used: Pixels | None = None) -> Pixels:
    """An empty drawing to stamp sprites into, in the layout that `encode` wants: (100, 408); a used one is wiped."""
    if used is None:
        return _empty().copy()
    np.copyto(used, _empty())
    return used


@cache
def _empty() -> Pixels:
    out = np.zeros((HEIGHT, STRIDE), np.uint8)
    out[:, PAD:] = background()
    return out


def encode(drawing: Pixels) -> bytes:
    """A canvas as a PNG file."""
    scan, pack = _kernels()
    tokens, packed = np.empty(_CAPACITY, np.int64), np.empty(_CAPACITY, np.uint8)
    count = scan(drawing, drawing.view(np.uint64), tokens)
    size = pack(tokens, count, *_codes(), packed)
    raw = drawing[:, PAD - 1 :].tobytes()
    return wrap(b"\x78\x01" + packed[:size].tobytes() + struct.pack(">I", zlib.adler32(raw)))


def wrap(stream: bytes) -> bytes:
    """A PNG file around the zlib stream of a drawing's palette indices."""
    return _head() + _chunk(b"IDAT", stream) + _TAIL


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


_TAIL = _chunk(b"IEND", b"")


@cache
def _head() -> bytes:
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 3, 0, 0, 0)  # eight bits, palette
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"PLTE", sprites()[1].tobytes())


@cache
def _kernels() -> list[Callable[..., int]]:
    return [compiled(kernel) if has_numba() else kernel for kernel in (_scan, _pack)]


def _scan(pixels: Pixels, words: Words, tokens: Ints) -> int:
    """Write a drawing as tokens and say how many. At a byte unlike the one above it, the run it begins is written."""
    count = 0
    same = 0  # bytes just passed that repeat the row above
    for y in range(HEIGHT + 1):  # the last turn only writes what is pending
        x = PAD - 1
        while x < STRIDE:
            if 0 < y < HEIGHT:
                start = x
                while x < STRIDE:
                    if x % 8 == 0 and words[y, x >> 3] == words[y - 1, x >> 3]:
                        x += 8
                    elif pixels[y, x] == pixels[y - 1, x]:
                        x += 1
                    else:
                        break
                same += x - start
                if x == STRIDE:
                    break
            if same >= 3:
                tokens[count] = _MATCH + 2 * same + ABOVE
                count += 1
            else:  # too short for a match
                for back in range(same, 0, -1):
                    inside = x - back >= PAD - 1
                    tokens[count] = pixels[y, x - back] if inside else pixels[y - 1, STRIDE + x - back - PAD + 1]
                    count += 1
            same = 0
            if y == HEIGHT:
                break
            run = 1
            while x + run < STRIDE and pixels[y, x + run] == pixels[y, x]:
                run += 1
            fresh = x < PAD or pixels[y, x - 1] != pixels[y, x]
            if fresh:
                tokens[count] = pixels[y, x]
                count += 1
                x += 1
                run -= 1
            if run >= 3:
                tokens[count] = _MATCH + 2 * run + BEFORE
                count += 1
                x += run
            elif not fresh:
                tokens[count] = pixels[y, x]
                count += 1
                x += 1
    return count


def _pack(tokens: Ints, count: int, codes: Ints, bits: Ints, out: Pixels) -> int:
    """Ints as one deflate block with the fixed codes; gives its size in bytes."""
    held, width, size = 3, 3, 0  # block header: the last block, fixed codes
    for index in range(count + 1):
        token = tokens[index] if index < count else -1
        rest = 0
        if token >= _MATCH:
            rest = (token - _MATCH) >> 1
        while True:
            if token < 0:
                code, wide = 0, 7  # end of block
            elif token < _MATCH:
                code, wide = codes[token], bits[token]
            else:
                length = min(rest, LONGEST)
                if 0 < rest - length < 3:
                    length -= 3  # no match is shorter than three
                rest -= length
                entry = _MATCH + 2 * length + (token & 1)
                code, wide = codes[entry], bits[entry]
            held |= code << width
            width += wide
            while width >= 8:
                out[size] = held & 255
                size += 1
                held >>= 8
                width -= 8
            if rest == 0:
                break
    if width:
        out[size] = held & 255
        size += 1
    return size


@cache
def _codes() -> tuple[Ints, Ints]:
    """Deflate's fixed codes (RFC 1951, 3.2.6) for literals and for the two sorts of match: the bits, and how many."""
    codes = np.zeros(_MATCH + 2 * LONGEST + 2, np.int64)
    bits = np.zeros_like(codes)
    for byte in range(256):
        codes[byte], bits[byte] = _symbol(byte)
    for length in range(3, LONGEST + 1):
        bucket, extra, value = (28, 0, 0) if length == LONGEST else _bucket(length - 3, 4)
        code, wide = _symbol(257 + bucket)
        code, wide = code | value << wide, wide + extra
        for repeated, distance in ((ABOVE, WIDTH + 1), (BEFORE, 1)):
            letter, extra, value = _bucket(distance - 1, 2)
            entry = _MATCH + 2 * length + repeated
            codes[entry] = code | (_reverse(letter, 5) | value << 5) << wide
            bits[entry] = wide + 5 + extra
    return codes, bits


def _symbol(symbol: int) -> tuple[int, int]:
    for first, last, code, wide in ((0, 143, 48, 8), (144, 255, 400, 9), (256, 279, 0, 7), (280, 287, 192, 8)):
        if first <= symbol <= last:
            return _reverse(code + symbol - first, wide), wide
    raise ValueError(symbol)


def _reverse(code: int, wide: int) -> int:
    return int(f"{code:0{wide}b}"[::-1], 2)


def _bucket(over: int, step: int) -> tuple[int, int, int]:
    """The bucket of a length or distance above the least, its extra bits and their value; `step` buckets have equally
    many extra bits."""
    extra = max(0, over.bit_length() - step.bit_length())
    return step * extra + (over >> extra), extra, over & ((1 << extra) - 1)
