"""Label Studio both ways, exports beside a server, projects read from disk, and the commands."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.web.collect import making
from tests.web.collect.memory import MemoryStore
from tests.web.collect.test_kinds import GOOD, SHOWN

import veridical
from veridical.errors import UserError
from veridical.options.collecting import CollectOptions
from veridical.web.collect import kinds
from veridical.web.collect.exporting import label_studio
from veridical.web.collect.exporting.exchange import send, take_back
from veridical.web.collect.kinds import plain
from veridical.web.collect.pictures import picture_bytes
from veridical.web.collect.records import Answer, Kind, Offer, Picture, Task
from veridical.web.collect.service import Service
from veridical.web.collect.sql_store import SqlStore
from veridical.web.collect.starting import init, open_project
from veridical.web.collect.starting.folder import ProjectFolder
from veridical.web.database import DATABASE, Database, sqlite_address

THERE = [(kind, value) for kind, value in GOOD if kind in label_studio.KINDS]


@pytest.mark.parametrize(("kind", "value"), THERE)
def test_what_goes_to_label_studio_comes_back_the_same(kind: Kind, value: dict[str, Any], tmp_path: Path) -> None:
    task = Task("t", kind, plain(SHOWN[kind]))
    kept = kinds.normal(task, value)
    answer = Answer("w1-3", "t", "w1", kind, "work", kept, 1000.0, 1012.5)
    listed = label_studio.tasks_json([task], {"t": [answer]}, "https://x/")
    assert listed[0]["annotations"][0]["lead_time"] == 12.5
    path = tmp_path / "export.json"
    path.write_text(json.dumps(listed))
    ((back, same),) = label_studio.read_export(path)
    assert dict(back.payload) == dict(task.payload)
    assert (same.value, same.worker, same.id, same.start, same.time) == (kept, "w1", "w1-3", 1000.0, 1012.5)
    page = label_studio.config(kind)
    for one in listed[0]["annotations"][0]["result"]:
        assert f'name="{one["from_name"]}"' in page
        assert f'name="{one["to_name"]}"' in page
    assert all(f"${name}" in page for name in listed[0]["data"] if name.startswith("image"))


def _spoil(value: Any, path: list[int], junk: Any) -> Any:
    """A document with something else at a place of it."""
    if not path or not isinstance(value, dict | list) or not value:
        return junk
    if isinstance(value, dict):
        key = sorted(value)[path[0] % len(value)]
        return {**value, key: _spoil(value[key], path[1:], junk)}
    place = path[0] % len(value)
    return [*value[:place], _spoil(value[place], path[1:], junk), *value[place + 1 :]]


@settings(max_examples=80, deadline=None)
@given(
    case=st.sampled_from(THERE),
    path=st.lists(st.integers(0, 9), max_size=7),
    junk=st.sampled_from([None, 3, "x", [], {}, [[]], True]),
)
def test_a_damaged_export_is_refused_in_words(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[Kind, dict[str, Any]], path: list[int], junk: Any
) -> None:
    kind, value = case
    task = Task("t", kind, plain(SHOWN[kind]))
    answer = Answer("w1-3", "t", "w1", kind, "work", kinds.normal(task, value), 0.0, 1.0)
    document = _spoil(label_studio.tasks_json([task], {"t": [answer]}), path, junk)
    file = tmp_path_factory.mktemp("spoilt") / "export.json"
    file.write_text(json.dumps(document))
    with contextlib.suppress(UserError):  # anything else is a defect
        label_studio.read_export(file)


def test_questions_with_tags_are_typed_there_beside_the_boxes_they_name(tmp_path: Path) -> None:
    task = Task("ask:p", "questions", plain(SHOWN["questions"]))
    (listed,) = label_studio.tasks_json([task], {})
    (drawn,) = listed["predictions"]
    shown = kinds.payload(task)
    assert [one["value"]["rectanglelabels"] for one in drawn["result"]] == [[one.name] for one in shown.objects]
    box, size = drawn["result"][1]["value"], (shown.picture.width, shown.picture.height)
    assert [box["x"] / 100 * size[0], (box["x"] + box["width"]) / 100 * size[0]] == pytest.approx([20, 30], abs=0.01)
    typed = {"question": "Why is [person1] pointing at [Person2]?", "answer": "[person1, person2] want a cup.",
             "rationale": "[person2] holds [cup1] and serves tables."}  # fmt: skip
    result = [label_studio._text(f"{part}-0", text) for part, text in typed.items()]
    result += [label_studio._choices("likelihood-0", "likely"), *drawn["result"]]  # boxes that were kept say nothing
    listed["annotations"] = [{"id": 7, "completed_by": 3, "created_at": "2026-11-18T02:00:00Z", "result": result}]
    path = tmp_path / "done.json"
    path.write_text(json.dumps([listed]))
    ((_, answer),) = label_studio.read_export(path)
    (asked,) = answer.value["questions"]
    assert asked["question"] == ["Why", "is", [0], "pointing", "at", [1], "?"]
    assert asked["answer"][0] == [0, 1]
    listed["annotations"][0]["result"][0]["value"]["text"] = ["Why is [dog7] barking?"]
    path.write_text(json.dumps([listed]))
    with pytest.raises(UserError, match=r"no \[dog7\] in the picture"):
        label_studio.read_export(path)


def test_what_was_done_in_label_studio_counts_once_and_is_gone_on_from(tmp_path: Path) -> None:
    store = MemoryStore()
    store.create(making.project(), [making.contrast_task("s1")], 0.0)
    service = Service(store, "dogs", lambda: 50.0)
    service.start()
    assert send(store, "dogs", tmp_path / "out", "").tasks == 1
    assert (tmp_path / "out" / "contrast.xml").read_text().startswith("<View>")
    listed = json.loads((tmp_path / "out" / "tasks.json").read_text())
    said = {"selected": [0, 3], "sentence": making.SENTENCE, "flag": ""}
    listed[0]["annotations"] = [
        {"id": 7, "completed_by": {"id": 12, "email": "a@b"}, "lead_time": 30, "created_at": "2026-11-18T02:00:00Z",
         "result": label_studio._result(making.contrast_task("s1"), said)}
    ]  # fmt: skip
    path = tmp_path / "done.json"
    path.write_text(json.dumps(listed))
    assert (take_back(store, "dogs", path).answers, take_back(store, "dogs", path).answers) == (1, 0)
    tx = store._projects["dogs"]
    assert {name for name in tx._tasks if name.startswith("validate:")} == {f"validate:set-s1-{k}-0" for k in range(4)}
    (worker,) = tx.workers()
    assert tx.task("validate:set-s1-0-0").author == worker.id  # type: ignore[union-attr]
    listed[0]["meta"]["veridical"]["payload"]["synset"] = "cat"
    path.write_text(json.dumps(listed))
    with pytest.raises(UserError, match="not one of this project"):
        take_back(store, "dogs", path)


@pytest.fixture(scope="module")
def drawings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("projects") / "drawings"
    init("nlvr", folder, CollectOptions(presentations=4))
    return folder


def test_an_export_beside_a_server_names_nobody(drawings: Path, tmp_path: Path) -> None:
    project, tasks = open_project(drawings)
    data = tmp_path / "data"
    data.mkdir()
    with pytest.raises(UserError, match="no database"):
        veridical.collect("export", drawings, tmp_path / "out", data=data)
    with closing(Database(sqlite_address(data / DATABASE))) as database:
        database.upgrade()
        store = SqlStore(database)
        store.create(project, tasks, 0.0)
        service = Service(store, project.name, lambda: 100.0)
        service.start()
        who = service.join("prolific", "5f0cdeadbeef", "secret-session").id
        service.consent(who, "1")
        offer = service.next(who)
        assert isinstance(offer, Offer)
    found = veridical.collect("export", drawings, tmp_path / "out", data=data)
    assert found.statistics.sentences == 0
    everything = b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())
    assert b"5f0cdeadbeef" not in everything
    assert b"secret-session" not in everything
    with pytest.raises(UserError, match="has no statement"):
        veridical.build("nlvr", tmp_path / "b", from_collection=tmp_path / "out")
    with pytest.raises(UserError, match="was collected for 'nlvr'"):
        veridical.build("nlvr2", tmp_path / "b", from_collection=tmp_path / "out")
    with pytest.raises(UserError, match="Both --from-collection"):
        veridical.build("nlvr", tmp_path / "b", from_collection=tmp_path / "out", judgements="x")
    assert not (tmp_path / "b").exists()
    bare = tmp_path / "bare"
    shutil.copytree(drawings, bare, ignore=shutil.ignore_patterns("source"))
    with pytest.raises(UserError, match=r"has no source/presentations"):
        veridical.collect("export", bare, tmp_path / "again", data=data)
    assert not (tmp_path / "again").exists()


def test_a_damaged_database_is_said(drawings: Path, tmp_path: Path) -> None:
    """Its head is whole, so that it opens; what it holds is not."""
    project, tasks = open_project(drawings)
    path = tmp_path / DATABASE
    with closing(Database(sqlite_address(path))) as database:
        database.upgrade()
        SqlStore(database).create(project, tasks, 0.0)
    data = path.read_bytes()
    page = int.from_bytes(data[16:18], "big")
    for start in range(page, len(data), page):
        path.write_bytes(data[:start] + b"\xff" * page + data[start + page :])
        for left in tmp_path.glob("board.sqlite-*"):
            left.unlink()
        with suppress(UserError):
            veridical.collect("export", drawings, tmp_path / f"out-{start}", data=tmp_path)
    path.write_bytes(data[: len(data) // 2] + b"\xff" * (len(data) // 2))
    with pytest.raises(UserError, match="cannot be used"):
        veridical.collect("export", drawings, tmp_path / "out", data=tmp_path)
    assert not (tmp_path / "out").exists()


def test_a_database_whose_damage_cannot_be_read_is_said(drawings: Path, tmp_path: Path) -> None:
    """SQLite names what it cannot understand, and that is no UTF-8; found by the fuzzer."""
    project, tasks = open_project(drawings)
    path = tmp_path / DATABASE
    with closing(Database(sqlite_address(path))) as database:
        database.upgrade()
        SqlStore(database).create(project, tasks, 0.0)
    with closing(sqlite3.connect(path)) as own:
        own.execute("PRAGMA journal_mode=DELETE")  # all of it is in the file
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE", b"CREA\xccE TABLE"))
    with pytest.raises(UserError, match="cannot be used: it is damaged"):
        veridical.collect("export", drawings, tmp_path / "out", data=tmp_path)


def test_a_rehearsal_that_fails_leaves_nothing(drawings: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(drawings, broken)
    (broken / "tasks.jsonl").write_text("{}\n")
    for _ in range(2):  # the second is not told that it is there already
        with pytest.raises(UserError, match=r"tasks\.jsonl"):
            veridical.collect("rehearse", broken, tmp_path / "out", workers=2)
    assert [path.name for path in tmp_path.iterdir()] == ["broken"]


def test_boxes_are_shown_in_another_order(drawings: Path) -> None:
    from io import BytesIO

    from PIL import Image

    name = next(path.name for path in sorted((drawings / "pictures").iterdir()) if not path.name.startswith("q-"))
    whole = Image.open(BytesIO(picture_bytes(drawings, Picture(name)))).convert("RGB")
    turned = Image.open(BytesIO(picture_bytes(drawings, Picture(name, order=(2, 0, 1)))))
    for place, was in enumerate((2, 0, 1)):
        left, right = ((150 * k, 0, 150 * k + 100, 100) for k in (place, was))
        assert turned.crop(left).tobytes() == whole.crop(right).tobytes()
    for bad in ("../project.json", "no.png", "a/b.png", ".png"):
        with pytest.raises(UserError):
            picture_bytes(drawings, Picture(bad))
    with pytest.raises(UserError):
        picture_bytes(drawings, Picture(name, order=(0, 0, 1)))


def test_a_picture_that_cannot_be_decoded_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="The picture p-7 cannot be decoded"):
        ProjectFolder(tmp_path / "made").add("p-7", b"\x89PNG and then something else")


def test_a_picture_that_is_a_link_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "key").write_text("what nobody may see")
    (tmp_path / "pictures" / "a.png").symlink_to(tmp_path / "key")
    with pytest.raises(UserError, match=r"no picture 'a\.png'"):
        picture_bytes(tmp_path, Picture("a.png"))


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("held_out", 3, "shares from 0 to 1"),
        ("pay", {"validate": -1}, "-1 mills"),
        ("roles", [], "no role does"),
        ("roles", [{"name": "gold", "kinds": ["validate", "sentence"]}], "cannot be called"),
        ("benchmark", "mnist", "project.json"),
        ("prolific_worspace", "x", "has no field .prolific_worspace."),
    ],
)
def test_a_project_that_cannot_be_run_is_refused(
    drawings: Path, tmp_path: Path, field: str, value: Any, words: str
) -> None:
    for name in ("tasks.jsonl", "pictures.jsonl"):
        (tmp_path / name).write_bytes((drawings / name).read_bytes())
    document = json.loads((drawings / "project.json").read_text())
    (tmp_path / "project.json").write_text(json.dumps({**document, field: value}))
    with pytest.raises(UserError, match=words):
        open_project(tmp_path)


def test_what_cannot_be_begun_leaves_nothing(tmp_path: Path) -> None:
    for fields, words in (
        ({"builder": "mnist"}, "no collection"),
        ({"builder": "vprom"}, "of a benchmark"),
        ({"builder": "nlvr", "sets": 3}, "no use for --sets"),
        ({"builder": "nlvr", "pay": {"prune": 3}}, "no tasks 'prune'"),
        ({"builder": "nlvr", "name": "Two Words"}, "cannot name"),
        ({"builder": "nlvr2", "begin": "dinner"}, "no first task"),
    ):
        with pytest.raises(UserError, match=words):
            veridical.collect("init", folder=tmp_path / "p", **fields)
        assert list(tmp_path.iterdir()) == []
    with pytest.raises(UserError, match="nothing like"):
        veridical.collect("begin")
