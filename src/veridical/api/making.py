"""The verbs that make a benchmark, or write one for others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from veridical.common.places import Copied, anywhere, copied
from veridical.common.result import remark
from veridical.errors import UserError
from veridical.options import ARGUMENTS, gathered, given, refuse_unused, several
from veridical.options.building import AugmentOptions, Columns, Matching, MatchOptions, is_run
from veridical.options.importing import TableOptions
from veridical.options.running import Workers

if TYPE_CHECKING:
    from veridical.builders import BuildReport
    from veridical.engine.planning import Planned
    from veridical.evaluation.submission import Submission
    from veridical.formats.download import Fetched
    from veridical.formats.releases import ExportResult, ImportResult
    from veridical.matching.report import MatchReport


@anywhere
def import_release(
    format: str,
    path: Path | str,
    out: Path | str,
    images: Path | str | None = None,
    split: str | None = None,
    hide: Sequence[str] = (),
    keep_going: bool = False,
    replace: bool = False,
    table: TableOptions = TableOptions(),
    **fields: Any,
) -> ImportResult:
    """Turn an official release, or any table of questions, into a benchmark.

    A table (CSV, TSV, JSON, JSON lines, Parquet) has a question, choices and an answer in each row, or a statement that
    is true or false; maybe pictures (paths, addresses, base64, bytes), a group, a split, tags. What its columns hold is
    guessed and shown, or named. vlmevalkit is the TSV of VLMEvalKit; hf a folder of `datasets`, or a name on a hub.

    Args:
        format: The release's format: nlvr, nlvr2, or vcr (visual commonsense reasoning); table, vlmevalkit or hf.
        path: A file of the release (dev.json), or its folder; the table.
        out: The benchmark to make.
        images: The folder of images, where it is not beside the files.
        split: Only this split of a folder or table, or the name for a file's.
        hide: Hide this split's answers, in OUT.hidden; may be repeated. Splits without labels are hidden anyway.
        keep_going: Import everything but the lines and images that are wrong, and list those.
        replace: Make it anew even where a benchmark with hidden answers or vectors stands at OUT.
        table: What the columns of a table hold.
    """
    from veridical.benchmark.place import replacing
    from veridical.formats import QUESTIONS, releases

    (columns,) = gathered((table,), fields)
    with replacing(replace, out):
        if format in QUESTIONS:
            from veridical.formats.table import importing

            return importing.import_table(
                format, path, out, columns, images=images, split=split, hide=several(hide), keep_going=keep_going
            )
        refuse_unused(f"import {format}", (), columns)
        return releases.import_release(
            format, path, out, split=split, images=images, hide=several(hide), keep_going=keep_going
        )


@anywhere
def get(
    release: str,
    out: Path | str,
    base_url: str | None = None,
    split: Sequence[str] = (),
    images: bool = False,
    max_connections: int = 16,
    keep_going: bool = False,
    unpinned: bool = False,
) -> Fetched:
    """Download an official release, check it, and import it. Run it again to continue or to ask for missing files.

    Args:
        release: What to download: nlvr or nlvr2.
        out: The benchmark to make; the downloaded files lie in OUT.release.
        base_url: A mirror of the authors' repository, instead of the public one.
        split: Only this split (train, dev, test; NLVR2: train, dev, test1, test2); may be repeated.
        images: Download the images too, and check them.
        max_connections: How many files to fetch at once.
        keep_going: Import everything but the lines and images that are wrong.
        unpinned: Take files even where their content is not what was published when this version was made.
    """
    from veridical.benchmark.place import replacing
    from veridical.formats import download, fetch

    manners = fetch.Manners(connections=max_connections)
    with replacing(True):  # by the same files, or more of them
        return download.get(
            release, out, base_url=base_url, split=several(split), images=images, keep_going=keep_going,
            unpinned=unpinned, manners=manners, on_fetched=_say_what_came,
        )  # fmt: skip


def _say_what_came(fetched: Fetched) -> None:
    """Before it is imported, which may fail."""
    words = ("fetched", "had", "missing", "changed")
    for what, *counts in fetched.table():
        remark(f"{what}: " + ", ".join(f"{count:,} {word}" for count, word in zip(counts, words, strict=True)) + ".")


def build(builder: str, out: Path | str, options: Any = None, **fields: Any) -> BuildReport:
    """Build a benchmark: everything it holds, from a source and a seed, or from what people wrote and judged.

    Args:
        builder: nlvr, nlvr2, vprom or vcr, or a builder of another package.
        out: The benchmark to make.
        options: The builder's options (`NLVROptions` ...), or any of their fields as keywords.
    """
    from veridical.builders import load_builder

    given = fields if options is None else {"options": options, **fields}
    report: BuildReport = load_builder(builder)(out, **given)
    return report


def plan(config: Annotated[Sequence[Path | str], ARGUMENTS] = ()) -> Planned:
    """How many machines, hours and dollars: for pictures, matrices, images, texts and pairs, and what breaks first.

    Rates are those measured by the authors on one machine (`benchmarks/rates.py` measures yours). Without a file: ten
    million pictures and three million pairs.

    Args:
        config: A JSON or TOML file: pictures, matrices, images, texts, pairs; hours; and machine with cores, memory_gb,
            disk_gb, network_gbit, dollars_per_hour.
    """
    from veridical.engine import planning

    files = several(config)
    if len(files) > 1:
        raise UserError(f"{len(files)} files were given.", "Plan one at a time.")
    return planning.plan(*files)


@anywhere
def augment(
    benchmark: Path | str,
    out: Path | str,
    options: AugmentOptions = AugmentOptions(),
    replace: bool = False,
    **fields: Any,
) -> BuildReport:
    """More training items of known sentences about drawn boxes: their programs, run on other scenes, say what is true.

    Sentences are read as the program solver reads them, as they stand and with words exchanged. Items are balanced,
    and many come in pairs: the same objects, otherwise arranged, once true and once false. A part of the split is left
    out of all this and becomes the split validation, so that a model may be chosen on sentences nobody trained on:
    `veridical train MODEL OUT --validate validation`, then `veridical train MODEL DIR --pretrained RUN`.

    Of pairs of icons, the split's own pictures are paired anew, and new sentences are written about them.

    Args:
        benchmark: A benchmark of statements about drawn boxes (an imported NLVR, or one that was built), or about pairs
            of icons.
        out: The benchmark to make.
        options: How many items are made, and of what.
        replace: Make it anew even where a benchmark with hidden answers or vectors stands at OUT.
    """
    from veridical.benchmark import Benchmark
    from veridical.benchmark.place import replacing
    from veridical.builders.nlvr import again as room
    from veridical.builders.nlvr2 import again as pairs
    from veridical.solvers.programs import SHIPPED, ProgramSolver

    if Benchmark(benchmark).manifest["config"].get("format") == "nlvr2":
        with replacing(replace, out):
            return pairs.augment(benchmark, out, given(options, fields), Workers())
    solver = ProgramSolver.load(SHIPPED)

    def read(sentence: str) -> Any:
        found = solver.programs(sentence)
        return found[0][0] if found else None

    with replacing(replace, out):
        return room.augment(benchmark, out, read, given(options, fields))


@anywhere
def match(
    file: Path | str,
    out: Path | str,
    options: MatchOptions = MatchOptions(),
    matching: Matching = Matching(),
    columns: Columns = Columns(),
    workers: Workers = Workers(),
    replace: bool = False,
    **fields: Any,
) -> MatchReport:
    """Adversarial Matching: right answers become the wrong choices of other questions, each three times.

    Questions of one group stay in one fold or split, and so do their answers. A lambda curve (--sweep) matches at
    several lambdas instead, and writes what machines achieve, a plot, choices for people and the key to them into OUT.

    Args:
        file: Questions and answers (CSV, JSON lines, Parquet), or a benchmark of choices to match anew.
        out: The benchmark to make; or a .csv, .jsonl or .parquet file.
        options: What is made.
        matching: How wrong choices are found.
        columns: What the file's columns are called.
        workers: Who does the work; left out: this process.
        replace: Make it anew even where a benchmark with hidden answers or vectors stands at OUT.
    """
    from veridical.benchmark.place import replacing
    from veridical.matching import match as room

    options, matching, columns, workers = gathered((options, matching, columns, workers), fields)
    if is_run(matching.relevance) or is_run(matching.similarity):
        from veridical.training import pairs

        options, matching = pairs.judges(options, matching)
    with replacing(replace):
        return room.match_file(file, out, options, matching, columns, workers)


@anywhere
def export(
    format: str, benchmark: Path | str, out: Path | str, predictions: Path | str | None = None, split: str | None = None
) -> ExportResult | Submission:
    """Write a benchmark for others: a data set, metadata, the official release's files, tasks for other evaluators.

    `hf` is a Hugging Face data set, `croissant` metadata, `official` the files of the release. `lmms-eval` is a folder
    with a task for each split, `vlmevalkit` a folder with a TSV for each.

    `submission` writes predictions as the official leaderboard takes them: lines of true and false, or VCR's twenty
    probabilities for each question.

    Args:
        format: What to write: hf, croissant, official, lmms-eval, vlmevalkit or submission.
        benchmark: A benchmark folder.
        out: Where to write it.
        predictions: submission: the predictions (JSON lines).
        split: submission: the split they are for.
    """
    if format == "submission":
        from veridical.evaluation.submission import write_submission

        if predictions is None or split is None:
            raise UserError("A submission is of predictions for a split.", "Give --predictions FILE and --split NAME.")
        return write_submission(benchmark, predictions, out, split=split)
    if predictions is not None or split is not None:
        raise UserError(f"export {format} has no use for --predictions and --split.", "Leave them out.")
    from veridical.formats import releases

    return releases.export(format, benchmark, out)


def copy(source: Path | str, out: Path | str, replace: bool = False) -> Copied:
    """Copy a benchmark, a run or predictions between this disk and an object store (s3://, gs://, hf://).

    At an address the manifest comes last, so that nobody ever reads half of it; stopped, the same command sends what
    is missing. Hidden answers are never taken along: DIR.hidden is copied only where it is named itself, to an address
    that ends in .hidden. Every verb also reads such addresses, and writes to them with --out.

    Args:
        source: A benchmark, DIR.hidden, a run folder or a file; or an address where one was published.
        out: Where it goes: a path that is free, or an address.
        replace: Replace what somebody else published at that address.
    """
    return copied(source, out, replace)
