"""The engine of Ray: the same pool, whose workers are actors on one machine or many.

An actor holds the function, and whatever the function keeps for its next batch: a model is loaded once for each worker,
on the graphics card that Ray gave it. Batches and results travel through Ray, and finished batches are written down
here, so that machines need share no disk for them. Ray starts nothing again by itself: whom we lose we hire anew, so
that a batch that kills its worker is counted as in the engine of processes.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from veridical.common.result import remark
from veridical.engine import Batch, Plan, Result, memory, pool
from veridical.errors import UserError, missing_extra
from veridical.options.running import Workers

if TYPE_CHECKING:
    import ray

PATIENCE = 20.0  # seconds without any worker before it is said that the cluster has no room
CONNECTING = 10.0  # seconds for a cluster's head to be reached
_PASSED_ON = ("VERIDICAL_PROGRESS", "VERIDICAL_CACHE")  # of the environment, to workers
_OWN = "local"  # the address of a cluster that Ray starts for this process, and ends with it


def run(function: Callable[[Batch], Result], batches: Iterable[Batch], plan: Plan) -> Iterator[Result]:
    """See `veridical.engine.run`."""
    if not os.environ.get(pool.INSIDE):
        _library()
    return pool.results(pool.prepared(function, batches, plan), batches, _crew)


def _library() -> Any:
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")  # what workers print is not ours to sum up
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise missing_extra("ray", "ray") from None
    return ray


def _crew(job: pool.Job) -> tuple[pool.Crew, int]:
    library = _library()
    wanted = job.plan.workers
    own = connect(wanted)
    resources = library.cluster_resources()
    processors, cards = resources.get("CPU", 0.0), resources.get("GPU", 0.0)
    each = wanted.gpus_per_worker
    if own and each > cards:
        raise UserError(
            f"Each worker is to hold {each:g} graphics cards, and this machine has {cards:g}.",
            "Leave out --gpus-per-worker, or name a cluster with --ray-address.",
        )
    room = min(processors, cards / each) if each else processors
    count = job.most(wanted.processes or max(1, int(room)))
    share = min(1.0, processors / count) if own else 1.0  # on this machine alone they share what there is
    return _Actors(job, {"num_cpus": share, "num_gpus": each, "scheduling_strategy": "SPREAD"}), count


def connect(workers: Workers) -> bool:
    """Join the cluster that was asked for, or start one here; whether it is ours alone.

    A connection that is there already is used. One of ours stays until the process ends: the steps of a build use the
    same.
    """
    library = _library()
    if library.is_initialized():
        return _OWN in _started
    address = workers.ray_address or os.environ.get("RAY_ADDRESS") or _OWN
    more: dict[str, Any] = {}
    if address == _OWN:
        more = {"num_cpus": max(workers.processes or 0, pool.available()), "include_dashboard": False}
    _keep_stdout_clean()
    try:
        _answers(address)
        library.init(address=address, logging_level="error", **more)
    except Exception as error:  # noqa: BLE001 - a node that does not start is a bare Exception of Ray's
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(
            f"No cluster of Ray was joined at {address!r}: {said}.",
            "Start one with `ray start --head`, and name its address; or leave out --ray-address. A machine that is "
            "very busy may need a second try.",
        ) from None
    _started.clear()
    _started.add(address)
    return address == _OWN


def _answers(address: str) -> None:
    """Raises OSError where nobody listens at HOST:PORT or ray://HOST:PORT: Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        with socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECTING):
            pass


@functools.cache
def _keep_stdout_clean() -> None:
    """What Ray has to say (a node is lost) goes to stderr, for results are on stdout. Ray has no option for it: where
    another version does it otherwise, it is left as it is."""
    with contextlib.suppress(ImportError, AttributeError):
        from ray._private import worker

        said: Callable[..., None] = worker.print_to_stdstream

        def to_stderr(told: dict[str, Any], *more: Any, **named: Any) -> None:
            said({**told, "is_err": True}, *more, **named)

        setattr(worker, "print_to_stdstream", to_stderr)  # noqa: B010 - its signature differs by version


_started: set[str] = set()  # the address that this process joined, where it was us who did


class _Actors(pool.Crew):
    def __init__(self, job: pool.Job, needs: dict[str, Any]) -> None:
        self.ray = _library()
        function, self.by_value = _sendable(self.ray, job.pickled)
        self.function = self.ray.put(function)  # once for all workers
        self.needs, self.label = needs, job.plan.label
        names = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        self.environment = {**names, **dict.fromkeys(pool.ONE_THREAD, "1"), pool.INSIDE: "1"}
        self.kind = self.ray.remote(_Actor)
        self.said = False

    def hire(self) -> pool.Worker:
        options = {**self.needs, "max_restarts": 0, "max_task_retries": 0}
        made = self.kind.options(runtime_env={"env_vars": self.environment}, **options)
        return _ActorWorker(self.ray, made.remote(self.function, sys.path, self.by_value))

    def wait(self, workers: Sequence[Any]) -> list[pool.Worker]:
        by_reference = {one.answers[0]: one for one in workers if one.answers}
        listed, start = list(by_reference), time.monotonic()
        while not self.ray.wait(listed, timeout=PATIENCE)[0]:
            if not self.said and not any(one.ready for one in workers) and time.monotonic() - start >= PATIENCE:
                needs = f"{self.needs['num_cpus']:g} processors and {self.needs['num_gpus']:g} graphics cards"
                remark(f"{self.label}: waiting for the cluster to have room for a worker with {needs}.")
                self.said = True
        done, _ = self.ray.wait(listed, num_returns=len(listed), timeout=0)
        return [by_reference[one] for one in done]

    def dismiss(self, workers: Sequence[Any]) -> None:
        for one in workers:
            one.end()


class _ActorWorker(pool.Worker):
    def __init__(self, library: Any, actor: Any) -> None:
        super().__init__()
        self.ray, self.actor, self.ready = library, actor, False
        self.answers: deque[ray.ObjectRef[Any]] = deque([actor.start.remote()])

    def give(self, task: pool.Task) -> None:
        batch, _ = _sendable(self.ray, task.batch)
        self.answers.append(self.actor.work.remote(batch, task.path is not None))

    def hear(self) -> tuple[str, Any]:
        reference = self.answers.popleft()
        errors = self.ray.exceptions
        try:
            outcome, value = self.ray.get(reference)
        except errors.RayTaskError as error:
            return "failed", str(error)
        except errors.RayError as error:  # the actor, its node, or what it sent is lost
            self.end()
            raise pool.Gone(_how(error), "Its node may be lost, or memory ran out there.") from None
        if outcome == "ended":
            self.end()
            raise pool.Gone(f"ended with exit code {value}")
        task = self.tasks[0] if self.tasks else None
        if outcome == "done" and task is not None and task.path is not None:
            memory.write(task.path, value)
            return outcome, None
        return outcome, value

    def end(self) -> None:
        """Whatever it does; the cluster may have lost it before."""
        self.ray.kill(self.actor, no_restart=True)


def _how(error: Exception) -> str:
    """What Ray says of a loss, in a few words: its messages are pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if "died" in line or "crash" in line or "exit" in line.lower()] or lines
    return f"was lost ({' '.join(told[:1])[:200]})"


def _sendable(library: Any, pickled: bytes) -> tuple[bytes, bool]:
    """A pickle that other machines can read: what stands in the user's script, which they lack, goes by value."""
    if b"__main__" not in pickled:
        return pickled, False
    by_value: bytes = library.cloudpickle.dumps(pickle.loads(pickled))
    return by_value, True


# --- in a worker -----------------------------------------------------------------------------------------------------


class _Actor:
    """What runs on a node of the cluster."""

    def __init__(self, function: bytes, path: list[str], by_value: bool) -> None:
        sys.path += [place for place in path if place not in sys.path]
        os.dup2(2, 1)  # what a function prints must not mix with the results on the driver's stdout
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.load: Callable[[], pool.Function] = functools.cache(functools.partial(pickle.loads, function))
        self.by_value = by_value

    def start(self) -> tuple[str, None]:
        return "ready", None

    def work(self, batch: bytes, kept: bool) -> tuple[str, Any]:
        """See `veridical.engine.pool.attempt`; a result that will be kept comes as the data that is written."""
        try:
            return pool.attempt(self.load, batch, memory.encode if kept else self._pickled)
        except SystemExit as error:  # Ray would take it for the end of an actor that has done its work
            code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
            return "ended", code

    def _pickled(self, result: Any) -> bytes:
        if not self.by_value:
            return pickle.dumps(result, protocol=5)
        import ray

        made: bytes = ray.cloudpickle.dumps(result)  # type: ignore[no-untyped-call]
        return made
