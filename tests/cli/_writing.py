"""Every verb that writes, on the files of the fuzzer's world: what is killed, and what finds the disk full.

`{out}` is the place to write to, `{url}` a web server on this machine with the folder `site`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.formats._server import serving
from tests.fuzz.more_world import ALIKE, COUNTED
from tests.fuzz.world import WORDS

ROOT = Path(__file__).resolve().parents[2]
SECRET = "correct-horse-battery-staple-1729"


@dataclass(frozen=True)
class Writing:
    """A command, and what is known of what it writes."""

    command: str
    exact: bool = True  # the same bytes every time
    begun_with: str = ""  # what stands at OUT before
    empty: bool = False  # wants an empty place: what is there is whole
    again: bool = True  # can be run on what it made


SWEEP = "sweep matrices --models mlp-sum-2 --schemes neutral --features thumbnail --processes 1 --resamples 50"
WRITING = {
    "import nlvr": Writing("import nlvr release-nlvr --replace --out {out}"),
    "import nlvr2": Writing("import nlvr2 release-nlvr2 --replace --out {out}"),
    "import vcr": Writing("import vcr release-vcr --replace --out {out}"),
    "import table": Writing(f"import table asked.csv --hide test --secret {SECRET} --replace --out {{out}}"),
    "import vlmevalkit": Writing("import vlmevalkit mmbench.tsv --replace --out {out}"),
    "import hf": Writing("import hf hub --replace --out {out}"),
    "get": Writing("get nlvr --split dev --images --unpinned --base-url {url} --out {out}"),
    "build nlvr": Writing(f"build nlvr --presentations 8 --processes 1 --secret {SECRET} --replace --out {{out}}"),
    "presentations": Writing(
        "build nlvr --presentations 4 --until presentations --processes 1 --out {out}", empty=True
    ),
    "from a collection": Writing("build nlvr --from-collection collected --processes 1 --replace --out {out}"),
    "build nlvr2": Writing(
        f"build nlvr2 --source folder:photographs {ALIKE} --split train=2 --split dev=1 --work {{out}}.work --replace "
        "--out {out}"
    ),
    "takedown": Writing("build nlvr2 --takedown taken.txt --out {out}", begun_with="made", again=False),
    "build vprom": Writing(f"build vprom {COUNTED} --replace --out {{out}}"),
    "build vcr": Writing("build vcr --photographs 40 --folds 3 --processes 1 --replace --out {out}"),
    "sheets": Writing("build vcr --source coco:coco --until sheets --processes 1 --out {out}", empty=True),
    "augment": Writing(
        "augment nlvr --items 4 --variants 1 --variant-items 2 --plain 4 --presentations 4 --replace --out {out}"
    ),
    "match": Writing(
        f"match table.csv --group video --folds 2 {WORDS} --hide val --secret {SECRET} --replace --out {{out}}"
    ),
    "match into a file": Writing(f"match table.csv --group video --folds 2 {WORDS} --out {{out}}.jsonl"),
    "lambda curve": Writing(f"match table.csv --group video --folds 2 {WORDS} --sweep 0.1,1 --out {{out}}"),
    "features": Writing("features thumbnail {out} --batch-size 1", begun_with="pairs"),
    "train": Writing("train text nlvr --out {out} --set epochs=2 --set checkpoint_steps=1", exact=False),
    "train maxent": Writing("train maxent nlvr --out {out}", exact=False),
    "sweep": Writing(f"{SWEEP} --no-controls --set epochs=1 --out {{out}}", exact=False),
    "solve": Writing("solve random nlvr --split dev --out {out}.jsonl", exact=False),
    "solve programs": Writing(
        "solve programs nlvr --split dev --save-weights {out}.json --out {out}.jsonl", exact=False
    ),
    "audit": Writing(
        "audit nlvr --items 40 --check label --check single-label --processes 1 --no-controls --out {out}.html",
        exact=False,
    ),
    "report": Writing("report nlvr.jsonl --benchmark nlvr --resamples 50 --markdown --latex --out {out}.html",
                      exact=False),
    "show": Writing("show nlvr nlvr.jsonl --export {out} --sample 5", empty=True, exact=False),
    "export official": Writing("export official pairs --out {out}", empty=True),
    "export hf": Writing("export hf pairs --out {out}", empty=True),
    "export lmms-eval": Writing("export lmms-eval nlvr --out {out}", empty=True),
    "export vlmevalkit": Writing("export vlmevalkit nlvr --out {out}", empty=True),
    "export croissant": Writing("export croissant pairs --out {out}", exact=False),
    "export submission": Writing("export submission nlvr --split dev --predictions nlvr.jsonl --out {out}"),
    "copy": Writing("copy pairs --out {out}", empty=True),
    "copy of a run": Writing("copy run-maxent --out {out}", empty=True),
    "copy to a store": Writing("copy pairs --replace --out file://{out}"),
    "collect init": Writing("collect init nlvr {out} --presentations 4", empty=True),
    "collect rehearse": Writing("collect rehearse begun-pairs --workers 4 --out {out}", empty=True, exact=False),
    "collect export": Writing("collect export project --data served --out {out}", empty=True),
    "label-studio": Writing("collect label-studio project --data served --out {out}", empty=True),
    "serve": Writing("serve nlvr --data {out} --port 0", exact=False),
}  # fmt: skip


def make_world(folder: Path) -> Path:
    """The fuzzer's files, made by it; or a copy of those of FUZZ_WORLD, which takes a minute less."""
    if made := os.environ.get("FUZZ_WORLD"):
        return Path(shutil.copytree(made, folder / "world"))
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.fuzz.run", str(folder / "world"), "--cases", "0"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
    return folder / "world"


@contextmanager
def site(folder: Path) -> Iterator[str]:
    """A web server with what `get` downloads."""
    with serving() as made:
        for path in sorted(p for p in (folder / "site").rglob("*") if p.is_file()):
            name = f"/{path.relative_to(folder / 'site').as_posix()}"
            made.files[name] = path.read_bytes().replace(b"{url}", made.url.encode())
        yield made.url


def begin(one: Writing, world: Path, out: Path) -> None:
    """Put in place what stands there before."""
    for end in ("", ".hidden"):
        if one.begun_with and (world / f"{one.begun_with}{end}").exists():
            shutil.copytree(world / f"{one.begun_with}{end}", out.with_name(out.name + end))


def remove(out: Path) -> None:
    """All that a command made of a place, and left beside it."""
    for path in (*out.parent.glob(f"{out.name}*"), *out.parent.glob(f".{out.name}*")):
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
