"""`import hf`: folders of `datasets`, saved or as Parquet; and a name where no hub answers."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veridical
from veridical.benchmark import Benchmark
from veridical.benchmark.check import check
from veridical.errors import UserError
from veridical.formats.table.importing import QuestionsImport
from veridical.records import Text

from ._tables import mmmu, questions, saved, scienceqa


def imported(path: Path, out: Path, **options: object) -> QuestionsImport:
    found = veridical.import_release("hf", path, out, **options)  # type: ignore[arg-type]
    assert isinstance(found, QuestionsImport)
    assert check(out).ok
    return found


def test_a_data_set_as_scienceqa_is_published(tmp_path: Path) -> None:
    asked = questions(30, ragged=True)
    folder = scienceqa(tmp_path / "ScienceQA", asked, {"train": 20, "validation": 5, "test": 5})
    found = imported(folder, tmp_path / "b")
    assert found.counts["items"]["main"] == {"train": 20, "validation": 5, "test": 5}
    uses = {use.column: (use.role, use.read_as) for use in found.columns}
    assert uses["answer"] == ("answer", "a place counted from 0")
    assert (uses["image"][0], uses["hint"][0]) == ("picture", "hint")
    assert uses["lecture"] == uses["solution"] == ("ignored", "")
    made = Benchmark(tmp_path / "b")
    assert made.name == "ScienceQA"
    items = {item.id: item for item in made.items("train")}
    assert items["train-1"].query == Text(f"The light is even in scene 0.\n{asked[0].question}")
    for number in range(20):
        item = items[f"train-{number + 1}"]
        assert item.candidates[item.answer or 0] == Text(asked[number].choices[asked[number].answer])
        assert len(item.panels) == (number % 7 != 6)


def test_a_data_set_as_mmmu_is_published(tmp_path: Path) -> None:
    asked = questions(80, ragged=True)
    folder = mmmu(tmp_path / "MMMU", asked)
    found = imported(folder, tmp_path / "b")
    assert found.counts["items"]["main"] == {"validation": 76}
    assert found.notes == ("Left out: 4 open questions, whose list of choices is empty.",)
    items = {item.id: item for item in Benchmark(tmp_path / "b").items("validation")}
    first = items["validation_Art_0"]
    assert (first.tag("config"), len(first.panels)) == (("Art",), 2)
    assert first.answer == asked[0].answer
    assert imported(folder, tmp_path / "art", config="Art").counts["items"]["main"] == {"validation": 38}
    with pytest.raises(UserError, match="has no configuration 'Music'; found: Art, Biology"):
        imported(folder, tmp_path / "c", config="Music")


def test_what_was_saved_to_disk(tmp_path: Path) -> None:
    """With pictures as features, and answers as classes whose names are not in the order of the alphabet."""
    asked = questions(9)
    saved(tmp_path / "saved", asked, {"train": 6, "test": 3})
    found = imported(tmp_path / "saved", tmp_path / "b")
    assert found.counts["items"]["main"] == {"train": 6, "test": 3}
    items = list(Benchmark(tmp_path / "b").items("test"))
    assert [item.answer for item in items] == [one.answer for one in asked[6:]]
    assert found.counts["images"] == 9
    datasets.load_from_disk(tmp_path / "saved")["train"].save_to_disk(tmp_path / "one")
    assert imported(tmp_path / "one", tmp_path / "c").counts["items"]["main"] == {"test": 6}


def test_places_outside_of_a_saved_file(tmp_path: Path) -> None:
    """A stranger's file may say that a text lies anywhere in memory."""
    folder = saved(tmp_path / "saved", questions(3), {"test": 3})
    path = folder / "test" / "data-00000-of-00001.arrow"
    with pa.OSFile(str(path)) as source:
        texts = pa.ipc.open_stream(source).read_all()["question"].combine_chunks()
    places = texts.buffers()[1].to_pybytes()[:16]
    whole = path.read_bytes()
    assert whole.count(places) == 1
    for wrong in ((0, 1 << 30, (1 << 30) + 8, (1 << 31) - 1), (0, -(1 << 30), 5, 9), (0, 9, 3, 12)):
        path.write_bytes(whole.replace(places, struct.pack("<4i", *wrong)))
        with pytest.raises(UserError, match=r"data-00000-of-00001.arrow, after row 0: .*offset") as error:
            imported(folder, tmp_path / "b")
        assert error.value.fix == "It is damaged: write or get it again."
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="after row 0"):
        imported(folder, tmp_path / "b")
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    "name", ["dataset_dict.json", "test/state.json", "test/dataset_info.json", "test/data-00000-of-00001.arrow"]
)
def test_pipes_in_what_was_saved(name: str, tmp_path: Path) -> None:
    folder = saved(tmp_path / "saved", questions(3), {"test": 3})
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(UserError, match="is a named pipe, and a file was expected"):
        imported(folder, tmp_path / "b")


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("dataset_dict.json", {}, "is not a list of splits: the field 'splits' is missing"),
        ("test/state.json", {}, "the field '_data_files' is missing"),
        ("test/state.json", {"_data_files": None}, "'_data_files' is null; expected a list"),
        ("test/state.json", {"_data_files": [], "_split": None}, "names no files"),
        ("test/state.json", {"_data_files": [], "_split": 5}, "'_split' is a whole number; expected a text"),
        ("test/state.json", {"_data_files": [], "_split": ["test"]}, "'_split' is a list; expected a text"),
        ("test/dataset_info.json", {"features": 5}, "'features' is a whole number; expected an object"),
        ("test/dataset_info.json", {"features": {"label": {"_type": "ClassLabel", "names": 5}}},
         "the names of the classes of 'label' are not a list of texts"),
    ],
)  # fmt: skip
def test_descriptions_that_say_something_else(name: str, value: object, problem: str, tmp_path: Path) -> None:
    folder = saved(tmp_path / "saved", questions(3), {"test": 3})
    (folder / name).write_text(json.dumps(value))
    with pytest.raises(UserError, match=problem):
        imported(folder, tmp_path / "b")


@pytest.mark.parametrize("note", [b"[" * 100_000, b"5", b'{"info": null}'])
def test_a_note_in_the_schema_that_cannot_be_read_says_nothing(note: bytes, tmp_path: Path) -> None:
    rows = [{"question": "What?", "choices": ["a", "b"], "answer": 0}]
    table = pa.Table.from_pylist(rows).replace_schema_metadata({"huggingface": note})
    pq.write_table(table, tmp_path / "test.parquet")
    assert imported(tmp_path / "test.parquet", tmp_path / "b").counts["items"]["main"] == {"test": 1}


def test_a_time_that_cannot_be_told(tmp_path: Path) -> None:
    """Arrow can keep it, and Python cannot."""
    columns = {"question": ["What?"], "choices": [["a", "b"]], "answer": [0]}
    table = pa.table(columns | {"when": pa.array([1 << 62], pa.timestamp("s"))})
    with pa.OSFile(str(tmp_path / "q.arrow"), "wb") as out, pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(UserError, match=r"q.arrow, after row 0: "):
        imported(tmp_path / "q.arrow", tmp_path / "b")


def test_what_export_hf_wrote(tmp_path: Path) -> None:
    imported(scienceqa(tmp_path / "set", questions(8)), tmp_path / "b")
    veridical.export("hf", tmp_path / "b", tmp_path / "hub")
    found = imported(tmp_path / "hub", tmp_path / "again", question="query", choices=["candidates"], image=["images"])
    items = [list(Benchmark(tmp_path / name).items("test")) for name in ("b", "again")]
    assert [(i.candidates, i.answer, i.panels) for i in items[0]] == [
        (i.candidates, i.answer, i.panels) for i in items[1]
    ]
    assert found.counts["images"] == 7


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="does not exist"):
        imported(tmp_path / "no such folder", tmp_path / "b")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="neither a saved data set nor Parquet files"):
        imported(tmp_path / "empty", tmp_path / "b")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "test.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(UserError, match="no whole Parquet file"):
        imported(tmp_path / "bad", tmp_path / "b")


def test_a_name_without_a_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match=r"There is no folder owner/questions, and no data set .*\n.*or give a folder"):
        veridical.import_release("hf", "owner/questions", tmp_path / "b")
    assert not (tmp_path / "b").exists()
