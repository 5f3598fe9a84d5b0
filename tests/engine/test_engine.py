"""The contract of every engine: order, retries, remembered batches, the same bytes on any number of processes."""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veridical.engine import ENGINES, BatchError, batch_rng, run
from veridical.errors import UserError
from veridical.options import Workers

from . import _jobs as jobs

Run = Callable[..., Iterator[Any]]


# Ray takes seconds to start: its contract is proved in the soak, and one end-to-end test (test_cluster.py) in all runs
@pytest.fixture(params=[pytest.param(n, marks=[pytest.mark.soak] if n == "ray" else []) for n in sorted(ENGINES)])
def start(request: pytest.FixtureRequest) -> Run:
    def start(*arguments: Any, processes: int | None = None, **more: Any) -> Iterator[Any]:
        return run(*arguments, workers=Workers(processes, request.param), **more)

    return start


@pytest.fixture(params=[1, 2])
def processes(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def starts(folder: Path) -> int:
    return len(list(folder.iterdir()))


@pytest.mark.parametrize("name", sorted(ENGINES))
def test_every_entry_is_there(name: str) -> None:
    module, _, attribute = ENGINES[name].partition(":")
    assert callable(getattr(import_module(module), attribute))


def test_results_come_in_order(start: Run) -> None:
    assert list(start(jobs.slowest_first, range(12), processes=2)) == list(range(12))


def test_no_batches(start: Run, processes: int) -> None:
    assert list(start(jobs.square, [], processes=processes)) == []


def test_the_same_bytes_for_any_number_of_processes(start: Run) -> None:
    batches = [(7, index) for index in range(9)]
    one, two, three = (list(start(jobs.draw, iter(batches), processes=n)) for n in (1, 2, 3))
    assert one == two == three
    assert len(set(one)) == 9


def test_threaded_arithmetic_gives_the_same_bytes_too(start: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """With several threads, as in this process on most machines, the last bits differ."""
    one, two = (list(start(jobs.multiply, range(2), processes=n)) for n in (1, 2))
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    threaded = list(start(jobs.multiply, range(2), processes=2))
    assert one == two == threaded


def test_batches_run_in_another_process(start: Run, processes: int, tmp_path: Path) -> None:
    list(start(jobs.marked, [(str(tmp_path), 1)], processes=processes))
    (mark,) = tmp_path.iterdir()
    assert mark.name.split("-")[1] != str(os.getpid())


def test_what_a_function_prints_is_not_on_stdout(start: Run, processes: int, capfd: pytest.CaptureFixture[str]) -> None:
    assert list(start(jobs.talks, range(3), processes=processes)) == [0, 1, 2]
    end, out, errors = time.monotonic() + 60, "", ""
    while "hello from 2" not in errors and time.monotonic() < end:  # from another machine it takes its time
        time.sleep(0.3)  # reading empties it: what is written meanwhile may be lost
        more = capfd.readouterr()
        out, errors = out + more.out, errors + more.err
    assert out == ""
    assert "hello from 2" in errors


def test_an_exit_in_a_batch_does_not_end_the_caller(start: Run, processes: int) -> None:
    with pytest.raises(UserError, match="batch 0 ended with exit code 1"):
        list(start(jobs.exits_politely, [0], processes=processes, retries=0))


def test_a_failed_batch_is_tried_again(start: Run, processes: int, tmp_path: Path) -> None:
    batches = [(str(tmp_path), number) for number in range(6)]
    assert list(start(jobs.fails_twice, batches, processes=processes, retries=2)) == list(range(6))
    assert starts(tmp_path) == 3


def test_a_batch_that_always_fails_is_named(start: Run, processes: int) -> None:
    with pytest.raises(BatchError, match=r"drawing: batch 5 failed 2 times") as caught:
        list(start(jobs.fails_always, range(9), processes=processes, retries=1, label="drawing"))
    assert "ValueError: cannot do 5" in str(caught.value)
    assert "fails_always" in str(caught.value)  # where it happened


def test_bad_input_is_not_tried_again(start: Run, processes: int) -> None:
    with pytest.raises(UserError, match=r"line 4 is wrong") as caught:
        list(start(jobs.refuses, [4], processes=processes))
    assert caught.value.fix == "Mend it."


def test_a_result_that_cannot_be_sent_is_an_error(start: Run, processes: int) -> None:
    with pytest.raises(BatchError, match="lambda"):
        list(start(jobs.unpicklable, range(2), processes=processes, retries=0))


def test_finished_batches_are_remembered(start: Run, processes: int, tmp_path: Path) -> None:
    marks, work = tmp_path / "marks", tmp_path / "work"
    marks.mkdir()
    batches = [(str(marks), number) for number in range(8)]
    for _ in range(2):
        assert list(start(jobs.marked, batches, processes=processes, work=work)) == [n * 10 for n in range(8)]
        assert starts(marks) == 8


def test_remembered_batches_of_another_config_are_not_used(start: Run, tmp_path: Path) -> None:
    assert list(start(functools.partial(jobs.draw), [(1, 0)], processes=1, work=tmp_path)) != list(
        start(functools.partial(jobs.draw), [(2, 0)], processes=1, work=tmp_path)
    )
    powers = [list(start(functools.partial(pow, exp=e), [2, 3], processes=1, work=tmp_path)) for e in (2, 3)]
    assert powers == [[4, 9], [8, 27]]


def test_results_of_code_that_was_edited_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    found = []
    for number in (1, 2):
        (tmp_path / "edited.py").write_text(f"def add(x):\n    return x + {number}{number}\n")
        sys.modules.pop("edited", None)
        invalidate_caches()
        found.append(list(run(import_module("edited").add, [0], workers=Workers(1), work=tmp_path / "work")))
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
    assert found == [[11], [22]]


@pytest.mark.parametrize("where", ["argument", "keyword", "dataclass", "method"])
def test_edited_functions_in_a_config_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    found = []
    for number in (1, 2):
        (tmp_path / "scoring.py").write_text(
            "from dataclasses import dataclass\n"
            f"def add(x):\n    return x + {number}{number}\n"
            "@dataclass(frozen=True)\nclass Adder:\n    extra: int = 0\n"
            f"    def add(self, x):\n        return x + {number}{number}\n"
        )
        sys.modules.pop("scoring", None)
        invalidate_caches()
        scoring = import_module("scoring")
        function = {
            "argument": functools.partial(jobs.apply, scoring.add),
            "keyword": functools.partial(functools.partial(jobs.apply_last, function=scoring.add)),
            "dataclass": functools.partial(jobs.apply, jobs.Config((scoring.add,))),
            "method": functools.partial(jobs.apply, scoring.Adder().add),
        }[where]
        found.append(list(run(function, [0], workers=Workers(1), work=tmp_path / "work")))
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
    assert found == [[11], [22]]


@pytest.mark.parametrize("damage", [b"", b"short", b"x" * 100])
def test_a_damaged_memory_is_computed_again(start: Run, processes: int, tmp_path: Path, damage: bytes) -> None:
    assert list(start(jobs.square, range(6), processes=processes, work=tmp_path)) == [n * n for n in range(6)]
    files = sorted(tmp_path.glob("*/*.result"))
    assert len(files) == 6
    files[2].write_bytes(damage)
    assert list(start(jobs.square, range(6), processes=processes, work=tmp_path)) == [n * n for n in range(6)]


def test_a_result_that_cannot_be_read_back_is_tried_as_often_as_one_that_fails(tmp_path: Path) -> None:
    """A function that does not return what it says it does."""
    with pytest.raises(BatchError, match="failed 3 times"):
        list(run(jobs.says_a_number, [1], workers=Workers(1), work=tmp_path))


def test_so_it_is_inside_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIDICAL_WORKER", "1")
    with pytest.raises(BatchError, match="failed 3 times"):
        list(run(jobs.says_a_number, [1], workers=Workers(1), work=tmp_path))


def test_a_result_of_a_stranger_runs_nothing(start: Run, tmp_path: Path) -> None:
    """A resume folder may come from anybody: results are data, whatever they hold."""
    mark = tmp_path / "mark"

    class Bomb:
        def __reduce__(self) -> tuple[object, ...]:
            return Path.touch, (mark,)

    work = tmp_path / "work"
    assert list(start(jobs.square, [3], processes=1, work=work)) == [9]
    [file] = work.glob("*/*.result")
    payload = pickle.dumps(Bomb())
    file.write_bytes(hashlib.sha256(payload).digest() + payload)
    assert list(start(jobs.square, [3], processes=1, work=work)) == [9]
    assert not mark.exists()


def test_remembered_records_and_arrays_come_back_as_they_were(start: Run, tmp_path: Path) -> None:
    for _ in range(2):
        [(record, array)] = start(jobs.measured, [4], processes=1, work=tmp_path)
        assert record == jobs.Measured("4", (1.5, 2), {"a": [b"x"]})
        assert array.dtype == np.int16
        assert array.tolist() == [[0, 1], [2, 3]]
        array[0, 0] = 7  # not a view of what is on disk


def test_batches_are_taken_only_as_needed(start: Run, processes: int) -> None:
    taken = 0

    def endless() -> Iterator[int]:
        nonlocal taken
        while True:
            taken += 1
            yield taken

    results = start(jobs.square, endless(), processes=processes)
    assert [next(results) for _ in range(3)] == [1, 4, 9]
    results.close()  # type: ignore[attr-defined]
    assert taken <= 3 + 4 * processes


def test_what_cannot_be_sent_is_refused_at_once(start: Run) -> None:
    with pytest.raises(TypeError, match="module-level"):
        start(lambda number: number, range(3))


def test_runs_inside_a_worker_stay_inside_it(start: Run) -> None:
    assert list(start(jobs.nested, [3, 4], processes=2)) == [5, 14]


def test_bad_arguments() -> None:
    with pytest.raises(UserError, match="no engine 'abacus'"):
        run(jobs.square, [], workers=Workers(engine="abacus"))
    with pytest.raises(UserError, match="0 processes"):
        run(jobs.square, [], workers=Workers(0))
    with pytest.raises(ValueError, match="retries"):
        run(jobs.square, [], retries=-1)


def test_batch_rng_is_a_spawned_generator() -> None:
    children = np.random.SeedSequence(3).spawn(5)
    for index in range(5):
        assert batch_rng(3, index).bytes(16) == np.random.default_rng(children[index]).bytes(16)
