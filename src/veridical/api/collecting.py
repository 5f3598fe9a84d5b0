"""The verb `collect`: people write, answer and judge. Each of its actions is a command of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from veridical.errors import UserError
from veridical.options import gathered
from veridical.options.collecting import CollectOptions, RunningOptions

if TYPE_CHECKING:
    from veridical.web.collect.exporting import Exported
    from veridical.web.collect.exporting.exchange import Exchanged
    from veridical.web.collect.rehearsal import Rehearsed
    from veridical.web.collect.starting import Begun


def collect(action: str, *arguments: Any, **fields: Any) -> Any:
    """Collect sentences, questions and judgements from people: make a project, rehearse it, export what they did.

    `veridical serve DIR` runs a project: pages for workers, and for whoever asked for it.

    Args:
        action: init, rehearse, export or label-studio.
        arguments: What that action takes.
    """
    if action not in ACTIONS:
        raise UserError(f"There is nothing like `collect {action}`.", f"Choose one of: {', '.join(ACTIONS)}.")
    return ACTIONS[action](*arguments, **fields)


def init(
    builder: Literal["nlvr", "nlvr2", "vcr", "vprom"],
    folder: Path | str,
    options: CollectOptions = CollectOptions(),
    running: RunningOptions = RunningOptions(),
    rehearse: bool = False,
    workers: int = 60,
    **fields: Any,
) -> Begun | Rehearsed:
    """Make a project: tasks with their pictures, qualification, gold, pay; from a source, a seed or a benchmark.

    `project.json` in the folder says how it is run, and may be edited until it starts.

    Args:
        builder: For which benchmark: nlvr, nlvr2, vcr or vprom; vprom, and vcr with --benchmark, is a human study.
        folder: The project to make.
        options: What it is made from.
        running: How it is run.
        rehearse: Let simulated workers do all of it at once, in FOLDER/rehearsal, to see what comes of it.
        workers: How many of them.
    """
    from veridical.web.collect.starting import init as begin

    options, running = gathered((options, running), fields)
    made = begin(builder, Path(folder), options, running)
    return _rehearse(folder, None, workers, options.seed) if rehearse else made


def rehearse(folder: Path | str, out: Path | str | None = None, workers: int = 60, seed: int = 0) -> Rehearsed:
    """Let simulated workers of varied skill and honesty do a whole collection, to see agreement, cost and what goes
    wrong before anybody is paid.

    They use the service that pages use, on a database of their own; what they did is exported, built and checked.

    Args:
        folder: A project that `collect init` made.
        out: The folder of the rehearsal; FOLDER/rehearsal unless given.
        workers: How many people.
        seed: What decides everything random.
    """
    return _rehearse(folder, out, workers, seed)


def _rehearse(folder: Path | str, out: Path | str | None, workers: int, seed: int) -> Rehearsed:
    from veridical.web.collect.rehearsal import rehearse as run

    return run(Path(folder), Path(out) if out is not None else Path(folder) / "rehearsal", workers=workers, seed=seed)


def export(folder: Path | str, out: Path | str, data: Path | str = "board", database: str | None = None) -> Exported:
    """Write what people did so far as the folder that `build --from-collection` reads; it can be done at any time.

    Nothing in it says who anybody is: workers are w1, w2 ...

    Args:
        folder: The project that is served.
        out: The folder to write.
        data: The folder of `veridical serve`, with its database.
        database: The address of its PostgreSQL database, where it has one.
    """
    from veridical.web.collect.exporting import export as write
    from veridical.web.collect.exporting.exchange import opened

    with opened(folder, data, database) as (store, project):
        return write(store, project.name, Path(folder), Path(out))


def label_studio(
    folder: Path | str,
    out: Path | str | None = None,
    take: Path | str | None = None,
    address: str = "",
    data: Path | str = "board",
    database: str | None = None,
) -> Exchanged:
    """Tasks and judgements for Label Studio, or back from it: what was done there counts as if it were done here.

    Args:
        folder: The project that is served.
        out: A folder for tasks.json and the labelling page of each kind.
        take: A file that Label Studio exported (JSON), whose answers are taken.
        address: What stands before the names of pictures in tasks.json, such as https://.../.
        data: The folder of `veridical serve`, with its database.
        database: The address of its PostgreSQL database, where it has one.
    """
    from veridical.web.collect.exporting.exchange import opened, send, take_back

    if (out is None) == (take is None):
        raise UserError("Either tasks are written, or answers are taken.", "Give --out FOLDER or --take FILE.")
    with opened(folder, data, database) as (store, project):
        if take is not None:
            return take_back(store, project.name, Path(take))
        return send(store, project.name, Path(out or ""), address)


ACTIONS: dict[str, Callable[..., Any]] = {
    "init": init,
    "rehearse": rehearse,
    "export": export,
    "label-studio": label_studio,
}
