"""The parser: every verb as a command of cyclopts, and a command below `build` for each builder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from cyclopts import App, Parameter

from veridical import __version__, api
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
        else:
            out.command(command(verb), name=name, sort_key=place)
    return out


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


def _refusing(error: UserError) -> Callable[..., None]:
    def refuse(*words: Annotated[str, Parameter(allow_leading_hyphen=True, show=False)]) -> None:
        raise error

    refuse.__doc__ = error.problem
    return refuse
