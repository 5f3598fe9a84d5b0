"""`veridical serve`: hidden splits hosted from one folder of data, by one process at a time.

Whoever starts it first gets a link that makes the account which runs the server: printed once, to the terminal alone.
"""

from __future__ import annotations

import hashlib
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from sqlalchemy import select

from veridical.common.files import only_one, read_bytes, write_whole
from veridical.common.result import Caution, Result, Table, remark
from veridical.errors import UserError
from veridical.options.serving import BoardRows, ServeOptions
from veridical.web.accounts import checked_name
from veridical.web.board.app import make_app, make_site
from veridical.web.board.entries import file_name, sync_folder
from veridical.web.board.hosted import hosted, keep_boards
from veridical.web.board.site import Site
from veridical.web.board.tables import BASELINE, BLIND, HUMAN, SCORED, Board, Entry
from veridical.web.board.workers import Process, job_of
from veridical.web.collect.starting import is_project
from veridical.web.database import now, usable
from veridical.web.listening import bound

NEEDED = (
    "alembic",
    "argon2",
    "python_multipart",
    "uvicorn",
)  # by some request later on: missing, they are said at once


@dataclass(frozen=True)
class Served(Result):
    """A server that has ended."""

    boards: tuple[str, ...]
    data: Path
    collections: tuple[str, ...] = ()

    def parts(self) -> Iterator[Table | str]:
        yield f"Stopped. Everything is in {self.data}; the same command goes on."


ROOM = 4 << 20  # bytes that must be free in the folder of a server when it begins


def check_options(options: ServeOptions) -> None:
    """Refuse what could not work."""
    for name in ("per_day", "smallest_part", "seconds", "megabytes", "largest_file", "processes"):
        if getattr(options, name) < 1:
            raise UserError(f"--{name.replace('_', '-')} is {getattr(options, name)}.", "Give a number from 1.")
    if not 0 < options.round <= 50:
        raise UserError(f"--round is {options.round}.", "Give points above 0, such as 0.1.")


def serve(
    folders: Sequence[Path | str],
    data: Path,
    address: tuple[str, int],
    options: ServeOptions,
    database: str | None = None,
    beside: BoardRows = BoardRows(),
    fill: Callable[[Site], None] | None = None,
) -> Served:
    """Run boards and collections until stopped.

    `beside` are the host's own rows. `fill` is called once all is there.
    """
    check_options(options)
    for name in NEEDED:
        import_module(name)
    collections = [folder for folder in folders if is_project(folder)]
    boards, data = hosted(folder for folder in folders if folder not in collections), data.absolute()
    with closing(bound(*address)) as listening, _alone(data):
        site = make_site(boards, data, options, database, collections)
        with usable(site.database):
            prepare(site, beside)
            if fill is not None:
                fill(site)
        listen(site, listening, options)
    return Served(tuple(boards), data, tuple(site.collections))


@contextmanager
def _alone(data: Path) -> Iterator[None]:
    """Hold the folder of a server, made if it is not there."""
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{data} cannot be made: {error.strerror}.", "Give another --data.") from None
    with only_one(data / "serving.lock", f"{data} is being served.", "Stop that server first, or take another --data."):
        _check_room(data / "room.part")
        yield


def _check_room(path: Path) -> None:
    """Refuse a disk on which a server could not begin: SQLite maps a file, and a quota that is used up would end the
    whole process while it writes there."""
    try:
        path.write_bytes(b"\0" * ROOM)
    finally:
        path.unlink(missing_ok=True)


def prepare(site: Site, rows: BoardRows = BoardRows()) -> None:
    """Write down the boards, the rows beside them and the host's baselines."""
    with site.database.write() as session:
        keep_boards(session, site.boards)
    process = Process()
    try:
        with site.database.read() as session:
            known = {board.id for board in session.scalars(select(Board)) if board.beside is not None}
        for one in (one for one in site.boards.values() if one.id not in known):
            done = process.ask(job_of(one, site.workers.limits))
            if done.status != "scored":
                raise UserError(f"{one.id} cannot be scored: {done.why or done.said}", "Run `veridical check` on it.")
            with site.database.write() as session:
                board = session.get(Board, one.id)
                assert board is not None
                board.beside = done.scores
        for kind, files in ((BASELINE, rows.baseline), (BLIND, rows.blind), (HUMAN, rows.human)):
            for name, path in (files or {}).items():
                add_baseline(site, process, kind, name, Path(path))
    finally:
        process.close()


def add_baseline(site: Site, process: Process, kind: str, name: str, path: Path) -> None:
    """A row of the host's own, on the board whose items its file answers."""
    data = read_bytes(path)
    digest = hashlib.sha256(data).hexdigest()
    with site.database.read() as session:
        known = select(Entry.id).where(Entry.team_id.is_(None), Entry.sha256 == digest, Entry.name == name)
        if session.scalar(known):
            return
    folder, file = site.entries.new_folder(), file_name(path.name)
    write_whole(folder / file, data)
    sync_folder(site.entries.folder)
    said = []
    for one in site.boards.values():
        done = process.ask(job_of(one, site.workers.limits, (str(folder), file)))
        if done.status == "scored":
            made = Entry(
                id=folder.name, board_id=one.id, team_id=None, kind=kind, name=checked_name(name), public=True,
                file=file, sha256=digest, status=SCORED, scores=done.scores, at=now(), scored_at=now(), paper="",
                code="",
            )  # fmt: skip
            with site.database.write() as session:
                session.add(made)
            site.entries.settle(made.id)
            return
        said.append(f"{one.id}: {done.said}")
    shutil.rmtree(folder)
    raise UserError(f"{path} answers the items of no board.", "Give predictions of every item of one.", said)


def claim_link(site: Site, base: str) -> str | None:
    """A link to the account that runs the server, where there is none."""
    with site.database.write() as session:
        if site.accounts.has_admin(session):
            return None
        return f"{base}/links/claim/{site.accounts.link(session, 'claim')}"


def listen(site: Site, listening: socket.socket, options: ServeOptions) -> None:
    """Answer requests until stopped; where nobody runs the server yet, say how somebody can."""
    import uvicorn

    host, port = listening.getsockname()[:2]
    base = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    remark(f"{options.title}: {base}/  ({', '.join([*site.boards, *site.collections])})")
    claim = claim_link(site, base)
    if claim:
        remark(Caution(f"Nobody runs this server yet. Open this link once, within two days:\n  {claim}"))

    app = make_app(site, options.largest_file << 20)
    config = uvicorn.Config(
        app, log_level="warning", proxy_headers=True, forwarded_allow_ips=options.proxy, server_header=False,
        timeout_keep_alive=30, timeout_graceful_shutdown=10,
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[listening])
