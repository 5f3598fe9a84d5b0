"""numba's compiler for the kernels of this folder, whose modules are imported only where they are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from veridical.errors import missing_extra

try:
    from numba import njit
except ImportError as missing:
    raise missing_extra("numba", "build") from missing

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """The function as machine code, kept on disk where that is possible."""
    try:
        return njit(cache=True)(function)  # type: ignore[return-value]
    except RuntimeError:  # nowhere to keep compiled code: compile anew in every process
        return njit(cache=False)(function)  # type: ignore[return-value]
