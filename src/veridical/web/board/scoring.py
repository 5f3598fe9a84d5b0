"""One file of predictions against one hidden split: what runs in a process of its own, and nothing else reads answers.

This module is that process, too: `python -m veridical.web.board.scoring` reads jobs from stdin, forks a child for each,
which limits its own time and memory before it opens the file, and writes what came of it to stdout, all as JSON lines.
Where stdin ends, so does everything.

A file is first read against a key without answers: complaints cannot depend on answers that were not there. Only what
is complete is scored, since the score of a part would tell about that part.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from veridical.benchmark import Benchmark
from veridical.common.arrays import Ints
from veridical.errors import UserError
from veridical.evaluation import metrics
from veridical.evaluation.grade import MISSING, UNREADABLE, AnswerKey, Grades, Tags, read_key, tags_of
from veridical.evaluation.opened import open_predictions

RESAMPLES, SEED = 2000, 0
NAMED = 3  # items that a complaint names
HUNG_UP = b"hung up"  # heard where nobody waits any more
NOT_OURS = "The board could not score this. Its host can see why; nothing is lost."


class Job(msgspec.Struct, frozen=True):
    """A file to be scored, or compared with another; without a file, the rows that need none."""

    benchmark: str
    split: str
    scheme: str
    seconds: int
    megabytes: int
    smallest: int  # items that a part needs to be shown
    file: tuple[str, str] | None = None  # folder and name
    against: tuple[str, str] | None = None


class Done(msgspec.Struct, frozen=True):
    """What came of a job. `said` is for the team, `why` for the host alone."""

    status: Literal["scored", "refused", "failed"]
    said: str = ""
    scores: dict[str, Any] | None = None
    why: str = ""


# --- in the child ----------------------------------------------------------------------------------------------------


def do(job: Job) -> Done:
    """Do one job."""
    if job.file is None:
        return Done("scored", scores=beside(job))
    return score(job, job.file) if job.against is None else compared(job, job.file, job.against)


def score(job: Job, file: tuple[str, str]) -> Done:
    """Score one file."""
    key = known_key(job)
    try:
        read = _complete(*file, key)
    except UserError as error:
        return Done("refused", str(error))
    return Done("scored", scores=_measured(key, read, job.smallest))


def compared(job: Job, file: tuple[str, str], against: tuple[str, str]) -> Done:
    """Per metric whether the difference to another entry is real."""
    key = known_key(job)
    mine, theirs = (_true(key, _complete(*where, key)) for where in (file, against))
    found = metrics.compare(mine, theirs, Path(against[1]), RESAMPLES, SEED)
    sure = found.sign_test_groups.p < metrics.SURE
    by_metric = {"accuracy": found.accuracy, "consistency": found.consistency, **found.staged}
    real = {name: sure and not one.low <= 0 <= one.high for name, one in by_metric.items()}
    return Done("scored", scores={name: bool(value) for name, value in real.items()})


_KEYS: dict[tuple[str, str, str], AnswerKey] = {}  # of the process that forks: children find them there


def known_key(job: Job) -> AnswerKey:
    """The answers of a split, with public tags."""
    place = (job.benchmark, job.split, job.scheme)
    if place not in _KEYS:
        _KEYS[place] = public_tags(read_key(Benchmark(job.benchmark), job.split, job.scheme))
    return _KEYS[place]


def public_tags(key: AnswerKey) -> AnswerKey:
    """The same key with the tags that everybody sees: a part by a hidden tag would tell of it."""
    column = key.benchmark.items_table(key.split, key.scheme, ["tags"])["tags"]
    return replace(key, tags=tags_of(column))


def _complete(folder: str, file: str, key: AnswerKey) -> Grades:
    """What a file chooses for every item, found without the answers; a file that leaves some out is refused."""
    os.chdir(folder)  # complaints name the file as its team did
    blind = replace(key, answer=np.zeros_like(key.answer))
    read = open_predictions(Path(file)).grade(blind)
    for what, which in (("have no prediction", MISSING), ("have one that cannot be read", UNREADABLE)):
        lack = np.equal(read.chosen, which)
        if lack.any():
            named = ", ".join(read.names(lack)[:NAMED])
            raise UserError(
                f"{file}: {int(lack.sum()):,} of {len(lack):,} {what}, such as {named}.",
                "Answer every item: a part of a hidden split is not scored. Nothing was scored.",
            )
    return read


def _true(key: AnswerKey, read: Grades) -> Grades:
    """The same choices against the true key."""
    return replace(
        read,
        key=key,
        examples=np.where(key.scored, read.examples, 0),
        chosen=read.chosen[key.scored[read.item]],
        duplicated=read.duplicated[key.scored[read.item]],
    )


def _measured(key: AnswerKey, read: Grades, smallest: int) -> dict[str, Any]:
    true = _true(key, read)
    right: Ints = metrics.per_item(true.item, true.right, len(key.ids))
    found = metrics.measure(key, true.examples, right, true.examples, RESAMPLES, SEED)
    large = _large_parts(key, smallest)
    by = metrics.by_tags(large, true.examples, right, RESAMPLES, SEED)
    staged = {name: one.to_json() for name, one in found.staged.items()}
    overall = {"accuracy": found.accuracy.to_json(), "consistency": found.consistency.to_json()}
    return {
        "items": found.items,
        "groups": found.groups,
        "metrics": staged or overall,
        "by": {
            tag: {value: {**row.accuracy.to_json(), "items": row.items} for value, row in rows.items()}
            for tag, rows in by.items()
        },
        "extra": len(read.extra),
    }


def _large_parts(key: AnswerKey, smallest: int) -> AnswerKey:
    """The key with the tags that enough items carry: the score of a small part tells about single items."""
    sizes = np.bincount(key.tags.pair[key.scored[key.tags.item]], minlength=len(key.tags.pairs))
    keep = sizes[key.tags.pair] >= smallest
    return replace(key, tags=Tags(key.tags.item[keep], key.tags.pair[keep], key.tags.pairs))


def beside(job: Job) -> dict[str, Any]:
    """The rows that need no entry: chance, the majority of train, people. The split's own majority would tell of it."""
    bench = Benchmark(job.benchmark)
    key = read_key(bench, job.split, job.scheme)
    examples = np.where(key.scored, 1, 0)
    rows = [row for row in metrics.baselines(bench, key, examples, RESAMPLES, SEED) if row.name != "majority"]
    people = metrics.human_row(bench, key)
    out = {}
    for row in [*rows, *([people] if people else [])]:
        told = row.to_json()
        given = {name: told[name] for name in ("accuracy", "consistency") if name in told}
        rule = row.rule.partition(":")[0] if row.name != "human" else row.rule
        out[row.name] = {"rule": rule, "metrics": told.get("staged") or given}
    return out


def _limit(job: Job) -> None:
    """No more time, memory or room on the disk than the job may take."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    for what, most in (
        (resource.RLIMIT_AS, used + (job.megabytes << 20)),
        (resource.RLIMIT_CPU, job.seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


def _limited(job: Job) -> bytes:
    """What came of a job, done within its limits."""
    _limit(job)
    try:
        done = do(job)
    except MemoryError:
        done = Done("failed", f"Scoring took more than {job.megabytes:,} MB of memory.")
    except UserError as error:  # of the benchmark, not of the file
        done = Done("failed", NOT_OURS, why=str(error))
    return msgspec.json.encode(done)


def _key_alone(job: Job) -> bytes:
    """The key of a job for the process that forks, which reads no Parquet: that starts threads, and forks want none."""
    try:
        return packed(known_key(job))
    except UserError:  # the job itself will say so
        return b""


class _Packed(msgspec.Struct, frozen=True):
    """A key as bytes: numbers as they lie in memory, int64; the rest of it is known to who asked."""

    words: tuple[str, ...]
    ids: list[str]
    groups: int
    numbers: dict[str, bytes]
    tags: tuple[bytes, bytes, tuple[tuple[str, str], ...]]


_NUMBERS = ("answer", "candidates", "views", "group", "parent", "given")


def packed(key: AnswerKey) -> bytes:
    """A key for another process; nothing in it can run."""
    numbers = {name: _bytes(getattr(key, name)) for name in _NUMBERS}
    tags = (_bytes(key.tags.item), _bytes(key.tags.pair), key.tags.pairs)
    return msgspec.msgpack.encode(_Packed(key.words, key.ids.to_pylist(), key.groups, numbers, tags))


def unpacked(data: bytes, job: Job) -> AnswerKey:
    """The key of a job that a child packed."""
    import pyarrow as pa

    said = msgspec.msgpack.decode(data, type=_Packed)
    item, pair, pairs = said.tags
    return AnswerKey(
        benchmark=Benchmark(job.benchmark),
        split=job.split,
        scheme=job.scheme,
        words=said.words,
        ids=pa.array(said.ids, pa.string()),
        groups=said.groups,
        tags=Tags(_ints(item), _ints(pair), pairs),
        **{name: _ints(said.numbers[name]) for name in _NUMBERS},
    )


def _bytes(numbers: Ints) -> bytes:
    return np.asarray(numbers, np.int64).tobytes()


def _ints(data: bytes) -> Ints:
    return np.frombuffer(data, np.int64)


def _child(work: Callable[[Job], bytes], job: Job, out: int) -> None:
    """Do some work, say what came of it, and end."""
    import pyarrow as pa

    try:
        pa.set_cpu_count(1)
        text = work(job)
        with os.fdopen(out, "wb") as pipe:
            pipe.write(text)
    finally:
        if sys.exc_info()[0] is not None:
            sys.excepthook(*sys.exc_info())  # a bug of ours: its traceback is for the host
        os._exit(0)


# --- in the process that forks ---------------------------------------------------------------------------------------


def run(job: Job, hung_up: int) -> Done | None:
    """Have a child do the job; None where nobody waits for it any more."""
    place = (job.benchmark, job.split, job.scheme)
    if place not in _KEYS and (told := forked(_key_alone, job, hung_up)) and told != HUNG_UP:
        _KEYS[place] = unpacked(told, job)
    text = forked(_limited, job, hung_up)
    if text is None:
        return Done("failed", f"Scoring took longer than {job.seconds} seconds.")
    if text == HUNG_UP:
        return None
    try:
        return msgspec.json.decode(text, type=Done)
    except msgspec.DecodeError:
        said = f"Scoring ended at a limit of {job.seconds} seconds of a processor or {job.megabytes:,} MB of memory."
        return Done("failed", said)


def forked(work: Callable[[Job], bytes], job: Job, hung_up: int) -> bytes | None:
    """What a child says that does some work; None where that takes too long."""
    mine, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.close(mine)
        _child(work, job, theirs)
    os.close(theirs)
    try:
        return _heard(mine, job.seconds, hung_up)
    finally:
        os.close(mine)
        os.kill(child, signal.SIGKILL)  # ended already, or to be ended
        os.waitpid(child, 0)


def _heard(pipe: int, seconds: int, hung_up: int) -> bytes | None:
    """What a child says until it ends, or None where that takes too long."""
    said, until = b"", time.monotonic() + 2 * seconds  # a busy machine gives it less than all of a processor
    while (left := until - time.monotonic()) > 0:
        ready, _, _ = select.select([pipe, hung_up], [], [], left)
        if hung_up in ready:
            return HUNG_UP
        if ready:
            part = os.read(pipe, 1 << 16)
            if not part:
                return said
            said += part
    return None


def main() -> None:
    """Jobs in, results out, one at a time."""
    for name in ("pyarrow.csv", "pyarrow.dataset", "pyarrow.parquet", "veridical.statistics"):
        import_module(name)  # here once, and not in every child
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the server ends us by closing stdin
    stdin, stdout = sys.stdin.fileno(), sys.stdout.buffer
    rest = b""
    while True:
        while b"\n" not in rest:
            part = os.read(stdin, 1 << 16)
            if not part:
                return
            rest += part
        line, _, rest = rest.partition(b"\n")
        done = run(msgspec.json.decode(line, type=Job), stdin)
        if done is None:
            return
        stdout.write(msgspec.json.encode(done) + b"\n")
        stdout.flush()


if __name__ == "__main__":
    main()
