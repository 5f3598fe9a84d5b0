"""A profile of the language: sentence lengths and vocabulary, of a benchmark or of any file of sentences.

A token is a word (letters and digits, with inner apostrophes and hyphens) or one punctuation mark: this gives 11.20 on
NLVR's two public splits, where the paper has 11.22 over all four. The mean in words alone is reported beside it. A
sentence counts once for each group it belongs to, as the papers count theirs, however many images it was paired with.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veridical.benchmark import Benchmark
from veridical.common.files import Json, text_lines
from veridical.errors import UserError

_TOKEN = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")
_WORD = re.compile(r"\w")
MOST_COMPARED = 12  # files
_GIVE = "Give a text file, one sentence per line."


@dataclass(frozen=True)
class Lengths:
    """How long the sentences of a corpus are, and how many word types they use."""

    name: str
    sentences: int
    distinct: int  # different sentences
    mean: float | None  # tokens: words and punctuation marks
    words: float | None  # the mean in words alone
    median: float | None
    longest: int
    vocabulary: int  # word types, lower case, without punctuation
    histogram: dict[int, int] = field(default_factory=dict)  # tokens -> sentences


def tokens(sentence: str) -> list[str]:
    """Words and punctuation marks.

    >>> tokens("The dog's tail isn't up, it's half-way.")
    ['The', "dog's", 'tail', "isn't", 'up', ',', "it's", 'half-way', '.']
    """
    return _TOKEN.findall(sentence)


def profile(name: str, sentences: Iterable[str | Sequence[str | None]]) -> Lengths:
    """Lengths of sentences given as strings or as tokens; None is a token without a word (a reference to an object).

    >>> found = profile("two", ["A dog.", "A big dog runs."])
    >>> found.mean, found.words, found.vocabulary
    (4.0, 3.0, 4)
    """
    times: Counter[str | tuple[str | None, ...]] = Counter(s if isinstance(s, str) else tuple(s) for s in sentences)
    lengths: Counter[int] = Counter()
    vocabulary: set[str] = set()
    words = 0
    for sentence, number in times.items():
        found = tokens(sentence) if isinstance(sentence, str) else sentence
        spoken = [token.lower() for token in found if token is not None and _WORD.search(token)]
        vocabulary.update(spoken)
        lengths[len(found)] += number
        words += number * (len(spoken) + sum(token is None for token in found))
    total = lengths.total()
    spread = np.repeat(np.array(list(lengths), np.int64), list(lengths.values())) if total else np.empty(0, np.int64)
    return Lengths(
        name=name,
        sentences=total,
        distinct=len(times),
        mean=float(spread.mean()) if total else None,
        words=words / total if total else None,
        median=float(np.median(spread)) if total else None,
        longest=int(spread.max(initial=0)),
        vocabulary=len(vocabulary),
        histogram=dict(sorted(lengths.items())),
    )


def benchmark_lengths(
    benchmark: Benchmark, splits: tuple[str, ...], scheme: str = "main", *, hidden: bool = False
) -> dict[str, Lengths]:
    """Profiles of the benchmark's texts: sentences or questions, and the right answers and rationales where chosen."""
    columns = ["id", "query", "group", "parent", "given"]
    columns += ["candidates", "answer"] if benchmark.task == "choice" else []
    table = pa.concat_tables([benchmark.items_table(split, scheme, columns, answers=hidden) for split in splits])
    table = table.filter(pc.is_valid(table["query"]))
    if not table.num_rows:
        return {}
    if benchmark.task != "choice":  # a sentence for each group it is in; for every item where there are no groups
        both = {"key": pc.coalesce(table["group"], table["id"]), "raw": pc.struct_field(table["query"], "raw")}
        sentences = pa.table(both).group_by(["key", "raw"]).aggregate([])["raw"].to_pylist()
        return {"query": profile(benchmark.name, sentences)}
    return {name: profile(f"{benchmark.name} {name}s", texts) for name, texts in _choices(table).items() if texts}


def _choices(table: pa.Table) -> dict[str, list[str | list[str | None]]]:
    """Questions, right answers, and right rationales of right answers, each once per question."""
    out: dict[str, list[str | list[str | None]]] = {"question": [], "answer": [], "rationale": []}

    def words(text: Json) -> str | list[str | None]:
        return [token["word"] for token in text["tokens"]] if text["tokens"] else text["raw"]

    answers = dict(zip(table["id"].to_pylist(), table["answer"].to_pylist(), strict=True))
    for batch in table.to_batches(max_chunksize=4096):
        for row in batch.to_pylist():
            if row["parent"] is None:
                out["question"].append(words(row["query"]))
            elif answers.get(row["parent"]) is None or row["given"] != answers[row["parent"]]:
                continue
            if row["answer"] is not None:
                right = row["candidates"][row["answer"]]
                out["answer" if row["parent"] is None else "rationale"].append(words(right))
    return out


def read_sentences(path: Path) -> list[str]:
    """The sentences of a text file, one per line; empty lines are skipped."""
    found = text_lines(path, _GIVE)
    if not found:
        raise UserError(f"{path} has no sentences.", _GIVE)
    return found


def compare_lengths(paths: Sequence[Path]) -> tuple[Lengths, ...]:
    """Profiles of sentence files, to set beside a benchmark's (NLVR's figure 3, NLVR2's figure 3)."""
    if len(paths) > MOST_COMPARED:
        raise UserError(f"{len(paths)} files to compare are more than {MOST_COMPARED}.", "Compare fewer at a time.")
    return tuple(profile(Path(path).stem, read_sentences(Path(path))) for path in paths)
