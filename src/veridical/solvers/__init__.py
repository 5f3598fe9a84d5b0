"""Solvers: from a benchmark's items to predictions. A solver is one file here and one line in `SOLVERS`."""

from __future__ import annotations

# solver -> its class or function, as "module:attribute"
SOLVERS: dict[str, str] = {
    "programs": "veridical.solvers.programs:ProgramSolver",
}
