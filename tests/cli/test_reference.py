"""The generated command reference is up to date."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_reference_is_not_stale() -> None:
    script = ROOT / "scripts" / "command_reference.py"
    made = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / "commands.md").read_text() == made, "run `make docs` and commit docs/commands.md"
