"""Items as a table of pandas, one row for each, by id: their words as people read them, their answers and tags."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from veridical.benchmark.item import BenchmarkItem
from veridical.errors import missing_extra

if TYPE_CHECKING:
    import pandas as pd

NUMBERS = ("answer", "given")  # whole numbers, some of them not known


def frame(parts: Iterable[tuple[str, Iterable[BenchmarkItem]]]) -> pd.DataFrame:
    """A table of the items of some splits. A tag is a column; several values of it are joined with commas."""
    try:
        import pandas as pd
    except ImportError:
        raise missing_extra("pandas", "notebook") from None
    rows = [_row(split, item) for split, items in parts for item in items]
    made = pd.DataFrame(rows, columns=list(dict.fromkeys(name for row in rows for name in row)) or ["id"])
    for name in NUMBERS:
        if name in made:
            made[name] = made[name].astype("Int64")
    return made.set_index("id")


def _row(split: str, item: BenchmarkItem) -> dict[str, Any]:
    row: dict[str, Any] = {"id": item.id, "split": split, "text": item.text, "choices": item.choices}
    row |= {"answer": item.answer, "label": item.label, "group": item.group, "pictures": len(item.panels)}
    if item.parent is not None or item.given is not None:
        row |= {"parent": item.parent, "given": item.given}
    tags: dict[str, list[str]] = {}
    for name, value in item.tags:
        tags.setdefault(name, []).append(value)
    return row | {name if name not in row else f"tag_{name}": ", ".join(values) for name, values in tags.items()}
