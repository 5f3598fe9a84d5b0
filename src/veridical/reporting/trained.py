"""What was trained: folders of `veridical train` and `veridical sweep`, their tables, learning curves and figure 7.

Of a sweep there are V-PROM's tables 2 and 4 and the two controls; table 5 is the table of results that every study has.
Of table 4 only the overall column was published legibly, and it is the neutral column of table 5; so the accuracies per
type are ours alone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from statistics import fmean

from veridical.experiments import TYPES
from veridical.pages.markup import Block, PlotFigure, Section
from veridical.pages.plots import Series, colour, lines, percent
from veridical.pages.tables import Cell, PageTable, TableRow, estimate_cell, facts
from veridical.reporting.inputs import SweepFolder, TrainedRun
from veridical.reporting.published import part_name, tables_for

CHANCE = 1 / 8


def training(runs: Sequence[TrainedRun], swept: Collection[Path] = ()) -> Section | None:
    """What each run reached, learning curves, and accuracy by training items where a model had several sizes.

    Runs in the folders `swept` have that last figure, by their accuracy on the test split, with their sweep.
    """
    if not runs:
        return None
    parts: list[Block] = [_trained_table(runs)]
    curves = [run for run in runs if any(t.history for t in run.trials)]
    if curves:
        parts += _curves(curves)
    parts += _efficiency([run for run in runs if run.path not in swept])
    return Section("Runs", tuple(parts))


def _trained_table(runs: Sequence[TrainedRun]) -> PageTable:
    rows = []
    for run in runs:
        spread = f" ± {percent(run.deviation)}" if len(run.trials) > 1 else ""
        best = sorted(t.best_epoch for t in run.trials)
        epochs = str(best[0]) if best[0] == best[-1] else f"{best[0]} to {best[-1]}"
        reached = f"{percent(run.mean)}{spread}"
        sizes = f"{run.training_items:,}", str(len(run.trials))
        rows.append([run.name, run.benchmark.name, *sizes, epochs, reached])
    columns = ["benchmark", "items trained on", "trials", "epoch kept", "validation accuracy, %"]
    return facts(columns, rows, "run")


def _curves(runs: Sequence[TrainedRun]) -> list[Block]:
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
    keys = [(run.name, colour(place)) for place, run in enumerate(runs)]
    first = PlotFigure(
        lines("Accuracy by epoch", accuracy, "epoch", "accuracy, %"),
        "Accuracy on validation (solid) and on training items (dashed) by epoch; one line per trial.",
        keys,
        "Learning curves",
    )
    plot = lines("Loss by epoch", loss, "epoch", "loss", in_percent=False)
    return [first, PlotFigure(plot, "Training loss by epoch.", keys)]


def _efficiency(runs: Sequence[TrainedRun]) -> list[Block]:
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
            points = tuple((float(size), fmean(best)) for size, best in sorted(sizes.items()))
            series.append(Series(model, points, colour(len(series))))
    if not series:
        return []
    plot = lines("Accuracy by number of training items", series, "training items", "validation accuracy, %")
    keys = [(s.name, s.colour) for s in series]
    return [PlotFigure(plot, "Validation accuracy by training items.", keys, "Sample efficiency")]


# --- sweeps ----------------------------------------------------------------------------------------------------------


def sweep_tables(sweep: SweepFolder) -> list[PageTable]:
    """By features, by type, the controls, and what failed."""
    made = [_by_features(sweep), _by_type(sweep), _controls(sweep)]
    if sweep.failed:  # runs without scores: they are nowhere else
        rows = tuple(TableRow(f"{run.title}, {run.scheme}", (Cell(run.problem),)) for run in sweep.failed)
        made.append(PageTable(f"{sweep.benchmark.name}: runs that failed", ("why",), rows))
    return made


def sweep_section(sweep: SweepFolder) -> Section:
    """Everything that a study does not show by itself."""
    efficiency = sample_efficiency(sweep)
    return Section("Sweep", (*sweep_tables(sweep), *([efficiency] if efficiency else [])))


def _by_features(sweep: SweepFolder) -> PageTable:
    """Table 2: one scheme, a column for each features, with and without the auxiliary loss."""
    scheme = sweep.first_scheme
    found = [(_parts(p.title), estimate_cell(p.accuracy)) for p in sweep.points if p.whole and p.scheme == scheme]
    found += [(_parts(p.title), Cell("failed")) for p in sweep.failed if p.whole and p.scheme == scheme]
    own = dict(found)
    features = list(dict.fromkeys(feature for _, feature in own))
    printed = _published(scheme)
    theirs = list(dict.fromkeys(feature for by in printed.values() for feature in by))
    rows = []
    for system in dict.fromkeys(system for system, _ in own):
        cells = [own.get((system, feature), Cell()) for feature in features]
        rows.append(TableRow(system, (*cells, *(Cell(printed.get(system, {}).get(k, "")) for k in theirs))))
    heads = ((f"{scheme}, here", len(features)), *([("published, Table 5", len(theirs))] if theirs else []))
    return PageTable(f"{sweep.benchmark.name}: by features, percent", (*features, *theirs), tuple(rows), heads)


def _parts(title: str) -> tuple[str, str]:
    """The system and the features that a whole run's title is made of."""
    system, _, feature = title.partition(", ")
    return system, feature


def _published(scheme: str) -> dict[str, dict[str, str]]:
    """Table 5's column of a scheme: system -> features -> what is printed."""
    out: dict[str, dict[str, str]] = {}
    for table in tables_for("vprom", "results"):
        places = [k for k, column in enumerate(table.columns) if column.part == part_name(scheme)]
        for row in table.rows:
            system, comma, feature = row.name.partition(", ")
            if comma and places:
                out.setdefault(system, {})[feature] = row.values[places[0]]
    return out


def _by_type(sweep: SweepFolder) -> PageTable:
    """Table 4 (figure 5): one scheme, accuracy per relation and element type."""
    scheme = sweep.first_scheme
    runs = [run for run in sweep.points if run.whole and run.scheme == scheme]
    types = [(tag, sorted({name for run in runs for name in run.by.get(tag, {})})) for tag in TYPES]
    rows = []
    for run in runs:
        cells = [run.by.get(tag, {}).get(name) for tag, names in types for name in names]
        rows.append(TableRow(run.title, (estimate_cell(run.accuracy), *(estimate_cell(c) for c in cells))))
    columns = ("overall", *(name for _, names in types for name in names))
    heads = (("", 1), *((tag, len(names)) for tag, names in types if names))
    note = "The published columns per type are not legible in our copy of the paper, so there are none beside ours."
    return PageTable(f"{sweep.benchmark.name}: {scheme} by type, percent", columns, tuple(rows), heads, (note,))


def _controls(sweep: SweepFolder) -> PageTable:
    """Accuracy with the item's own context, with that of another item, and with its own in random order."""
    rows = []
    for run in sweep.points:
        if run.controls or run.context != "own":
            own = Cell() if run.context != "own" else estimate_cell(run.accuracy)
            other = run.accuracy if run.context == "other" else run.controls.get("other")
            shuffled = run.controls.get("shuffled")
            found = (estimate_cell(one) for one in (other, shuffled))
            rows.append(TableRow(f"{run.title}, {run.scheme}", (own, *found)))
    columns = ("own context", "context of another item", "context shuffled")
    notes = (
        f"Chance is {percent(CHANCE)}. With the context of another item nothing can be known; a model that does better "
        "reads the answer off the candidates. A model without panel ids cannot notice shuffling.",
    )
    return PageTable(f"{sweep.benchmark.name}: controls, percent", columns, tuple(rows), (), notes)


def sample_efficiency(sweep: SweepFolder) -> PlotFigure | None:
    """Figure 7: accuracy on the test split by how much of the training data was used."""
    first = sweep.points[0]
    same = [p for p in sweep.points if (p.scheme, p.features) == (first.scheme, first.features)]
    same = [p for p in same if p.context == "own" and not p.auxiliary]
    series: list[Series] = []
    for system in dict.fromkeys(p.system for p in same):
        own = sorted((p.fraction, p.accuracy.value) for p in same if p.system == system)
        if len(own) > 1:
            series.append(Series(system, tuple((100 * x, y) for x, y in own), colour(len(series))))
    if not series:
        return None
    plot = lines("Accuracy by share of the training data", series, "training data, %", "test accuracy, %")
    caption = f"Accuracy on the test split of {first.scheme} by how much of its training data was used (figure 7)."
    return PlotFigure(plot, caption, [(s.name, s.colour) for s in series])
