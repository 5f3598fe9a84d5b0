"""Memory that arrays have freed goes back to the system."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
