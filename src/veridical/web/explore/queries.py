"""How things are said to DuckDB: names and paths quoted, filters as conditions, texts as they are searched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from veridical.errors import UserError
from veridical.web.explore.facets import Facet
from veridical.web.explore.filters import ItemFilter

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MEMORY = "160MB"  # that DuckDB may take; what is more lies in the temporary folder
_TAGS = "array_to_string(list_transform(one.refs, lambda ref: named.names[ref]), ' ')"
_WORDS = f"array_to_string(list_transform({{0}}.tokens, lambda one: coalesce(one.word, {_TAGS})), ' ')"
TEXT = f"CASE WHEN len({{0}}.tokens) > 0 THEN {_WORDS} ELSE {{0}}.raw END"


def connect(folder: str) -> DuckDBPyConnection:
    import duckdb

    settings: dict[str, Any] = {
        "threads": 2,
        "memory_limit": MEMORY,
        "temp_directory": folder,
        "autoinstall_known_extensions": False,
    }
    return duckdb.connect(":memory:", config=settings)


def worded(wanted: ItemFilter) -> str:
    return " AND ".join(["true", *("contains(text, lower(?))" for _ in wanted.words)])


def unnested(facet: Facet) -> str:
    return f"unnest({facet.column})" if facet.several else facet.column


def listed(numbers: Sequence[int]) -> str:
    """Numbers for DuckDB; at least one, which is no row."""
    return ", ".join(["-1", *(str(int(number)) for number in numbers)])


def tag_column(facet: Facet) -> str:
    """The values of a tag as places: a list, or the only one."""
    named = f"list_filter(tags, lambda t: t.name = {literal(facet.tag or '')})"
    place = f"enum_code(t.value::values_{facet.column})::INTEGER"
    found = f"list_transform({named}, lambda t: {place})"
    return f"list_distinct({found})" if facet.several else f"{found}[1]"


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def quoted(path: Path) -> str:
    """A path for DuckDB, in which nothing is a pattern."""
    return literal("".join(f"[{c}]" if c in "*?[" else c for c in str(path)))


@contextmanager
def in_words(directory: Path) -> Iterator[None]:
    import duckdb

    try:
        yield
    except (duckdb.Error, pa.ArrowException, ValueError) as error:
        raise _damaged(directory, error) from None


def _damaged(directory: Path, error: Exception) -> UserError:
    said = str(error).splitlines()[0]
    return UserError(f"{directory} cannot be read: {said}", "Run `veridical check` on it, then build it again.")
