"""The verbs that use a benchmark: prove it, count it, audit it, train on it, solve it, score it, report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from veridical.common.places import anywhere
from veridical.options import ARGUMENTS, NamedAnswers, gathered, given, several
from veridical.options.running import (
    Asking,
    AuditOptions,
    FeatureOptions,
    Generating,
    ReportOptions,
    Sending,
    SolverOptions,
    SweepOptions,
    TrainOptions,
    Workers,
)

if TYPE_CHECKING:
    from veridical.auditing import Audit
    from veridical.benchmark.check import CheckReport
    from veridical.common.result import ResultList
    from veridical.encoders import Features
    from veridical.evaluation.scores import Compared, Scores, Trials
    from veridical.experiments.sweep import Swept
    from veridical.language.phenomena.tagger import TaggedSentence
    from veridical.reporting.run import Report
    from veridical.solvers.solver import Solved
    from veridical.statistics import Stats
    from veridical.training import TrainResult
    from veridical.zoo.architecture import Architecture


def check(benchmark: Path | str, images: bool = True) -> CheckReport:
    """Prove a benchmark whole: hashes, ids, origins, every image, and that hidden answers are hidden.

    Exit code 0: whole. 1: damaged or leaking. 2: not a benchmark.

    Args:
        benchmark: A benchmark folder.
        images: Decode every image, not only hash the files they lie in.
    """
    from veridical.benchmark import check as room

    return room.check(benchmark, images=images)


def stats(
    benchmark: Path | str,
    split: str | None = None,
    scheme: str | None = None,
    compare: Sequence[Path | str] = (),
    hidden: bool = False,
) -> Stats:
    """Count a benchmark: labels, human performance, agreement, sentence lengths, vocabulary.

    Args:
        benchmark: A benchmark folder.
        split: Count one split only.
        scheme: The scheme of splits; left out: main, neutral, or the only one.
        compare: A file of sentences to set beside it, one per line; may be repeated.
        hidden: Read hidden answers from DIR.hidden too.
    """
    from veridical import statistics

    return statistics.stats(benchmark, split=split, scheme=scheme, compare=several(compare), hidden=hidden)


@anywhere
def audit(
    benchmark: Path | str,
    out: Path | str | None = "audit.html",
    check: Sequence[str] = (),
    skip: Sequence[str] = (),
    neural: bool = False,
    options: AuditOptions = AuditOptions(),
    workers: Workers = Workers(),
    **fields: Any,
) -> Audit:
    """Can this benchmark be passed without doing the task? Blind models with controls, biases, leaks, agreement.

    Exit code 0: nothing failed. 1: a check failed. 2: bad input.

    Args:
        benchmark: A benchmark folder.
        out: The page to write; its numbers go beside it as JSON. Python: it is written unless out is None.
        check: Run only this check; may be repeated.
        skip: Leave this check out; may be repeated.
        neural: Also train blind neural models (an LSTM, a CNN); slow, needs torch.
        options: What decides the findings.
        workers: Who does the work.
    """
    from veridical.auditing import run as room

    options, workers = gathered((options, workers), fields)
    return room.audit(
        benchmark, options, out=out, checks=several(check), skip=several(skip), neural=neural, workers=workers
    )


def features(
    encoder: Any,
    benchmark: Path | str,
    split: Sequence[str] | None = None,
    options: FeatureOptions = FeatureOptions(),
    workers: Workers = Workers(),
    **fields: Any,
) -> Features:
    """Encode a benchmark's panels with a frozen encoder and store the vectors with it.

    Each distinct image or region is encoded once. Stop it at any moment and run it again: it continues.

    Args:
        encoder: efficientnet-lite0, gradients, thumbnail, a name of a model hub (microsoft/resnet-101,
            openai/clip-vit-base-patch32), or a folder with a transformers checkpoint. Python: an open encoder, too.
        benchmark: A benchmark folder.
        split: Only panels of this split; may be repeated.
        options: What is encoded, and how.
        workers: Who does the work; left out: this process.
    """
    from veridical import encoders
    from veridical.common.addresses import is_address, spelled
    from veridical.common.publishing import publish_beside

    options, workers = gathered((options, workers), fields)
    made = encoders.extract(benchmark, encoder, splits=several(split), workers=workers, **asdict(options))
    if is_address(benchmark):
        publish_beside(made.path, spelled(benchmark))
    return made


@anywhere
def train(
    model: str, benchmark: Path | str, out: Path | str, options: TrainOptions = TrainOptions(), **fields: Any
) -> TrainResult:
    """Train a model of the zoo; stopped at any moment, the same command continues where it was.

    RUN/trial-K/model.safetensors holds the weights that were kept, RUN/curves.svg the learning curves, RUN/trial-K/logs
    the TensorBoard events. `veridical solve RUN DIR --split dev` uses it.

    Args:
        model: A model of `veridical models`.
        benchmark: A benchmark folder.
        out: The run folder to write, or to continue.
        options: How it is trained.
    """
    from veridical import training

    return training.train(model, benchmark, out, given(options, fields))


@anywhere
def sweep(
    benchmark: Path | str,
    out: Path | str,
    options: SweepOptions = SweepOptions(),
    workers: Workers = Workers(),
    **fields: Any,
) -> Swept:
    """Models x schemes x features on matrices: V-PROM's tables 2, 4 and 5 and figure 7.

    Every combination is trained, solved and scored, with controls.

    Stopped at any moment, the same command continues; with other models or schemes it adds them. OUT/sweep.html shows
    everything, OUT/sweep.md and OUT/sweep.tex hold the tables, OUT/runs/* are runs of `veridical train`. A run that
    fails stops no other; the exit code is then 1.

    Args:
        benchmark: A benchmark of matrices, with `veridical features`.
        out: The folder of all runs, to write or to continue.
        options: What is combined, and how it is trained.
        workers: Who does the work: a run is of one worker.
    """
    from veridical.experiments import sweep as room
    from veridical.reporting import run as reporting

    made, workers = gathered((options, workers), fields)
    done = room.sweep(benchmark, out, made, workers)
    shown = ReportOptions(markdown=True, latex=True, resamples=made.resamples)
    reporting.report(done.out, done.page, [benchmark], shown)
    return done


def models(model: Annotated[Sequence[str], ARGUMENTS] = ()) -> ResultList[Architecture]:
    """List the models of the zoo: what each looks at, for which tasks, the papers' figures, ours, training times.

    Of a single model also its options, for `veridical train MODEL DIR --set NAME=VALUE`.

    Args:
        model: Names of models; left out: all.
    """
    from veridical import zoo
    from veridical.training.config import TrainingConfig

    return zoo.models([model] if isinstance(model, str) else model, TrainingConfig)


@anywhere
def solve(
    solver: str,
    benchmark: Path | str,
    split: str | None = None,
    out: Path | str = "predictions.jsonl",
    options: SolverOptions = SolverOptions(),
    asking: Asking = Asking(),
    sending: Sending = Sending(),
    generating: Generating = Generating(),
    workers: Workers = Workers(),
    **fields: Any,
) -> Solved:
    """Answer the items of a split: one prediction per line, tied to the benchmark by its hash.

    Models are asked through Inspect AI. Stopped or killed, the same command continues: every answer is on disk before
    the next request, so at most the requests in flight (--max-connections, or with --batch the open batches) are paid
    twice.

    Exit code 0: everything was answered. 1: some requests failed for good; run again to ask them. 2: bad input.

    Args:
        solver: programs, majority, random, a run folder, or provider/model (openai/gpt-4o, hf/...).
        benchmark: A benchmark folder.
        split: The split to solve; left out: the only one, or dev or val.
        out: Where the predictions go.
        options: Of solvers that run on this machine.
        asking: How models are asked.
        sending: How questions travel to models.
        generating: How models write.
        workers: Who does the work, of trained and local models; left out: this process.
    """
    from veridical.solvers import solver as room

    groups = gathered((options, asking, sending, generating, workers), fields)
    return room.solve(solver, benchmark, *groups, split=split, out=out)


@anywhere
def evaluate(
    benchmark: Path | str | PathLike[str],
    predictions: Sequence[Path | str] | Path | str | NamedAnswers,
    split: str | None = None,
    scheme: str | None = None,
    against: Path | str | NamedAnswers | None = None,
    resamples: int = 2000,
    seed: int = 0,
    official: bool = False,
) -> Scores | Trials:
    """Score predictions: accuracy, consistency, staged accuracy, per tag, with 95% intervals over groups.

    Accuracy is over every item of the split that has an answer: what is missing or unreadable is not right, and is
    counted and named. Predictions that `solve --limit` made are scored on the items they were made for.

    Args:
        benchmark: A benchmark folder. Python: an open benchmark, too.
        predictions: JSON lines, CSV, visual commonsense reasoning (VCR) CSV or arrays; several files are trials of one
            system, and averaged. Python: a dict from ids to answers or scores, or a frame of pandas, too.
        split: The split they are about; left out: what the file beside them says, the only one, or where their names
            are.
        scheme: The scheme of splits; left out: what the file beside them says, main, or the only one.
        against: Other predictions to compare with, example by example.
        resamples: Bootstrap resamples over groups.
        seed: Seed of the bootstrap.
        official: Show what the published script prints.
    """
    from veridical.evaluation import scores as room

    score = partial(room.evaluate, split=split, scheme=scheme, against=against, resamples=resamples, seed=seed)
    return room.evaluate_files(partial(score, benchmark, official=official), predictions)


@anywhere
def compare(
    benchmark: Path | str | PathLike[str],
    a: Path | str | NamedAnswers,
    b: Path | str | NamedAnswers,
    split: str | None = None,
    scheme: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> Compared:
    """Which of two systems is better? On the same items, example by example, with the certainty of the difference.

    The difference is over what both predict, and it is said where that is not all. In the accuracy that stands beside
    it, as `evaluate` has it, what is missing is not right.

    Args:
        benchmark: A benchmark folder. Python: an open benchmark, too.
        a: Predictions of one system, as `evaluate` takes them.
        b: Predictions of the other.
        split: The split they are about; left out: what the file beside them says, the only one, or where their names
            are.
        scheme: The scheme of splits; left out: what the file beside them says, main, or the only one.
        resamples: Bootstrap resamples over groups.
        seed: Seed of the bootstrap.
    """
    from veridical.evaluation import scores as room

    return room.compare(benchmark, a, b, split=split, scheme=scheme, resamples=resamples, seed=seed)


@anywhere
def report(
    runs: Sequence[Path | str] | Path | str,
    out: Path | str,
    benchmark: Sequence[Path | str] | Path | str = (),
    options: ReportOptions = ReportOptions(),
    **fields: Any,
) -> Report:
    """Make one self-contained HTML page from runs: the papers' tables beside ours, plots, examples.

    Args:
        runs: Prediction files, folders of `veridical train` or `veridical sweep`, audits as JSON; NAME=PATH gives a run
            another name.
        out: The page to write.
        benchmark: A benchmark the runs are about; may be repeated.
        options: What it shows.
    """
    from veridical.reporting import run as room

    return room.report(runs, out, benchmark, given(options, fields))


def tag(sentences: Path | str) -> ResultList[TaggedSentence]:
    """Tag sentences with the papers' linguistic phenomena, and questions with the inference they ask for.

    Args:
        sentences: A text file, one sentence a line.
    """
    from veridical.language.phenomena import tagger

    return tagger.tag_file(Path(sentences))
