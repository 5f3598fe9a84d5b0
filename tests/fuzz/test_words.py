"""Words on the command line that nobody expects, and JSON of any shape where predictions are: exit codes 0, 1 or 2."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.benchmark.conftest import write_small
from tests.commands import Ran, invoke
from tests.fuzz.mutate import NAMES

from veridical.api.collecting import ACTIONS
from veridical.builders import BUILDERS, load_builder
from veridical.cli import VERBS
from veridical.cli.commands import told
from veridical.web.board import serving as board

# options whose large values ask for much work, which is then done
WORK = {
    "presentations", "photographs", "matrices", "images", "sets", "items", "resamples", "trials", "processes",
    "batch_size", "max_connections", "examples", "wordings", "orders", "limit", "folds", "best", "shortlist", "scale",
    "workers", "sample", "variants", "variant_items", "plain",
}  # fmt: skip
SMALL = ["-1", "0", "1", "x", "", "nan", "1.5"]
ANY = [*SMALL, "inf", "-inf", "1e308", str(2**31), str(2**63), str(2**64), "-" + str(2**70), "0x10", "1_0", "١"]
VERB_WORDS = {  # the arguments of each verb
    "import": ["nlvr", "small"], "match": ["small"], "export": ["hf", "small"], "check": ["small"],
    "stats": ["small"], "audit": ["small", "--check", "label"], "features": ["thumbnail", "small"],
    "train": ["majority", "small"], "sweep": ["small"], "models": [], "solve": ["random", "small"],
    "evaluate": ["small", "p.jsonl"], "report": ["p.jsonl", "--benchmark", "small"], "tag": ["p.jsonl"],
    "compare": ["small", "p.jsonl", "p.jsonl"], "show": ["small", "--export", "out/shown"], "copy": ["small"],
    "augment": ["small"], "plan": [], "serve": ["small", "--port", "0"], "submit": ["http://127.0.0.1:9", "p.jsonl"],
    "get": ["nlvr", "--base-url", "http://127.0.0.1:99999"],
}  # fmt: skip
COLLECT_WORDS = {
    "init": ["nlvr", "out/project"], "rehearse": ["small"], "export": ["small"],
    "label-studio": ["small", "--out", "out/labels"],
}  # fmt: skip
UNTRIED = {"demo", "build", "collect"}  # minutes of work; its builders; its actions, below


SIZES = {"nlvr": "--presentations=4", "nlvr2": "--sets=1", "vprom": "--matrices=3", "vcr": "--photographs=8"}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("words")
    write_small(folder / "small")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("VERIDICAL_PROGRESS", "0"), ("VERIDICAL_WORKER", "1")):
            patch.setenv(name, value)
        patch.setenv("VERIDICAL_CACHE", str(folder / "cache"))
        patch.chdir(folder)
        patch.setenv("VERIDICAL_DATA", str(folder / "home"))
        patch.setattr(board, "listen", lambda *_: None)  # `serve` does all but serve, and ends
        assert invoke("solve", "random", "small", "--out", "p.jsonl").exit_code == 0
        yield folder / "small"


def fine(ran: Ran) -> None:
    assert ran.exit_code in (0, 1, 2), ran.stderr
    assert "Traceback" not in ran.stderr
    assert all(c.isprintable() or c in "\n\t" for c in ran.stdout + ran.stderr)
    if ran.exit_code == 2:
        assert all(len(line) <= 520 for line in ran.stderr.splitlines())


def options(verb: Callable[..., Any]) -> list[tuple[str, list[str]]]:
    """Every option of a verb with the words to try."""
    out = []
    for one in told(verb):
        if not one.is_argument:
            words = SMALL if one.name in WORK else [*ANY, *(name for name in NAMES if "\0" not in name)]
            out += [(name, words) for name in one.names]
    return out


OPTIONS = {verb: options(VERBS[verb]) for verb in VERB_WORDS}
COLLECTS = {name: options(ACTIONS[name]) for name in COLLECT_WORDS}
BUILDS = {name: options(load_builder(name)) for name in BUILDERS}


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_odd_words_for_options(small: Path, data: st.DataObject) -> None:
    verb = data.draw(st.sampled_from(sorted(VERB_WORDS)))
    words = [verb, *VERB_WORDS[verb]]
    known = [one for one in OPTIONS[verb] if one[0] not in ("--model-base-url",)]
    for name, values in data.draw(st.lists(st.sampled_from(known), max_size=3)) if known else []:
        words += [f"{name}={data.draw(st.sampled_from(values))}"]
    if any(name == "--out" for name, _ in known) and not any(w.startswith("--out=") for w in words):
        words += ["--out", "out/it"]
    fine(invoke(*words))


def test_every_verb_is_tried() -> None:
    assert set(VERB_WORDS) | UNTRIED == set(VERBS)
    assert set(COLLECT_WORDS) == set(ACTIONS)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_odd_words_for_collections(small: Path, data: st.DataObject) -> None:
    action = data.draw(st.sampled_from(sorted(COLLECT_WORDS)))
    known = [one for one in COLLECTS[action] if one[0] not in ("--rehearse", "--database")]
    name, values = data.draw(st.sampled_from(known))
    size = ["--presentations=2"] if action == "init" and name != "--presentations" else []
    where = ["--out", "out/it"] if action in ("rehearse", "export") and name != "--out" else []
    fine(
        invoke("collect", action, *COLLECT_WORDS[action], f"{name}={data.draw(st.sampled_from(values))}", *size, *where)
    )


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_odd_words_for_builders(small: Path, data: st.DataObject) -> None:
    """One word is wrong; a build that takes all of them is kept small."""
    builder = data.draw(st.sampled_from(sorted(BUILDS)))
    name, values = data.draw(st.sampled_from([one for one in BUILDS[builder] if one[0] not in ("--processes",)]))
    size = SIZES[builder]
    words = [f"{name}={data.draw(st.sampled_from(values))}", *([] if size.startswith(name) else [size])]
    where = [] if name == "--out" else ["--out", "out/built"]
    fine(invoke("build", builder, *words, "--hide=nothing", *where))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(NAMES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["item", "scores", "raw", "x"]), inner),
    max_leaves=8,
)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(lines=st.lists(VALUES, max_size=4), scores=VALUES)
def test_any_json_for_predictions(small: Path, lines: list[Any], scores: Any) -> None:
    rows = [*lines, {"item": "dev-0", "scores": scores}]
    Path("any.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    fine(invoke("evaluate", "small", "any.jsonl", "--split", "dev", "--resamples", "50"))


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.text(st.sampled_from('dev-0123,"\r\n=truefalse \0[é'), max_size=60), raw=st.binary(max_size=20))
def test_any_text_for_a_table(small: Path, text: str, raw: bytes) -> None:
    Path("any.csv").write_bytes(text.encode() + raw)
    fine(invoke("evaluate", "small", "any.csv", "--split", "dev", "--resamples", "50"))
    fine(invoke("match", "any.csv", "--out", "out/matched"))
