"""The whole audit on real NLVR (12,408 + 989 items): how long it takes, and whether it finds what is known.

    python benchmarks/audit_nlvr.py [--processes 2] [--out audit-nlvr.html]

Wall time must stay under 15 minutes on 2 cores; processor time is printed too, since other work on the machine
disturbs the wall clock. The known facts are those of the paper and of the files: majority 56.4 / 55.3, single-label
presentations 409 of 3,163 and 21 of 267, 96 shared sentence strings, text-only a little above majority.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from pathlib import Path

from veridical import audit
from veridical.formats.releases import import_release

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "nlvr"
LIMIT = 15 * 60  # seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if not DATA.is_dir():
        print(f"{DATA} is not here: nothing to measure")
        return
    with tempfile.TemporaryDirectory() as folder:
        import_release("nlvr", DATA, Path(folder) / "nlvr")
        out = options.out or Path(folder) / "audit.html"
        start = time.perf_counter()
        found = audit(Path(folder) / "nlvr", out=out, processes=options.processes)
        wall = time.perf_counter() - start
    found.show()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(u.ru_utime + u.ru_stime for u in used)
    print(f"wall {wall:.0f} s ({wall / LIMIT:.2f} of the limit), processor time {cpu:.0f} s")
    for f in sorted(found.findings, key=lambda f: -f.seconds)[:5]:
        print(f"  {f.check:18}{f.seconds:7.1f} s")
    labels = {name: number for name, number, *_ in found.finding("label").parts}
    single = " ".join(name for name, *_ in found.finding("single-label").parts)
    text = found.finding("text-only")
    facts = {
        f"majority {100 * labels['train']:.1f} / {100 * labels['dev']:.1f}": [round(100 * labels[s], 1) for s in labels]
        == [56.4, 55.3],
        f"single-label presentations {single}": "409 of 3,163" in single and "21 of 267" in single,
        f"shared strings {found.finding('text-leak').details['exact']}": found.finding("text-leak").details["exact"]
        == 96,
        f"text-only {100 * (text.number or 0):.1f} over {100 * (text.reference or 0):.1f}": text.verdict == "warn",
    }
    for fact, holds in facts.items():
        print(f"  {'as known' if holds else 'NOT AS KNOWN'}: {fact}")
    if not all(facts.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
