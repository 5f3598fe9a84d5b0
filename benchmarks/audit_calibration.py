"""How often the audit cries wolf, and how often it finds what is there.

    python benchmarks/audit_calibration.py [--seeds 40] [--groups 200] [--only frequency] [--cues 10] [--processes 2]

Clean benchmarks of many seeds (true/false items about pictures, questions with four answers, matrices): every warning
or failure is a false alarm. The same benchmarks with a cue that gives away five points of accuracy: every check meant
for it should warn or fail. For guessers the excess in standard errors is printed too: over clean benchmarks its
deviation should be about 1, or the errors are wrong.
"""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np

from veridical.auditing import CHECKS, Finding
from veridical.auditing.run import run_check
from veridical.benchmark import Benchmark
from veridical.engine import run
from veridical.options import Workers
from veridical.options.running import AuditOptions

MAKERS = Path(__file__).resolve().parents[1] / "tests" / "auditing" / "_benchmarks.py"
KINDS = {"statements": 1, "questions": 3, "matrices": 1}  # the size of each, in groups
# what is planted -> (kind, arguments, checks that are for it)
CUES = {
    "a colour word": ("statements", {"colour_word": 0.6}, ("text-only", "n-grams")),
    "a longer answer": ("questions", {"longer": 0.07}, ("length",)),
    "the first place": ("questions", {"first": 0.07}, ("position",)),
    "a repeated question": ("questions", {"repeating": 0.07}, ("overlap",)),
    "a popular answer": ("questions", {"popular": 0.07}, ("frequency",)),
    "a richer candidate": ("matrices", {"odd": 0.06}, ("response-only", "elements")),
}


def makers() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit_benchmarks", MAKERS)
    if spec is None or spec.loader is None:
        raise ImportError(str(MAKERS))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def one(groups: int, task: tuple[str, dict[str, float], tuple[str, ...], int]) -> list[Finding]:
    """Make one benchmark, and run some checks on it; controls have no part in an alarm."""
    kind, planted, checks, seed = task
    make: Callable[..., Path] = getattr(makers(), kind)
    with tempfile.TemporaryDirectory() as folder:
        path = make(Path(folder) / "b", groups * KINDS[kind], seed=seed, **planted)
        hash_ = Benchmark(path).hash
        return [run_check(str(path), hash_, AuditOptions(seed=seed, controls=False), name) for name in checks]


def false_alarms(found: Sequence[list[Finding]], kind: str) -> int:
    """Print them check by check; how many benchmarks had any."""
    bad: Counter[str] = Counter()
    excess: dict[str, list[float]] = {}
    seen: dict[str, Counter[str]] = {}
    for findings in found:
        for f in findings:
            seen.setdefault(f.check, Counter())[f.verdict] += 1
            bad[f.check] += f.verdict in ("warn", "fail")
            if f.details.get("error"):
                excess.setdefault(f.check, []).append(f.details["excess"]["value"] / f.details["error"])
    print(f"\n{kind}: {len(found)} clean benchmarks")
    for check, verdicts in seen.items():
        if set(verdicts) == {"not applicable"}:
            continue
        z = np.array(excess.get(check, []))
        spread = (
            f"excess in errors: mean {z.mean():+.2f}, deviation {z.std():.2f}, most {z.max():+.2f}" if len(z) else ""
        )
        print(f"  {check:18} false alarms {bad[check]:3}   {spread}")
    return sum(any(f.verdict in ("warn", "fail") for f in findings) for findings in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--groups", type=int, default=200)
    parser.add_argument("--large", type=int, default=600, help="groups of the benchmarks with cues")
    parser.add_argument("--cues", type=int, default=10, help="benchmarks with each planted cue")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--only", nargs="*", default=list(CHECKS), help="these checks")
    parser.add_argument("--skip", nargs="*", default=[])
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    start = time.perf_counter()
    checks = tuple(c for c in options.only if c not in options.skip)
    work = partial(one, options.groups)
    wrong = total = 0
    for kind in options.kinds:
        tasks = [(kind, {}, checks, 100 + seed) for seed in range(options.seeds)]
        found = list(run(work, tasks, workers=Workers(options.processes), label=kind, total=len(tasks)))
        wrong += false_alarms(found, kind)
        total += len(found)
    print(f"\nclean benchmarks with any false alarm: {wrong} of {total} ({100 * wrong / max(total, 1):.1f}%)")
    for cue, (kind, planted, meant, *_) in CUES.items():
        if kind not in options.kinds or not options.cues:
            continue
        meant = tuple(c for c in meant if c in checks)
        tasks = [(kind, planted, meant, 500 + seed) for seed in range(options.cues) if meant]
        large = partial(one, options.large)
        found = list(run(large, tasks, workers=Workers(options.processes), label=cue, total=len(tasks)))
        for place, check in enumerate(meant):
            hits = sum(findings[place].verdict in ("warn", "fail") for findings in found)
            won = np.mean([findings[place].advantage or 0.0 for findings in found])
            print(f"  {cue:22} {check:15} found in {hits} of {len(found)}, mean advantage {100 * won:.1f}%")
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
