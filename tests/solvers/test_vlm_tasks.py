"""The four tasks in Inspect's registry: `inspect eval veridical/nlvr2` against a real server, stopped and continued."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra `vlm`")
pytest.importorskip("openai", reason="needs the extra `vlm`")

from inspect_ai import eval as inspect_eval
from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log
from inspect_ai.model import get_model
from PIL import Image

from veridical.errors import UserError
from veridical.solvers.vlm import tasks

from ._vlm_server import Site, brightness, serve
from ._vlm_world import write_matrices, write_pairs, write_vcr


def test_the_tasks_are_registered() -> None:
    (found,) = [e for e in entry_points(group="inspect_ai") if e.name == "veridical"]
    assert found.value == "veridical.solvers.vlm.tasks"
    assert {name for name in tasks.TASK_OF if callable(getattr(tasks, name))} == {"nlvr", "nlvr2", "vprom", "vcr"}


def command(benchmark: Path, site: Site, logs: Path, journal: Path) -> list[str]:
    inspect = str(Path(sys.executable).with_name("inspect"))
    model = ["--model", "openai-api/server/tiny", "--model-base-url", site.url, "-M", "api_key=x"]
    task = ["veridical/nlvr2", "-T", f"benchmark={benchmark}", "-T", f"journal={journal}"]
    return [inspect, "eval", *task, *model, "--max-connections", "2", "--log-dir", str(logs), "--display", "none"]


def test_inspect_eval_killed_and_run_again_asks_nothing_twice(tmp_path: Path) -> None:
    benchmark, journal = write_pairs(tmp_path / "b", 16), tmp_path / "journal"
    with serve(brightness, delay=0.1) as site:
        run = command(benchmark, site, tmp_path / "logs", journal)
        process = subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 90
        while len(site.words()) < 6 and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        time.sleep(0.3)
        kept = len(journal.read_text().splitlines()) - 1
        assert 0 < kept < 16
        before = len(site.requests)
        done = subprocess.run(run, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert len(site.requests) - before == 16 - kept
        assert before - kept <= 2, "only what was in flight is paid twice"
    logs = [read_eval_log(info) for info in list_eval_logs(str(tmp_path / "logs"))]
    (log,) = [log for log in logs if log.status == "success"]
    assert log.eval.task == "veridical/nlvr2"
    assert log.eval.metadata is not None
    assert log.eval.metadata["benchmark_hash"]
    assert metrics(log) == {"accuracy": 1.0, "unreadable": 0.0}


def metrics(log: EvalLog) -> dict[str, float]:
    assert log.results is not None
    return {name: one.value for name, one in log.results.scores[0].metrics.items() if name != "stderr"}


def run(task: Any, site: Site, tmp_path: Path) -> EvalLog:
    model = get_model("openai-api/server/tiny", base_url=site.url, api_key="x")
    (log,) = inspect_eval(task, model=model, display="none", log_dir=str(tmp_path / "logs"), log_realtime=False)
    assert log.status == "success"
    return log


def test_matrices_and_the_count_of_unreadable_answers(tmp_path: Path) -> None:
    def half(words: str, pictures: list[Image.Image]) -> str:
        assert len(pictures) == 16
        return "A" if pictures[0].getpixel((1, 1))[0] == 0 else "perhaps"

    with serve(half) as site:
        log = run(tasks.vprom(str(write_matrices(tmp_path / "b"))), site, tmp_path)
    assert metrics(log) == {"accuracy": 0.5, "unreadable": 0.5}
    assert log.samples is not None
    assert log.samples[1].scores is not None
    assert log.samples[1].scores["veridical_right"].explanation == "perhaps"


def test_rationales_that_assume_a_wrong_answer_are_asked_but_not_scored(tmp_path: Path) -> None:
    with serve(lambda words, pictures: "B") as site:
        log = run(tasks.vcr(str(write_vcr(tmp_path / "b", 1))), site, tmp_path)
    assert log.samples is not None
    assert len(log.samples) == 5
    assert metrics(log)["accuracy"] == 0.5, "the answer is A, the rationale given A is B"


def test_options_of_asking_reach_the_task(tmp_path: Path) -> None:
    with serve(brightness) as site:
        log = run(tasks.nlvr2(str(write_pairs(tmp_path / "b", 2)), wordings=2, answers="letter"), site, tmp_path)
    assert log.samples is not None
    assert len(log.samples) == 4
    assert "A. True" in site.requests[0]["words"]
    with pytest.raises(TypeError, match="no option 'wording'"):
        tasks.nlvr2(str(tmp_path / "b"), wording=2)


def test_the_wrong_kind_of_benchmark(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds statement items") as error:
        tasks.vcr(str(write_pairs(tmp_path / "b", 2)))
    assert "veridical/nlvr2" in error.value.fix


def test_inspect_eval_refuses_in_words(tmp_path: Path) -> None:
    inspect = [str(Path(sys.executable).with_name("inspect")), "eval", "veridical/nlvr2", "--model", "mockllm/model"]
    done = subprocess.run(
        [*inspect, "-T", "benchmark=nowhere"], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.returncode != 0
    said = " ".join((done.stdout + done.stderr).split())
    assert "nowhere is not a benchmark: it has no benchmark.json." in said
    assert "Traceback" not in said
    with pytest.raises(UserError, match=r"veridical/vcr needs a benchmark folder") as error:
        tasks.vcr()
    assert "-T benchmark=DIR" in error.value.fix


def test_the_only_split_is_taken(tmp_path: Path) -> None:
    assert tasks.vprom(str(write_matrices(tmp_path / "m"))).metadata["split"] == "test"
    assert tasks.vcr(str(write_vcr(tmp_path / "v"))).metadata["split"] == "val"
    assert tasks.nlvr2(str(write_pairs(tmp_path / "p", 2))).metadata["split"] == "dev"
