"""`export lmms-eval`: tasks whose data `datasets` opens and whose functions ask and score."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml

import veridical
from veridical.benchmark import Benchmark
from veridical.formats.lmms_eval import functions, utils
from veridical.formats.releases import export

from ._small import choices, statements
from ._tables import mmmu, questions


def read_task(path: Path) -> dict[str, Any]:
    """A task as lmms-eval reads it: functions are those of utils.py beside it."""
    module = load(path.parent / "utils.py")

    class Loader(yaml.SafeLoader):
        pass

    def function(loader: yaml.Loader, node: yaml.ScalarNode) -> Any:
        return getattr(module, str(loader.construct_scalar(node)).removeprefix("utils."))

    Loader.add_constructor("!function", function)
    found: dict[str, Any] = yaml.load(path.read_text(), Loader)
    return found


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("task_utils", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def docs(task: dict[str, Any]) -> Any:
    import datasets

    return datasets.load_dataset(task["dataset_path"], **task["dataset_kwargs"])[task["test_split"]]


def test_a_task_asks_and_scores(tmp_path: Path) -> None:
    veridical.import_release("hf", mmmu(tmp_path / "set", questions(24, ragged=True)), tmp_path / "b", name="My MMMU")
    export("lmms-eval", tmp_path / "b", tmp_path / "tasks")
    task = read_task(tmp_path / "tasks" / "my_mmmu_validation.yaml")
    assert task["task"] == "my_mmmu_validation"
    found = docs(task)
    items = list(Benchmark(tmp_path / "b").items("validation"))
    assert [doc["id"] for doc in found] == [item.id for item in items]
    results = []
    for doc, item in zip(found, items, strict=True):
        pictures = task["doc_to_visual"](doc)
        assert [picture.mode for picture in pictures] == ["RGB"] * len(item.panels)
        text = task["doc_to_text"](doc)
        assert item.query is not None
        assert text.startswith(item.query.raw)
        assert all(f"{letter}. {text.raw}" in task["doc_to_text"](doc)
                   for letter, text in zip("ABCDE", item.candidates, strict=False))  # type: ignore[union-attr]  # fmt: skip
        assert task["doc_to_target"](doc) == "ABCDE"[item.answer or 0]
        results.append(task["process_results"](doc, [task["doc_to_target"](doc)]))
    metrics = {one["metric"]: one["aggregation"] for one in task["metric_list"]}
    assert metrics["accuracy"]([one["accuracy"] for one in results]) == 1
    args = SimpleNamespace(output_path=str(tmp_path / "out"))
    assert metrics["answered"]([one["answered"] for one in results], args) == 1
    answers = tmp_path / "out" / "submissions" / "my_mmmu_validation.jsonl"
    assert veridical.evaluate(tmp_path / "b", answers).accuracy.value == 1


def test_hidden_splits_have_no_answers(tmp_path: Path) -> None:
    statements(tmp_path / "b")
    export("lmms-eval", tmp_path / "b", tmp_path / "tasks")
    hidden = read_task(tmp_path / "tasks" / "nlvr_test.yaml")
    assert [one["metric"] for one in hidden["metric_list"]] == ["answered"]
    assert {doc["answer"] for doc in docs(hidden)} == {None}
    assert b"secret" not in (tmp_path / "tasks" / "data" / "nlvr_test.parquet").read_bytes()
    public = read_task(tmp_path / "tasks" / "nlvr_train.yaml")
    assert [one["metric"] for one in public["metric_list"]] == ["accuracy", "consistency", "answered"]
    assert {public["doc_to_target"](doc) for doc in docs(public)} == {"false", "true"}
    assert yaml.safe_load((tmp_path / "tasks" / "nlvr.yaml").read_text()) == {
        "group": "nlvr", "task": ["nlvr_test", "nlvr_train"],
    }  # fmt: skip


def test_a_question_with_tags_is_asked(tmp_path: Path) -> None:
    choices(tmp_path / "b")
    export("lmms-eval", tmp_path / "b", tmp_path / "tasks")
    for path in (tmp_path / "tasks").glob("*_*.yaml"):
        task = read_task(path)
        for doc in docs(task):
            assert len(task["doc_to_visual"](doc)) == 1
            assert "A. " in task["doc_to_text"](doc)


def test_a_moved_folder_finds_its_data_again(tmp_path: Path) -> None:
    statements(tmp_path / "b")
    export("lmms-eval", tmp_path / "b", tmp_path / "tasks")
    (tmp_path / "tasks").rename(tmp_path / "moved")
    done = subprocess.run(
        [sys.executable, str(tmp_path / "moved" / "utils.py")], capture_output=True, text=True, check=True
    )
    assert done.stdout == "2 tasks point at their data.\n"
    assert len(docs(read_task(tmp_path / "moved" / "nlvr_train.yaml"))) == 3


FOUR = {
    "id": "1",
    "task": "choice",
    "choices": ["a cat", "a dog", "a bird", "cat food"],
    "answer": 1,
    "group": None,
    "of": "t",
}


@pytest.mark.parametrize(
    ("reply", "chosen"),
    [
        ("B", 1), ("b", 1), ("(B)", 1), ("B.", 1), ("B. a dog", 1), ("**B**", 1), ("The answer is B.", 1),
        ("Answer: C", 2), ("I see a dog.", None), ("a cat or a dog", None), ("E", None), ("", None), ("A dog", 1),
    ],
)  # fmt: skip
def test_replies_are_read(reply: str, chosen: int | None) -> None:
    assert utils.read_answer(FOUR, reply) == chosen


@pytest.mark.parametrize(
    ("reply", "chosen"),
    [("true", 1), ("False.", 0), ("Yes", 1), ("It is true.", 1), ("true or false", None), ("", None)],
)
def test_replies_to_statements_are_read(reply: str, chosen: int | None) -> None:
    assert utils.read_answer({"task": "statement", "choices": ["false", "true"]}, reply) == chosen


def test_consistency_is_of_whole_groups() -> None:
    results = [{"group": "a", "right": 1.0}, {"group": "a", "right": 0.0}, {"group": "b", "right": 1.0}]
    assert utils.aggregate_consistency(results) == 0.5


def test_the_functions_need_nothing_of_ours() -> None:
    text = functions()
    assert "veridical" not in "".join(re.findall(r"^(?:from|import) .*$", text, re.MULTILINE))
    json.dumps(utils.process_results(FOUR, ["B"]))
