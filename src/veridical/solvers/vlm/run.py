"""A model asked about a split: what is already in the journal is not asked again, the rest goes through Inspect.

Beside `predictions.jsonl` lie its journal (every answer as it came), `predictions.jsonl.meta.json` (benchmark hash,
settings, totals), one file per wording and order where there are several, and Inspect's logs for `inspect view`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from veridical.benchmark import Benchmark
from veridical.common.files import Json
from veridical.common.result import Table
from veridical.encoders.spread import stays_here
from veridical.engine import run
from veridical.engine.progress import Progress
from veridical.errors import UserError, missing_extra
from veridical.options.running import Asking, Generating, Sending, Workers
from veridical.records import Prediction
from veridical.solvers.solver import Solver, write_predictions
from veridical.solvers.vlm.answers import Asked, Journal, Summary, merge, summarise
from veridical.solvers.vlm.prompts import Question, SplitQuestions, Variant
from veridical.solvers.vlm.shares import SHARE, Asker, ask_share

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog
    from inspect_ai.model import GenerateConfig, Model

# Providers that answer a request for log-probabilities; others ignore it or refuse the request.
LOGPROBS = frozenset({"openai", "openai-api", "vllm", "sglang", "hf", "hf-vision", "together", "llama-cpp-python"})
TOP = 20  # log-probabilities per token: the most that providers give


@dataclass(frozen=True)
class ModelDetails:
    """What asking a model came to."""

    unanswered: int  # requests that failed for good; the same command asks them again
    error: str  # the first reason
    resumed: int  # answers that were in the journal already
    summary: Summary
    variants: dict[str, Path]  # prediction files of each wording and order, where there are several

    def to_json(self) -> dict[str, object]:
        return {
            "unanswered": self.unanswered,
            "error": self.error,
            "resumed": self.resumed,
            **self.summary.to_json(),
            "variants_files": {name: str(path) for name, path in self.variants.items()},
        }

    def parts(self) -> Iterator[Table | str]:
        if self.resumed:
            yield f"{self.resumed:,} answers were there already and were not asked again."
        yield from self.summary.parts()
        if self.unanswered:
            again = "Run the same command again to ask them."
            yield f"{self.unanswered:,} questions were not answered: {self.error}. {again}"


def about(model: str, questions: SplitQuestions) -> dict[str, object]:
    """What must be the same for a run to be continued. How many wordings and orders may grow."""
    asking = {k: v for k, v in asdict(questions.asking).items() if k not in {"wordings", "orders", "views"}}
    where = {"benchmark": questions.benchmark.hash, "split": questions.split, "scheme": questions.scheme}
    return {**where, "model": model, "asking": asking}


class VisionLanguageModel(Solver):
    """A model as Inspect names it, `provider/name`. Run again after a stop, it continues."""

    shows_progress = True

    def __init__(
        self,
        model: str,
        out: Path,
        limit: int | None = None,
        asking: Asking = Asking(),
        sending: Sending = Sending(),
        generating: Generating = Generating(),
        workers: Workers = Workers(),
    ) -> None:
        self.model, self.out, self.limit, self.workers = model, out, limit, workers
        self.asking, self.sending, self.generating = asking, sending, generating
        self.details: ModelDetails | None = None
        self._settings: Json = {}
        if self.sending.max_connections < 1:
            raise UserError(f"{self.sending.max_connections} connections are none.", "Take 1 or more.")

    def predict(self, benchmark: Benchmark, split: str, scheme: str = "main") -> Iterator[Prediction]:
        """Ask what is not in the journal yet; one prediction per item from all its wordings and orders."""
        how_asked = self.model, self.asking, self.sending, self.generating
        asker = Asker(*how_asked, benchmark, split, scheme)
        questions = asker.questions
        how = {"temperature": self.generating.temperature, "max_tokens": self.generating.max_tokens}
        self._settings = about(self.model, questions) | how
        with Journal(self.out.with_name(self.out.name + ".journal"), self._settings) as journal:
            wanted = list(questions.first(self.limit))
            resumed = len(journal.asked)
            waiting = _waiting(questions, wanted, journal)
            error = self._ask(asker, waiting, len(wanted), journal) if waiting else ""
            asked, unanswered = self._answers(questions, wanted, journal)
            order = list(dict.fromkeys(one.item for one in asked))
            summary = summarise(asked, questions.items, self.asking.answers == "letter")
            files = self._write_variants(asked, order, benchmark)
            self.details = ModelDetails(unanswered, error, resumed, summary, files)
            yield from merge(asked, order)

    def about(self) -> dict[str, object]:
        made = {} if self.details is None else self.details.to_json()
        return {**made, "settings": self._settings, "asking": asdict(self.asking)}

    def _ask(self, asker: Asker, waiting: Sequence[Question], total: int, journal: Journal) -> str:
        """Put the waiting questions through Inspect; the first error in words."""
        if not self.asking.blind:
            asker.questions.need_pictures(waiting)
        if not stays_here(self.workers):
            return self._ask_workers(asker, waiting, journal)
        from veridical.solvers.vlm import endpoint

        if address := endpoint.address_of(asker.opened):
            endpoint.check_endpoint(address, self.sending.model_base_url)
        progress = Progress(f"Asking {self.model}", total, "questions")
        with progress, endpoint.retries_told(progress.note):
            progress.advance(total - len(waiting), skipped=True)

            def keep(asked: Asked) -> None:
                journal.add(asked)
                progress.advance()

            logs = Path(self.sending.logs or self.out.with_name(self.out.name + ".logs"))
            log = asker.put(waiting, keep, journal.asked, logs)
        self.stopped = log is None or log.status == "cancelled"  # with Ctrl-C
        return first_error(log) if log is not None else ""

    def _ask_workers(self, asker: Asker, waiting: Sequence[Question], journal: Journal) -> str:
        """The same by workers, each with a model of its own, share by share."""
        shares = [waiting[start : start + SHARE] for start in range(0, len(waiting), SHARE)]
        error = ""
        for found in run(partial(ask_share, asker), shares, workers=self.workers, label=f"Asking {self.model}"):
            for asked in found.asked:
                journal.add(asked)
            error = error or found.error
        return error

    def _answers(
        self, questions: SplitQuestions, wanted: Sequence[Question], journal: Journal
    ) -> tuple[list[Asked], int]:
        """What was asked and answered, and how many questions were not."""
        keys, asked, unanswered = set(), [], 0
        for question in wanted:
            chain: Question | None = question
            while chain is not None:
                one = journal.asked.get(chain.key)
                if one is None:
                    unanswered += 1
                    break
                if chain.key not in keys:
                    keys.add(chain.key)
                    asked.append(_priced(one, self.sending.price))
                chain = questions.follow_up(chain, one.chosen)
        return asked, unanswered

    def _write_variants(self, asked: Sequence[Asked], order: Sequence[str], benchmark: Benchmark) -> dict[str, Path]:
        """One prediction file per wording and order, where there are several."""
        groups: dict[Variant, list[Asked]] = {}
        for one in asked:
            groups.setdefault(Variant(one.wording, one.order), []).append(one)
        files = {}
        for variant in sorted(groups) if len(groups) > 1 else ():
            path = self.out.with_name(f"{self.out.stem}.{variant.name}{self.out.suffix}")
            write_predictions(path, merge(groups[variant], order), benchmark)
            files[variant.name] = path
        return files


def generation(asker: Asker, provider: str) -> GenerateConfig:
    """How the model writes, as Inspect is told."""
    from inspect_ai.model import BatchConfig, GenerateConfig

    from veridical.solvers.vlm import tasks

    sending, generating = asker.sending, asker.generating
    logprobs = provider in LOGPROBS if generating.logprobs is None else generating.logprobs
    length = tasks.LONG_ANSWER if asker.asking.reasoning else tasks.SHORT_ANSWER
    return GenerateConfig(
        temperature=generating.temperature,
        max_tokens=generating.max_tokens or length,
        logprobs=True if logprobs else None,
        top_logprobs=TOP if logprobs else None,
        max_connections=None if sending.batch else sending.max_connections,
        max_retries=sending.max_retries,
        attempt_timeout=sending.timeout,
        batch=BatchConfig(**sending.batch) if isinstance(sending.batch, Mapping) else sending.batch or None,
    )


def first_error(log: EvalLog) -> str:
    from inspect_ai.log import read_eval_log_sample_summaries

    errors = [one.error for one in read_eval_log_sample_summaries(log.location) if one.error]
    if not errors and log.error is not None:
        errors = [log.error.message]
    return in_its_words(errors[0].strip().splitlines()[-1]) if errors else ""


def in_its_words(error: str) -> str:
    """The message of an error, of which Inspect may have kept what Python would write for it.

    >>> in_its_words("Unanswered('nothing came.')"), in_its_words("BadRequestError: too large")
    ('nothing came', 'BadRequestError: too large')
    """
    found = re.fullmatch(r"""[A-Za-z]+\((['"])(.*)\1\)""", error)
    return (found[2] if found else error).rstrip(".")


def _waiting(questions: SplitQuestions, wanted: list[Question], journal: Journal) -> list[Question]:
    """What is still to be asked; an answered question may still lack its follow-up."""
    out = []
    for question in wanted:
        asked = journal.asked.get(question.key)
        if asked is None:
            out.append(question)
        elif (follow := questions.follow_up(question, asked.chosen)) and follow.key not in journal.asked:
            out.append(follow)
    return out


def open_model(model: str, sending: Sending, *, blind: bool, temperature: float | None = 0.0) -> Model:
    """The model as Inspect has it; what stands in the way becomes one line that says what to do."""
    from inspect_ai._util.error import PrerequisiteError
    from inspect_ai.model import ModelInfo, get_model, get_model_info, set_model_info

    from veridical.solvers.vlm import tasks as _registers_our_provider  # noqa: F401

    provider, _, name = model.partition("/")
    args = dict(sending.model_arg or {})
    if provider == "hf" and not blind:
        provider = "hf-vision"  # Inspect's own `hf` refuses pictures
    elif provider == "hf" and not temperature:
        args.setdefault("do_sample", False)  # transformers refuses to sample at temperature 0
    if sending.model_base_url and provider == "openai" and not sending.batch:
        # Inspect's `openai` takes unknown names for OpenAI's newest and speaks to them as such (another endpoint, no
        # temperature); `openai-api` speaks what compatible servers understand.
        args.setdefault("api_key", os.environ.get("OPENAI_API_KEY") or "none")
        provider, name = "openai-api", f"server/{name}"
    try:
        opened = get_model(f"{provider}/{name}", base_url=sending.model_base_url, **args)
    except (PrerequisiteError, ImportError) as error:
        if provider in ("openai", "openai-api") and find_spec("openai") is None:
            raise missing_extra("openai", "vlm") from None
        raise UserError(
            f"{model} cannot be used: {_plain(error)}", "Install or set what it names, then run again."
        ) from None
    except ValueError as error:
        raise UserError(
            f"{model} is no folder of a trained model, and as a model it cannot be used: {_plain(error)}",
            "Give a run of `veridical train`, or provider/model, such as openai/gpt-4o or hf/org/name.",
        ) from None
    if get_model_info(opened) is None:
        # Otherwise Inspect looks for what it knows of the model by opening it a second time, by its bare name: for
        # local weights that means minutes of searching a hub that need not be there.
        set_model_info(str(opened), ModelInfo())
    return opened


def _plain(error: Exception) -> str:
    """The message of an error in one line, without the markup that Inspect prints with."""
    from rich.text import Text

    message = str(getattr(error, "message", error))
    return " ".join(Text.from_markup(message).plain.split())


def _priced(one: Asked, prices: tuple[float, float] | None) -> Asked:
    """With the cost from prices that the user gave, which win over those Inspect knows."""
    if prices is None:
        return one
    cost = (one.usage.input * prices[0] + one.usage.output * prices[1]) / 1e6
    return msgspec.structs.replace(one, usage=msgspec.structs.replace(one.usage, cost=cost))
