"""Typed names of NumPy arrays, one meaning each, and kernels: functions on them as machine code by numba.

A room that gives an array a shape and a sense names it on top: `Hashes = Words  # (pictures,): 64 bits each`. A kernel
is ordinary Python that also runs as it is (slowly), so that a test can step through it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from tokenize import TokenError
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from veridical.common.files import atomic, refuse_endless
from veridical.errors import UserError, missing_extra

Array = NDArray[Any]  # of whatever type
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Words = NDArray[np.uint64]  # 64 of them in each number
Pixels = NDArray[np.uint8]  # (height, width) or (height, width, channels)
Mask = NDArray[np.bool_]  # (height, width): which pixels belong to something

MMAP_THRESHOLD = -3  # the C library's number for the size from which memory is asked of the system
LARGE = 1 << 23  # bytes

# A header is a Python literal that may say anything: more rows than there is memory, shapes that are no numbers.
BAD_HEADER = (ValueError, TypeError, OverflowError, MemoryError, RecursionError, EOFError, OSError, TokenError)

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


def one_thread(*modules: str) -> AbstractContextManager[object]:
    """Small products on many threads wait for each other, on a busy machine for long, and their sums may round
    differently: use one. Limits apply to libraries that are loaded, so `modules` are imported first."""
    try:
        for name in modules:
            import_module(name)
        limits: AbstractContextManager[object] = import_module("threadpoolctl").threadpool_limits(1)
    except ImportError:
        return nullcontext()
    return limits


def give_back() -> None:
    """Hand what arrays have freed back to the system, and large ones from now on as soon as they are free.

    The C library (glibc) would keep both for later: after a table of some 30 MB is freed, the next ones are cut from a
    heap that seldom shrinks, of each thread its own, and the same work takes half as much room again.
    """
    import ctypes
    import sys

    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        for name, arguments in (("mallopt", (MMAP_THRESHOLD, LARGE)), ("malloc_trim", (0,))):
            function = getattr(library, name, None)
            if function is not None:
                function(*arguments)


def write_array(path: Path, array: Array) -> None:
    """Write an array as .npy, whole or not at all.

    NumPy gets no real file: of a full disk it would say neither the reason nor the number that tells it.
    """
    with atomic(path) as file:
        np.save(SimpleNamespace(write=file.write), array)


def read_array(path: Path, fix: str) -> Array:
    """The array of an .npy file that somebody may have changed."""
    refuse_endless(path)
    try:
        found: Array = np.load(path, allow_pickle=False)
    except BAD_HEADER as error:
        raise UserError(f"{path} is not a plain NumPy array: {str(error).rstrip('.')}.", fix) from None
    if not isinstance(found, np.ndarray) or not np.issubdtype(found.dtype, np.floating):
        raise UserError(f"{path} holds no numbers.", fix)
    return found
