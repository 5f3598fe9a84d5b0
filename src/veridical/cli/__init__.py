"""The command line: the verbs of `veridical.api` as commands, made of their signatures and docstrings.

    commands    a verb becomes a command

Only the verb that is asked for is made whole, so that `veridical --help` answers at once. Bad input ends in two lines
on stderr and exit code 2.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from cyclopts import App, CycloptsError, Parameter

from veridical import __version__, api
from veridical.errors import UserError

# command -> its verb, in the order of a user's work; `import` cannot name a function
VERBS: dict[str, Callable[..., Any]] = {name.removesuffix("_release"): getattr(api, name) for name in api.__all__}
COMPLETION, COMPLETES = "--install-completion", "Let your shell complete commands and options with Tab."
HELP = """Build, audit and run visual-reasoning benchmarks: tests that a model can only pass by looking and reasoning.

Results go to stdout (with --json as one JSON document), progress and remarks to stderr (with --quiet only warnings)."""


def app(*verbs: str) -> App:
    """The command line with the given verbs whole, or all of them; of the others it has only the names."""
    out = _app("veridical", HELP)
    if verbs:
        out.command(_bare, name=COMPLETION, sort_key=len(VERBS), help=COMPLETES)
    else:  # completion knows every option of every verb
        out.register_install_completion_command(name=COMPLETION, sort_key=len(VERBS), help=COMPLETES)
    for place, (name, verb) in enumerate(VERBS.items()):
        if verbs and name not in verbs:
            out.command(_bare, name=name, sort_key=place, help=_first_line(verb))
        elif name == "build":
            out.command(_build(place))
        else:
            out.command(_whole(verb), name=name, sort_key=place)
    return out


def run(tokens: Sequence[str]) -> int:
    """Run a command and give its exit code; what stands in its way is said in two lines."""
    first = [token for token in tokens[:1] if not token.startswith("-")]
    everything = tokens[:1] == [COMPLETION]
    try:
        code = app(*(() if everything else first or ["none"]))(list(tokens))
    except UserError as error:
        return _refuse(error)
    except CycloptsError as error:
        problem, _, fix = str(error).partition(". ")
        return _refuse(UserError(problem.rstrip(".") + ".", fix or "See `veridical --help`."))
    except KeyboardInterrupt:
        print("veridical: stopped. Run the same command again to continue.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 1
    except OSError as error:
        if error.filename is None:
            raise  # not about a user's file
        problem = f"{error.filename}: {error.strerror or error}."
        return _refuse(UserError(problem, "Check the path, its permissions and the space left."))
    return code if isinstance(code, int) else 0


def main() -> None:
    """The entry point of `veridical`."""
    sys.exit(run(sys.argv[1:]))


def _app(name: str, help: str, sort_key: int | None = None) -> App:
    return App(
        name=name,
        help=help,
        sort_key=sort_key,
        version=__version__,
        version_flags=["--version"] if name == "veridical" else [],
        help_format="plaintext",
        exit_on_error=False,
        print_error=False,
        suppress_keyboard_interrupt=False,
        result_action="return_value",
    )


def _whole(verb: Callable[..., Any]) -> Callable[..., int]:
    from veridical.cli.commands import command

    return command(verb)


def _bare() -> None:
    """A command of which the name is enough."""


def _first_line(verb: Callable[..., Any]) -> str:
    return (verb.__doc__ or "").partition("\n")[0]


def _build(place: int) -> App:
    """A command for each builder, those of other packages too."""
    from veridical.builders import BUILDERS, load_builder
    from veridical.common.registry import names

    out = _app("build", _first_line(api.build), sort_key=place)
    for name in names(BUILDERS, "builders"):
        try:
            out.command(_whole(load_builder(name)), name=name)
        except UserError as error:  # a plug-in that does not load stands in nobody else's way
            out.command(_refusing(error), name=name)
    return out


def _refusing(error: UserError) -> Callable[..., None]:
    def refuse(*words: Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]) -> None:
        raise error

    refuse.__doc__ = error.problem
    return refuse


def _refuse(error: UserError) -> int:
    print(f"veridical: {error}", file=sys.stderr)
    return 2
