"""Every verb that reads a benchmark, a run or predictions takes their addresses, and comes to what paths come to."""

from __future__ import annotations

import hashlib
import inspect
import json
import pickle
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import veridical
from veridical.cli import VERBS
from veridical.common import places
from veridical.common.addresses import local
from veridical.errors import UserError
from veridical.options import Matching, SolverOptions, TrainOptions

from ..zoo import _matrices as matrices

pytest.importorskip("torch")
SECRET = "7f1c9a2e5b8d4036f1aa93c2"
SMALL = {"epochs": 1, "hidden": 8, "embedding": 8}


@dataclass(frozen=True)
class Places:
    """The same things, by paths or by addresses."""

    bench: str  # drawings with statements
    matrices: str  # with vectors
    run: str
    predictions: str
    numbers: str  # of an audit
    questions: str  # a table to match
    out: Path  # where a verb may write


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything, on this disk."""
    folder = tmp_path_factory.mktemp("made")
    veridical.build("nlvr", folder / "bench", presentations=10, hide=("test-p",), secret=SECRET, processes=1)
    matrices.write(folder / "matrices", {"train": 40, "test": 20})
    veridical.train("text", folder / "bench", folder / "run", set=SMALL)
    veridical.solve(str(folder / "run"), folder / "bench", split="dev", out=folder / "p.jsonl")
    veridical.audit(folder / "bench", folder / "audit.html", check=["position"])
    lines = ["question,answer,group"]
    lines += [f"what does dog {n} do?,it {('runs', 'waits', 'sleeps')[n % 3]} {n},g{n % 6}" for n in range(24)]
    (folder / "questions.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def told(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Places, Places]:
    """By paths, and by addresses of a store that is a folder."""
    monkeypatch.setenv("VERIDICAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("VERIDICAL_DATA", str(tmp_path / "data"))
    shop = f"file://{tmp_path / 'store'}"
    names = ("bench", "matrices", "run", "p.jsonl", "audit.json", "questions.csv")
    for name in names:
        veridical.copy(made / name, f"{shop}/{name}")
    here, there = [str(made / name) for name in names], [f"{shop}/{name}" for name in names]
    for side in ("here", "there"):
        (tmp_path / side).mkdir()
    return Places(*here, tmp_path / "here"), Places(*there, tmp_path / "there")


def files(folder: Path) -> dict[str, str]:
    return {
        str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest()
        for p in sorted(folder.rglob("*"))
        if p.is_file()
    }


def checked(told: Places) -> Any:
    return veridical.check(told.bench).ok


def counted(told: Places) -> Any:
    found = veridical.stats(told.bench).to_json()
    return {name: found[name] for name in ("items", "groups", "agreement")}


def audited(told: Places) -> Any:
    veridical.audit(told.bench, told.out / "a.html", check=["position"])
    return json.loads((told.out / "a.json").read_bytes())["findings"][0]["verdict"]


def encoded(told: Places) -> Any:
    found = veridical.features("gradients", told.matrices, reuse=[told.bench])
    return found.about.vectors


def trained(told: Places) -> Any:
    veridical.train("text", told.bench, told.out / "run", pretrained=told.run, set=SMALL)
    return files(told.out / "run" / "trial-0")["model.safetensors"]


def swept(told: Places) -> Any:
    call = {"models": ["mlp-sum-2"], "schemes": ["neutral"], "features": ["thumbnail"], "resamples": 50}
    veridical.sweep(told.matrices, told.out / "s", set={"epochs": 1}, controls=False, processes=1, **call)
    return {name: one for name, one in files(told.out / "s").items() if name.endswith((".jsonl", ".safetensors"))}


def solved(told: Places) -> Any:
    veridical.solve(told.run, told.bench, split="dev", out=told.out / "p.jsonl")
    return (told.out / "p.jsonl").read_bytes()


def without_paths(found: Any) -> Any:
    if not isinstance(found, dict):
        return found
    return {name: without_paths(one) for name, one in found.items() if name not in ("path", "against", "baseline")}


def evaluated(told: Places) -> Any:
    found = veridical.evaluate(told.bench, told.predictions, against=told.predictions, resamples=50)
    return without_paths(found.to_json())


def compared(told: Places) -> Any:
    return without_paths(veridical.compare(told.bench, told.predictions, told.predictions, resamples=50).to_json())


def shown(told: Places) -> Any:
    veridical.show(told.bench, [f"mine={told.predictions}", told.run], audit=told.numbers, export=told.out / "e")
    return sorted(files(told.out / "e"))


def reported(told: Places) -> Any:
    runs = [f"mine={told.predictions}", told.numbers]
    veridical.report(runs, told.out / "r.html", told.bench, resamples=50)
    text = (told.out / "r.html").read_text()
    return "mine" in text, "position" in text


def exported(told: Places) -> Any:
    veridical.export("submission", told.bench, told.out / "s.csv", predictions=told.predictions, split="dev")
    veridical.export("croissant", told.bench, told.out / "c.json")
    return files(told.out)["s.csv"], (told.out / "c.json").exists()


def augmented(told: Places) -> Any:
    veridical.augment(told.bench, told.out / "more", items=40)
    return len(veridical.open(told.out / "more"))


def matched(told: Places) -> Any:
    words = {"relevance": "hashed-words", "similarity": "hashed-words"}
    veridical.match(told.questions, told.out / "m.csv", group="group", folds=2, **words)
    return (told.out / "m.csv").read_bytes()


def copied(told: Places) -> Any:
    veridical.copy(told.bench, told.out / "copy")
    return files(told.out / "copy")


READING: dict[str, Callable[[Places], Any]] = {
    "check": checked, "stats": counted, "audit": audited, "features": encoded, "train": trained, "sweep": swept,
    "solve": solved, "evaluate": evaluated, "compare": compared, "show": shown, "report": reported, "export": exported,
    "augment": augmented, "match": matched, "copy": copied,
}  # fmt: skip
LONG = ("augment", "match", "sweep", "train")
ELSEWHERE = {"serve", "submit", "collect"}  # what they read is asked for below


@pytest.mark.parametrize("verb", [pytest.param(v, marks=[pytest.mark.soak] if v in LONG else []) for v in READING])
def test_addresses_come_to_what_paths_come_to(verb: str, told: tuple[Places, Places]) -> None:
    here, there = told
    assert READING[verb](there) == READING[verb](here)


def test_no_verb_is_left_out() -> None:
    names = {"benchmark", "benchmarks", "source", *places.READ}
    reading = {verb for verb, call in VERBS.items() if names & inspect.signature(call).parameters.keys()}
    assert reading | {"collect"} == READING.keys() | ELSEWHERE


NOWHERE = "file:///nowhere/at/all"


def test_what_is_sent_to_a_board_is_fetched_first() -> None:
    with pytest.raises(UserError, match=f"Nothing was published at {NOWHERE}"):
        veridical.submit("http://127.0.0.1:1/", NOWHERE, token="t")


@pytest.mark.parametrize("rows", ["baseline", "blind", "human"])
def test_rows_of_a_board_are_fetched_first(rows: str) -> None:
    with pytest.raises(UserError, match=f"Nothing was published at {NOWHERE}"):
        veridical.serve("bench", **{rows: {"ours": NOWHERE}})


def test_a_board_needs_the_hidden_answers_on_its_disk(told: tuple[Places, Places]) -> None:
    with pytest.raises(UserError, match="is not here") as caught:
        veridical.serve(told[1].bench, data=told[1].out / "board", port=0)
    assert f"veridical copy {told[1].bench}" in caught.value.fix


def test_people_answer_items_of_an_address(told: tuple[Places, Places]) -> None:
    made = [len(files(one.out / "p")) for one in told if veridical.collect(
        "init", "vprom", one.out / "p", benchmark=one.matrices, items=8,
    )]  # fmt: skip
    assert made[0] == made[1] > 0


def test_options_in_python_are_fetched_too(told: tuple[Places, Places]) -> None:
    run = told[1].run
    for name, options in {"pretrained": TrainOptions(pretrained=run), "also": SolverOptions(also=run)}.items():
        found = getattr(places._located("options", options), name)
        assert (Path(found) / "run.json").is_file()
    matching = places._located("matching", Matching(relevance=run))
    assert isinstance(matching.relevance, str)
    assert (Path(matching.relevance) / "run.json").is_file()
    assert places._located("options", TrainOptions()) == TrainOptions()


def test_what_is_written_on_this_disk_takes_no_address(told: tuple[Places, Places]) -> None:
    with pytest.raises(UserError, match="--export is written on this disk"):
        veridical.show(told[1].bench, export="s3://bucket/pages")
    assert not Path("s3:").exists()


def test_a_worker_elsewhere_fetches_the_run_itself(told: tuple[Places, Places], tmp_path: Path) -> None:
    """A run by its address: what a worker on another machine, with a cache of its own, is given."""
    from veridical.solvers.trained import TrainedSolver

    sent = pickle.dumps(TrainedSolver(local(told[1].run)))
    shutil.rmtree(tmp_path / "cache")
    assert pickle.loads(sent).trained.architecture.name == "text"
