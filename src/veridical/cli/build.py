"""`veridical build`: one command for each kind of benchmark."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from veridical.cli.output import print_json, say, table
from veridical.errors import UserError

if TYPE_CHECKING:
    from veridical.builders import BuildReport
    from veridical.builders.nlvr2 import TakedownReport

build = typer.Typer(help="Build a benchmark.", no_args_is_help=True)


@build.callback()
def _build() -> None:
    """Build a benchmark: everything it holds, from a source and a seed, or from what people wrote and judged."""


@build.command()
def nlvr(
    out: Annotated[Path, typer.Option(help="The benchmark to make.")],
    presentations: Annotated[int, typer.Option(help="Sentences, each about four images.")] = 3962,
    seed: Annotated[int, typer.Option(help="What decides everything random.")] = 0,
    phenomenon: Annotated[
        list[str] | None,
        typer.Option(help="A share of statements, 'negation=0.3'; may be repeated. The paper's shares unless given."),
    ] = None,
    split: Annotated[
        list[str] | None,
        typer.Option(help="A split and its share, 'dev=267'; may be repeated. The paper's splits unless given."),
    ] = None,
    hide: Annotated[
        list[str] | None, typer.Option(help="A split whose answers are hidden; may be repeated. test-u unless given.")
    ] = None,
    secret: Annotated[
        str,
        typer.Option(help="Mixed into the seed of hidden splits, so that the seed does not give them away; or random."),
    ] = "",
    stage: Annotated[str, typer.Option(help="all, or presentations: what people look at when they write.")] = "all",
    scenes: Annotated[Path | None, typer.Option(help="The presentations that people saw.")] = None,
    statements: Annotated[Path | None, typer.Option(help="What people wrote: JSON lines.")] = None,
    judgements: Annotated[Path | None, typer.Option(help="How people judged it: JSON lines.")] = None,
    licence: Annotated[str, typer.Option(help="The licence of the benchmark, such as CC-BY-4.0.")] = "",
    processes: Annotated[int | None, typer.Option(help="Processes; all processors unless given.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """NLVR: three boxes and a sentence, true or false; from nothing but a seed, or from people's sentences."""
    from veridical.builders.nlvr.build import build_nlvr

    report = build_nlvr(
        out,
        presentations=presentations,
        seed=seed,
        phenomena=_shares(phenomenon, "--phenomenon negation=0.3"),
        splits=_shares(split, "--split dev=267"),
        hidden=hide,
        secret=secret,
        stage=stage,  # type: ignore[arg-type]
        scenes=scenes,
        statements=statements,
        judgements=judgements,
        licence=licence,
        processes=processes,
    )
    if json:
        print_json(report.to_json())
    _show(report)


@build.command()
def nlvr2(
    out: Annotated[Path, typer.Option(help="The benchmark to make, or the one to take photographs from.")],
    source: Annotated[
        str | None, typer.Option(help="icons (default), coco:PATH, vg:PATH, folder:PATH; none: addresses alone.")
    ] = None,
    detector: Annotated[
        str | None, typer.Option(help="Finds objects in photographs without annotations: a checkpoint, or its name.")
    ] = None,
    threshold: Annotated[float | None, typer.Option(help="The least score of a detection; 0.5 unless given.")] = None,
    sets: Annotated[int | None, typer.Option(help="Sets of eight photographs, eight items each.")] = None,
    seed: Annotated[int | None, typer.Option(help="What decides everything random.")] = None,
    synsets: Annotated[
        Path | None, typer.Option(help="What to search for; the source's categories unless given.")
    ] = None,
    best: Annotated[int | None, typer.Option(help="Only so many synsets, the most interesting ones.")] = None,
    search: Annotated[Path | None, typer.Option(help="What an image search answered: JSON lines or CSV.")] = None,
    encoder: Annotated[str | None, typer.Option(help="Whose image vectors say what is similar.")] = None,
    removals: Annotated[Path | None, typer.Option(help="Photographs that people removed: JSON lines.")] = None,
    dull: Annotated[Path | None, typer.Option(help="Photographs that people did not find interesting.")] = None,
    labels: Annotated[Path | None, typer.Option(help="Labels that train a classifier of interesting ones.")] = None,
    sentences: Annotated[Path | None, typer.Option(help="What people wrote: JSON lines.")] = None,
    judgements: Annotated[Path | None, typer.Option(help="How people judged it: JSON lines.")] = None,
    costs: Annotated[Path | None, typer.Option(help="What each task cost: JSON.")] = None,
    split: Annotated[
        list[str] | None, typer.Option(help="A split and its share; may be repeated. The paper's rule unless given.")
    ] = None,
    hide: Annotated[
        list[str] | None, typer.Option(help="A split whose answers are hidden; may be repeated. test-u unless given.")
    ] = None,
    secret: Annotated[str | None, typer.Option(help="Mixed into the seed of sentences; or random.")] = None,
    licence: Annotated[str | None, typer.Option(help="The licence of the benchmark.")] = None,
    config: Annotated[Path | None, typer.Option(help="A JSON or TOML file with these and more options.")] = None,
    stage: Annotated[
        str,
        typer.Option(
            help="Stop after: photographs, queries, found, pruned, sets, tasks, sentences, judgements, extra; or all."
        ),
    ] = "all",
    work: Annotated[Path | None, typer.Option(help="Where each stage's file is kept; OUT.work unless given.")] = None,
    sheets: Annotated[bool, typer.Option("--sheets", help="Write contact sheets into the work folder.")] = False,
    takedown: Annotated[
        Path | None, typer.Option(help="Remove these photographs, one a line, from OUT, and do nothing else.")
    ] = None,
    processes: Annotated[int | None, typer.Option(help="Processes; all processors unless given.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """NLVR2: two photographs and a sentence, true or false; from icons, your photographs, or what people wrote."""
    from veridical.builders.nlvr2 import Config, build_nlvr2, read_config
    from veridical.builders.nlvr2 import takedown as take_down

    if takedown is not None:
        _show_takedown(take_down(out, takedown, work=work), json)
        return
    given: dict[str, Any] = {
        "source": source,
        "detector": detector,
        "threshold": threshold,
        "sets": sets,
        "seed": seed,
        "synsets": synsets,
        "best": best,
        "search": search,
        "encoder": encoder,
        "removals": removals,
        "dull": dull,
        "labels": labels,
        "sentences": sentences,
        "judgements": judgements,
        "costs": costs,
        "splits": _shares(split, "--split dev=0.1"),
        "hidden": tuple(hide) if hide else None,
        "secret": secret,
        "licence": licence,
    }
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    made = Config() if config is None else read_config(config)
    report = build_nlvr2(out, config=made, stage=stage, work=work, sheets=sheets, processes=processes, **options)
    if json:
        print_json(report.to_json())
    _show(report)


def _show_takedown(report: TakedownReport, json: bool) -> None:
    if json:
        print_json(report.to_json())
    rows = [("photographs taken down", f"{report.photographs:,}"), ("items removed", f"{report.items_removed:,}")]
    rows += [("sentences without an item", f"{report.groups_without_item:,}")]
    rows += [(f"items left, {name}", f"{count:,}") for name, count in report.items.items()]
    rows += [("images left", f"{report.images:,}")]
    table("", ("what", "count"), rows)
    for name in report.unknown:
        say(f"Not in the benchmark: {name}")
    say(f"Later builds leave them out, too: they are listed in {report.kept_in}.")


@build.command()
def vprom(
    out: Annotated[Path, typer.Option(help="The benchmark to make.")],
    source: Annotated[str, typer.Option(help="icons, coco:PATH or vg:PATH.")] = "icons",
    matrices: Annotated[int, typer.Option(help="Matrices of each scheme, two thirds for training.")] = 15_000,
    schemes: Annotated[
        list[str] | None,
        typer.Option(help="A scheme of splits, or several with commas; may be repeated. All seven unless given."),
    ] = None,
    seed: Annotated[int, typer.Option(help="What decides everything random.")] = 0,
    images: Annotated[int | None, typer.Option(help="Panels of the icon world to draw from.")] = None,
    categories: Annotated[
        int | None, typer.Option(help="Kinds of things that icons show beside people; all 133 unless given.")
    ] = None,
    least_images: Annotated[int, typer.Option(help="Photographs that an element needs (richness).")] = 12,
    most_others: Annotated[int, typer.Option(help="Other objects that a crop may show (purity).")] = 6,
    least_side: Annotated[int, typer.Option(help="Pixels of a crop, each way (quality).")] = 100,
    lists: Annotated[
        Path | None, typer.Option(help="A folder of lists (super-attributes, what is left out) instead of ours.")
    ] = None,
    hide: Annotated[list[str] | None, typer.Option(help="A split whose answers are hidden: test.")] = None,
    secret: Annotated[
        str,
        typer.Option(help="Mixed into the seed where a split is hidden, so that it does not give it away; or random."),
    ] = "",
    judgements: Annotated[
        Path | None, typer.Option(help="People's answers to an earlier build with the same options: JSON lines.")
    ] = None,
    licence: Annotated[str, typer.Option(help="The licence of the benchmark; the source's unless given.")] = "",
    processes: Annotated[int | None, typer.Option(help="Processes; all processors unless given.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """V-PROM: a matrix of photographs with the ninth missing, eight candidates; seven schemes of splits."""
    from veridical.builders.vprom import build_vprom
    from veridical.builders.vprom.mining import Mining

    report = build_vprom(
        out,
        source=source,
        matrices=matrices,
        schemes=[name.strip() for part in schemes for name in part.split(",")] if schemes else None,
        seed=seed,
        images=images,
        categories=categories,
        mining=Mining(least_images, most_others, least_side),
        lists=lists,
        hidden=hide or (),
        secret=secret,
        judgements=judgements,
        licence=licence,
        processes=processes,
    )
    if json:
        print_json(report.to_json())
    _show(report)


@build.command()
def vcr(
    out: Annotated[Path, typer.Option(help="The benchmark to make.")],
    source: Annotated[str, typer.Option(help="icons, coco:PATH, vg:PATH or folder:PATH.")] = "icons",
    photographs: Annotated[int, typer.Option(help="Pictures to draw, with --source icons.")] = 1000,
    questions: Annotated[
        Path | None, typer.Option(help="What people wrote: JSON lines; generated with --source icons.")
    ] = None,
    each: Annotated[int, typer.Option(help="Questions about a picture at most, where they are generated.")] = 3,
    labels: Annotated[
        Path | None, typer.Option(help="Which photographs people find interesting: JSON lines; a rule otherwise.")
    ] = None,
    encoder: Annotated[str | None, typer.Option(help="Its vectors help to tell what is interesting.")] = None,
    folds: Annotated[int, typer.Option(help="Folds by movie or photograph; the first two are val and test.")] = 11,
    hide: Annotated[
        list[str] | None, typer.Option(help="A split whose answers are hidden; may be repeated. test unless given.")
    ] = None,
    secret: Annotated[
        str,
        typer.Option(help="Mixed into the seed of hidden splits, so that the seed does not give them away; or random."),
    ] = "",
    relevance: Annotated[str, typer.Option(help="Model of relevance: minilm, tfidf, bm25, a text encoder.")] = "minilm",
    similarity: Annotated[str, typer.Option(help="Model of similarity: minilm, tfidf, a text encoder.")] = "minilm",
    weight: Annotated[float, typer.Option("--lambda", help="Higher: wrong choices resemble the right one less.")] = 0.3,
    kinds: Annotated[
        int, typer.Option(help="Relevance is that of kinds of so many questions; 0: the paper's, of single pairs.")
    ] = 48,
    learn: Annotated[
        bool, typer.Option("--learn/--no-learn", help="Learn relevance on the data, on other folds than it scores.")
    ] = True,
    seed: Annotated[int, typer.Option(help="What decides everything random.")] = 0,
    licence: Annotated[str, typer.Option(help="The licence of the benchmark, such as CC-BY-4.0.")] = "",
    processes: Annotated[int | None, typer.Option(help="Processes; all processors unless given.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Visual commonsense reasoning (VCR): a tagged photograph and a question, four answers, four reasons."""
    from veridical.builders.vcr import build_vcr
    from veridical.matching.scores.kinds import KindOptions
    from veridical.matching.stages import Options

    report = build_vcr(
        out,
        source=source,
        photographs=photographs,
        questions=questions,
        each=each,
        labels=labels,
        encoder=encoder,
        folds=folds,
        hidden=("test",) if hide is None else hide,
        secret=secret,
        seed=seed,
        matching=Options(
            relevance=relevance, similarity=similarity, weight=weight, kinds=KindOptions(kinds), learned=learn
        ),
        licence=licence,
        processes=processes,
    )
    if json:
        print_json(report.to_json())
    _show(report)


def _shares(options: Sequence[str] | None, example: str) -> dict[str, float] | None:
    """Options NAME=SHARE as a mapping; None where none was given."""
    if not options:
        return None
    out: dict[str, float] = {}
    for option in options:
        name, _, share = option.partition("=")
        try:
            number = float(share)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or not name.strip():
            raise UserError(f"{option!r} is not a name and its share.", f"Write {example}.")
        if name.strip() in out:
            raise UserError(f"{name.strip()!r} is given two shares.", f"Give it one: {example}.")
        out[name.strip()] = number
    return out


def _show(report: BuildReport) -> None:
    rows = [
        (f"items, {split}" if scheme == "main" else f"items, {scheme} {split}", f"{count:,}")
        for scheme, splits in report.counts.get("items", {}).items()
        for split, count in splits.items()
    ]
    rows += [(name, f"{count:,}") for name, count in report.counts.items() if name != "items"]
    rows += [(f"removed, {reason}", f"{count:,}") for reason, count in report.removed.items()]
    rows += [(f"statements with {name}", f"{share:.1%}") for name, share in report.phenomena.items()]
    rows += [(f"seconds, {stage}", f"{seconds:.1f}") for stage, seconds in report.seconds.items()]
    table("", ("what", "count"), rows)
    for note in report.notes:
        say(note)
    if "items" in report.counts:
        say(f"Built: {report.out}")
