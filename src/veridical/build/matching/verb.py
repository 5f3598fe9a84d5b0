"""`veridical.match` and `rematch`: the arguments of the command line, one by one, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from veridical.benchmark.place import MANIFEST
from veridical.build.matching.crossencoder import Reranker
from veridical.build.matching.kinds import KindOptions
from veridical.build.matching.stage import Options
from veridical.build.matching.table import Columns
from veridical.build.matching.tool import MatchReport, match_file
from veridical.errors import UserError


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
    weight: float = 0.3,
    kinds: int = 48,
    wrong: int = 3,
    rerank: str | Reranker | None = None,
    rerank_similarity: str | Reranker | None = None,
    shortlist: int = 64,
    tolerance: float = 1e-3,
    folds: int | None = None,
    splits: Mapping[str, float] | None = None,
    hidden: Sequence[str] = (),
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
    cross-encoders for the `shortlist` of each question. `weight` is lambda. `kinds` is the resolution of relevance:
    questions of a kind, or 0 for single pairs. Questions of one `group` stay in one of the `folds` (or `splits`), and
    responses too. `integrity` adds a report on what the choices give away. `sweep` matches at several lambdas instead
    and writes what machines achieve, a plot, and choices for people into `out`; `people` are their answers.
    """
    if kinds < 0 or 0 < kinds < wrong + 1:
        raise UserError(f"Kinds of {kinds} questions.", f"Give 0 (single pairs), or {wrong + 1} questions or more.")
    options = Options(
        relevance=relevance,
        similarity=similarity,
        learned=learned,
        weight=weight,
        kinds=KindOptions(kinds),
        wrong=wrong,
        shortlist=shortlist,
        tolerance=tolerance,
        seed=seed,
        reranker=_reranker(rerank),
        similarity_reranker=_reranker(rerank_similarity),
    )
    return match_file(
        file,
        out,
        columns=Columns(question, answer, rationale, group, fold, id),
        options=options,
        folds=folds,
        splits=splits,
        hidden=hidden,
        sweep_over=sweep,
        people=people,
        check=integrity,
        name=name,
        licence=licence,
        keep_going=keep_going,
    )


def rematch(benchmark: Path | str, out: Path | str, **options: Any) -> MatchReport:
    """Match the right answers of a benchmark of choices anew; the same as `match` on its folder."""
    if not (Path(benchmark) / MANIFEST).is_file():
        raise UserError(f"{benchmark} is not a benchmark.", "Import or build one first.")
    return match(benchmark, out, **options)


def _reranker(model: str | Reranker | None) -> Reranker | None:
    if not isinstance(model, str):
        return model
    from veridical.features.crossencoders import CrossEncoder

    return CrossEncoder(model)
