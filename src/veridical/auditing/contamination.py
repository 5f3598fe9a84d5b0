"""Has a model seen the benchmark? The canary in its files, and its texts in corpora that are given.

Membership is by n-grams of eight words (the whole text where it is shorter, down to five words): a corpus is read
once, line by line, and only hashes of the benchmark's n-grams are kept, so that corpora of any size can be searched.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from veridical.auditing.data import AuditData, normal
from veridical.auditing.findings import EXAMPLES, FAIL_LEAK, Finding, Verdict, WorstExample, not_applicable
from veridical.auditing.texts import words
from veridical.errors import UserError
from veridical.formats.card import canary
from veridical.options.running import AuditOptions

WORDS = 8  # of an n-gram that counts as a trace
LEAST_WORDS = 5  # shorter texts are found anywhere


def canary_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """The canary stands in the benchmark's files, and in no corpus."""
    title = "Canary"
    text = canary(data.benchmark.manifest)
    files = sorted(p for p in data.benchmark.directory.iterdir() if p.suffix in {".md", ".json", ".txt", ".yaml"})
    holders = [p.name for p in files if text.encode() in p.read_bytes()]
    found = [(str(path), n) for path in options.corpus for n, line in _lines(path) if text in line]
    verdict: Verdict = "fail" if found else "pass" if holders else "warn"
    says = f"The canary is in {', '.join(holders)}." if holders else "No file of the benchmark carries its canary."
    if found:
        says += f" It is also in a corpus: {found[0][0]}, line {found[0][1]:,}."
    elif options.corpus:
        says += " It is in none of the corpora."
    do = "Models trained on that corpus have seen the benchmark: do not score them." if found else ""
    if verdict == "warn":
        do = f"Put this line on the benchmark's card, so that its traces can be found: {text}"
    return Finding(
        name, title, verdict, says, float(len(found)), reference=0, unit="count", reference_name="none", do=do,
        examples=tuple(WorstExample(path, f"line {n:,}") for path, n in found[:EXAMPLES]), details={"canary": text},
    )  # fmt: skip


def membership_check(name: str, data: AuditData, options: AuditOptions) -> Finding:
    """Texts of the benchmark in the corpora given."""
    title = "Texts in corpora"
    if not options.corpus:
        return not_applicable(name, title, "No corpus was given: --corpus FILE searches one for the benchmark's texts.")
    texts = {t: r.item.id for r in data.rows for t in (r.query, *_own_texts(r.candidates, r.item.task)) if t}
    traces: dict[int, str] = {}
    searched = 0
    for text in texts:
        tokens = words(normal(text))
        if len(tokens) >= LEAST_WORDS:
            searched += 1
            for trace in _traces(tokens):
                traces.setdefault(trace, text)
    found: dict[str, str] = {}
    sizes = {min(WORDS, n) for n in range(LEAST_WORDS, WORDS + 1)}
    for path in options.corpus:
        for number, line in _lines(path):
            tokens = words(line)
            for size in sizes:
                for trace in _spans(tokens, size):
                    if trace in traces:
                        found.setdefault(traces[trace], f"{path}, line {number:,}")
    share = len(found) / max(searched, 1)
    verdict: Verdict = "fail" if share >= FAIL_LEAK else "warn" if found else "pass"
    says = f"{len(found):,} of {searched:,} texts of {LEAST_WORDS} words or more are in the corpora"
    says += f" (or {WORDS} words of them)."
    return Finding(
        name, title, verdict, says, share, reference=0.0, unit="share", reference_name="none",
        examples=tuple(WorstExample(texts[t], t, where) for t, where in list(found.items())[:EXAMPLES]),
        do="Do not score models trained on this corpus, or report the texts found apart." if found else "",
        details={"texts": searched, "found": len(found)},
    )  # fmt: skip


def _own_texts(candidates: Sequence[str], task: str) -> Sequence[str]:
    return candidates if task == "choice" else ()


def _traces(tokens: list[str]) -> Iterator[int]:
    return _spans(tokens, min(WORDS, len(tokens)))


def _spans(tokens: list[str], size: int) -> Iterator[int]:
    """Hashes of all spans of so many words; 64 bits, so that two are not mistaken for each other."""
    for i in range(len(tokens) - size + 1):
        span = " ".join(tokens[i : i + size]).encode()
        yield zlib.crc32(span) << 32 | zlib.crc32(span[::-1])


def _lines(path: Path | str) -> Iterator[tuple[int, str]]:
    """The lines of a text file, or of the strings in a JSON-lines file; .gz is read as it is."""
    opener = gzip.open if Path(path).suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                yield number, _plain(line)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}.", "Give --corpus a text file.") from None


def _plain(line: str) -> str:
    if not line.startswith("{"):
        return line
    try:
        row = json.loads(line)
    except ValueError:
        return line
    return " \n ".join(v for v in row.values() if isinstance(v, str)) if isinstance(row, dict) else line
