"""Memory that arrays have freed goes back to the system; arrays on disk are whole, and read without trust."""

from __future__ import annotations

import os
import resource
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from veridical.common.arrays import read_array, write_array
from veridical.errors import UserError

HELD = """
import numpy as np
from veridical.common.arrays import give_back

def held():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1]) / 1024

def some_freed():
    np.ones(30 << 17)  # 30 MB, freed: from now on the C library keeps what is smaller, unless told otherwise
    kept = [np.ones(12 << 17) for _ in range(20)]  # 240 MB, of which the last part stays in use
    return kept[-1]

"""
KEPT = HELD + "last = some_freed(); before = held(); give_back(); print(before, held())"
AT_ONCE = HELD + "give_back(); before = held(); last = some_freed(); print(before, held())"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(("code", "least", "most"), [(KEPT, -300, -200), (AT_ONCE, 0, 20)])
def test_what_is_free_is_given_back_and_large_arrays_at_once(code: str, least: float, most: float) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    before, after = map(float, done.stdout.split())
    assert least <= after - before <= most


def test_an_array_that_does_not_fit_is_said_and_the_old_one_stays(tmp_path: Path) -> None:
    path = tmp_path / "vectors.npy"
    write_array(path, np.ones((2, 3), np.float32))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(UserError, match="cannot be written: File too large"):
            write_array(path, np.ones((1000, 3), np.float32))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert read_array(path, "").tolist() == [[1, 1, 1], [1, 1, 1]]
    assert [p.name for p in tmp_path.iterdir()] == ["vectors.npy"]


@pytest.mark.parametrize("shape", ["(1000000000000,)", "(-1,)", "(3, 'x')", "(" + "1," * 100 + ")"])
@pytest.mark.parametrize("kind", ["'<f8'", "'|O'", "None", "[('a', '<f8')]"])
def test_a_header_that_claims_anything(tmp_path: Path, shape: str, kind: str) -> None:
    text = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}}}\n".encode()
    path = tmp_path / "vectors.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + b"\0" * 64)
    with pytest.raises(UserError, match=r"vectors\.npy"):
        read_array(path, "Make it again.")


def test_what_is_no_array_of_numbers(tmp_path: Path) -> None:
    np.save(tmp_path / "words.npy", np.array(["a", "b"]))
    np.savez(tmp_path / "many.npz", a=np.ones(3))
    os.mkfifo(tmp_path / "pipe.npy")
    (tmp_path / "code.npy").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    for name in ("words.npy", "many.npz", "pipe.npy", "code.npy", "nothing.npy"):
        with pytest.raises(UserError, match=name.replace(".", r"\.")):
            read_array(tmp_path / name, "Make it again.")
