"""Commits that are shared: each transaction stands alone, and nobody hears of it before it is on disk."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import IntegrityError

from veridical.web.database import Database, sqlite_address
from veridical.web.grouped import MOST, Grouped


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    is_sqlite = request.param == "sqlite"
    made = Database(sqlite_address(tmp_path / "a.sqlite") if is_sqlite else request.getfixturevalue("postgres")())
    with made.write() as session:
        session.execute(text("CREATE TABLE written (number INTEGER PRIMARY KEY)"))
    yield made
    made.close()


def numbers(database: Database) -> list[int]:
    with database.read() as session:
        return list(session.execute(text("SELECT number FROM written ORDER BY number")).scalars())


def test_many_write_at_once_some_fail_and_few_commits_are_needed(database: Database) -> None:
    grouped, commits, seen = Grouped(database), [0], []
    event.listen(database.engine, "commit", lambda connection: commits.__setitem__(0, commits[0] + 1))
    gate = threading.Barrier(40)

    def write(number: int) -> None:
        gate.wait()
        try:
            with grouped.begin() as connection:
                connection.execute(text("INSERT INTO written VALUES (:n)"), {"n": number})
                if number % 4 == 3:
                    connection.execute(text("INSERT INTO written VALUES (:n)"), {"n": number})
        except IntegrityError:
            return
        seen.append((number, number in numbers(database)))  # told only of what others see, too

    threads = [threading.Thread(target=write, args=(number,)) for number in range(40)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    wanted = [number for number in range(40) if number % 4 != 3]
    assert numbers(database) == wanted
    assert sorted(seen) == [(number, True) for number in wanted]
    assert commits[0] < 40
    assert MOST > 1


def test_a_commit_that_fails_is_everybodys_and_the_next_group_goes_on(database: Database) -> None:
    later = "REFERENCES written (number) DEFERRABLE INITIALLY DEFERRED"  # which is found wrong by the commit
    with database.write() as session:
        session.execute(text(f"CREATE TABLE about (number INTEGER {later})"))
    grouped = Grouped(database)

    def write(number: int, about: int) -> None:
        with grouped.begin() as connection:
            connection.execute(text("INSERT INTO written VALUES (:n)"), {"n": number})
            connection.execute(text("INSERT INTO about VALUES (:n)"), {"n": about})

    with pytest.raises(IntegrityError):
        write(1, 7)
    write(2, 2)
    assert numbers(database) == [2]
