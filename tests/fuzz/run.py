"""The fuzzer: `python -m tests.fuzz.run WORLD [--cases N] [--seed S] [--target NAME]`.

A case copies what its target needs into a box, makes a file or two wrong, runs one command in this process, and looks
at what came of it: an exception that is not ours, a message that is too long or commands a terminal, a file that
changed outside of what may change, a hang, much memory. Each finding is one JSON line with the target and the seed of
its case, which `--target NAME --only SEED` repeats; before a case begins its name goes to WORLD.case, for a parent that
finds this process dead. The exit code is 1 where there are findings.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass
from functools import cache
from inspect import BoundArguments
from itertools import count, islice
from pathlib import Path
from types import FrameType
from typing import Any

from cyclopts import App
from tests.commands import invoke
from tests.formats._server import drop, lie, redirect, serving, status
from tests.fuzz import world
from tests.fuzz.mutate import mutate
from tests.fuzz.targets import TARGETS

from veridical.cli import parser as commands
from veridical.engine import BatchError
from veridical.errors import MOST, MOST_DETAIL, MOST_DETAILS
from veridical.web.board import serving as board

WORKING, WAITING = 30, 60  # seconds of work, and of any kind, after which a case hangs
GROWTH = 1 << 30  # bytes
PREFIX = "veridical: "


class Remembering:
    """The command line that knows a command again: most of a small case was to make and to ask the same parser."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.known: dict[tuple[str, ...], tuple[Callable[..., Any], BoundArguments]] = {}

    def __call__(self, words: list[str]) -> Any:
        if tuple(words) not in self.known:
            self.known[tuple(words)] = self.app.parse_args(words)[:2]
        run, bound = self.known[tuple(words)]
        return run(*bound.args, **bound.kwargs)


@dataclass(frozen=True)
class Finding:
    target: str
    seed: int
    command: str
    done: list[str]  # what was made wrong
    problem: str
    detail: str = ""


class Hang(BaseException):
    """The command takes too long."""


def case(folder: Path, source: Path, target: str, seed: int) -> Iterator[Finding]:
    """Run one case in a folder of its own."""
    aim, rng = TARGETS[target], random.Random(f"{target} {seed}")
    box = folder / "around" / "box"
    shutil.rmtree(folder / "around", ignore_errors=True)
    box.mkdir(parents=True)
    for name in aim.needs:
        copy = shutil.copytree if (source / name).is_dir() else shutil.copy
        copy(source / name, box / name)
    command = rng.choice(aim.commands)
    words = command.split()
    files = sorted({p for glob in aim.wrong.split() for p in box.glob(glob) if p.is_file()})
    close = [p for p in files if any(word.startswith(p.relative_to(box).parts[0].split(".")[0]) for word in words)]
    done = [wrong(rng, rng.choice(close or files), box) for _ in range(rng.choice((1, 1, 1, 2)))]
    before = snapshot(folder)
    os.environ["VERIDICAL_CACHE"] = str(box / "out.cache" if aim.own_cache else source / "cache")
    os.environ["VERIDICAL_DATA"] = str(box / "out.data")
    with site(rng, box / aim.served) if aim.served else nullcontext("") as url:
        said = [word.replace("{url}", url).replace("{box}", str(box)) for word in words]
        for problem, detail in watched(said, box):
            yield Finding(target, seed, command, done, problem, detail)
    allowed = tuple(str(Path("around/box", name)) for name in ("out", *aim.may_change))
    after = snapshot(folder)
    for path in sorted(before.keys() | after.keys()):
        if before.get(path) != after.get(path) and not path.startswith(allowed):
            yield Finding(target, seed, command, done, "it wrote elsewhere", path)


def wrong(rng: random.Random, path: Path, box: Path) -> str:
    """Make a file wrong, or something else of it."""
    how = rng.random()
    if path.is_symlink() or not path.is_file():  # made so before: what a link points at is not ours to change
        return "nothing"
    if how > 0.06:
        return mutate(rng, path)
    path.unlink()
    if how > 0.045:
        return f"removed {path.name}"
    if how > 0.03:
        path.mkdir()
        return f"a folder for {path.name}"
    if how > 0.015:
        os.mkfifo(path)
        return f"a pipe for {path.name}"
    decoy = box.parent / "elsewhere"  # whoever writes it is found by the snapshot
    decoy.write_text("not part of the box\n")
    path.symlink_to(rng.choice((path.name, str(decoy), "/dev/zero", str(box.parent / "nowhere"))))
    return f"a link for {path.name}"


@contextmanager
def site(rng: random.Random, folder: Path) -> Iterator[str]:
    """A web server with the files of a folder, {url} in them being its own; some are something else at first."""
    with serving() as made:
        for path in sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()):
            name = f"/{path.relative_to(folder).as_posix()}".removesuffix("/index")
            made.files[name] = path.read_bytes().replace(b"{url}", made.url.encode())
            if rng.random() < 0.15:
                made.acts[name].append(rng.choice(ODD_ANSWERS))
        yield made.url


ODD_ANSWERS = (
    drop(5), *(status(code) for code in (204, 206, 304, 401, 404, 416, 500)), lie(b""), lie(b"x" * 10**6),
    lie(b"not gzip", Content_Encoding="gzip"), lie(b"x", ETag='"' + "e" * 5000 + '"'),
    lie(gzip.compress(b"0" * (64 << 20)), Content_Encoding="gzip"),
    *(redirect(to) for to in ("", "/", "//", "http://[", "file:///etc/passwd", "ftp://127.0.0.1/", "http://127.0.0.1:99999/",
                              "data:,x", "?", "\x7f", "http:///x", "x" * 5000)),
)  # fmt: skip


def watched(words: Sequence[str], box: Path) -> Iterator[tuple[str, str]]:
    """Run a command; what is wrong with how it ended."""
    forget_peak()
    start = resident("VmRSS")
    try:
        with limits(), chdir(box):
            ran = invoke(*words)
    except Hang as error:
        yield "it hangs", "".join(traceback.format_tb(error.__traceback__)[-3:])
        return
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever comes out is the finding
        yield blamed(error), f"{error}"[-300:]
        return
    if resident("VmHWM") - start > GROWTH:
        yield "it takes much memory", f"{(resident('VmHWM') - start) >> 20} MB"
    if ran.exit_code not in (0, 1, 2):
        yield f"exit code {ran.exit_code}", ran.stderr[:300]
    if ran.exit_code == 2 and not ran.stderr.rpartition(PREFIX)[2].strip():
        yield "it ends without a word", ran.stderr[:300]
    said = ran.stderr.rpartition(PREFIX)[2] if ran.exit_code == 2 else ""
    most = MOST + (MOST_DETAILS + 1) * (MOST_DETAIL + 3)
    if len(said) > most or any(len(line) > MOST for line in said.splitlines()):
        yield "a long message", ran.stderr[:700]
    shown = ran.stdout + ran.stderr
    if odd := sorted({c for c in shown if not (c.isprintable() or c in "\n\t")}):
        yield f"it prints {odd[:5]!r}", shown[max(shown.index(odd[0]) - 100, 0) :][:300]
    if "Traceback" in ran.stderr:
        yield "a traceback", ran.stderr[-500:]


def blamed(error: BaseException) -> str:
    """The kind of an exception and where it was raised, in a worker too."""
    ours = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__) if "veridical" in f.filename]
    kind = type(error).__name__
    if isinstance(error, BatchError):
        ours = re.findall(r'File "(\S*veridical\S*)", line (\d+)', error.traceback)
        kind = error.traceback.strip().splitlines()[-1].partition(":")[0]
    return f"{kind} at {Path(ours[-1][0]).name}:{ours[-1][1]}" if ours else kind


@contextmanager
def limits() -> Iterator[None]:
    """A command gets so many seconds, and not all memory of the machine."""

    late = delay()

    def ring(number: int, frame: FrameType | None) -> None:
        nonlocal late
        before, late = late, delay()
        if number == signal.SIGPROF or late - before < WAITING / 4:
            raise Hang
        signal.setitimer(signal.ITIMER_REAL, WAITING)  # it was not its turn: the machine is busy

    used = resident("VmSize")
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = {number: signal.signal(number, ring) for number in (signal.SIGALRM, signal.SIGPROF)}
    signal.setitimer(signal.ITIMER_REAL, WAITING)
    signal.setitimer(signal.ITIMER_PROF, WORKING)
    resource.setrlimit(resource.RLIMIT_AS, (used + 4 * GROWTH, hard))  # threads reserve much and use little
    try:
        yield
    finally:
        for timer in (signal.ITIMER_REAL, signal.ITIMER_PROF):
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def delay() -> float:
    """Seconds that the threads of this process have waited for a processor."""
    waited = 0
    for one in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # it has ended meanwhile
            waited += int((one / "schedstat").read_text().split()[1])
    return waited / 1e9


def resident(field: str) -> int:
    """Bytes of memory of this process, as Linux counts them."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition(f"{field}:")[2].split()[0]) << 10


def forget_peak() -> None:
    """Let VmHWM, the most memory so far, begin anew."""
    Path("/proc/self/clear_refs").write_text("5")


def snapshot(folder: Path) -> dict[str, tuple[int, int, int]]:
    """What lies in a folder and when it was written."""
    out = {}
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(root, name)  # noqa: PTH118 - of thousands of files
            facts = os.lstat(path)
            when = 0 if name in folders else facts.st_mtime_ns
            out[os.path.relpath(path, folder)] = (facts.st_mode, 0 if name in folders else facts.st_size, when)
    return out


def rounds(cases: int, seed: int, targets: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Each target in its turn, with a seed for each round; dear ones in some rounds only."""
    turns = ((name, number) for number in count(seed) for name in targets if number % TARGETS[name].every == 0)
    return islice(turns, cases)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("world", type=Path)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", action="append", choices=list(TARGETS))
    parser.add_argument("--quick", action="store_true", help="no slow targets, nor what only they need")
    parser.add_argument("--only", type=int, help="the seed of one case")
    args = parser.parse_args()
    targets = args.target or [name for name, one in TARGETS.items() if not (args.quick and one.slow)]
    source = args.world.resolve()
    os.environ |= {"VERIDICAL_WORKER": "1", "VERIDICAL_PROGRESS": "0", "VERIDICAL_CACHE": str(source / "cache")}
    os.environ["VERIDICAL_DATA"] = str(source / "home")
    board.listen = lambda *_: None  # `serve` does all but serve, and ends
    commands.app = cache(lambda *verbs, made=commands.app: Remembering(made(*verbs)))
    if not (source / "store").exists():
        source.mkdir(parents=True, exist_ok=True)
        world.make(source, args.quick)
    folder = source.with_name(f"{source.name}.boxes-{os.getpid()}")
    name = source.with_name(f"{source.name}.case")
    found = 0
    todo = [(t, args.only) for t in targets] if args.only is not None else rounds(args.cases, args.seed, targets)
    for target, seed in todo:
        name.write_text(f"{target} {seed}")
        for finding in case(folder, source, target, seed):
            found += 1
            print(json.dumps(asdict(finding)), flush=True)
    if args.only is None:
        shutil.rmtree(folder, ignore_errors=True)
    name.unlink(missing_ok=True)  # no case, no name
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
