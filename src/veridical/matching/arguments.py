"""`veridical.match` and `rematch`: the arguments of the command line, one by one, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from veridical.benchmark.place import MANIFEST
from veridical.errors import UserError
from veridical.matching.data.questions import Columns
from veridical.matching.match import Request, match_file
from veridical.matching.report import MatchReport
from veridical.matching.scores.crossencoder import Reranker
from veridical.matching.scores.kinds import KindOptions
from veridical.matching.stages import Options


def match(
    file: Path | str,
    out: Path | str,
    *,
    question: str | None = None,
    answer: str | None = None,
    rationale: str | None = None,
    group: str | None = None,
    fold: str | None = None,
    id: str | None = None,
    relevance: str = "minilm",
    similarity: str = "minilm",
    learned: bool = True,
    weight: float | None = None,
    kinds: int = 48,
    wrong: int = 3,
    rerank: str | Reranker | None = None,
    rerank_similarity: str | Reranker | None = None,
    shortlist: int = 64,
    tolerance: float = 1e-3,
    folds: int | None = None,
    splits: Mapping[str, float] | None = None,
    hidden: Sequence[str] = (),
    secret: str | None = None,
    sweep: Sequence[float] = (),
    people: Path | str | None = None,
    integrity: bool = False,
    seed: int = 0,
    name: str = "",
    licence: str = "",
    keep_going: bool = False,
) -> MatchReport:
    """Make multiple choice of questions and answers: each answer is right once and wrong three times (VCR, section 4).

    `file` is a CSV, JSON lines or Parquet file (`question` ... `id` name its columns), or the folder of a benchmark of
    choices, whose right answers are matched anew. `out` is a benchmark to make, or a table where it ends in .csv,
    .jsonl or .parquet. `relevance` and `similarity` name models: an encoder of texts, `tfidf` or `bm25`; `rerank` names
    cross-encoders for the `shortlist` of each question. `weight` is lambda, 0.3 if not given. `kinds` is the resolution
    of relevance: questions of a kind, which is not the paper's equation but leaves less to find in the choices alone;
    or 0 for single pairs, as in the paper and in small folds. Questions of one `group` stay in one of the `folds` (fold
    0 validates, fold 1 tests) or `splits`, and responses too. The answers of `hidden` splits go to `OUT.hidden` with
    the `secret` that keeps them from being built again from the seed (None: a random one; "": none). `integrity` adds a
    report on what the choices give away. `sweep` matches at several lambdas instead and writes what machines achieve, a
    plot, choices for people and the key to them into `out`; `people` are their answers.
    """
    if sweep and weight is not None:
        raise UserError(f"A sweep tries lambdas of its own, and {weight:g} was given.", "Leave --lambda out.")
    options = Options(
        relevance=relevance,
        similarity=similarity,
        learned=learned,
        weight=0.3 if weight is None else weight,
        kinds=KindOptions(kinds),
        wrong=wrong,
        shortlist=shortlist,
        tolerance=tolerance,
        seed=seed,
        reranker=_reranker(rerank),
        similarity_reranker=_reranker(rerank_similarity),
    )
    request = Request(
        columns=Columns(question, answer, rationale, group, fold, id),
        folds=folds,
        splits=splits,
        hidden=tuple(hidden),
        secret=secret,
        sweep=tuple(sweep),
        people=None if people is None else Path(people),
        integrity=integrity,
        name=name,
        licence=licence,
        keep_going=keep_going,
    )
    return match_file(file, out, options, request)


def rematch(benchmark: Path | str, out: Path | str, **options: Any) -> MatchReport:
    """Match the right answers of a benchmark of choices anew; the same as `match` on its folder."""
    if not (Path(benchmark) / MANIFEST).is_file():
        raise UserError(f"{benchmark} is not a benchmark.", "Import or build one first.")
    return match(benchmark, out, **options)


def _reranker(model: str | Reranker | None) -> Reranker | None:
    if not isinstance(model, str):
        return model
    from veridical.encoders.crossencoders import CrossEncoder

    return CrossEncoder(model)
