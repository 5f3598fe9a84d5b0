"""Every verb that writes, killed with SIGKILL again and again: what is there is whole, and the next run ends as if
nothing had happened. KILLS says how often each is killed."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli._writing import WRITING, begin, make_world, remove, site
from tests.formats import _releases
from tests.zoo import _small

from veridical.benchmark.check import check
from veridical.cli import VERBS

ROOT = Path(__file__).resolve().parents[2]
WORDS = "--relevance tfidf --similarity tfidf --no-learn"
FEW = {
    "import": "import nlvr2 release --out out --replace",
    "match into a file": f"match table.csv --folds 2 {WORDS} --out out.jsonl",
    "solve": "solve random small --split dev --out out.jsonl",
    "copy": "copy small --out out",
    "collect init": "collect init nlvr out --presentations 2",
}
READING = {"check", "stats", "evaluate", "compare", "models", "plan", "tag", "submit"}  # they write nothing
OF_OTHERS = {"demo"}  # it calls the others, each as it is tested here


class Zygote:
    """Runs commands in a folder, and kills them."""

    def __init__(self, folder: Path) -> None:
        environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "VERIDICAL_PROGRESS": "0", "OMP_NUM_THREADS": "1"}
        environment |= {"VERIDICAL_WORKER": "1", "VERIDICAL_CACHE": str(folder / "cache")}
        environment |= {"VERIDICAL_DATA": str(folder / "home")}
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

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Zygote]]:
    folder = tmp_path_factory.mktemp("kills")
    _small.write_statements(folder / "small", 6)
    (folder / "release").mkdir()
    _releases.nlvr2(folder / "release")
    rows = [f"q{n},why is dog {n} here?,it saw {n} cats" for n in range(24)]
    (folder / "table.csv").write_text("\n".join(["id,question,answer", *rows]) + "\n")
    zygote = Zygote(folder)
    yield folder, zygote
    zygote.end()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Zygote, str]]:
    folder = make_world(tmp_path_factory.mktemp("kills"))
    zygote = Zygote(folder)
    with site(folder) as url:
        yield folder, zygote, url
    zygote.end()


def made(folder: Path) -> dict[str, bytes]:
    """Every file of what a command wrote to `out`; TensorBoard's are called after the time and their process."""
    files = [p for top in folder.glob("*out*") for p in ([top] if top.is_file() else sorted(top.rglob("*")))]
    files = [p for p in files if p.is_file() and "tfevents" not in p.name]
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


def others(folder: Path) -> dict[str, str]:
    """The hash of every file that is not of `out`, nor kept between runs."""
    tops = [p for p in folder.iterdir() if "out" not in p.name and p.name not in ("cache", "home", "served")]
    files = [p for top in tops for p in ([top] if top.is_file() else top.rglob("*")) if p.is_file()]
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def is_whole(folder: Path, whole: dict[str, bytes], empty: bool) -> None:
    """What stands at its place can be used."""
    out = folder / "out"
    if (out / "benchmark.json").exists():
        assert check(out).ok
    if empty and out.exists() and any(out.iterdir()):
        assert {name for name in made(folder) if name.startswith("out")} == whole.keys()
    for path in (p for p in folder.glob("out*") if p.is_file() and p.suffix in (".jsonl", ".html", ".json")):
        assert path.read_bytes().endswith((b"\n", b"</html>", b"</html>\n", b"}")), path


def storm_of_kills(folder: Path, zygote: Zygote, name: str, command: str, kills: int) -> int:
    """How many kills came before the end."""
    rng, one, out = random.Random(name), WRITING[name], folder / "out"
    command = command.format(out=out, url="{url}")
    remove(out)
    begin(one, folder, out)
    before = others(folder)
    start = time.monotonic()
    assert zygote.run(command) in (0, 1)
    seconds = time.monotonic() - start
    whole = made(folder)
    remove(out)
    begin(one, folder, out)
    hit = 0
    for _ in range(kills):
        start = time.monotonic()
        if zygote.run(command, rng.uniform(0, seconds)) == -9:
            hit += 1
        else:  # the first run of a verb takes longest
            seconds = min(seconds, time.monotonic() - start)
        is_whole(folder, whole, one.empty)
        if rng.random() < 0.3 or (one.empty and out.exists()) or not one.again:
            remove(out)
            begin(one, folder, out)
    assert zygote.run(command) in (0, 1)
    after = made(folder)
    assert after.keys() == whole.keys(), "nothing is missing, nothing of the killed is left"
    if one.exact:
        assert {path for path in whole if after[path] != whole[path]} == set()
    assert others(folder) == before
    remove(out)
    return hit


def test_every_verb_that_writes_is_killed() -> None:
    killed = {one.command.split()[0] for one in WRITING.values()}
    assert killed | READING | OF_OTHERS == set(VERBS)
    assert not killed & READING


@pytest.mark.parametrize("name", FEW)
def test_a_few_kills(few: tuple[Path, Zygote], name: str) -> None:
    folder, zygote = few
    known = {"import": "import nlvr2"}.get(name, name)
    storm_of_kills(folder, zygote, known, FEW[name], 3)


@pytest.mark.soak
@pytest.mark.parametrize("name", WRITING)
def test_a_storm_of_kills(world: tuple[Path, Zygote, str], name: str) -> None:
    folder, zygote, url = world
    kills = int(os.environ.get("KILLS", "24"))
    command = WRITING[name].command.replace("{url}", url)
    print(f"{name}: {storm_of_kills(folder, zygote, name, command, kills)} of {kills} kills hit", file=sys.stderr)
