"""The explorer on this machine's loopback: in the foreground for the command, in a thread for a notebook.

The port is bound before anything else, so that a browser may be sent there at once.
"""

from __future__ import annotations

import os
import socket
import webbrowser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from veridical.common.result import Result, Table, remark
from veridical.errors import UserError
from veridical.pages.markup import element
from veridical.web.explore.explorer import Explorer
from veridical.web.explore.facets import SPLIT
from veridical.web.listening import bound

if TYPE_CHECKING:
    import uvicorn

HOST, USUAL_PORT = "127.0.0.1", 8740
# Pages of notebooks on this machine that may hold the explorer in a frame.
NOTEBOOKS = ("http://localhost:*", "http://127.0.0.1:*", "https://localhost:*", "vscode-webview:")
FRAME_HEIGHT = 720


@dataclass(frozen=True)
class Shown(Result):
    """Where a benchmark was shown."""

    url: str
    benchmark: str

    def parts(self) -> Iterator[Table | str]:
        yield f"{self.benchmark} is no longer shown."


def serve(explorer: Explorer, port: int | None = None, open_browser: bool = True) -> Shown:
    """Show a benchmark until Ctrl-C."""
    listening = listen(port)
    url = _address(explorer, listening)
    explorer.catalogue(explorer.scheme)  # whatever is wrong with it is said here, and not in the browser
    remark(f"{explorer.benchmark.name} is shown at {url} (Ctrl-C ends it).")
    if open_browser:
        webbrowser.open(url)
    try:
        _server(explorer).run(sockets=[listening])
    except KeyboardInterrupt:  # which is how it ends
        pass
    finally:
        listening.close()
    return Shown(url, explorer.benchmark.name)


class NotebookExplorer:
    """An explorer that runs beside a notebook; the notebook shows it in a frame."""

    def __init__(self, explorer: Explorer) -> None:
        explorer.catalogue(explorer.scheme)
        self._listening = listen(0)
        self.url = _address(explorer, self._listening)
        self._server = _server(explorer, frames=NOTEBOOKS)
        self._thread = Thread(target=self._server.run, kwargs={"sockets": [self._listening]}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop it; its address is free again."""
        self._server.should_exit = True
        self._thread.join()
        self._listening.close()

    def __repr__(self) -> str:
        return f"<explorer at {self.url}>"

    def _repr_html_(self) -> str:
        look = f"width: 100%; height: {FRAME_HEIGHT}px; border: 1px solid #ccc; border-radius: 8px"
        return str(element("iframe", src=self.url, style=look, title="Explorer"))


def explore(
    benchmark: str | os.PathLike[str],
    predictions: Sequence[Path | str] = (),
    audit: Sequence[Path | str] = (),
    hidden: bool = False,
) -> NotebookExplorer:
    """See `Benchmark.explore`."""
    return NotebookExplorer(Explorer(benchmark, predictions, audit, hidden))


def listen(port: int | None) -> socket.socket:
    """A socket on a port of the loopback; where none is named the usual one, or any that is free."""
    fix = "Give another with --port, or leave it out."
    if port is not None:
        return bound(HOST, port, fix)
    try:
        return bound(HOST, USUAL_PORT, fix)
    except UserError:
        return bound(HOST, 0, fix)


def _server(explorer: Explorer, frames: Sequence[str] = ()) -> uvicorn.Server:
    import uvicorn

    from veridical.web.explore.app import app

    config = uvicorn.Config(app(explorer, frames), log_level="warning", lifespan="off", timeout_graceful_shutdown=1)
    return uvicorn.Server(config)


def _address(explorer: Explorer, listening: socket.socket) -> str:
    """The address to begin at: what the predictions are about, where that is one split."""
    splits = {split for solver in explorer.solvers for scheme, split in solver.files if scheme == explorer.scheme}
    first = explorer.everything()
    query = f"?{first.only(SPLIT, *splits).query()}" if len(splits) == 1 else ""
    return f"http://{HOST}:{listening.getsockname()[1]}/{query}"
