"""The verbs of the web app: look at a benchmark, host a leaderboard of hidden splits, send predictions to one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from veridical.common.places import anywhere
from veridical.errors import UserError
from veridical.options import ARGUMENTS, BoardRows, ServeOptions, gathered, several

if TYPE_CHECKING:
    from veridical.web.board.sending import Submitted
    from veridical.web.board.serving import Served
    from veridical.web.explore.export import Exported
    from veridical.web.explore.server import Shown

TOKEN = "VERIDICAL_TOKEN"  # the variable that holds a team's token


@anywhere
def show(
    benchmark: Path | str | PathLike[str],
    predictions: Annotated[Sequence[Path | str], ARGUMENTS] = (),
    audit: Path | str | None = None,
    hidden: bool = False,
    export: Path | str | None = None,
    sample: int = 200,
    port: int | None = None,
    open: bool = True,
) -> Shown | Exported:
    """Look at a benchmark in a browser: filter, search, open items, see what solvers said and where they differ.

    It runs on this machine alone, only reads, and ends with Ctrl-C. What is looked at stands in the address, which can
    be kept and passed on.

    Args:
        benchmark: A benchmark folder. Python: an open benchmark, too.
        predictions: Prediction files, folders of `veridical train`, audits as JSON; NAME=PATH gives one another name.
        audit: The JSON that `veridical audit` wrote beside its page.
        hidden: Show hidden answers, too, where DIR.hidden is here.
        export: Write a sample as a folder of pages for any web server instead; never with hidden answers.
        sample: How many items of each scheme are exported.
        port: Of this machine's loopback; left out: 8740, or any that is free.
        open: Open a browser at once.
    """
    # before Arrow is loaded: its own pool keeps what loading took, 70 MB of 300,000 items
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    from veridical.web.explore.explorer import Explorer
    from veridical.web.explore.export import export as write
    from veridical.web.explore.server import serve

    explorer = Explorer(benchmark, several(predictions), () if audit is None else (audit,), hidden)
    return serve(explorer, port, open) if export is None else write(explorer, export, sample)


@anywhere
def serve(
    benchmarks: Annotated[Sequence[Path | str], ARGUMENTS] = (),
    data: Path | str = "board",
    host: str = "127.0.0.1",
    port: int = 8000,
    database: str | None = None,
    demo: bool = False,
    rows: BoardRows = BoardRows(),
    options: ServeOptions = ServeOptions(),
    **fields: Any,
) -> Served:
    """Host a leaderboard: every hidden split of the benchmarks becomes a board that teams send predictions to.

    The answers are read from DIR.hidden beside each benchmark, and never leave this machine. On the first start a link
    is printed that makes the account of the host. Stop it at any moment, by kill -9 too: what was taken is scored after
    the next start.

    Args:
        benchmarks: Benchmark folders, each with its hidden folder beside it.
        data: The folder of accounts, entries and the database; copy it to have a backup.
        host: The address to listen on; behind a proxy the default.
        port: The port to listen on.
        database: The address of a PostgreSQL database; a file in DATA if left out.
        demo: Fill a board with small benchmarks and simulated teams, for a first look.
        rows: What stands beside the teams.
        options: How the boards are run.
    """
    beside, made = gathered((rows, options), fields)
    if demo:
        from veridical.web.board import demo as filled

        return filled.serve_demo(Path(data), (host, port), made)
    if not several(benchmarks):
        raise UserError("No benchmark is to be hosted.", "Give folders of benchmarks, or --demo for a first look.")
    from veridical.web.board import serving

    return serving.serve(several(benchmarks), Path(data), (host, port), made, database, beside)


@anywhere
def submit(
    url: str,
    file: Path | str,
    name: str | None = None,
    paper: str = "",
    code: str = "",
    public: bool = False,
    token: str | None = None,
) -> Submitted:
    """Send predictions to a board and wait for the score.

    A file that cannot be scored is refused with the line that is wrong, and costs no try. The same file under the same
    name is sent only once, however often this is run.

    Exit code 0: scored. 1: taken, but not scored yet. 2: refused.

    Args:
        url: The address of a board, https://.../boards/NAME; of a server with one board, its own.
        file: Predictions of every item, as `evaluate` takes them.
        name: What the system is called; the file's name if left out.
        paper: The address of a paper.
        code: The address of its code.
        public: Show it on the board.
        token: A token of your team; left out: the variable VERIDICAL_TOKEN, where others on this machine do not see it.
    """
    from veridical.web.board import sending

    secret = token or os.environ.get(TOKEN)
    if not secret:
        raise UserError("No token was given.", f"Make one on your team's page and export {TOKEN}=...")
    said = {"name": name or Path(file).stem, "paper": paper, "code": code, "public": public}
    return sending.submit(url, Path(file), secret, said)
