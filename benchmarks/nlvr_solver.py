"""Quality and speed of the program solver on real NLVR sentences.

    python benchmarks/nlvr_solver.py                  decisions: learn on 85% of train, measure on the other 15%
    python benchmarks/nlvr_solver.py --dev "what changed"   confirmation: learn on train, measure on dev, and log it

Each look at dev is one line in docs/nlvr-dev-log.md. `unseen` leaves out sentences whose string occurs in training;
`programs only` counts the items that a program answered. Speed is sentences a second on one core: each sentence is
read, ranked and executed on all its images; `new` sentences have never been read before, `known` ones have. What was
remembered of the training sentences is forgotten first.
"""

from __future__ import annotations

import argparse
import datetime
import tempfile
import time
import zlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from veridical.benchmark import Benchmark
from veridical.formats.releases import import_release
from veridical.language.reading.grammar import forget
from veridical.solvers.programs import Answer, JudgedSentence, ProgramSolver, examples, predict

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data" / "nlvr"
LOG = ROOT / "docs" / "nlvr-dev-log.md"
REQUIRED = 300  # sentences a second


def held_out(group: str) -> bool:
    """The 15% of training presentations on which decisions are made: a hash of the presentation's number."""
    return zlib.crc32(group.rpartition("/")[2].encode()) % 100 < 15


def scores(known: Sequence[JudgedSentence], answers: Sequence[Answer], keep: Sequence[bool]) -> str:
    """Accuracy and consistency (all items of a presentation right) of the kept items, in percent."""
    right: dict[str, list[bool]] = defaultdict(list)
    for example, answer, kept in zip(known, answers, keep, strict=True):
        if kept:
            right[example.group].append(answer.truth == example.label)
    items = [r for rs in right.values() for r in rs]
    if not items:
        return "no items"
    consistent = sum(all(rs) for rs in right.values()) / len(right)
    return f"accuracy {sum(items) / len(items):6.2%}  consistency {consistent:6.2%}  ({len(items)} items)"


def quality(solver: ProgramSolver, trained: Sequence[JudgedSentence], known: Sequence[JudgedSentence]) -> list[str]:
    """The lines of the report, and of the log."""
    answers = [solver.solve(e.sentence, e.panels) for e in known]
    seen = {e.sentence for e in trained}
    sentences = {e.sentence: a.parsed for e, a in zip(known, answers, strict=True)}
    everything = [True] * len(known)
    return [
        f"all            {scores(known, answers, everything)}",
        f"unseen         {scores(known, answers, [e.sentence not in seen for e in known])}",
        f"programs only  {scores(known, answers, [a.parsed for a in answers])}",
        f"fallback only  {scores(known, answers, [not a.parsed for a in answers])}",
        f"fallback alone {scores(known, fallback_answers(solver, known), everything)}",
        f"coverage       {sum(sentences.values()) / len(sentences):6.2%} of {len(sentences)} sentences parse",
    ]


def fallback_answers(solver: ProgramSolver, known: Sequence[JudgedSentence]) -> list[Answer]:
    """What the fallback would say of every item."""
    from veridical.language.programs.domain import domain_of

    chances = [solver.fallback_.probability(e.sentence, domain_of(e.panels)) for e in known]
    return [Answer((1 - p, p), None, False, e.panels, e.sentence) for p, e in zip(chances, known, strict=True)]


def speed(solver: ProgramSolver, known: Sequence[JudgedSentence], path: Path) -> list[str]:
    """Sentences a second in a warm process: new sentences (the solver is loaded anew) and known ones."""
    by_sentence: dict[str, list[JudgedSentence]] = defaultdict(list)
    for example in known:
        by_sentence[example.sentence].append(example)
    solver.save(path)
    fresh = ProgramSolver.load(path)
    forget()
    lines = []
    for name in ("new", "known"):
        wall, cpu = time.perf_counter(), time.process_time()
        for sentence, members in by_sentence.items():
            for example in members:
                fresh.solve(sentence, example.panels)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        rate, free = len(by_sentence) / wall, len(by_sentence) / cpu
        lines.append(
            f"speed, {name:5} {rate:9.0f} sentences/s = {rate / REQUIRED:5.1f}x the required {REQUIRED}"
            f" ({free:.0f} a second of processor time, where the machine is busy)"
        )
    return [*lines, f"file           {path.stat().st_size / 1e6:.2f} MB"]


def pixels(solver: ProgramSolver, benchmark: Benchmark, known: Sequence[JudgedSentence]) -> str:
    """The same items from their drawings, every permutation of the boxes: accuracy over the views."""
    labels = {item.id: bool(item.answer) for item in benchmark.items("dev", answers=True)}
    views = [
        (p.item.split("#")[0], a.truth)
        for p, a in predict(solver, benchmark, "dev", "pixels", every_view=True)
        if "#" in p.item
    ]
    structure = {p.item: a.truth for p, a in predict(solver, benchmark, "dev")}
    right = sum(labels[item] == truth for item, truth in views)
    same = sum(structure[item] == truth for item, truth in views)
    return f"pixels         accuracy {right / len(views):6.2%} over {len(views)} drawings; {same} as from the structure"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dev", metavar="WHAT_CHANGED", help="measure on dev, and log it with this description")
    note = parser.parse_args().dev
    if not DATA.is_dir():
        print(f"the real data is not here ({DATA}): nothing was measured")
        return
    with tempfile.TemporaryDirectory() as folder:
        train = Benchmark(import_release("nlvr", DATA / "train.json", Path(folder) / "train", split="train").benchmark)
        trained = list(examples(train, "train"))
        if note is None:
            trained, known = [e for e in trained if not held_out(e.group)], [e for e in trained if held_out(e.group)]
        else:
            dev = Benchmark(import_release("nlvr", DATA / "dev", Path(folder) / "dev", split="dev").benchmark)
            known = list(examples(dev, "dev"))
        start = time.perf_counter()
        solver = ProgramSolver().fit(trained)
        print(f"learned from {len(trained)} items in {time.perf_counter() - start:.1f} s")
        rates = speed(solver, known, Path(folder) / "solver.json")  # first: its sentences must not have been read
        lines = quality(solver, trained, known)
        if note is not None:
            lines.append(pixels(solver, dev, known))
        print("\n".join([*lines, *rates]))
        if note is not None:
            now = datetime.datetime.now(datetime.UTC)
            with LOG.open("a") as log:
                log.write(f"| {now:%Y-%m-%d %H:%M} | {note} | {'; '.join(' '.join(x.split()) for x in lines)} |\n")


if __name__ == "__main__":
    main()
