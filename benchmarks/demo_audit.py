"""Do the four benchmarks of `veridical demo` pass the full audit? Built as the demo builds them, every check is run.

    python benchmarks/demo_audit.py [--only vcr] [--neural] [--work DIR] [--processes 1]

The demo leaves out nothing but the zoo's blind networks, which take longer than all else: `--neural` tries them, too.
Prints every finding that is not a plain pass; exit code 1 where a check fails. In --work audits are kept, and not made
again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import veridical
from veridical.api.demo import Course, courses
from veridical.auditing.findings import ORDER
from veridical.auditing.run import NEURAL
from veridical.options import Workers


def audited(course: Course, work: Path, checks: tuple[str, ...], workers: Workers) -> dict[str, Any]:
    """The audit of one benchmark as JSON: of these checks, or of all that are run unless told otherwise."""
    folder = work / course.builder
    page = work / f"{course.builder}-{'neural' if checks else 'audit'}.html"
    if not (folder / "benchmark.json").exists():
        veridical.build(course.builder, folder, seed=0, **course.build)
    if not page.with_suffix(".json").exists():
        veridical.audit(folder, page, check=checks, scheme=course.scheme, seed=0, workers=workers)
    found: dict[str, Any] = json.loads(page.with_suffix(".json").read_text())
    return found


def show(name: str, found: dict[str, Any]) -> bool:
    """Print what came out; whether nothing failed."""
    counts = {verdict: number for verdict, number in found["counts"].items() if number}
    print(
        f"{name}: {', '.join(f'{number} {verdict}' for verdict, number in counts.items())} ({found['seconds']:.0f} s)"
    )
    for one in sorted(found["findings"], key=lambda one: ORDER.index(one["verdict"])):
        if one["verdict"] not in ("pass", "not applicable"):
            print(f"  {one['verdict']:12} {one['title']}: {one['says']}", flush=True)
    return not counts.get("fail")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=[course.builder for course in courses()])
    parser.add_argument("--neural", action="store_true", help="the zoo's blind networks, too")
    parser.add_argument("--work", type=Path, help="kept and continued, where given")
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    workers, passed = Workers(processes=given.processes), True
    with tempfile.TemporaryDirectory() as temporary:
        for course in courses():
            if given.only and course.builder not in given.only:
                continue
            for checks in ((), tuple(NEURAL)) if given.neural else ((),):
                found = audited(course, given.work or Path(temporary), checks, workers)
                passed &= show(f"{course.builder}{', neural' if checks else ''}", found)
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    os.environ.setdefault("VERIDICAL_PROGRESS", "0")
    main()
