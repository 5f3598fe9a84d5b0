"""Questions put through Inspect, and shares of them that workers ask, each with a copy of a local model.

A worker sends back the answers of its share, which go into the journal here: what was answered is not asked again,
whoever asked it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from veridical.benchmark import Benchmark
from veridical.options.running import Asking, Generating, Sending
from veridical.solvers.vlm.answers import Asked
from veridical.solvers.vlm.prompts import Question, SplitQuestions

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog
    from inspect_ai.model import Model

SHARE = 64  # questions that a worker asks before it tells
FAILURES = 20  # questions that may fail for good before a run gives up
RETRIES = 1  # of a question whose answer Inspect takes for a bug of its own, such as a body cut in half


@dataclass(frozen=True)
class Asker:
    """A model and how it is asked; another process opens both anew."""

    model: str
    asking: Asking
    sending: Sending
    generating: Generating
    benchmark: Benchmark
    split: str
    scheme: str

    def __reduce__(self) -> tuple[type[Asker], tuple[object, ...]]:
        return Asker, tuple(getattr(self, one.name) for one in fields(self))

    @cached_property
    def questions(self) -> SplitQuestions:
        return SplitQuestions(self.benchmark, self.split, self.asking, self.scheme)

    @cached_property
    def opened(self) -> Model:
        """The model as Inspect has it."""
        from veridical.solvers.vlm.run import open_model

        return open_model(self.model, self.sending, blind=self.asking.blind, temperature=self.generating.temperature)

    def put(
        self,
        asked: Sequence[Question],
        keep: Callable[[Asked], None],
        known: Mapping[tuple[str, int, int], Asked],
        logs: Path,
    ) -> EvalLog | None:
        """Put questions through Inspect; `keep` is told of each answer. None where it was stopped at once."""
        from inspect_ai import eval as inspect_eval

        from veridical.solvers.vlm import tasks
        from veridical.solvers.vlm.run import generation

        sending, config = self.sending, generation(self, str(self.opened).partition("/")[0])
        name = self.benchmark.name.lower()
        found = inspect_eval(
            tasks.build_task(self.questions, asked, name=name, keep=keep, known=known, config=config),
            model=self.opened,
            display="none",
            log_dir=str(logs),
            log_images=sending.log_images,
            log_realtime=False,
            log_header_only=True,
            log_level="error",
            ctl_server=False,
            max_samples=None if sending.batch else sending.max_connections,
            fail_on_error=FAILURES,
            retry_on_error=RETRIES,
        )
        return found[0] if found else None


@dataclass(frozen=True)
class Answered:
    """What came of a share."""

    asked: list[Asked]
    error: str  # the first, in words


def ask_share(asker: Asker, share: Sequence[Question]) -> Answered:
    """Ask some questions, in a worker; Inspect's logs stay there."""
    from veridical.solvers.vlm.run import first_error

    found: list[Asked] = []
    with tempfile.TemporaryDirectory() as folder:
        log = asker.put(share, found.append, {}, Path(folder))
        return Answered(found, "" if log is None else first_error(log))
