"""A kernel gives what its Python gives, also where compiled code cannot be kept."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from veridical.common.arrays import compiled, has_numba
from veridical.errors import UserError


def _sum(values):  # type: ignore[no-untyped-def]
    total = 0
    for value in values:
        total += value
    return total


def test_a_kernel_computes_what_its_python_does() -> None:
    assert has_numba()
    numbers = np.arange(10)
    assert compiled(_sum)(numbers) == _sum(numbers) == 45
    nowhere = eval("lambda values: values.sum()")  # without a file, nothing can be kept
    assert compiled(nowhere)(numbers) == 45


def test_without_numba_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    assert not has_numba()
    with pytest.raises(UserError, match="numba"):
        compiled(_sum)
