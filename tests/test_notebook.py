"""docs/notebook.ipynb runs from its first cell to its last, and gives what is kept in it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"


def test_the_notebook_runs_and_its_output_is_fresh() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "run_notebook.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"run `make docs` and commit {NOTEBOOK.name}\n{done.stdout}\n{done.stderr}"


def test_what_is_kept_is_small_whole_and_says_nothing_of_this_machine() -> None:
    text = NOTEBOOK.read_text()
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert len(text) < 150_000
    assert all(cell["outputs"] for cell in cells)
    assert not [one for cell in cells for one in cell["outputs"] if one["output_type"] == "error"]
    assert "/tmp/" not in text
    shown = [one.get("data", {}).get("text/html", "") for cell in cells for one in cell["outputs"]]
    assert sum("veridical-item" in "".join(html) for html in shown) == 2, "a statement and a question, as cards"
