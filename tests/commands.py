"""The command line in this process, for tests: what it printed and what it ended with."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass

from veridical.cli import run


@dataclass(frozen=True)
class Ran:
    exit_code: int
    stdout: str
    stderr: str


def invoke(*arguments: object) -> Ran:
    """Run `veridical ARGUMENTS`."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run([str(one) for one in arguments])
    return Ran(code, out.getvalue(), err.getvalue())
