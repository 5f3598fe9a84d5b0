"""The database of a server opened by a command beside it, and what goes to Label Studio and comes back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from veridical.benchmark.place import staging
from veridical.common.files import write_json, write_whole
from veridical.common.result import Result, Table
from veridical.errors import UserError
from veridical.web.collect import kinds, qualifying, working
from veridical.web.collect.exporting import label_studio
from veridical.web.collect.records import Answer, Lease, Project, Task, Worker
from veridical.web.collect.starting.folder import open_project
from veridical.web.collect.store import Store, Transaction


@contextmanager
def opened(folder: Path | str, data: Path | str, database: str | None) -> Iterator[tuple[Store, Project]]:
    """The store of a server's data folder, and a project that it hosts."""
    from veridical.web.collect.sql_store import SqlStore
    from veridical.web.database import DATABASE, SECRET, Database, sqlite_address, usable

    project, _ = open_project(folder)
    path = Path(data) / DATABASE
    if database is None and not path.is_file():
        raise UserError(f"{data} has no database.", "Give the --data folder of `veridical serve`, or its --database.")
    with closing(Database(database or sqlite_address(path))) as base, usable(base):
        base.upgrade()
        secret = Path(data) / SECRET
        store = SqlStore(base, secret.read_bytes() if secret.is_file() else b"")
        if project.name not in store.names():
            raise UserError(f"The server has no collection {project.name!r}.", f"Run `veridical serve {folder}` first.")
        yield store, project


@dataclass(frozen=True)
class Exchanged(Result):
    """What went to Label Studio, or came back."""

    tasks: int
    answers: int
    left_out: int = 0  # answers that were here already, or that nobody needs any more
    out: Path | None = None

    def parts(self) -> list[Table | str]:
        rows = [("tasks", f"{self.tasks:,}"), ("answers", f"{self.answers:,}"), ("left out", f"{self.left_out:,}")]
        out: list[Table | str] = [Table("", ("", ""), rows)]
        if self.out is not None:
            out.append(f"Written: {self.out}. Import tasks.json, and paste the page of a kind as labelling interface.")
        return out


def send(store: Store, name: str, out: Path, address: str) -> Exchanged:
    """Write tasks with their answers, and a labelling page for each kind."""
    with store.look(name) as tx:
        tasks = [one for one in tx.tasks() if one.purpose == "work" and tx.closed(one.id) != "removed"]
        answers: dict[str, list[Answer]] = defaultdict(list)
        for one in tx.answers():
            if one.purpose == "work" and not one.void:
                answers[one.task].append(one)
    listed = label_studio.tasks_json(tasks, answers, address)
    with staging(out) as work:
        folder = work / "made"
        folder.mkdir(parents=True)
        write_json(folder / "tasks.json", listed, indent=1)
        for kind in sorted({one["data"]["kind"] for one in listed}):
            write_whole(folder / f"{kind}.xml", label_studio.config(kind) + "\n")
        if out.exists():
            out.rmdir()
        folder.rename(out)
    return Exchanged(len(listed), sum(len(one["annotations"]) for one in listed), out=out)


def take_back(store: Store, name: str, path: Path) -> Exchanged:
    """Take the answers of a file that Label Studio exported; the same file twice is taken once."""
    found = label_studio.read_export(path)
    taken = 0
    with store.begin(name) as tx:
        for task, answer in found:
            taken += _take(tx, task, answer)
    return Exchanged(len({task.id for task, _ in found}), taken, len(found) - taken)


def _take(tx: Transaction, there: Task, answer: Answer) -> bool:
    """An answer as if it had been given here; nobody is paid for it by us."""
    task = tx.task(answer.task)
    if task is None or dict(task.payload) != dict(there.payload):
        raise UserError(f"Task {answer.task!r} is not one of this project.", "Give an export of its own tasks.")
    name = f"label-studio:{answer.worker}"
    known = tx.worker(answer.worker) or tx.find_worker("link", name)
    if known is None:
        known = Worker(tx.new_worker(), "link", name, joined=answer.time, consented=answer.time)
        known = replace(known, consent=tx.project.consent_version)
        tx.put_worker(known)
    open_now = tx.candidate(task.id)
    if open_now is None or open_now.done + open_now.leased >= open_now.needed or tx.answered(known.id, task.key):
        return False
    if tx.held(known.id) is not None:
        return False
    lease = Lease(f"{known.id}-{known.given}", task.id, known.id, answer.start, answer.time)
    tx.add_lease(lease)
    tx.end_lease(lease.id, "answered", answer.time)
    right = kinds.is_right(task, answer.value)
    warnings = kinds.warnings(task, answer.value)
    made = replace(answer, id=lease.id, worker=known.id, round=tx.round, right=right, warnings=warnings)
    tx.add_answer(made)
    tx.put_worker(qualifying.measured(replace(known, given=known.given + 1), made))
    working.advance(tx, task, answer.time)
    return True
