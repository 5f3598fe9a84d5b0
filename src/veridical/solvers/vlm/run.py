"""Running a model over a split: what is already in the journal is not asked again, the rest goes through Inspect.

Beside `predictions.jsonl` lie its journal (every answer as it came), `predictions.jsonl.meta.json` (benchmark hash,
settings, totals), one file per wording and order where there are several, and Inspect's logs for `inspect view`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from veridical.benchmark import Benchmark
from veridical.engine.progress import Progress
from veridical.errors import UserError, missing_extra
from veridical.solvers.predictions import write_meta, write_predictions
from veridical.solvers.vlm.config import Asking, Variant
from veridical.solvers.vlm.journal import Asked, Journal
from veridical.solvers.vlm.questions import Question, Questions
from veridical.solvers.vlm.summary import Summary, merge, summarise

# Providers that answer a request for log-probabilities; others ignore it or refuse the request.
LOGPROBS = frozenset({"openai", "openai-api", "vllm", "sglang", "hf", "hf-vision", "together", "llama-cpp-python"})
TOP = 20  # log-probabilities per token: the most that providers give
FAILURES = 20  # questions that may fail for good before a run gives up
RETRIES = 1  # of a question whose answer Inspect takes for a bug of its own, such as a body cut in half


@dataclass(frozen=True)
class Sending:
    """How questions travel. None of it changes what is asked, so a run can be continued with other values."""

    base_url: str | None = None  # of any OpenAI-compatible server
    model_args: Mapping[str, Any] | None = None  # for the provider, as Inspect's -M
    max_connections: int = 10
    max_retries: int = 5
    timeout: int | None = None  # seconds for one attempt
    batch: bool | int | Mapping[str, Any] = False  # the provider's batch API: on, its size, or Inspect's BatchConfig
    logs: Path | None = None  # Inspect's logs; None: beside the output
    log_images: bool = True
    prices: tuple[float, float] | None = None  # dollars per million input and output tokens


@dataclass(frozen=True)
class Solved:
    """What a run made."""

    out: Path
    solver: str
    benchmark_hash: str
    split: str
    predictions: int
    unanswered: int  # requests that failed for good; the same command asks them again
    error: str  # the first reason
    resumed: int  # answers that were in the journal already
    summary: Summary
    variants: dict[str, Path]  # prediction files of each wording and order, where there are several

    def to_json(self) -> dict[str, Any]:
        return {
            "out": str(self.out),
            "solver": self.solver,
            "benchmark": self.benchmark_hash,
            "split": self.split,
            "items": self.predictions,
            "unanswered": self.unanswered,
            "error": self.error,
            "resumed": self.resumed,
            **self.summary.to_json(),
            "variants_files": {name: str(path) for name, path in self.variants.items()},
        }


def about(model: str, questions: Questions) -> dict[str, Any]:
    """What must be the same for a run to be continued. How many wordings and orders may grow."""
    asking = {k: v for k, v in asdict(questions.asking).items() if k not in {"wordings", "orders", "views"}}
    return {"benchmark": questions.benchmark.hash, "split": questions.split, "scheme": questions.scheme} | {
        "model": model,
        "asking": asking,
    }


def solve_vlm(
    model: str,
    benchmark: Path | str,
    *,
    split: str,
    out: Path | str,
    scheme: str = "main",
    limit: int | None = None,
    asking: Asking | None = None,
    sending: Sending | None = None,
    max_tokens: int | None = None,
    temperature: float | None = 0.0,
    logprobs: bool | None = None,
) -> Solved:
    """Ask a model every item of a split, and write its predictions. Run again after a stop, it continues.

    `model` is `provider/name` as Inspect has it. `logprobs`: None asks for them where the provider should give them.
    """
    if limit is not None and limit < 1:
        raise UserError(f"The limit {limit} leaves nothing to ask.", "Take 1 or more.")
    asking, sending = asking or Asking(), sending or Sending()
    if sending.max_connections < 1:
        raise UserError(f"{sending.max_connections} connections are none.", "Take 1 or more.")
    questions = Questions(Benchmark(benchmark), split, asking, scheme)
    target = Path(os.path.abspath(out))
    config = {"temperature": temperature, "max_tokens": max_tokens}
    with Journal(target.with_name(target.name + ".journal"), about(model, questions) | config) as journal:
        wanted = list(questions.first(limit))
        before = len(journal.asked)
        waiting = _waiting(questions, wanted, journal)
        error, stopped = "", False
        if waiting:
            error, stopped = _ask(model, questions, waiting, len(wanted), journal, sending, config, logprobs, target)
        solved = _finish(model, questions, wanted, journal, target, sending, before, error)
    if stopped:
        raise KeyboardInterrupt
    return solved


def _waiting(questions: Questions, wanted: list[Question], journal: Journal) -> list[Question]:
    """What is still to be asked; an answered question may still lack its follow-up."""
    out = []
    for question in wanted:
        asked = journal.asked.get(question.key)
        if asked is None:
            out.append(question)
        elif (follow := _follow(questions, question, asked)) and follow.key not in journal.asked:
            out.append(follow)
    return out


def _follow(questions: Questions, question: Question, asked: Asked) -> Question | None:
    if not asked.scores:
        return None
    return questions.follow_up(question, max(range(len(asked.scores)), key=asked.scores.__getitem__))


def _ask(
    model: str,
    questions: Questions,
    waiting: list[Question],
    total: int,
    journal: Journal,
    sending: Sending,
    config: Mapping[str, Any],
    logprobs: bool | None,
    target: Path,
) -> tuple[str, bool]:
    """Put the waiting questions through Inspect; the first error in words, and whether the user stopped it."""
    try:
        from inspect_ai import eval as inspect_eval
        from inspect_ai.log import read_eval_log_sample_summaries
        from inspect_ai.model import BatchConfig, GenerateConfig
    except ImportError:
        raise missing_extra("inspect-ai", "vlm") from None
    from veridical.solvers.vlm import tasks

    opened = open_model(model, sending, blind=questions.asking.blind, temperature=config["temperature"])
    provider = str(opened).partition("/")[0]
    wants = provider in LOGPROBS if logprobs is None else logprobs
    length = tasks.LONG_ANSWER if questions.asking.reasoning else tasks.SHORT_ANSWER
    with Progress(f"Asking {model}", total, "questions") as progress:
        progress.advance(total - len(waiting), skipped=True)

        def keep(asked: Asked) -> None:
            journal.add(asked)
            progress.advance()

        task = tasks.build_task(
            questions,
            waiting,
            name=questions.benchmark.name.lower(),
            keep=keep,
            known=journal.asked,
            config=GenerateConfig(
                temperature=config["temperature"],
                max_tokens=config["max_tokens"] or length,
                logprobs=True if wants else None,
                top_logprobs=TOP if wants else None,
                max_connections=None if sending.batch else sending.max_connections,
                max_retries=sending.max_retries,
                attempt_timeout=sending.timeout,
                batch=BatchConfig(**sending.batch) if isinstance(sending.batch, Mapping) else sending.batch or None,
            ),
        )
        logs = inspect_eval(
            task,
            model=opened,
            display="none",
            log_dir=str(sending.logs or target.with_name(target.name + ".logs")),
            log_images=sending.log_images,
            log_realtime=False,
            log_header_only=True,
            log_level="error",
            ctl_server=False,
            max_samples=None if sending.batch else sending.max_connections,
            fail_on_error=FAILURES,
            retry_on_error=RETRIES,
        )
    if not logs:
        return "", True  # stopped with Ctrl-C
    errors = [one.error for one in read_eval_log_sample_summaries(logs[0].location) if one.error]
    first = errors[0].strip().splitlines()[-1] if errors else ""
    if logs[0].error is not None and not first:
        first = logs[0].error.message.strip().splitlines()[-1]
    return first, logs[0].status == "cancelled"


def open_model(model: str, sending: Sending, *, blind: bool, temperature: float | None = 0.0) -> Any:
    """The model as Inspect has it; what stands in the way becomes one line that says what to do."""
    from inspect_ai._util.error import PrerequisiteError
    from inspect_ai.model import ModelInfo, get_model, get_model_info, set_model_info

    from veridical.solvers.vlm import tasks as _registers_our_provider  # noqa: F401

    provider, _, name = model.partition("/")
    args = dict(sending.model_args or {})
    if provider == "hf" and not blind:
        provider = "hf-vision"  # Inspect's own `hf` refuses pictures
    elif provider == "hf" and not temperature:
        args.setdefault("do_sample", False)  # transformers refuses to sample at temperature 0
    if sending.base_url and provider == "openai" and not sending.batch:
        # Inspect's `openai` takes unknown names for OpenAI's newest and speaks to them as such (another endpoint, no
        # temperature); `openai-api` speaks what compatible servers understand.
        args.setdefault("api_key", os.environ.get("OPENAI_API_KEY") or "none")
        provider, name = "openai-api", f"server/{name}"
    try:
        opened = get_model(f"{provider}/{name}", base_url=sending.base_url, **args)
    except (PrerequisiteError, ImportError) as error:
        raise UserError(
            f"{model} cannot be used: {_plain(error)}", "Install or set what it names, then run again."
        ) from None
    except ValueError as error:
        raise UserError(
            f"{model} cannot be used: {_plain(error)}",
            "Give provider/model, such as openai/gpt-4o, anthropic/claude-sonnet-4-0 or hf/org/name.",
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


def _finish(
    model: str,
    questions: Questions,
    wanted: list[Question],
    journal: Journal,
    target: Path,
    sending: Sending,
    before: int,
    error: str,
) -> Solved:
    """Write what there is: predictions, one file per variant where there are several, and what the run was."""
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
                asked.append(_priced(one, sending.prices))
            chain = _follow(questions, chain, one)
    order = list(dict.fromkeys(one.item for one in asked))
    merged = merge(asked, order)
    summary = summarise(asked, questions.items, questions.asking.answers == "letter")
    write_predictions(target, merged, questions.benchmark)
    files = _write_variants(target, asked, order, questions.benchmark)
    solved = Solved(
        target, model, questions.benchmark.hash, questions.split, len(merged), unanswered, error, before, summary, files
    )
    record = solved.to_json() | {"settings": journal.about, "asking": asdict(questions.asking)}
    write_meta(target, questions.benchmark, questions.split, questions.scheme, record)
    return solved


def _priced(one: Asked, prices: tuple[float, float] | None) -> Asked:
    """With the cost from prices that the user gave, which win over those Inspect knows."""
    if prices is None:
        return one
    cost = (one.usage.input * prices[0] + one.usage.output * prices[1]) / 1e6
    return msgspec.structs.replace(one, usage=msgspec.structs.replace(one.usage, cost=cost))


def _write_variants(target: Path, asked: list[Asked], order: list[str], benchmark: Benchmark) -> dict[str, Path]:
    names = sorted({(one.wording, one.order) for one in asked})
    if len(names) < 2:
        return {}
    files = {}
    for wording, place in names:
        name = Variant(wording, place).name
        files[name] = target.with_name(f"{target.stem}.{name}{target.suffix}")
        part = [one for one in asked if (one.wording, one.order) == (wording, place)]
        write_predictions(files[name], merge(part, order), benchmark)
    return files
