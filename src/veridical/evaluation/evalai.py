"""EvalAI's interface to our benchmarks: `evaluate(test_annotation_file, user_submission_file, phase_codename)`.

EvalAI calls a function of this name with the path of one file of annotations. That file is a zip of a benchmark and its
hidden folder, which `pack` makes without pictures; a folder will do, too. A phase is the hidden split of its name.
"""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from veridical.benchmark import Benchmark
from veridical.benchmark.place import HIDDEN_MANIFEST, MANIFEST
from veridical.errors import UserError
from veridical.evaluation.scores import Scores
from veridical.evaluation.scores import evaluate as score

LARGEST = 4 << 30  # bytes that annotations may unpack to
_FIX = "Make it with `python -m veridical.evaluation.evalai DIR annotations.zip`."


def evaluate(
    test_annotation_file: str, user_submission_file: str, phase_codename: str, **kwargs: Any
) -> dict[str, Any]:
    """What EvalAI's workers call: the scores of a submission, in percent, as its leaderboards take them."""
    with opened(Path(test_annotation_file)) as benchmark:
        split = split_of(benchmark, phase_codename)
        found = score(benchmark, Path(user_submission_file), split=split)
    if found.missing.count or found.unreadable.count:
        raise UserError(
            f"{found.missing.count:,} predictions are missing, {found.unreadable.count:,} unreadable.",
            "Answer every item: a part of a hidden split is not scored.",
        )
    numbers = metrics(found)
    return {"result": [{split: numbers}], "submission_result": numbers}


def metrics(scores: Scores) -> dict[str, float]:
    """The columns of a leaderboard, in percent with one decimal."""
    found = scores.staged or {"accuracy": scores.accuracy, "consistency": scores.consistency}
    return {name: round(100 * one.value, 1) for name, one in found.items()}


def split_of(benchmark: Benchmark, phase: str) -> str:
    """The split that a phase is about: of its name, or the only hidden one."""
    hidden = [split for split in benchmark.splits if benchmark.is_hidden(split)]
    if phase in hidden:
        return phase
    if len(hidden) == 1:
        return hidden[0]
    raise UserError(f"No hidden split is called {phase!r}.", f"Name the phase after one of: {', '.join(hidden)}.")


@contextmanager
def opened(annotations: Path) -> Iterator[Benchmark]:
    """The benchmark of a file of annotations."""
    if annotations.is_dir():
        yield Benchmark(annotations)
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            with zipfile.ZipFile(annotations) as archive:
                if sum(member.file_size for member in archive.infolist()) > LARGEST:
                    raise UserError(f"{annotations} unpacks to more than {LARGEST >> 30} GB.", _FIX)
                archive.extractall(folder)
        except (zipfile.BadZipFile, OSError) as error:
            raise UserError(f"{annotations} cannot be unpacked: {error}.", _FIX) from None
        found = [path.parent for path in Path(folder).glob(f"*/{MANIFEST}")]
        if len(found) != 1:
            raise UserError(f"{annotations} holds {len(found)} benchmarks, and one was expected.", _FIX)
        yield Benchmark(found[0])


def pack(benchmark: Path | str, out: Path | str) -> Path:
    """Write a benchmark and its hidden folder as one file of annotations, without its pictures."""
    bench = Benchmark(benchmark)
    if not (bench.hidden_directory / HIDDEN_MANIFEST).is_file():
        raise UserError(f"{bench.hidden_directory} is not here.", "Annotations are what is hidden: put it beside.")
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in (bench.directory, bench.hidden_directory):
            for path in sorted(folder.iterdir()):
                if path.suffix in (".json", ".parquet"):
                    archive.write(path, f"{folder.name}/{path.name}")
    return Path(out)


if __name__ == "__main__":
    import sys

    print(pack(sys.argv[1], sys.argv[2]))
