"""No room on the disk, no right to write: one line, exit code 2, and what was there is still there.

A limit on the size of files stands for the full disk and the quota: the system refuses the same calls.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.benchmark.conftest import write_small
from tests.commands import Ran, invoke
from tests.formats import _releases
from tests.zoo import _small

WORDS = "--relevance tfidf --similarity tfidf --no-learn"
COMMANDS = {
    "import": "import nlvr2 release --out {out}",
    "import a table": "import table choices.csv --out {out}",
    "build nlvr": "build nlvr --presentations 4 --split train=3 --split test-u=1 --processes 1 --out {out}",
    "presentations": "build nlvr --presentations 4 --until presentations --processes 1 --out {out}",
    "train": "train text small --out {out} --set epochs=1",
    "train maxent": "train maxent small --out {out}",
    "export hf": "export hf small --out {out}",
    "export croissant": "export croissant small --out {out}",
    "solve": "solve random small --split dev --out {out}",
    "audit": "audit small --check label --processes 1 --out {out}.html",
    "match": f"match table.csv --folds 2 {WORDS} --out {{out}}",
    "match into a file": f"match table.csv --folds 2 {WORDS} --out {{out}}.jsonl",
    "lambda curve": f"match table.csv --folds 2 {WORDS} --sweep 0.1,1 --out {{out}}",
    "report": "report p.jsonl --benchmark small --resamples 50 --out {out}.html",
    "features": "features thumbnail pictures",
}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("disk")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, value in (("VERIDICAL_PROGRESS", "0"), ("VERIDICAL_WORKER", "1")):
            patch.setenv(name, value)
        patch.setenv("VERIDICAL_CACHE", str(tmp_path_factory.mktemp("cache")))
        _small.write_statements(folder / "small", 6)
        write_small(folder / "pictures", hidden=())
        (folder / "release").mkdir()
        _releases.nlvr2(folder / "release")
        rows = [f"q{n},why is dog {n} here?,it saw {n} cats" for n in range(24)]
        (folder / "table.csv").write_text("\n".join(["id,question,answer", *rows]) + "\n")
        rows = [f"what is {n}?,a dog {n},a cat {n},a cup {n},B" for n in range(8)]
        (folder / "choices.csv").write_text("\n".join(["question,A,B,C,answer", *rows]) + "\n")
        assert invoke("solve", "random", "small", "--split", "dev", "--out", "p.jsonl").exit_code == 0
        yield folder


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Files may have so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def refused(ran: Ran) -> None:
    assert ran.exit_code == 2, ran.stderr[-2000:]
    assert "Traceback" not in ran.stderr
    assert "veridical: " in ran.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk(here: Path, name: str) -> None:
    out = name.replace(" ", "-")
    before = contents(here)
    words = COMMANDS[name].format(out=out).split()
    with room_for(16):
        refused(invoke(*words))
    after = contents(here)
    assert {path: after.get(path) for path in before} == before
    left = [path for path in after.keys() - before.keys() if not path.startswith((f"{out}/", "pictures/features-"))]
    assert not left, "but for a run that was begun, and what it can be continued from"
    again = invoke(*words)
    assert again.exit_code in (0, 1), again.stderr


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "features"])
def test_a_place_where_nothing_can_be_written(here: Path, name: str) -> None:
    before = contents(here)
    refused(invoke(*COMMANDS[name].format(out="/proc/nowhere/out").split()))
    assert contents(here) == before


def test_what_stood_there_before_stays(here: Path) -> None:
    """Predictions, a page and a benchmark that cannot be replaced are the old ones."""
    for command in (
        "solve random small --split dev --out old.jsonl",
        "report p.jsonl --benchmark small --out old.html",
    ):
        assert invoke(*command.split()).exit_code == 0
    write_small(here / "bench", hidden=())
    before = contents(here)
    with room_for(64):
        refused(invoke(*["solve", "random", "small", "--split", "dev", "--seed", "1", "--out", "old.jsonl"]))
        refused(invoke(*["report", "p.jsonl", "--benchmark", "small", "--title", "x", "--out", "old.html"]))
        refused(invoke(*["import", "nlvr2", "release", "--out", "bench"]))
    assert contents(here) == before
