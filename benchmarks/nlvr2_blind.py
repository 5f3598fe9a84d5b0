"""Can an NLVR2 benchmark of icons be passed blind? 8,000 items, and a copy with a planted bias of five points.

    python benchmarks/nlvr2_blind.py [--sets 1000] [--folder DIR] [--processes 2]

Text-only and image-only models (those of `veridical audit`: each item is tested once, by a model that saw none of its
set) must not beat the majority: its rate lies in their 95% intervals. The same models with the same budget must find a
cue that gives away one item in ten (five points), planted into the sentences, and into the pictures, of copies.
Executing every program on the ground truth must give every label. In --folder what is built is kept for the next run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from pkgutil import resolve_name

import numpy as np
from PIL import Image, ImageEnhance

from veridical.auditing.data import AuditData, folds, sample
from veridical.auditing.findings import ABOUT
from veridical.auditing.harness import Run, run
from veridical.auditing.pictures import describe as describe_pictures
from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.builders.nlvr2 import build_nlvr2
from veridical.formats.card import describe
from veridical.language.writing.pairs.statements import blindness, execute_pair
from veridical.records import Item, Panel, Text

SEED = 0
BIAS = 0.05  # of accuracy: a cue in twice as many items gives away the half that a guess has wrong
WORDS = ("certainly", "clearly")  # planted into false and true sentences
SHADES = (0.75, 1.25)  # brightness of false and true pictures
SPLITS = {"train": 0.8, "dev": 0.1, "test-p": 0.1}  # nothing hidden: all is tested

Plant = Callable[[Item, Benchmark, BenchmarkWriter, dict[str, Panel]], Item]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--benchmark", type=Path, help="One that was built, instead of building.")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--check", choices=["text-only", "image-only"], help="Only this model.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        clean = options.benchmark or folder / "clean"
        if not (clean / "benchmark.json").exists():
            start = time.perf_counter()
            build_nlvr2(clean, sets=options.sets, split=SPLITS, processes=options.processes)
            print(f"built in {time.perf_counter() - start:.0f} s")
        ok = _execute(clean)
        plants: Mapping[str, Plant] = {"text-only": _plant_word, "image-only": _plant_shade}
        for check, plant in plants.items():
            if options.check not in (None, check):
                continue
            planted = folder / f"planted-{check}"
            if not (planted / "benchmark.json").exists():
                _copy(Benchmark(clean), planted, plant)
            ok &= _measure(check, clean, planted)
    sys.exit(0 if ok else 1)


def _execute(folder: Path) -> bool:
    """Every program on the ground truth, and what goes with the labels."""
    opened = Benchmark(folder)
    rows = []
    right = 0
    for split in opened.splits:
        for item in opened.items(split, answers=True):
            left, right_panel = (opened.whole_panels[name] for name in item.panels)
            rows.append((left, right_panel, bool(item.answer)))
            right += execute_pair(item.program or "", left, right_panel) is bool(item.answer)
    print(f"items {len(rows):,}; programs right on {right:,}; true {np.mean([r[2] for r in rows]):.4f}")
    print("correlations of truth:", {name: round(value, 4) for name, value in blindness(rows).items()})
    return right == len(rows)


def _measure(check: str, clean: Path, planted: Path) -> bool:
    """The same model with the same budget on both."""
    ok = True
    # In the first sentences alone no pair of photographs comes twice: nothing but the writing keeps the pairs blind.
    for name, folder, ending in (("as built", clean, ""), ("first sentences", clean, "-0"), ("planted", planted, "")):
        start = time.process_time()
        found = _guess(check, folder, ending)
        low, high, level = found.accuracy.low, found.accuracy.high, found.level
        good = low > level if name == "planted" else low <= level <= high
        ok &= good
        print(
            f"{check:10} {name:15} accuracy {found.accuracy.value:.4f} [{low:.4f}, {high:.4f}] of "
            f"{len(found.tested):,} items, majority {level:.4f}: {'as it must be' if good else 'NOT AS IT MUST BE'}; "
            f"{time.process_time() - start:.0f} s of processor time",
            flush=True,
        )
    return ok


def _guess(check: str, folder: Path, ending: str) -> Run:
    """A blind model of the audit, trained and tested on folds by set."""
    data = AuditData(folder, hidden=True)
    rows = [row for row in data.labelled() if row.item.id.endswith(ending)]
    guess = ABOUT[check].guesses["statement"]
    pictures = describe_pictures(data.benchmark, rows) if "context" in guess.sees else None
    seen = sample(rows, guess.sees, pictures.context(rows) if pictures else None)
    return run(seen, folds(rows, SEED), resolve_name(guess.fit), SEED)


def _copy(opened: Benchmark, out: Path, plant: Plant) -> None:
    """The same benchmark with a cue in some items, drawn at random."""
    manifest = opened.manifest
    rng = np.random.default_rng(0)
    with BenchmarkWriter(
        out, name=f"{manifest['name']} planted", task="statement", config=manifest["config"], describe=describe
    ) as writer:
        panels = dict(opened.panels)
        for panel in opened.panels.values():
            writer.add_image(opened.image(panel.image or "").to_pybytes())
        for split in opened.splits:
            items = list(opened.items(split, answers=True))
            marked = rng.random(len(items)) < 2 * BIAS
            rows = zip(items, marked, strict=True)
            writer.add_items(split, [plant(i, opened, writer, panels) if mark else i for i, mark in rows])
        writer.add_panels(panels.values())


def _plant_word(item: Item, opened: Benchmark, writer: BenchmarkWriter, panels: dict[str, Panel]) -> Item:
    text = item.query.raw if item.query else ""
    return replace(item, query=Text(f"{WORDS[item.answer or 0]} {text}"))


def _plant_shade(item: Item, opened: Benchmark, writer: BenchmarkWriter, panels: dict[str, Panel]) -> Item:
    names = []
    for name in item.panels:
        image = Image.open(BytesIO(opened.image(panels[name].image or "").to_pybytes()))
        shaded = BytesIO()
        ImageEnhance.Brightness(image).enhance(SHADES[item.answer or 0]).save(shaded, "JPEG", quality=90)
        names.append(f"{name}-{item.id}")
        panels[names[-1]] = replace(panels[name], id=names[-1], image=writer.add_image(shaded.getvalue()))
    return replace(item, panels=tuple(names))


if __name__ == "__main__":
    main()
