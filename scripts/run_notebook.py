"""Run docs/notebook.ipynb from its first cell to its last, in an empty folder: `make docs` keeps what comes out.

python scripts/run_notebook.py            run it; exit code 1 where a cell gives other kinds of output than are kept
python scripts/run_notebook.py --write    keep what it gives
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "notebook.ipynb"
SECONDS = 300  # that one cell may take


def executed(notebook: NotebookNode) -> NotebookNode:
    """The notebook with what its cells give; an error in a cell is raised."""
    os.environ |= {"VERIDICAL_PROGRESS": "0", "COLUMNS": "100"}
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(notebook, timeout=SECONDS, resources={"metadata": {"path": folder}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it ran
    text = nbformat.writes(notebook).replace(f"{folder}/", "")  # where it ran
    return nbformat.reads(text, as_version=4)


def kinds(notebook: NotebookNode) -> list[list[str]]:
    """What each cell gives: streams by name, results and displays by their types."""
    outputs = (cell.get("outputs", ()) for cell in notebook.cells)
    return [[one.get("name") or ", ".join(sorted(one.get("data", {}))) for one in each] for each in outputs]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    kept = nbformat.read(NOTEBOOK, as_version=4)
    before = kinds(kept)
    made = executed(kept)
    if parser.parse_args().write:
        nbformat.write(made, NOTEBOOK)
        return 0
    different = [n for n, (old, new) in enumerate(zip(before, kinds(made), strict=True)) if old != new]
    for number in different:
        print(f"cell {number} gives {kinds(made)[number]} where {before[number]} is kept")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
