"""`export lmms-eval`: a folder of tasks for lmms-eval, one for each split, with their data.

    NAME_SPLIT.yaml     the task: where its data are, and which functions of utils.py ask and score
    NAME.yaml           all of them as a group, where there are several
    utils.py            these functions: the file that stands beside this one, with all that it needs of ours in it
    data/               items as they are asked, pictures inside, in Parquet

Answers of hidden splits are not in it: such a task writes predictions for whoever has them.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from veridical.common import replies
from veridical.engine.progress import Progress
from veridical.formats.asked import AskedItem, asked, exporting, slug
from veridical.formats.hf import IMAGE, hub_schema

_ROWS = 100  # of a row group: they hold pictures
_SCHEMA = hub_schema(
    [
        ("id", pa.string()),
        ("of", pa.string()),  # the task
        ("images", pa.list_(IMAGE)),
        ("task", pa.string()),
        ("question", pa.string()),
        ("choices", pa.list_(pa.string())),
        ("answer", pa.int8()),  # empty where it is hidden
        ("group", pa.string()),
    ]
)
_USE = """# {title}: tasks for lmms-eval

{summary}

```console
python -m lmms_eval --include_path {folder} --tasks {first} --model ... --log_samples --output_path results
```

Tasks: {names}. `accuracy` is over all items; `consistency` is the share of groups of which all items are right. An
answer that cannot be read is wrong, and `answered` is the share of those that could be. Every run writes its
answers to `results/submissions/TASK.jsonl`, which `veridical evaluate` scores with intervals, and of splits whose
answers are hidden the publisher of the benchmark.

The tasks name their data by full paths: after moving this folder, run `python utils.py` in it.

Please keep this data out of training corpora: `{canary}`
"""


def export_lmms_eval(benchmark: Path | str, out: Path | str) -> None:
    """Write a folder of tasks."""
    with exporting(benchmark, out) as frame:
        source, folder = frame.source, frame.folder
        (folder / "data").mkdir()
        for name, (scheme, split) in frame.parts.items():
            grouped = _write_items(asked(source, scheme, split), folder / "data" / f"{name}.parquet", frame.progress)
            task = _task(name, frame.target / "data" / f"{name}.parquet", source.is_hidden(split), grouped)
            (folder / f"{name}.yaml").write_text(_yaml(task))
        if len(frame.parts) > 1:
            group = {"group": slug(source.name), "task": [*frame.parts]}
            (folder / f"{slug(source.name)}.yaml").write_text(_yaml(group))
        (folder / "utils.py").write_text(functions(), encoding="utf-8")
        frame.readme(_USE)


def functions() -> str:
    """The text of utils.py with the reader of replies in the place of its import: lmms-eval loads only one file."""
    own = Path(__file__).with_name("utils.py").read_text(encoding="utf-8")
    reader = inspect.getsource(replies).partition("from __future__ import annotations\n")[2]
    return own.replace("from veridical.common.replies import read\n", reader.lstrip("\n"))


def _write_items(items: Iterator[AskedItem], path: Path, progress: Progress) -> bool:
    """Write a split; gives whether its items are in groups."""
    grouped = False
    with pq.ParquetWriter(path, _SCHEMA, compression="zstd") as writer:
        rows: list[dict[str, object]] = []
        for one in items:
            rows.append(_row(one, path.stem))
            grouped |= one.item.group is not None
            if len(rows) == _ROWS:
                writer.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA))
                progress.advance(len(rows))
                rows = []
        writer.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA))
        progress.advance(len(rows))
    return grouped


def _row(one: AskedItem, name: str) -> dict[str, object]:
    return {
        "id": one.item.id,
        "of": name,
        "images": [{"bytes": picture.data, "path": None} for picture in one.pictures],
        "task": one.item.task,
        "question": one.question,
        "choices": one.choices,
        "answer": one.item.answer,
        "group": one.item.group,
    }


def _task(name: str, data: Path, hidden: bool, grouped: bool) -> dict[str, object]:
    """What lmms-eval must know of a split."""
    metrics = [*([] if hidden else ["accuracy"]), *(["consistency"] if grouped and not hidden else []), "answered"]
    return {
        "task": name,
        "dataset_path": "parquet",
        "dataset_kwargs": {"data_files": {"test": str(data)}},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_visual": _Function("doc_to_visual"),
        "doc_to_text": _Function("doc_to_text"),
        "doc_to_target": _Function("doc_to_target"),
        "process_results": _Function("process_results"),
        "generation_kwargs": {"max_new_tokens": 64, "temperature": 0, "do_sample": False},
        "metric_list": [
            {"metric": one, "aggregation": _Function(f"aggregate_{one}"), "higher_is_better": True} for one in metrics
        ],
        "metadata": [{"version": 1.0}],
    }


class _Function(str):
    """The name of a function of utils.py."""


def _yaml(value: Mapping[str, object]) -> str:
    """A document of YAML: every JSON text is YAML, and functions have a mark of their own."""
    return "".join(f"{key}: {_flow(one)}\n" for key, one in value.items())


def _flow(value: object) -> str:
    if isinstance(value, _Function):
        return f"!function utils.{value}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {_flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return json.dumps(value)
