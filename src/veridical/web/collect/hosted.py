"""Collections that a server hosts, and how a worker is known: by a pass, a signed name that a cookie carries.

A pass is of one worker in one collection and cannot be made without the server's secret; so are the links that let
people in, and the addresses of pictures, which open for the worker they were made for and for nobody else.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from urllib.parse import quote

from sqlalchemy.exc import SQLAlchemyError

from veridical.common.result import remark
from veridical.errors import UserError
from veridical.web.accounts import Accounts
from veridical.web.collect.records import Picture, Platform
from veridical.web.collect.service import Service
from veridical.web.collect.sql_store import SqlStore
from veridical.web.collect.starting import open_project

TICK = 20.0  # seconds between looks at leases that nobody answered, and rounds that are full
MAC = 32  # letters of a signature
LINKS: tuple[Platform, ...] = ("link", "prolific", "mturk")


@dataclass(frozen=True)
class Collection:
    """A project on this machine: its folder has the pictures, the database everything else."""

    name: str
    title: str
    folder: Path
    store: SqlStore
    service: Service


def opened(folders: Iterable[Path | str], store: SqlStore) -> dict[str, Collection]:
    """The collections of some folders, each in the database from its first start on."""
    out: dict[str, Collection] = {}
    known = set(store.names())
    for folder in map(Path, folders):
        project, tasks = open_project(folder)
        if project.name in out:
            problem = f"{folder} and {out[project.name].folder} are one collection, {project.name!r}."
            raise UserError(problem, "Serve one of them.")
        if project.name not in known:
            store.create(project, tasks, time.time())
        else:
            with store.look(project.name) as session:
                begun, status = session.project, session.status
            if begun != project and status == "draft":  # it may be changed until it starts
                store.change(project)
            elif begun != project:
                problem = f"The collection {project.name!r} was begun with another {folder / 'project.json'}."
                raise UserError(problem, "Put that file back, or begin another collection under another name.")
        out[project.name] = Collection(
            project.name, project.title, folder.absolute(), store, Service(store, project.name)
        )
    return out


# --- what is signed --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Signing:
    """Signatures of one server."""

    accounts: Accounts

    def mac(self, *parts: str) -> str:
        return self.accounts.keyed("\n".join(("collect", *parts)))[:MAC]

    def holds(self, mac: str, *parts: str) -> bool:
        return hmac.compare_digest(mac.encode("utf-8", "surrogatepass"), self.mac(*parts).encode())

    def worker_pass(self, project: str, worker: str) -> str:
        """What a worker's browser shows to be known."""
        return f"{worker}.{self.mac('worker', project, worker)}"

    def worker_of(self, project: str, given: str | None) -> str | None:
        """Whose pass this is."""
        worker, _, mac = (given or "").partition(".")
        return worker if worker and self.holds(mac, "worker", project, worker) else None

    def entry(self, project: str, platform: Platform, number: int | None = None) -> str:
        """The last part of a link that lets people in: everybody who has it, or one person by their number."""
        if number is None:
            return self.mac("entry", project, platform)
        return f"{number}-{self.mac('invited', project, str(number))}"

    def invited(self, project: str, platform: str, key: str) -> str | None:
        """Whom a link lets in: "" for whoever has it, or the name of a personal one; None where it does not work."""
        number, dash, mac = key.partition("-")
        if dash:
            fits = platform == "link" and self.holds(mac, "invited", project, number)
            return f"invited {number}" if fits else None
        return "" if platform in LINKS and self.holds(key, "entry", project, platform) else None

    def picture(self, project: str, worker: str, picture: Picture) -> str:
        """The address of a picture for one worker, or for those who `run` a collection."""
        turned = "".join(map(str, picture.order)) or "0"
        mac = self.mac("picture", project, worker, picture.name, turned)
        run = "/run" if worker == "run" else ""
        return f"/collections/{project}{run}/pictures/{mac}/{turned}/{quote(picture.name, safe='')}"


# --- what happens by itself ------------------------------------------------------------------------------------------


class Ticking:
    """A thread that returns what was abandoned, and ends rounds, in every collection."""

    def __init__(self, collections: Mapping[str, Collection]) -> None:
        self._collections = collections
        self._end = Event()
        self._thread = Thread(target=self._run, daemon=True)

    def start(self) -> None:
        if self._collections:
            self._thread.start()

    def stop(self) -> None:
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._end.wait(TICK):
            for one in self._collections.values():
                try:
                    one.service.tick()
                except SQLAlchemyError as error:
                    remark(f"veridical: the database does not answer ({type(error).__name__}); trying again.")
