"""A large collection is read by a process of its own: the same is found, and nothing is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from threading import Event

import msgspec
import pytest
from sqlalchemy.exc import SQLAlchemyError
from tests.web.collect import making
from tests.web.collect.test_people import came
from tests.web.collect.test_store import sql as sql
from tests.web.collect.town import STUDY, Camp

from veridical.errors import UserError
from veridical.web.collect.reading import WAITING, Answered, Job, Reading, done
from veridical.web.collect.records import Offer
from veridical.web.collect.service import Service
from veridical.web.collect.sql_store import SqlStore


@pytest.fixture
def begun(sql: SqlStore) -> Service:
    sql.create(
        making.project(fee=0.5, benchmark="vprom", about=STUDY), [making.contrast_task(f"s{k}") for k in range(3)], 1e9
    )
    service = Service(sql, "dogs")
    service.start()
    writer, judge = came(service), came(service)
    for who, role in ((writer, "writer"), (writer, "writer"), (judge, "validator"), (judge, "validator")):
        offer = service.next(who, role)
        assert isinstance(offer, Offer)
        service.submit(who, offer.lease.id, making.answer(offer))
    assert service.end_round()
    return service


def test_the_same_is_found_beside(begun: Service, sql: SqlStore, tmp_path: Path) -> None:
    (tmp_path / "pictures.jsonl").write_text("")  # of the project's folder
    beside, here = Reading(sql.database, large=0), Reading(sql.database)
    try:
        found, known = beside.progress(begun), here.progress(begun)
        moving = {"per_hour": 0.0, "seconds_left": None}
        assert replace(found, **moving) == replace(known, **moving)
        assert known.totals is not None
        assert beside.people(begun) == here.people(begun)
        assert beside.reviews(begun) == here.reviews(begun)
        assert len(here.reviews(begun)) == 2
        for name, one in (("a", beside), ("b", here)):
            one.export(begun, tmp_path, tmp_path / name)
        names = sorted(path.name for path in (tmp_path / "a").iterdir())
        assert "collection.json" in names
        for name in names:
            assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
        with pytest.raises(UserError, match="there already"):
            beside.export(begun, tmp_path, tmp_path / "a")
        with pytest.raises(UserError, match="no collection"):
            beside.people(Service(sql, "nobody's"))
        process = beside._beside._running
        assert process is not None
        process.kill()
        process.wait()
        assert beside.people(begun) == here.people(begun)
    finally:
        beside.close()


def test_a_page_that_is_loaded_again_and_again_is_read_twice(
    begun: Service, sql: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for who asked first, once for all who asked meanwhile; a thread of the server is not held for each."""
    beside, told = Reading(sql.database, large=0), []
    begins, goes_on = Event(), Event()

    def slow(line: bytes, read: object) -> Answered:
        told.append(line)
        begins.set()
        assert goes_on.wait(60)
        return done(msgspec.json.decode(line, type=Job))

    monkeypatch.setattr(beside._beside, "told", slow)
    with ThreadPoolExecutor(40) as pool:
        first = pool.submit(beside.progress, begun)
        assert begins.wait(60)
        rest = [pool.submit(beside.progress, begun) for _ in range(30)]
        refused, _ = wait(rest, 60, FIRST_EXCEPTION)
        while sum(one.done() for one in rest) < 30 - WAITING:
            time.sleep(0.01)
        goes_on.set()
        assert first.result().sentences >= 0
        problems = [one.exception() for one in rest]
    assert refused
    assert len(told) == 2
    assert sum(one is None for one in problems) == WAITING
    assert all(one is None or (isinstance(one, UserError) and "many wait" in str(one)) for one in problems)
    assert beside.progress(begun).sentences >= 0
    assert len(told) == 3


def test_a_database_that_does_not_answer_is_said(tmp_path: Path) -> None:
    told = done(Job("progress", "p", f"sqlite:///{tmp_path}/nowhere/a.sqlite"))
    assert told.failed == "OperationalError"


def test_a_page_of_a_large_collection_is_read_beside(judging: Camp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging.site.reading, "_large", 0)
    admin = judging.admin()
    for path in ("run", "run/people", "run/reviews", "run/export.zip"):
        assert admin.get(f"{judging.path}/{path}").status_code == 200, path
    assert judging.site.reading._beside._running is not None

    def broken(*given: object) -> None:
        raise SQLAlchemyError

    monkeypatch.setattr(judging.site.reading._beside, "told", broken)
    assert admin.get(f"{judging.path}/run/people").status_code == 503


def test_it_ends_with_its_server(tmp_path: Path) -> None:
    """kill -9 of who asks: the process reads the end of its pipe."""
    code = (
        "import time; from veridical.web.collect.reading import _Process; one = _Process(); "
        "print(one._started().pid, flush=True); time.sleep(60)"
    )
    server = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert server.stdout is not None
    child = int(server.stdout.readline())
    server.send_signal(signal.SIGKILL)
    server.wait()
    server.stdout.close()
    until = time.monotonic() + 60
    while _runs(child) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _runs(child)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
