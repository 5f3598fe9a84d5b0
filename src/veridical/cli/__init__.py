"""The command line: the verbs of `veridical.api` as commands, made of their signatures and docstrings.

    commands    a verb becomes a command
    parser      all of them, for cyclopts

The overview needs neither, so that `veridical --help` answers at once; of the others only the verb that is asked for is
made whole. Bad input ends in two lines on stderr and exit code 2.
"""

from __future__ import annotations

import shutil
import signal
import sys
import textwrap
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from veridical import __version__, api
from veridical.errors import UserError, in_the_way

# command -> its verb, in the order of a user's work; `import` cannot name a function
VERBS: dict[str, Callable[..., Any]] = {name.removesuffix("_release"): getattr(api, name) for name in api.__all__}
COMPLETION, COMPLETES = "--install-completion", "Let your shell complete commands and options with Tab."
HELP = """Build, audit and run visual-reasoning benchmarks: tests that a model can only pass by looking and reasoning.

Results go to stdout (with --json as one JSON document), progress and remarks to stderr (with --quiet only warnings)."""


def run(tokens: Sequence[str]) -> int:
    """Run a command and give its exit code; what stands in its way is said in two lines."""
    if not tokens or tokens[0] in ("-h", "--help"):
        print(overview())
        return 0
    if tokens[0] == "--version":
        print(__version__)
        return 0
    from cyclopts import CycloptsError, MissingArgumentError

    from veridical.cli.parser import app

    first = [token for token in tokens[:1] if not token.startswith("-")]
    everything = tokens[:1] == [COMPLETION]
    try:
        code = app(*(() if everything else first or ["none"]))(list(tokens))
    except UserError as error:
        return _refuse(error)
    except MissingArgumentError as error:
        return _refuse(_missing(error, tokens[0]))
    except CycloptsError as error:
        problem, _, fix = str(error).partition(". ")
        return _refuse(UserError(problem.rstrip(".") + ".", fix or _way_out(problem, tokens[0])))
    except KeyboardInterrupt as stop:
        return _stopped(stop)
    except BrokenPipeError:
        return 1
    except (OSError, ImportError) as error:
        if known := in_the_way(error):
            return _refuse(known)
        if isinstance(error, ImportError) or error.filename is None:
            raise  # not about a user's file
        problem = f"{error.filename}: {error.strerror or error}."
        return _refuse(UserError(problem, "Check the path and its permissions."))
    return code if isinstance(code, int) else 0


def main() -> None:
    """The entry point of `veridical`."""
    for number in (signal.SIGTERM, signal.SIGHUP):  # as Ctrl-C: nothing half-written is left behind
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup's is not
            signal.signal(number, _stop)
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt as stop:  # before there was a command to stop
        code = _stopped(stop)
    sys.exit(code)


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt(number)


def _stopped(stop: KeyboardInterrupt) -> int:
    """What is said and returned when a signal ends a command."""
    print("veridical: stopped. Run the same command again to continue.", file=sys.stderr)
    return 128 + (stop.args[0] if stop.args else signal.SIGINT)


def overview(width: int | None = None) -> str:
    """What there is: every command with the first line of its help."""
    width = width or min(shutil.get_terminal_size().columns, 110)
    told = {name: first_line(verb) for name, verb in VERBS.items()}
    told |= {COMPLETION: COMPLETES, "--help (-h)": "Show this, or the options of a command.", "--version": "Show it."}
    longest = max(map(len, told))
    lines = [
        textwrap.fill(help, width, initial_indent=f"  {name:{longest}}  ", subsequent_indent=" " * (longest + 4))
        for name, help in told.items()
    ]
    about = [textwrap.fill(part, width) for part in HELP.split("\n\n")]
    return "\n\n".join(["Usage: veridical COMMAND ...", *about, "\n".join(lines)])


def first_line(verb: Callable[..., Any]) -> str:
    return (verb.__doc__ or "").partition("\n")[0]


def _way_out(problem: str, command: str) -> str:
    """What to do about a command that was not understood."""
    if command not in VERBS:
        return "See `veridical --help`."
    if command == "train" and "option" in problem:
        return "Options of a model and of training: --set epochs=3 (`veridical models MODEL` lists them)."
    return f"See `veridical {command} --help`."


def _missing(error: Any, command: str) -> UserError:
    """Something that must be said and was not."""
    name = error.argument.name
    where = " Say where the result goes: --out PATH." if name == "--out" else ""
    return UserError(f"{name} is missing.", f"See `veridical {command} --help`.{where}")


def _refuse(error: UserError) -> int:
    print(f"veridical: {error}", file=sys.stderr)
    return 2
