"""Fingerprints: equal content, equal hash, in any process; other content or type, another hash."""

from __future__ import annotations

import copy
import functools
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veridical.engine.memory import fingerprint
from veridical.records import Panel, SceneObject

ROOT = Path(__file__).resolve().parents[2]

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary()
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner) | st.frozensets(scalars)
    ),
    max_leaves=12,
)


@given(values)
def test_a_copy_has_the_same_fingerprint(value: object) -> None:
    assert fingerprint(value) == fingerprint(pickle.loads(pickle.dumps(value))) == fingerprint(copy.deepcopy(value))


@given(values, values)
def test_different_values_have_different_fingerprints(one: object, other: object) -> None:
    if one != other:
        assert fingerprint(one) != fingerprint(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, 1.0),
        ("1", b"1"),
        ((1, 2), [1, 2]),
        (["ab", "c"], ["a", "bc"]),
        ([[1], 2], [1, [2]]),
        (0.0, -0.0),
        (np.zeros(4), np.zeros((2, 2))),
        (np.zeros(4, np.float32), np.zeros(4, np.int32)),
        (pa.table({"a": [1, 2]}), pa.table({"a": [1, 3]})),
        (SceneObject("0", "dog"), SceneObject("0", "cat")),
        (functools.partial(pow, exp=2), functools.partial(pow, exp=3)),
        (np.random.default_rng(1), np.random.default_rng(2)),
        (Path("a"), "a"),
    ],
)
def test_what_differs(one: object, other: object) -> None:
    assert fingerprint(one) != fingerprint(other)


def test_what_is_equal() -> None:
    table = pa.table({"a": list(range(10))})
    assert fingerprint(table.slice(2, 3)) == fingerprint(pa.table({"a": [2, 3, 4]}))
    grid = np.arange(12).reshape(3, 4)
    assert fingerprint(grid[:, ::2]) == fingerprint(grid[:, ::2].copy())
    assert fingerprint(Panel("p", objects=(SceneObject("0", "dog"),))) == fingerprint(
        Panel("p", objects=(SceneObject("0", "dog"),))
    )


def test_the_same_in_every_process() -> None:
    code = (
        "import numpy as np; from pathlib import Path; from veridical.engine.memory import fingerprint;"
        "from veridical.records import SceneObject;"
        "print(fingerprint([{'a', 'b', 'c', 'd'}, SceneObject('0', 'dog'), Path('x/y'), np.arange(3), 1.5]))"
    )
    out = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "src")},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(out) == 1
