"""The one error people see: what is wrong, and what to do about it.

The command line prints a `UserError` as two lines and exits with code 2; everything else is a bug and keeps its
traceback.
"""

from __future__ import annotations


class UserError(Exception):
    """Bad input: `problem` says what was found and what was expected, `fix` what to do next.

    >>> print(UserError("predictions.csv, line 412: 'maybe' is neither true nor false.", "Write true or false."))
    predictions.csv, line 412: 'maybe' is neither true nor false.
      Write true or false.
    """

    def __init__(self, problem: str, fix: str = "") -> None:
        super().__init__(problem, fix)
        self.problem = problem
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.problem}\n  {self.fix}" if self.fix else self.problem


def missing_extra(package: str, extra: str) -> UserError:
    """The error for an optional package that is not installed."""
    return UserError(
        f"This needs the package {package}, which is not installed.", f"Run: pip install 'veridical[{extra}]'"
    )
