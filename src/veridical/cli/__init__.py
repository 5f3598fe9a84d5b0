"""The command line: one verb per file, each a thin wrapper around one public function.

Verbs are found by name and imported only when they are used, so that `veridical --help` answers at once. Bad input
ends in two lines on stderr and exit code 2.
"""

from __future__ import annotations

import sys
from pkgutil import resolve_name
from typing import Annotated

import typer

from veridical import __version__
from veridical.errors import UserError

# verb -> its function, in the order of a user's work
VERBS: dict[str, str] = {
    "demo": "veridical.cli.demo:run",
    "import": "veridical.cli.import_:import_release",
    "get": "veridical.cli.get:get",
    "build": "veridical.cli.build:build",
    "match": "veridical.cli.match:match",
    "check": "veridical.cli.check:check",
    "stats": "veridical.cli.stats:stats",
    "audit": "veridical.cli.audit:audit",
    "features": "veridical.cli.features:features",
    "train": "veridical.cli.train:train",
    "sweep": "veridical.cli.sweep:sweep",
    "models": "veridical.cli.models:models",
    "solve": "veridical.cli.solve:solve",
    "evaluate": "veridical.cli.evaluate:evaluate",
    "report": "veridical.cli.report:report",
    "export": "veridical.cli.export:export",
    "tag": "veridical.cli.tag:tag",
}


def app(*verbs: str) -> typer.Typer:
    """The command line with the given verbs, or with all of them."""
    out = typer.Typer(
        help="Build, audit and run visual-reasoning benchmarks.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    out.callback()(_veridical)
    for verb in verbs or VERBS:
        found = resolve_name(VERBS[verb])
        if isinstance(found, typer.Typer):
            out.add_typer(found, name=verb)
        else:
            out.command(verb)(found)
    return out


def _show_version(wanted: bool) -> None:
    if wanted:
        print(__version__)
        raise typer.Exit


def _veridical(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Build, audit and run visual-reasoning benchmarks: tests that a model can only pass by looking and reasoning."""


def main() -> None:
    """Run the command line; the entry point of `veridical`."""
    wanted = [a for a in sys.argv[1:2] if a in VERBS]
    try:
        app(*wanted)(prog_name="veridical")
    except UserError as error:
        print(f"veridical: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        if error.filename is None:
            raise  # not about a user's file
        problem = f"{error.filename}: {error.strerror or error}."
        print(
            f"veridical: {UserError(problem, 'Check the path, its permissions and the space left.')}", file=sys.stderr
        )
        sys.exit(2)
