"""Solvers: from a benchmark's items to predictions. A solver is one file here and one line in `SOLVERS`.

In reading order:

    solver      what a solver is, what opens one by name, the verb; the two simplest: the most common answer, a guess
    programs    reads a sentence as programs and executes them on the scene; `learned` is what it learns
    trained     a run of `veridical train`
    vlm/        vision-language models, through Inspect AI

From outside: `solver.Solver`, `open_solver` and `solve`. Other packages add solvers by entry points of the group
`veridical.solvers`.
"""

from __future__ import annotations

# solver -> what opens it (a class of `Solver`; its keywords are its options), as "module:attribute"
SOLVERS: dict[str, str] = {
    "programs": "veridical.solvers.programs:Programs",
    "majority": "veridical.solvers.solver:MajorityAnswer",
    "random": "veridical.solvers.solver:Guess",
}
