"""Kernels: plain functions on arrays, as machine code by numba where it is installed.

A kernel is ordinary Python that also runs as it is (slowly), so that a test can step through it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from veridical.errors import missing_extra

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F, **options: Any) -> F:
    """A function as machine code, kept on disk where there is a place for it; `options` are those of `numba.njit`."""
    try:
        from numba import njit
    except ImportError as missing:
        raise missing_extra("numba", "build") from missing
    try:
        found: F = njit(cache=True, nogil=True, **options)(function)
    except RuntimeError:  # nowhere to keep compiled code: compile anew in every process
        found = njit(cache=False, nogil=True, **options)(function)
    return found


def has_numba() -> bool:
    """Whether kernels can be compiled here."""
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True
