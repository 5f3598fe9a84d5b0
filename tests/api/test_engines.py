"""Every verb that takes `--engine` does the same by Ray as by itself: bytes, predictions, findings, scores."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import veridical
from veridical import api
from veridical.builders import BUILDERS, load_builder
from veridical.cli import VERBS
from veridical.options import Workers

from ..solvers._vlm_world import write_pairs
from ..solvers.test_vlm_hf import weights as weights
from ..zoo import _matrices as matrices
from ..zoo import _small as small

ray = pytest.importorskip("ray")
SECRET = "7f1c9a2e5b8d4036f1aa93c2"
RAY = {"engine": "ray", "processes": 2}
Made = dict[str, str]


@pytest.fixture(scope="module", autouse=True)
def _cluster() -> Iterator[None]:
    """One cluster for all of them."""
    yield
    if ray.is_initialized():
        ray.shutdown()


def digest(*folders: Path, but: tuple[str, ...] = ()) -> Made:
    found = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
            if path.is_file() and path.name not in but and "logs" not in path.parts:
                found[str(path.relative_to(folder.parent))] = hashlib.sha256(path.read_bytes()).hexdigest()
    assert found
    return found


def built(builder: str, **options: Any) -> Callable[[Path, dict[str, Any]], Made]:
    def make(out: Path, engine: dict[str, Any]) -> Made:
        veridical.build(builder, out / "made", **options, **engine)
        hidden = out / "made.hidden"
        return digest(out / "made", *([hidden] if hidden.is_dir() else []))

    return make


def questions(out: Path) -> Path:
    """A file to match: 60 questions of three kinds, in six groups."""
    rows = ["question,answer,group"]
    for n in range(60):
        kind = ("a dog", "a red car", "the tall man")[n % 3]
        rows.append(f"what does {kind} number {n} do?,it {('runs', 'waits', 'sleeps', 'turns')[n % 4]} {n},g{n % 6}")
    (out / "questions.csv").write_text("\n".join(rows) + "\n")
    return out / "questions.csv"


def matched(out: Path, engine: dict[str, Any]) -> Made:
    words = {"relevance": "minilm", "similarity": "hashed-words"}
    veridical.match(questions(out), out / "made", group="group", folds=3, **words, **engine)
    return digest(out / "made")


def encoded(out: Path, engine: dict[str, Any]) -> Made:
    folder = matrices.write(out / "b", {"train": 24, "test": 8})
    next(folder.glob("features-*")).unlink()
    return digest(veridical.features("efficientnet-lite0", folder, batch_size=16, **engine).path)


def audited(out: Path, engine: dict[str, Any]) -> Any:
    folder = small.write_choices(out / "b", 60, candidates=(4, 3))
    veridical.audit(folder, out / "a.html", items=60, **engine)
    found = json.loads((out / "a.json").read_bytes())
    found.pop("seconds")
    return [{name: value for name, value in one.items() if name != "seconds"} for one in found["findings"]]


def swept(out: Path, engine: dict[str, Any]) -> Made:
    folder = matrices.write(out / "b", {"train": 40, "test": 20})
    call = {"models": ["mlp-sum-2"], "schemes": ["neutral"], "features": ["thumbnail"], "resamples": 100}
    veridical.sweep(folder, out / "s", set={"epochs": 1}, **call, **engine)
    return digest(*sorted((out / "s" / "runs").rglob("*.jsonl")), *sorted((out / "s" / "runs").rglob("*.safetensors")))


def solved(out: Path, engine: dict[str, Any]) -> Made:
    folder = small.write_statements(out / "b", 40)
    veridical.train("text", folder, out / "run", set={"epochs": 1}, seed=1)
    veridical.solve(str(out / "run"), folder, split="dev", out=out / "p.jsonl", **engine)
    return digest(out / "p.jsonl")


VERBS_MADE: dict[str, Callable[[Path, dict[str, Any]], Any]] = {
    "build nlvr": built("nlvr", presentations=8, seed=2, secret=SECRET),
    "build nlvr2": built("nlvr2", sets=6, vectors="none", seed=2, encoder="thumbnail", secret=SECRET),
    "build vprom": built("vprom", matrices=24, images=240, schemes=("neutral",), least_images=3, seed=2),
    "build vcr": built("vcr", photographs=60, folds=3, seed=3, secret=SECRET),
    "match": matched,
    "features": encoded,
    "audit": audited,
    "sweep": swept,
    "solve": solved,
}


def test_every_verb_with_an_engine_is_here() -> None:
    import inspect

    taking = {name for name, verb in VERBS.items() if "workers" in inspect.signature(verb).parameters}
    taking |= {f"build {name}" for name in BUILDERS if "workers" in inspect.signature(load_builder(name)).parameters}
    assert taking == set(VERBS_MADE)
    assert api.solve is VERBS["solve"]


@pytest.mark.soak
@pytest.mark.parametrize("verb", sorted(VERBS_MADE))
def test_ray_makes_what_one_process_makes(verb: str, tmp_path: Path) -> None:
    found = {}
    for name, engine in {"one": {"processes": 1}, "two": {"processes": 2}, "ray": RAY}.items():
        (tmp_path / name).mkdir()
        found[name] = VERBS_MADE[verb](tmp_path / name, engine)
    assert found["ray"] == found["one"]
    assert found["two"] == found["one"]


@pytest.mark.soak
def test_a_local_model_is_asked_by_workers(weights: Path, tmp_path: Path) -> None:
    """Each holds a copy; asked again, nothing is asked twice."""
    folder, arguments = write_pairs(tmp_path / "b", 100), {"model_arg": {"model_path": str(weights)}, "max_tokens": 1}
    for name, engine in {"one": {}, "ray": RAY}.items():
        veridical.solve("hf/tiny", folder, split="dev", out=tmp_path / f"{name}.jsonl", **arguments, **engine)
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "ray.jsonl").read_bytes()
    again = veridical.solve("hf/tiny", folder, split="dev", out=tmp_path / "ray.jsonl", **arguments, **RAY)
    assert getattr(again.details, "resumed", 0) == 100


def test_what_nobody_can_spread_is_refused(tmp_path: Path) -> None:
    folder = small.write_statements(tmp_path / "b", 4)
    with pytest.raises(veridical.UserError, match="--engine"):
        veridical.solve("random", folder, split="dev", out=tmp_path / "p", workers=Workers(engine="ray"))
