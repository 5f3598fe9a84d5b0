"""The four benchmarks as Inspect tasks: `inspect eval veridical/nlvr2 -T benchmark=DIR --model openai/gpt-4o`.

A sample is light (its sentence, target and tags); the pictures are added when it is its turn, so that a large benchmark
does not lie in memory as base64. `veridical solve` runs the same tasks.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai import model as inspect_model
from inspect_ai import scorer as inspect_scorer
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageAssistant, GenerateConfig, ModelOutput, get_model
from inspect_ai.scorer import Score
from inspect_ai.solver import Generate, Solver, TaskState, solver
from tenacity import RetryError

from veridical.benchmark import Benchmark
from veridical.benchmark.shown import Picture
from veridical.errors import UserError
from veridical.options import given
from veridical.options.running import Asking
from veridical.solvers.solver import LIKED, certain_split
from veridical.solvers.vlm.answers import Asked, Journal, Usage
from veridical.solvers.vlm.endpoint import Unanswered, is_gone, used_up
from veridical.solvers.vlm.prompts import TRUTH_LABELS, Question, SplitQuestions
from veridical.solvers.vlm.reading import Token, score
from veridical.solvers.vlm.run import about

# Importing the provider registers it: Inspect's own `hf` sees no pictures.
from veridical.solvers.vlm import hf_vision as hf_vision  # isort: skip

TASK_OF = {"nlvr": "statement", "nlvr2": "statement", "vprom": "matrix", "vcr": "choice"}
SHORT_ANSWER = 64  # tokens; a letter needs few, but some models begin with a phrase
LONG_ANSWER = 2048  # with reasoning
UNREADABLE = "invalid_response_format"  # Inspect's word for it
_KEY = "veridical"  # where in a sample's metadata its result lies
Keep = Callable[[Asked], None]


def build_task(
    questions: SplitQuestions,
    asked: Iterable[Question],
    *,
    name: str | None = None,
    keep: Keep | None = None,
    known: Mapping[tuple[str, int, int], Asked] | None = None,
    config: GenerateConfig | None = None,
) -> Task:
    """An Inspect task of the given questions. `keep` is called with each answer; `known` ones are not asked again."""
    by_id = {question.id: question for question in asked}
    samples = [_sample(question) for question in by_id.values()]
    if not samples:
        raise UserError(f"There is nothing to ask of {questions.benchmark.name}.", "Raise --limit.")
    long = questions.asking.reasoning
    return Task(
        dataset=MemoryDataset(samples, name=f"{questions.benchmark.name} {questions.split}"),
        solver=_ask(_Asker(questions, keep or (lambda asked: None), known or {}), by_id),
        scorer=_right(),
        config=config or GenerateConfig(temperature=0.0, max_tokens=LONG_ANSWER if long else SHORT_ANSWER),
        name=name,
        metadata={
            "benchmark": str(questions.benchmark.directory),
            "benchmark_hash": questions.benchmark.hash,
            "split": questions.split,
        },
    )


def _sample(question: Question) -> Sample:
    item = question.item
    target = ""
    if item.answer is not None:
        target = TRUTH_LABELS[item.answer] if item.task == "statement" else f"candidate {item.answer}"
    return Sample(
        id=question.id,
        input=item.query.words() if item.query else "(a matrix)",
        target=target,
        metadata={
            "item": question.name,
            "wording": question.variant.wording,
            "order": question.variant.order,
            "group": item.group,
            "given": item.given,
        },
    )


@dataclass(frozen=True)
class _Asker:
    """Puts questions to a model and keeps the answers; what is known is not asked again."""

    questions: SplitQuestions
    keep: Keep
    known: Mapping[tuple[str, int, int], Asked]
    gone: list[str] = field(default_factory=list)  # why no more questions are sent

    async def answer(
        self, question: Question, send: Callable[[list[ChatMessage]], Any]
    ) -> tuple[Asked, list[ChatMessage]]:
        prompt = self.questions.prompt(question)
        message = inspect_model.ChatMessageUser(content=[_content(part) for part in prompt.parts])
        if question.key in self.known:
            asked = self.known[question.key]
            return asked, [message, ChatMessageAssistant(content=asked.text)]
        if self.gone:
            raise Unanswered(self.gone[0])
        try:
            output: ModelOutput = await send([message])
        except RetryError as error:
            failed = used_up(error, get_model())
            if is_gone(error):
                self.gone.append(str(failed))
            raise failed from None
        scored = score(prompt, output.completion, _tokens(output))
        asked = Asked(
            item=question.name,
            wording=question.variant.wording,
            order=question.variant.order,
            text=output.completion,
            scores=list(scored.scores),
            stop="" if output.empty else output.stop_reason,
            reason=scored.reason,
            probable=scored.probable,
            usage=_usage(output),
        )
        self.keep(asked)
        return asked, [message, ChatMessageAssistant(content=output.completion)]


def _ask(asker: _Asker, by_id: Mapping[str, Question]) -> Solver:
    """The solver: put the question, keep the answer, and, where only the predicted rationale is wanted, follow up."""

    @solver(name="veridical_ask")
    def ask() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            async def first(messages: list[ChatMessage]) -> ModelOutput:
                nonlocal state
                state.messages = messages
                state = await generate(state)
                return state.output

            question = by_id[str(state.sample_id)]
            asked, messages = await asker.answer(question, first)
            state.messages = messages
            if state.output.empty:
                state.output = ModelOutput.from_content(str(state.model), asked.text)
            state.metadata[_KEY] = {"scores": asked.scores, "reason": asked.reason, "text": asked.text}
            follow = asker.questions.follow_up(question, asked.chosen)
            if follow is not None:
                # A fresh conversation: the rationale item says itself which answer it assumes.
                below, more = await asker.answer(follow, get_model().generate)
                state.messages += more
                state.metadata[_KEY]["rationale"] = {"item": follow.name, "scores": below.scores}
            return state

        return solve

    return ask()


def _content(part: str | Picture) -> inspect_model.Content:
    if isinstance(part, str):
        return inspect_model.ContentText(text=part)
    return inspect_model.ContentImage(image=f"data:{part.mime};base64,{base64.b64encode(part.data).decode()}")


def _tokens(output: ModelOutput) -> tuple[Token, ...]:
    logprobs = None if output.empty else output.choices[0].logprobs
    if logprobs is None:
        return ()
    return tuple(
        Token(one.token, tuple((t.token, t.logprob) for t in one.top_logprobs or ()) or ((one.token, one.logprob),))
        for one in logprobs.content
    )


def _usage(output: ModelOutput) -> Usage:
    used = output.usage
    if used is None:
        return Usage()
    return Usage(
        input=used.input_tokens + (used.input_tokens_cache_read or 0) + (used.input_tokens_cache_write or 0),
        output=used.output_tokens,
        reasoning=used.reasoning_tokens or 0,
        cost=used.total_cost,
    )


@inspect_scorer.metric
def unreadable() -> inspect_scorer.Metric:
    """The share of answers that could not be read; `accuracy` counts them as wrong."""

    def of(scores: list[inspect_scorer.SampleScore]) -> float:
        # By its reason: Inspect has turned the value itself into a number by now.
        return sum(one.score.reason == UNREADABLE for one in scores) / len(scores) if scores else 0.0

    return of


@inspect_scorer.scorer(
    metrics=[inspect_scorer.accuracy(), inspect_scorer.stderr(), unreadable()], name="veridical_right"
)
def _right() -> inspect_scorer.Scorer:
    async def of(state: TaskState, target: inspect_scorer.Target) -> Score:
        found = state.metadata[_KEY]
        scores = found["scores"]
        if not scores:
            return Score(value=inspect_scorer.NOANSWER, explanation=found["text"], reason=UNREADABLE)
        chosen = scores.index(max(scores))
        said = TRUTH_LABELS[chosen] if target.text in TRUTH_LABELS else f"candidate {chosen}"
        if not target.text:  # the answer is hidden, or a rationale item assumes a wrong answer
            return Score.unscored(answer=said, explanation=found["text"], reason="no answer known")
        value = inspect_scorer.CORRECT if said == target.text else inspect_scorer.INCORRECT
        return Score(value=value, answer=said, explanation=found["text"], metadata={"scores": scores})

    return of


class TaskRefused(UserError, PrerequisiteError):
    """Bad input, as `inspect eval` shows it: without a traceback."""

    def __init__(self, error: UserError) -> None:
        PrerequisiteError.__init__(self, str(error))
        self.problem, self.fix, self.details = error.problem, error.fix, error.details


def _registered(
    name: str, benchmark: str, split: str | None, scheme: str | None, journal: str, asking: Mapping[str, Any]
) -> Task:
    try:
        return _task_of(name, benchmark, split, scheme, journal, asking)
    except UserError as error:
        raise TaskRefused(error) from None


def _task_of(
    name: str, benchmark: str, split: str | None, scheme: str | None, journal: str, asking: Mapping[str, Any]
) -> Task:
    if not benchmark:
        raise UserError(f"veridical/{name} needs a benchmark folder.", "Give -T benchmark=DIR.")
    opened = Benchmark(Path(benchmark))
    if opened.task != TASK_OF[name]:
        raise UserError(
            f"{opened.directory} holds {opened.task} items; the task veridical/{name} is about {TASK_OF[name]} items.",
            f"Use one of: {', '.join(f'veridical/{n}' for n, asks in TASK_OF.items() if asks == opened.task)}.",
        )
    scheme = opened.certain_scheme(scheme)
    split = certain_split(opened, split, scheme, (*LIKED, "test") if name == "vprom" else LIKED)
    questions = SplitQuestions(opened, split, given(Asking(), asking), scheme)
    if not questions.asking.blind:
        questions.need_pictures(questions.first())
    keep: Keep | None = None
    known: Mapping[tuple[str, int, int], Asked] = {}
    if journal:
        opened_journal = Journal(Path(journal), about(str(get_model()), questions))
        _HELD.enter_context(opened_journal)
        keep, known = opened_journal.add, opened_journal.asked
    return build_task(questions, questions.first(), keep=keep, known=known)


_HELD = ExitStack()  # journals of registered tasks stay open, and locked, as long as the process lives


# Each takes further options by the names of `Asking`: -T wordings=2 -T blind=true.


@task
def nlvr(benchmark: str = "", split: str | None = None, journal: str = "", **asking: Any) -> Task:
    """NLVR: is a sentence true of a drawing of three boxes?"""
    return _registered("nlvr", benchmark, split, None, journal, asking)


@task
def nlvr2(benchmark: str = "", split: str | None = None, journal: str = "", **asking: Any) -> Task:
    """NLVR2: is a sentence true of a pair of photographs?"""
    return _registered("nlvr2", benchmark, split, None, journal, asking)


@task
def vprom(
    benchmark: str = "", split: str | None = None, scheme: str | None = None, journal: str = "", **asking: Any
) -> Task:
    """V-PROM: which of eight photographs completes the matrix?"""
    return _registered("vprom", benchmark, split, scheme, journal, asking)


@task
def vcr(benchmark: str = "", split: str | None = None, journal: str = "", **asking: Any) -> Task:
    """Visual commonsense reasoning (VCR): which answer, and which reason for it?"""
    return _registered("vcr", benchmark, split, None, journal, asking)
