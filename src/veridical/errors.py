"""The one error people see: what is wrong, and what to do about it.

The command line prints a `UserError` as two lines and exits with code 2; everything else is a bug and keeps its
traceback.
"""

from __future__ import annotations

from collections.abc import Sequence

MOST = 500  # characters of a message
MOST_FIX = 360
MOST_DETAILS, MOST_DETAIL = 25, 200


class UserError(Exception):
    """Bad input: `problem` says what was found and what was expected, `fix` what to do next.

    >>> print(UserError("predictions.csv, line 412: 'maybe' is neither true nor false.", "Write true or false."))
    predictions.csv, line 412: 'maybe' is neither true nor false.
      Write true or false.
    """

    def __init__(self, problem: str, fix: str = "", details: Sequence[str] = ()) -> None:
        """`details` are single problems of many, such as the lines of a file that are wrong."""
        super().__init__(problem, fix, details)
        self.problem, self.fix, self.details = problem, fix, details

    def __str__(self) -> str:
        fix = shortened(printable(self.fix), MOST_FIX)
        lines = [shortened(printable(self.problem), MOST - 3 - len(fix))]
        lines += [f"  {shortened(printable(one), MOST_DETAIL)}" for one in self.details[:MOST_DETAILS]]
        if len(self.details) > MOST_DETAILS:
            lines.append(f"  and {len(self.details) - MOST_DETAILS:,} more.")
        return "\n".join([*lines, *([f"  {fix}"] if fix else [])])


def printable(text: str) -> str:
    """Text whose control characters, which could command a terminal, are spelled out.

    >>> printable("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def shortened(text: str, most: int) -> str:
    """The beginning and the end of a text that is too long.

    >>> shortened("abcdefghijklm", 9)
    'abc ... m'
    """
    if len(text) <= most:
        return text
    end = (most - 5) // 3
    return f"{text[: most - 5 - end]} ... {text[len(text) - end :]}"


def missing_extra(package: str, extra: str) -> UserError:
    """The error for an optional package that is not installed."""
    return UserError(
        f"This needs the package {package}, which is not installed.", f"Run: pip install 'veridical[{extra}]'"
    )
