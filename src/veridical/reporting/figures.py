"""Figures in the papers' kind about the data and the training: sentence lengths, synsets, phenomena, learning."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from veridical.pages.blocks import Section, figure
from veridical.pages.markup import Markup, element
from veridical.pages.plots import GREY, Mark, Series, bars, colour, legend, lines, percent, ranked
from veridical.reporting.breakdowns import phenomenon_shares
from veridical.reporting.published import number, part_name, tables_for
from veridical.reporting.studies import Part, Study
from veridical.reporting.tables import plain_table
from veridical.reporting.trained import TrainedRun
from veridical.statistics.language import benchmark_lengths

RANKED = ("synset", "element", "attribute", "category")  # tags whose frequencies are shown


def data_figures(study: Study) -> Section | None:
    """Lengths, frequent and rare values, shares of phenomena."""
    parts = [*_lengths(study)]
    focus = study.focus
    if focus is not None:
        parts += _ranked(study, focus) + _phenomena(study, focus)
    return Section("The data", tuple(parts)) if parts else None


def _lengths(study: Study) -> list[Markup]:
    """Share of sentences by length, a line per split (NLVR's and NLVR2's figure 3)."""
    series: list[Series] = []
    facts: list[list[str]] = []
    for place, (scheme, split) in enumerate(_public_splits(study)):
        for name, found in benchmark_lengths(study.benchmark, (split,), scheme).items():
            total = sum(found.histogram.values())
            if not total or found.mean is None:
                continue
            label = split if name == "query" else f"{split}, {name}s"
            top = max(found.histogram)
            points = tuple((float(n), found.histogram.get(n, 0) / total) for n in range(top + 1))
            series.append(Series(label, points, colour(place + len(series)), dashed=name == "rationale"))
            facts.append(
                [label, f"{found.sentences:,}", f"{found.mean:.1f}", f"{found.median:g}", f"{found.vocabulary:,}"]
            )
    if not series:
        return []
    plot = lines("Distribution of sentence lengths", series, "tokens", "% of sentences")
    keys = legend([(s.name, s.colour) for s in series]) if len(series) > 1 else None
    caption = "Share of sentences by length in tokens (words and punctuation marks)."
    table = plain_table(["sentences", "mean tokens", "median", "word types"], facts, "split")
    return [element("div", element("h4", "Sentence lengths"), figure(plot, caption, keys), table)]


def _public_splits(study: Study) -> list[tuple[str, str]]:
    """The splits that are not hidden, of the scheme that is in focus."""
    scheme = study.focus[0] if study.focus else "main"
    if scheme not in study.benchmark.schemes:
        return []
    wanted = [(scheme, split) for split in study.benchmark.splits(scheme)]
    return [part for part in wanted if study.open_to_view(part)]


def _ranked(study: Study, part: Part) -> list[Markup]:
    """How many items each synset has, most first (figure 3 of the NLVR2 draft)."""
    tags = study.on(part)[0].results[part].grades.key.tags
    sizes = np.bincount(tags.pair, minlength=len(tags.pairs))
    out = []
    for tag in RANKED:
        counts = [(value, int(sizes[n])) for n, (name, value) in enumerate(tags.pairs) if name == tag]
        if len(counts) < 10:
            continue
        counts.sort(key=lambda c: (-c[1], c[0]))
        numbers = np.array([c for _, c in counts])
        plot = ranked(f"Items per {tag}", counts, "items")
        caption = (
            f"Items of {part[1]} per {tag}, sorted: {len(counts):,} values, {numbers.mean():.1f} ± {numbers.std():.1f} "
            "items each."
        )
        out.append(element("div", element("h4", f"Items per {tag}"), figure(plot, caption)))
    return out


def _phenomena(study: Study, part: Part) -> list[Markup]:
    """Shares of phenomena here and as published."""
    found = phenomenon_shares(study, part)
    if found is None:
        return []
    shares, total = found
    name = f"{study.benchmark.name} {part[1]}, here"
    printed: dict[str, dict[str, float]] = {}
    for table in tables_for(study.kind, "phenomena"):
        for k, column in enumerate(table.columns):
            if column.metric == "share" and column.part.lower() == study.kind:
                label = f"{column.label}, {table.table} (published)"
                printed[label] = {r.name: v for r in table.rows if (v := number(r.values[k])) is not None}
    groups = []
    for value in sorted(shares, key=lambda v: -shares[v]):
        marks = [Mark(f"{name}, {value}", shares[value], colour=colour(0))]
        marks += [Mark(f"{label}, {value}", by[value], colour=GREY) for label, by in printed.items() if value in by]
        groups.append((value, "", marks))
    keys = legend([(name, colour(0)), *((label, GREY) for label in printed)])
    plot = bars("Share of sentences with each phenomenon", groups)
    caption = f"Share of sentences with each phenomenon, percent; here of {total:,} sentences"
    tagged = any(tag == "phenomenon" for tag, _ in study.on(part)[0].results[part].grades.key.tags.pairs)
    caption += " that carry an annotation." if tagged else ", by our tagger."
    return [element("div", element("h4", "Phenomena"), figure(plot, caption, keys))]


def training(runs: Sequence[TrainedRun], swept: Collection[Path] = ()) -> Section | None:
    """What each run reached, learning curves, and accuracy by training items where a model had several sizes.

    Runs in the folders `swept` have that last figure, by their accuracy on the test split, with their sweep.
    """
    if not runs:
        return None
    parts = [_trained_table(runs)]
    curves = [run for run in runs if any(t.history for t in run.trials)]
    if curves:
        parts += _curves(curves)
    parts += _efficiency([run for run in runs if run.path not in swept])
    return Section("Runs", tuple(parts))


def _trained_table(runs: Sequence[TrainedRun]) -> Markup:
    rows = []
    for run in runs:
        spread = f" ± {percent(run.deviation)}" if len(run.trials) > 1 else ""
        best = sorted(t.best_epoch for t in run.trials)
        epochs = str(best[0]) if best[0] == best[-1] else f"{best[0]} to {best[-1]}"
        rows.append(
            [
                run.name,
                run.benchmark.name,
                f"{run.training_items:,}",
                str(len(run.trials)),
                epochs,
                f"{percent(run.mean)}{spread}",
            ]
        )
    columns = ["benchmark", "items trained on", "trials", "best epoch", "validation accuracy, %"]
    return plain_table(columns, rows, "run")


def _curves(runs: Sequence[TrainedRun]) -> list[Markup]:
    accuracy, loss = [], []
    for place, run in enumerate(runs):
        for trial in run.trials:
            tint = colour(place)
            number_of = f", trial seed {trial.seed}" if len(run.trials) > 1 else ""
            solid = tuple((e.epoch, e.validation) for e in trial.history)
            dashed = tuple((e.epoch, e.train) for e in trial.history)
            down = tuple((e.epoch, e.loss) for e in trial.history)
            if solid:
                accuracy.append(Series(f"{run.name}{number_of}, validation", solid, tint))
                accuracy.append(Series(f"{run.name}{number_of}, train", dashed, tint, dashed=True))
                loss.append(Series(f"{run.name}{number_of}", down, tint))
    keys = legend([(run.name, colour(place)) for place, run in enumerate(runs)])
    first = figure(
        lines("Accuracy by epoch", accuracy, "epoch", "accuracy, %"),
        "Accuracy on validation (solid) and on training items (dashed) by epoch; one line per trial.",
        keys,
    )
    second = figure(lines("Loss by epoch", loss, "epoch", "loss", in_percent=False), "Training loss by epoch.", keys)
    return [element("h4", "Learning curves"), first, second]


def _efficiency(runs: Sequence[TrainedRun]) -> list[Markup]:
    """Accuracy by number of training items, for models that were trained on several (V-PROM's figure 7)."""
    models: dict[tuple[str, ...], dict[int, list[float]]] = {}
    for run in runs:
        same = {k: v for k, v in run.training.items() if k not in ("fraction", "limit")}
        key = (run.model, run.benchmark.hash, run.scheme, repr(sorted(run.config.items())), repr(sorted(same.items())))
        sizes = models.setdefault(key, {})
        sizes.setdefault(run.training_items, []).extend(t.best for t in run.trials)
    series: list[Series] = []
    for (model, *_), sizes in models.items():
        if len(sizes) > 1:
            points = tuple((float(size), float(np.mean(best))) for size, best in sorted(sizes.items()))
            series.append(Series(model, points, colour(len(series))))
    if not series:
        return []
    plot = lines("Accuracy by number of training items", series, "training items", "validation accuracy, %")
    keys = legend([(s.name, s.colour) for s in series])
    return [element("h4", "Sample efficiency"), figure(plot, "Validation accuracy by training items.", keys)]


def by_scheme(study: Study) -> Section | None:
    """Accuracy by relation and scheme of splits, for benchmarks with several schemes (V-PROM's figures 5 and 6)."""
    schemes = list(dict.fromkeys(scheme for scheme, _ in study.parts))
    if len(schemes) < 2:
        return None
    groups = []
    for part in study.parts:
        if part[1] == "train":
            continue
        marks = []
        for system in study.on(part):
            a = system.results[part].first.accuracy
            marks.append(Mark(f"{system.name}, {part[0]}", a.value, a.low, a.high, colour(system.place)))
        groups.append((part_name(part[0]), part[1], marks))
    keys = legend([(s.name, colour(s.place)) for s in study.systems])
    caption = "Accuracy by scheme of splits, percent: how far each system generalises."
    return Section("Generalisation", (figure(bars("Accuracy by scheme of splits", groups), caption, keys),))
