"""The parser: every verb as a command of cyclopts, and a command below `build` for each builder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from cyclopts import App, Parameter

from veridical import __version__, api
from veridical.api.collecting import ACTIONS
from veridical.builders import BUILDERS, load_builder
from veridical.cli import COMPLETES, COMPLETION, HELP, VERBS, first_line
from veridical.cli.commands import command
from veridical.common.registry import names
from veridical.errors import UserError


def app(*verbs: str) -> App:
    """The command line with the given verbs whole, or all of them; of the others it has only the names."""
    out = _app("veridical", HELP)
    if verbs:
        out.command(_bare, name=COMPLETION, sort_key=len(VERBS), help=COMPLETES)
    else:  # completion knows every option of every verb
        out.register_install_completion_command(name=COMPLETION, sort_key=len(VERBS), help=COMPLETES)
    for place, (name, verb) in enumerate(VERBS.items()):
        if verbs and name not in verbs:
            out.command(_bare, name=name, sort_key=place, help=first_line(verb))
        elif name == "build":
            out.command(_build(place))
        elif name == "collect":
            out.command(_collect(place))
        else:
            made = command(verb)
            if name in LISTED:
                made.__doc__ = f"{made.__doc__}\n\n{LISTED[name]()}"
            out.command(made, name=name, sort_key=place)
    return out


def _solvers() -> str:
    from veridical.solvers import SOLVERS

    return f"Solvers by name: {', '.join(names(SOLVERS, 'solvers'))}."


def _checks() -> str:
    from veridical.auditing.run import CHECKS, NEURAL

    return f"Checks: {', '.join(names(CHECKS, 'auditing'))}; with --neural also {', '.join(NEURAL)}."


# what there is to choose from here, plug-ins of other packages included
LISTED: dict[str, Callable[[], str]] = {"solve": _solvers, "audit": _checks}


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


def _bare() -> None:
    """A command of which the name is enough."""


def _build(place: int) -> App:
    """A command for each builder, those of other packages too."""
    out = _app("build", first_line(api.build), sort_key=place)
    for name in names(BUILDERS, "builders"):
        try:
            out.command(command(load_builder(name)), name=name)
        except UserError as error:  # a plug-in that does not load stands in nobody else's way
            out.command(_refusing(error), name=name)
    return out


def _collect(place: int) -> App:
    """A command for each thing that is done with a collection."""
    out = _app("collect", first_line(api.collect), sort_key=place)
    for name, action in ACTIONS.items():
        out.command(command(action), name=name)
    return out


def _refusing(error: UserError) -> Callable[..., None]:
    def refuse(*words: Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]) -> None:
        raise error

    refuse.__doc__ = error.problem
    return refuse
