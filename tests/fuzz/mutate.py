"""Real files, made wrong: what a broken disk, an editor, another program or a stranger may have put into them.

A mutation takes the bytes of a whole file and gives others. `MUTATIONS` holds those of any file, `BY_SUFFIX` those that
keep a file readable and change what it says: values of JSON, columns of tables, arrays, tensors. `mutate` draws one.
"""

from __future__ import annotations

import io
import json
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

Mutation = Callable[[random.Random, bytes], bytes]

NAMES = (
    "", ".", "..", "../escaped", "../../escaped", "/escaped", "a/b", "a\\b", "a\0b", "\x1b[2J", "[bold]", "[/]", "[",
    "=1+1", "-x", "--out", "x" * 300, "é" * 200, "\u202etxt", "line\nfeed", "nul", "%s%n", "{0}", "{{7*7}}", "<script>",
    "main", "dev", "train", "\ud800", "0", "-1", "1e999", "true", "null",
)  # fmt: skip
NUMBERS = (
    0, -1, 1, 2, 3, 255, 256, -(2**31), 2**31, 2**53 + 1, 2**63, -(2**63), 2**64, 10**30, -0.0, 0.5, 1e308, -1e308,
    1e-320, float("nan"), float("inf"), float("-inf"),
)  # fmt: skip
UNREADABLE = (ValueError, LookupError, TypeError, RecursionError, OSError, struct.error)
SPLICED = (b"\0", b"\xff\xfe", b"\x1b[31m", b'"', b"{", b"}", b"[", b"]", b",", b"\n", b"\r\n", b"\xef\xbb\xbf", b"NaN")


def mutate(rng: random.Random, path: Path) -> str:
    """Change a file on disk; what was done to it."""
    own = BY_SUFFIX.get(path.suffix, ())
    known = [*MUTATIONS, *own, *own, *own]  # mostly what keeps it readable: that goes deeper
    change = rng.choice(known)
    try:
        data = change(rng, path.read_bytes())
    except (*UNREADABLE, pa.ArrowException):  # it was changed before
        change, data = cut, cut(rng, path.read_bytes())
    path.write_bytes(data)
    return f"{change.__name__} {path.name}"


# --- any file --------------------------------------------------------------------------------------------------------


def flip(rng: random.Random, data: bytes) -> bytes:
    """A few bits are others."""
    out = bytearray(data or b"\0")
    for _ in range(rng.choice((1, 1, 1, 2, 8, 64))):
        bit = rng.randrange(8 * len(out))
        out[bit // 8] ^= 1 << bit % 8
    return bytes(out)


def cut(rng: random.Random, data: bytes) -> bytes:
    """The end is missing, or the beginning."""
    at = rng.randrange(len(data) + 1)
    return data[:at] if rng.random() < 0.8 else data[at:]


def empty(rng: random.Random, data: bytes) -> bytes:
    return rng.choice((b"", b"\n", b" ", b"\0" * 64, b"null", b"[]", b"{}", b"0", b'""'))


def splice(rng: random.Random, data: bytes) -> bytes:
    """Something stands in the middle."""
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(SPLICED) * rng.choice((1, 1, 1, 50)) + data[at + rng.choice((0, 0, 1, 7)) :]


def lines(rng: random.Random, data: bytes) -> bytes:
    """Lines are doubled, lost, moved, or joined with the middle of others."""
    rows = data.split(b"\n")
    a, b = rng.randrange(len(rows)), rng.randrange(len(rows))
    how = rng.randrange(5)
    if how == 0:
        rows[a] = rows[a][: len(rows[a]) // 2] + rows[b][len(rows[b]) // 2 :]
    elif how == 1:
        rows[a], rows[b] = rows[b], rows[a]
    elif how == 2:
        rows.insert(a, rows[b])
    elif how == 3:
        del rows[a]
    else:
        rows = rows[: a + 1] * 2
    return b"\n".join(rows)


def repeat(rng: random.Random, data: bytes) -> bytes:
    """The file stands in itself twice."""
    return data + data


def encoding(rng: random.Random, data: bytes) -> bytes:
    """Saved by a program that likes another encoding."""
    text = data.decode("utf-8", "replace")
    return rng.choice(
        (
            lambda: text.encode("utf-16"),
            lambda: text.encode("latin-1", "replace") + b"\xe9\n",
            lambda: b"\xef\xbb\xbf" + data,
            lambda: data.replace(b"\n", b"\r\n"),
            lambda: data.replace(b"\n", b"\r"),
        )
    )()


MUTATIONS: tuple[Mutation, ...] = (flip, flip, cut, empty, splice, lines, repeat, encoding)


# --- JSON ------------------------------------------------------------------------------------------------------------


def value(rng: random.Random) -> Any:
    """A JSON value that nobody expects."""
    return rng.choice(
        (
            lambda: None,
            lambda: rng.choice((True, False)),
            lambda: rng.choice(NUMBERS),
            lambda: rng.choice(NAMES),
            list,
            dict,
            lambda: [rng.choice(NAMES), rng.choice(NUMBERS), None],
            lambda: {rng.choice(NAMES): rng.choice(NUMBERS)},
            lambda: nested(rng.choice((3, 40, 900))),
            lambda: [[]] * 50,
        )
    )()


def nested(depth: int) -> Any:
    out: Any = 1
    for _ in range(depth):
        out = [out]
    return out


def places(root: Any) -> list[tuple[Any, Any]]:
    """Every value inside a JSON value, as its container and key."""
    out, waiting = [], [root]
    while waiting:
        one = waiting.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        for key in keys:
            out.append((one, key))
            waiting.append(one[key])
    return out


def changed(rng: random.Random, root: Any) -> Any:
    """A JSON value with some other one in it, or less, or more."""
    found = places(root)
    if not found or rng.random() < 0.05:
        return value(rng)
    for _ in range(rng.choice((1, 1, 1, 3))):
        inside, key = rng.choice(found)
        try:
            how = rng.randrange(6)
            if how == 0:
                del inside[key]
            elif how == 1 and isinstance(inside, dict):
                inside[rng.choice(NAMES)] = inside.pop(key)
            elif how == 2:
                other, place = rng.choice(found)
                inside[key] = json.loads(json.dumps(other[place]))
            else:
                inside[key] = value(rng)
        except (KeyError, IndexError, ValueError):  # what was changed before took it along
            continue
    return root


def dumped(root: Any) -> bytes:
    return json.dumps(root).encode()


def json_value(rng: random.Random, data: bytes) -> bytes:
    return dumped(changed(rng, json.loads(data)))


def json_deep(rng: random.Random, data: bytes) -> bytes:
    """Nested deeper than any parser likes."""
    depth = rng.choice((2_000, 100_000))
    return rng.choice((b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth))


def json_lines(rng: random.Random, data: bytes) -> bytes:
    rows = data.splitlines()
    filled = [n for n, row in enumerate(rows) if row.strip()]
    for _ in range(rng.choice((1, 1, 4))):
        place = rng.choice(filled)
        rows[place] = dumped(changed(rng, json.loads(rows[place])))
    return b"\n".join(rows) + b"\n"


# --- tables ----------------------------------------------------------------------------------------------------------


def csv_cells(rng: random.Random, data: bytes) -> bytes:
    """A cell, or a whole column, holds something else; columns trade places."""
    rows = [row.split(",") for row in data.decode("utf-8", "surrogateescape").splitlines()]
    how, row = rng.randrange(4), rng.randrange(len(rows))
    if how == 0:
        rows[row][rng.randrange(len(rows[row]))] = str(rng.choice((*NAMES, *NUMBERS)))
    elif how == 1:
        a, b = (rng.randrange(len(rows[0])) for _ in range(2))
        for one in rows:
            if max(a, b) < len(one):
                one[a], one[b] = one[b], one[a]
    elif how == 2:
        place = rng.randrange(len(rows[0]))
        rows = [one[:place] + one[place + 1 :] for one in rows]
    else:
        rows[row] = rows[row] + rows[row]
    return "\n".join(",".join(one) for one in rows).encode("utf-8", "surrogatepass")


def other_table(rng: random.Random, table: pa.Table) -> pa.Table:
    """A table that can be read and has other columns, types or values."""
    place = rng.randrange(table.num_columns)
    name, column = table.column_names[place], table.column(place)
    how = rng.randrange(9)
    if how == 0:
        return table.drop_columns([name])
    if how == 1:
        return table.set_column(place, name, pa.nulls(len(table), column.type))
    if how == 2:
        return table.set_column(place, name, pa.nulls(len(table)))
    if how == 3:
        return table.slice(0, rng.choice((0, 1)))
    if how == 4:
        other = rng.randrange(table.num_columns)
        return table.set_column(place, name, table.column(other))
    if how == 5:
        return pa.concat_tables([table, table])
    if how == 6:
        return table.rename_columns([rng.choice(("x", "id", "é")) if n == place else c for n, c in
                                     enumerate(table.column_names)])  # fmt: skip
    if how == 7:
        return table.set_column(place, name, pa.array([rng.choice((7, -1))] * len(table)))
    values = column.to_pylist()
    for _ in range(rng.choice((1, 1, 5))):
        row = rng.randrange(len(values))
        values[row] = changed(rng, [values[row]])[0]
    try:
        made = pa.array(values, column.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        made = pa.array([None if v is None else str(v).encode("utf-8", "replace").decode() for v in values])
    return table.set_column(place, name, made)


def parquet(rng: random.Random, data: bytes) -> bytes:
    out = io.BytesIO()
    pq.write_table(other_table(rng, pq.read_table(io.BytesIO(data))), out)
    return out.getvalue()


def arrow(rng: random.Random, data: bytes) -> bytes:
    is_file = data.startswith(b"ARROW1")  # `datasets` saves streams
    table = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(io.BytesIO(data)).read_all()
    out = io.BytesIO()
    made = other_table(rng, table)
    with (pa.ipc.new_file if is_file else pa.ipc.new_stream)(out, made.schema) as writer:
        writer.write_table(made)
    return out.getvalue()


# --- arrays and tensors ----------------------------------------------------------------------------------------------


def array(rng: random.Random) -> np.ndarray:
    shape = rng.choice(((), (0,), (3,), (2, 4), (2, 5, 4), (0, 4), (4, 0), (2, 20)))
    kind = rng.choice(("<f8", "<f2", ">f4", "<i8", "?", "<c16", "S3", "U2", "<M8[s]"))
    return np.zeros(shape, kind)


def npy(rng: random.Random, data: bytes) -> bytes:
    out = io.BytesIO()
    if rng.random() < 0.5:
        made = np.load(io.BytesIO(data)).astype(np.float64)
        if made.size:
            made.flat[rng.randrange(made.size)] = rng.choice([n for n in NUMBERS if isinstance(n, float)])
        np.save(out, made)
    else:
        np.save(out, array(rng))
    return out.getvalue()


def npy_header(rng: random.Random, data: bytes) -> bytes:
    """A header that claims anything."""
    shape = rng.choice(("(1000000000000,)", "(-1,)", "(3, 'x')", "()", "(2**70,)", "[1]", "(" + "1," * 100 + ")"))
    kind = rng.choice(("'<f8'", "'|O'", "'<f9'", "None", "[('a', '<f8')]", "'V99999999999'"))
    extra = rng.choice(("", "'x': 1, ", "(" * 200))
    text = f"{{'descr': {kind}, 'fortran_order': False, {extra}'shape': {shape}}}".encode()
    text += b" " * (63 - (len(text) + 10) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data[128:]


def npz(rng: random.Random, data: bytes) -> bytes:
    out = io.BytesIO()
    names = rng.choice((("answers",), ("answers", "rationales"), ("../answers",), ("x",), ("rationales",)))
    np.savez(out, **{name: array(rng) for name in names})
    return out.getvalue()


def safetensors(rng: random.Random, data: bytes) -> bytes:
    """The header of a file of tensors says something else."""
    (size,) = struct.unpack("<Q", data[:8])
    head = json.loads(data[8 : 8 + size])
    if "__metadata__" in head and rng.random() < 0.6:
        about = head["__metadata__"]
        key = rng.choice(sorted(about))
        about[key] = dumped(changed(rng, json.loads(about[key]))).decode() if rng.random() < 0.8 else "x"
    else:
        head = changed(rng, head)
    made = dumped(head)
    return struct.pack("<Q", len(made)) + made + data[8 + size :]


BY_SUFFIX: dict[str, tuple[Mutation, ...]] = {
    ".json": (json_value, json_value, json_value, json_deep),
    ".jsonl": (json_lines, json_lines, json_lines, json_deep),
    ".journal": (json_lines,),
    ".csv": (csv_cells,),
    ".tsv": (csv_cells,),
    ".parquet": (parquet,),
    ".arrow": (arrow,),
    ".npy": (npy, npy_header),
    ".npz": (npz,),
    ".safetensors": (safetensors,),
}
