"""Every verb that writes, killed with SIGKILL again and again: what is there is whole, and the next run ends as if
nothing had happened. KILLS says how often each is killed."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.benchmark.conftest import write_small
from tests.formats import _releases
from tests.zoo import _matrices, _pictures, _small

from veridical.benchmark.check import check

ROOT = Path(__file__).resolve().parents[2]
WORDS = "--relevance tfidf --similarity tfidf --no-learn"
COMMANDS = {
    "import": "import nlvr2 release --out out --replace",
    "import a table": "import table choices.csv --out out --replace",
    "build": "build nlvr --presentations 8 --split train=3 --split test-u=1 --processes 1 --replace --out out",
    "presentations": "build nlvr --presentations 4 --until presentations --processes 1 --out out",
    "match": f"match table.csv --folds 2 {WORDS} --out out --replace",
    "match into a file": f"match table.csv --folds 2 {WORDS} --out out.jsonl",
    "export": "export hf pictures --out out",
    "export official": "export official imported --out out",
    "solve": "solve random small --split dev --out out.jsonl",
    "train": "train text small --out out --set epochs=2 --set checkpoint_steps=1",
    "features": "features thumbnail pictures --batch-size 1",
    "audit": "audit small --check label --check single-label --processes 1 --no-controls --out out.html",
    "report": "report p.jsonl --benchmark small --resamples 50 --out out.html",
    "sweep": "sweep matrices --models mlp-sum-2 --schemes neutral --features thumbnail --processes 1 --resamples 50 "
    "--no-controls --set epochs=1 --out out",
}
EXACT = {"import", "import a table", "build", "match into a file", "export", "export official", "presentations"}


class Zygote:
    """Runs commands in a folder, and kills them."""

    def __init__(self, folder: Path) -> None:
        environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "VERIDICAL_PROGRESS": "0", "OMP_NUM_THREADS": "1"}
        environment |= {"VERIDICAL_WORKER": "1", "VERIDICAL_CACHE": str(folder / "cache")}
        script = Path(__file__).with_name("_zygote.py")
        self.process = subprocess.Popen(
            [sys.executable, str(script)], cwd=folder, env=environment, stdin=-1, stdout=-1, text=True
        )

    def run(self, command: str, seconds: float = 120) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"words": command.split(), "seconds": seconds}) + "\n")
        self.process.stdin.flush()
        return int(json.loads(self.process.stdout.readline()))


@pytest.fixture(scope="module")
def storm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Zygote]]:
    folder = tmp_path_factory.mktemp("kills")
    _small.write_statements(folder / "small", 6)
    write_small(folder / "pictures", hidden=())
    _pictures.POOL = 6
    _matrices.write(folder / "matrices", {"train": 30, "test": 10})
    (folder / "release").mkdir()
    _releases.nlvr2(folder / "release")
    rows = [f"q{n},why is dog {n} here?,it saw {n} cats" for n in range(24)]
    (folder / "table.csv").write_text("\n".join(["id,question,answer", *rows]) + "\n")
    rows = [f"what is {n}?,a dog {n},a cat {n},a cup {n},B" for n in range(8)]
    (folder / "choices.csv").write_text("\n".join(["question,A,B,C,answer", *rows]) + "\n")
    zygote = Zygote(folder)
    assert zygote.run("solve random small --split dev --out p.jsonl") == 0
    assert zygote.run("import nlvr2 release --out imported") == 0
    yield folder, zygote
    zygote.process.kill()
    zygote.process.wait()


def contents(folder: Path) -> dict[str, bytes]:
    """Every file; TensorBoard's are called after the time and the process that wrote them."""
    files = [p for p in sorted(folder.rglob("*")) if p.is_file() and "tfevents" not in p.name]
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


def clear(folder: Path) -> None:
    for path in (*folder.glob("out*"), *folder.glob(".out*"), *(folder / "pictures").glob("features-*")):
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def is_whole(folder: Path) -> None:
    """What stands at its place can be used."""
    out = folder / "out"
    if (out / "benchmark.json").exists():
        assert check(out).ok
    for path in (p for p in folder.rglob("out*") if p.is_file() and p.suffix in (".jsonl", ".html")):
        assert path.read_bytes().endswith((b"\n", b"</html>", b"</html>\n")), path
    assert check(folder / "pictures").ok


def storm_of_kills(folder: Path, zygote: Zygote, name: str, kills: int) -> int:
    """How many kills came before the end."""
    rng, command = random.Random(name), COMMANDS[name]
    clear(folder)
    before = contents(folder)
    start = time.monotonic()
    assert zygote.run(command) in (0, 1)
    seconds = time.monotonic() - start
    made = {path: data for path, data in contents(folder).items() if path not in before}
    clear(folder)
    hit = 0
    for _ in range(kills):
        hit += zygote.run(command, rng.uniform(0, seconds)) == -9
        is_whole(folder)
        if rng.random() < 0.3:
            clear(folder)
        elif name in ("presentations", "export", "export official") and (folder / "out").exists():
            clear(folder)  # they want an empty place
    assert zygote.run(command) in (0, 1)
    after = {path: data for path, data in contents(folder).items() if path not in before}
    assert after.keys() == made.keys()
    if name in EXACT:
        assert {path for path in made if after[path] != made[path]} == set()
    assert contents(folder).keys() >= before.keys()
    return hit


def test_a_few_kills(storm: tuple[Path, Zygote]) -> None:
    for name in ("import", "solve", "match into a file"):
        storm_of_kills(*storm, name, 3)


@pytest.mark.soak
@pytest.mark.parametrize("name", COMMANDS)
def test_a_storm_of_kills(storm: tuple[Path, Zygote], name: str) -> None:
    kills = int(os.environ.get("KILLS", "24"))
    print(f"{name}: {storm_of_kills(*storm, name, kills)} of {kills} kills hit", file=sys.stderr)
