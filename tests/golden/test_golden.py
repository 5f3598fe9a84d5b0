"""What the commands do is what `golden.json` says; `record.py` tells how to look into a difference."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_commands_do_what_is_recorded() -> None:
    done = subprocess.run([sys.executable, Path(__file__).with_name("record.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
