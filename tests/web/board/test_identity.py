"""Files that were acknowledged are never removed, whatever database is opened beside them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import delete
from tests.web.board.town import OPTIONS, opened, predictions

from veridical.errors import UserError
from veridical.web.board.app import make_site
from veridical.web.board.entries import RECEIVING
from veridical.web.board.hosted import hosted
from veridical.web.board.identity import IDENTITY
from veridical.web.board.site import Site
from veridical.web.board.tables import Entry, Identity

BOARD = "/boards/boxes-test/entries"


@pytest.fixture
def folder(benchmarks: dict[str, Path], tmp_path: Path) -> Path:
    """The folder of a board with one entry."""
    with opened([benchmarks["boxes"]], tmp_path / "data") as town:
        token = town.person("ada").token()
        sent = town.api(token, "POST", BOARD, params={"name": "One"}, content=predictions(benchmarks["boxes"]))
        assert sent.status_code == 201
    return tmp_path / "data"


def start(benchmarks: dict[str, Path], data: Path, database: str | None = None) -> Site:
    site = make_site(hosted([benchmarks["boxes"]]), data, OPTIONS, database)
    site.database.close()
    return site


def files(folder: Path) -> set[Path]:
    return {one for one in (folder / "entries").rglob("*") if one.is_file()}


@pytest.mark.parametrize("knows_ids", [True, False], ids=["with an id", "of an older version"])
@pytest.mark.parametrize("which", ["sqlite", "postgres"])
def test_another_database_is_refused_and_nothing_is_removed(
    benchmarks: dict[str, Path], folder: Path, tmp_path: Path, request: pytest.FixtureRequest, which: str,
    knows_ids: bool,
) -> None:  # fmt: skip
    before = files(folder)
    assert before
    if not knows_ids:
        (folder / IDENTITY).unlink()
    empty = f"sqlite:///{tmp_path / 'other.sqlite'}"
    database = request.getfixturevalue("postgres")() if which == "postgres" else empty
    for _ in range(2):  # the refusal leaves nothing behind that would let a second start pass
        with pytest.raises(UserError, match="is the folder of another database") as refused:
            start(benchmarks, folder, database)
    assert "--database" in refused.value.fix
    assert files(folder) == before
    start(benchmarks, folder)
    assert files(folder) == before


def test_an_older_dump_keeps_the_files_of_entries_that_it_lacks(
    benchmarks: dict[str, Path], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files(folder)
    site = start(benchmarks, folder)
    with site.database.write() as session:
        session.execute(delete(Entry))
    site.database.close()
    start(benchmarks, folder)
    assert files(folder) == before
    said = [line for line in capsys.readouterr().err.splitlines() if "no entries of this database" in line]
    assert len(said) == 1


def test_a_board_of_an_older_version_gets_an_id(benchmarks: dict[str, Path], folder: Path) -> None:
    site = start(benchmarks, folder)
    with site.database.write() as session:
        session.execute(delete(Identity))
    site.database.close()
    (folder / IDENTITY).unlink()
    start(benchmarks, folder)
    made = (folder / IDENTITY).read_text().strip()
    with site.database.write() as session:
        assert session.query(Identity).one().id == made
        session.execute(delete(Identity))  # an older dump, put back
    site.database.close()
    start(benchmarks, folder)
    assert (folder / IDENTITY).read_text().strip() == made


def test_an_empty_folder_changes_hands_once(
    benchmarks: dict[str, Path], tmp_path: Path, postgres: Callable[[], str]
) -> None:
    """A first look on SQLite, then PostgreSQL: from then on, forgetting --database is refused."""
    address = postgres()
    start(benchmarks, tmp_path / "data")
    start(benchmarks, tmp_path / "data", address)
    start(benchmarks, tmp_path / "data", address)
    with pytest.raises(UserError, match="is the folder of another database"):
        start(benchmarks, tmp_path / "data")
    shutil.rmtree(tmp_path / "data")
    start(benchmarks, tmp_path / "data", address)  # a new folder of a database that has an id


def test_a_marker_is_gone_before_the_answer(benchmarks: dict[str, Path], folder: Path) -> None:
    assert not [one for one in files(folder) if one.name == RECEIVING]
