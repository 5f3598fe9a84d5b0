"""The real lmms-eval and VLMEvalKit, each in an environment of its own, run what we export, with a model that looks.

Both ask for torchvision, whose builds follow those of torch and are not everywhere: it is kept out, and the packages
are installed without what they list, then with what they use.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import veridical
from veridical.formats.releases import export

from ._tables import mmbench, mmmu, questions

EVALUATORS = Path(__file__).with_name("evaluators")
CONSTRAINTS = "torch==2.13.0\ntorchvision==999\n"
LMMS_EVAL = (
    "torch accelerate datasets evaluate jsonlines aiohttp numexpr pytablewriter sacrebleu scikit-learn openai nltk "
    "loguru tenacity tqdm-multiprocess transformers pyyaml sympy openpyxl packaging tiktoken python-dotenv pydantic "
    "httpx zstandard einops jinja2 pillow av"
)
VLMEVALKIT = (
    "torch pandas openpyxl openai matplotlib requests rich tabulate tiktoken huggingface_hub portalocker termcolor "
    "validators xlsxwriter scikit-learn json_repair pillow numpy tqdm opencv-python-headless nltk levenshtein sympy "
    "timeout-decorator python-dotenv sty orjson"
)


def environment(folder: Path, package: str, needs: str) -> Path:
    """An environment with a package; gives its interpreter."""
    folder.mkdir()
    (folder / "constraints.txt").write_text(CONSTRAINTS)
    subprocess.run([sys.executable, "-m", "venv", str(folder / "env")], check=True)
    python = folder / "env" / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", package], check=True)
    subprocess.run([*pip, "-c", str(folder / "constraints.txt"), *needs.split()], check=True)
    return python


def ran(command: list[str], folder: Path, **variables: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(EVALUATORS), "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder), **variables}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.soak
def test_lmms_eval_runs_our_tasks(tmp_path: Path) -> None:
    python = environment(tmp_path / "lmms", "lmms-eval==0.7.3", LMMS_EVAL)
    veridical.import_release("hf", mmmu(tmp_path / "set", questions(60, ragged=True)), tmp_path / "b", name="mine")
    export("lmms-eval", tmp_path / "b", tmp_path / "tasks")
    command = [str(python), "-m", "lmms_eval", "--model", "colours", "--include_path", str(tmp_path / "tasks")]
    command += ["--tasks", "mine_validation", "--output_path", str(tmp_path / "out"), "--batch_size", "1"]
    ran(command, tmp_path, LMMS_EVAL_PLUGINS="colours_plugin")
    (results,) = (tmp_path / "out").glob("*_results.json")
    found = json.loads(results.read_text())["results"]["mine_validation"]
    assert (found["accuracy,none"], found["answered,none"]) == (1.0, 1.0)
    answers = tmp_path / "out" / "submissions" / "mine_validation.jsonl"
    assert veridical.evaluate(tmp_path / "b", answers).accuracy.value == 1


@pytest.mark.soak
def test_vlmevalkit_runs_our_tables(tmp_path: Path) -> None:
    python = environment(tmp_path / "vlm", "ms-vlmeval==0.0.20", VLMEVALKIT)
    veridical.import_release("vlmevalkit", mmbench(tmp_path / "q.tsv", questions(40)), tmp_path / "one", name="one")
    veridical.import_release("hf", mmmu(tmp_path / "set", questions(40, ragged=True)), tmp_path / "many", name="many")
    (tmp_path / "data").mkdir()
    for name, split, items in (("one", "dev", 40), ("many", "validation", 38)):
        export("vlmevalkit", tmp_path / name, tmp_path / f"{name}-tsv")
        table = f"{name}_{split}"
        (tmp_path / f"{name}-tsv" / f"{table}.tsv").rename(tmp_path / "data" / f"{table}.tsv")
        command = [str(python), str(EVALUATORS / "ask_vlmevalkit.py"), table, str(tmp_path / f"{name}.xlsx")]
        assert f"items {items} overall 1.0" in ran(command, tmp_path, LMUData=str(tmp_path / "data"))
