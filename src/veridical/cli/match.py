"""`veridical match`: Adversarial Matching for any question/answer file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veridical.cli.output import print_json, say, table
from veridical.errors import UserError

if TYPE_CHECKING:
    from veridical.matching.report import MatchReport


def match(
    file: Annotated[Path, typer.Argument(help="Questions and answers (CSV, JSON lines, Parquet), or a benchmark.")],
    out: Annotated[Path, typer.Option(help="The benchmark to make; or a .csv, .jsonl or .parquet file.")],
    question: Annotated[str | None, typer.Option(help="The column of questions, if not 'question'.")] = None,
    answer: Annotated[str | None, typer.Option(help="The column of right answers, if not 'answer'.")] = None,
    rationale: Annotated[str | None, typer.Option(help="The column of reasons.")] = None,
    group: Annotated[str | None, typer.Option(help="The column of what must stay together: movie, video.")] = None,
    fold: Annotated[
        str | None, typer.Option(help="The column of folds (0 validates, 1 tests) or splits (names).")
    ] = None,
    id: Annotated[str | None, typer.Option(help="The column of ids.")] = None,
    relevance: Annotated[str, typer.Option(help="P_rel: a text encoder, or bm25, or tfidf.")] = "minilm",
    similarity: Annotated[str, typer.Option(help="P_sim: a text encoder, or tfidf.")] = "minilm",
    learned: Annotated[
        bool, typer.Option("--learn/--no-learn", help="Learn relevance on the data, on other folds than it scores.")
    ] = True,
    weight: Annotated[
        float | None,
        typer.Option(
            "--lambda", help="How much wrong choices are kept from being like the right one; 0.3 if not given."
        ),
    ] = None,
    kinds: Annotated[
        int,
        typer.Option(
            help="Relevance is that of kinds of so many questions, with noise: the choices give less away than by the "
            "paper's equation, which 0 is (single pairs). Small folds get smaller kinds, or 0."
        ),
    ] = 48,
    wrong: Annotated[int, typer.Option(help="Wrong choices of a question.")] = 3,
    rerank: Annotated[str | None, typer.Option(help="A cross-encoder for P_rel, trained on the data.")] = None,
    rerank_similarity: Annotated[str | None, typer.Option(help="An entailment or paraphrase model for P_sim.")] = None,
    shortlist: Annotated[int, typer.Option(help="Responses considered first for each question.")] = 64,
    tolerance: Annotated[
        float, typer.Option(help="The largest certified gap to the optimum, given --kinds and the models.")
    ] = 1e-3,
    folds: Annotated[
        int | None, typer.Option(help="Folds by group: 0 is val, 1 is test, others train. 11 if there is enough.")
    ] = None,
    split: Annotated[list[str] | None, typer.Option(help="A split and its share, 'dev=1'; may be repeated.")] = None,
    hide: Annotated[list[str] | None, typer.Option(help="A split whose answers are hidden; may be repeated.")] = None,
    secret: Annotated[
        str | None,
        typer.Option(help="Mixed into the seed of what is hidden. Random if not given, and kept in OUT.hidden."),
    ] = None,
    sweep: Annotated[str, typer.Option(help="Lambdas to try, '0.01,0.1,0.3,1,3': machines, plot, advice.")] = "",
    people: Annotated[Path | None, typer.Option(help="People's answers to a sweep: lambda, id, choice.")] = None,
    integrity: Annotated[bool, typer.Option(help="Report what the choices of each stage give away.")] = False,
    seed: Annotated[int, typer.Option(help="What decides everything random.")] = 0,
    name: Annotated[str, typer.Option(help="The benchmark's name.")] = "",
    licence: Annotated[str, typer.Option(help="The licence of the benchmark.")] = "",
    keep_going: Annotated[bool, typer.Option(help="Leave bad rows out.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Adversarial Matching: right answers become the wrong choices of other questions, each three times."""
    from veridical.cli.build import _shares
    from veridical.matching.arguments import match as run

    report = run(
        file, out, question=question, answer=answer, rationale=rationale, group=group, fold=fold, id=id,
        relevance=relevance, similarity=similarity, learned=learned, weight=weight, kinds=kinds, wrong=wrong,
        rerank=rerank, rerank_similarity=rerank_similarity, shortlist=shortlist, tolerance=tolerance, folds=folds,
        splits=_shares(split, "--split dev=1"), hidden=hide or (), secret=secret, sweep=_numbers(sweep),
        people=people, integrity=integrity, seed=seed, name=name, licence=licence, keep_going=keep_going,
    )  # fmt: skip
    if json:
        print_json(report.to_json())
    _show(report)


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise UserError(f"--sweep {text!r} is not a list of numbers.", "Write --sweep 0.01,0.1,0.3,1,3.") from None


def _show(report: MatchReport) -> None:
    rows = [("question/answer pairs", f"{report.pairs:,}"), ("folds", f"{report.folds:,}")]
    rows += [(f"questions, {split}", f"{count:,}") for split, count in report.splits.items()]
    restricted = " (of what frequent texts left)" if report.reserved else ""
    rows += [("largest certified gap", f"{report.gap:.3%}{restricted}"), ("lambda", f"{report.weight:g}")]
    for stage, used in report.kinds["used"].items():
        least, most = min(used.values()), max(used.values())
        sizes = f"{least} to {most}" if least < most else f"{most}"
        rows.append((f"{stage}s, questions of a kind (0: single pairs)", sizes))
    rows += [(f"seconds, {stage}", f"{seconds:.1f}") for stage, seconds in report.stages.items()]
    for stage, models in report.models.items():
        for kind in ("relevance", "similarity"):
            found = models[kind]["calibration"]
            label = f"{stage}s, {kind} ({models[kind]['model']})"
            rows.append((label, f"AUC {found['auc']:.3f}, calibration error {found['error']:.3f}"))
        if choices := models.get("choices"):
            said = f"{choices['right']:.3f}, {choices['wrong']:.3f}"
            rows.append((f"{stage}s, mean P_rel of right and wrong choices", said))
    table("", ("what", "value"), rows)
    if report.integrity:
        biases = [(b.stage, b.name, b.says, str(b.before) if b.before else "", str(b.after)) for b in report.integrity]
        title = f"Right choices in %, by chance {100 / (report.rounds + 1):.3g}"
        table(title, ("stage", "bias", "guesses", "random", "matched"), biases)
    if report.sweep is not None:
        names = ("alone", "all", "relevance", "question")
        points = [
            (f"{p.weight:g}", *(str(p.machines[n]) for n in names), str(p.people) if p.people else "")
            for p in report.sweep.points
        ]
        table("Right choices in %", ("lambda", *names, "people"), points)
        say(f"Recommended: lambda {report.sweep.recommended:g}, {report.sweep.why}.")
    for note in report.notes:
        say(note)
    say(f"Made: {report.out}")
