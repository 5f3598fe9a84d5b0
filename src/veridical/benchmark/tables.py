"""Records as Arrow tables and back: the one place that knows the columns of a benchmark on disk.

Every column is a type that pyarrow, DuckDB, Polars and `datasets` all read: tags and attributes are lists of
(name, value) rather than maps, and a candidate is a text or a panel id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from veridical.records import Box, Item, Judgement, Pairs, Panel, Pruned, Ref, SceneObject, Text, View

_string, _strings = pa.string(), pa.list_(pa.string())
_box = pa.list_(pa.float64())
_pairs = pa.list_(pa.struct([("name", _string), ("value", _string)]))
_token = pa.struct([("word", _string), ("refs", _strings)])
_text = pa.struct([("raw", _string), ("tokens", pa.list_(_token))])
_candidate = pa.struct([("raw", _string), ("tokens", pa.list_(_token)), ("panel", _string)])
_object = pa.struct(
    [
        ("id", _string),
        ("category", _string),
        ("attributes", _pairs),
        ("box", _box),
        ("score", pa.float64()),
        ("polygons", pa.list_(pa.list_(pa.list_(pa.float64())))),
    ]
)

ITEMS = pa.schema(
    [
        ("id", _string),
        ("task", _string),
        ("panels", _strings),
        ("query", _text),
        ("candidates", pa.list_(_candidate)),
        ("answer", pa.int8()),
        ("group", _string),
        ("origins", _strings),
        ("views", pa.list_(pa.struct([("order", pa.list_(pa.int8())), ("image", _string)]))),
        ("parent", _string),
        ("given", pa.int8()),
        ("program", _string),
        ("writer", _string),
        ("tags", _pairs),
    ]
)
PANELS = pa.schema(
    [
        ("id", _string),
        ("image", _string),
        ("region", _box),
        ("width", pa.int32()),
        ("height", pa.int32()),
        ("objects", pa.list_(_object)),
        ("uri", _string),
        ("phash", _string),
    ]
)
# A verdict is a candidate index, or one of two words: kept as text, "0", "1", "nonsense", "skip".
JUDGEMENTS = pa.schema(
    [("item", _string), ("worker", _string), ("verdict", _string), ("kind", _string), ("time", pa.float64())]
)
# Where photographs came from; a panel is named after its photograph.
PHOTOGRAPHS = pa.schema([("id", _string), ("source", _string), ("uri", _string), ("licence", _string)])
PRUNED = pa.schema([("item", _string), ("reason", _string), ("stage", _string)])
# The original release: a row is a line of a text file (with its line ending), or a whole image file.
RAW = pa.schema([("file", _string), ("line", pa.large_binary()), ("image", _string)])
# What a hidden split keeps apart from its public items.
ANSWERS = pa.schema([("id", _string), ("answer", pa.int8()), ("program", _string), ("tags", _pairs)])

# Columns and fields that may have no value.
_OPTIONAL = frozenset(
    {"query", "answer", "group", "parent", "given", "program", "writer", "image", "region", "width", "height", "uri"}
    | {"phash", "box", "score", "time", "word", "raw", "panel", "line", "source", "licence"}
)
_LENGTHS = {"box": 4, "region": 4, "one of one of polygons": 2}
_FINITE = frozenset({"one of box", "one of region", "one of one of one of polygons", "score"})


def check_table(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with the types of `schema`, where it has them, all values it needs, and nothing is damaged in it.

    What is wrong otherwise is a `ValueError`: a benchmark may come from a stranger.
    """
    table.validate(full=True)
    fields = []
    for name in table.column_names:
        if name not in schema.names:
            raise ValueError(f"there is no column {name!r} in such a table")
        fields.append(schema.field(name))
    table = table.cast(pa.schema(fields))
    for field, column in zip(table.schema, table.columns, strict=True):
        for chunk in column.chunks:
            _check_values(field.name, chunk)
    return table


def _check_values(name: str, values: pa.Array) -> None:
    if values.null_count and name not in _OPTIONAL:
        raise ValueError(f"{name!r} has no value in {values.null_count:,} places")
    if name in _FINITE and pc.any(pc.invert(pc.is_finite(values))).as_py():
        raise ValueError(f"{name.removeprefix('one of ')!r} is not a number somewhere")
    if pa.types.is_list(values.type):
        expected = _LENGTHS.get(name)
        if expected and pc.any(pc.not_equal(pc.list_value_length(values), expected)).as_py():
            raise ValueError(f"{name!r} is not {expected} numbers")
        _check_values(f"one of {name}", values.flatten())
    elif pa.types.is_struct(values.type):
        known = values.drop_null()
        for place, field in enumerate(values.type):
            _check_values(field.name, known.field(place))


def check_laws(items: pa.Table, task: str) -> None:
    """What the columns of whole items must say together, so that whoever has the records need not ask.

    What they do not is a `ValueError`, which names an item.
    """
    choices = pc.list_value_length(items["candidates"])
    answer = pc.cast(items["answer"], pa.int32())
    candidates = pc.list_flatten(items["candidates"])
    text, panel = (pc.is_valid(pc.struct_field(candidates, name)) for name in ("raw", "panel"))
    whose = pc.list_parent_indices(items["candidates"])
    query = items["query"]
    broken = {
        f"its task is not {task}": pc.not_equal(items["task"], task),
        "it has fewer than two candidates": pc.less(choices, 2),
        "a statement is true or false": pc.and_(pc.equal(items["task"], "statement"), pc.not_equal(choices, 2)),
        "its answer is none of its candidates": pc.or_(pc.less(answer, 0), pc.greater_equal(answer, choices)),
        "its question has no text": pc.and_(pc.is_valid(query), pc.is_null(pc.struct_field(query, "raw"))),
    }
    for what, rows in broken.items():
        if pc.any(rows).as_py():
            raise ValueError(f"item {items['id'].filter(pc.fill_null(rows, False))[0]}: {what}")
    of_panels = pc.equal(items["task"].take(whose), "matrix")
    for rows in (pc.invert(pc.or_(text, panel)), pc.and_(of_panels, pc.invert(panel)), pc.and_(text, panel)):
        if pc.any(rows).as_py():
            raise ValueError(f"item {items['id'].take(whose.filter(rows))[0]}: a candidate is no text or no panel")
    _check_views(items)


def _check_views(items: pa.Table) -> None:
    """A view shows the item's panels, each once."""
    whose, views = pc.list_parent_indices(items["views"]), pc.list_flatten(items["views"])
    orders = pc.struct_field(views, "order")
    if not len(orders):
        return
    count = pc.list_value_length(items["panels"]).take(whose)
    places, owners = pc.list_flatten(orders), pc.list_parent_indices(orders)
    outside = pc.or_(pc.less(places, 0), pc.greater_equal(pc.cast(places, pa.int32()), count.take(owners)))
    for rows, who in ((pc.not_equal(pc.list_value_length(orders), count), whose), (outside, whose.take(owners))):
        if pc.any(rows).as_py():
            raise ValueError(f"item {items['id'].take(who.filter(rows))[0]}: a view is no order of its panels")


def items_table(items: Iterable[Item]) -> pa.Table:
    """Items as one table, in their order."""
    rows = [
        (
            *(i.id, i.task, i.panels),
            None if i.query is None else (i.query.raw, _tokens(i.query)),
            [(None, [], c) if isinstance(c, str) else (c.raw, _tokens(c), None) for c in i.candidates],
            *(i.answer, i.group, i.origins),
            [(v.order, v.image) for v in i.views],
            *(i.parent, i.given, i.program, i.writer, i.tags),
        )
        for i in items
    ]
    return _table(rows, ITEMS)


def items_from(table: pa.Table) -> Iterator[Item]:
    """The items of a table, in its order."""
    return (Item(**values) for values in item_values(table))


def item_values(table: pa.Table) -> Iterator[TableRow]:
    """The values of each item of a table, by the names of its fields."""
    for row in _rows(table):
        query = row["query"]
        row["query"] = None if query is None else Text(query["raw"], _tokens_from(query["tokens"]))
        row["candidates"] = tuple(
            c["panel"] if c["panel"] is not None else Text(c["raw"], _tokens_from(c["tokens"]))
            for c in row["candidates"]
        )
        row["panels"], row["origins"] = tuple(row["panels"]), tuple(row["origins"])
        row["views"] = tuple(View(tuple(v["order"]), v["image"]) for v in row["views"])
        row["tags"] = _pairs_from(row["tags"])
        yield row


def panels_table(panels: Iterable[Panel]) -> pa.Table:
    """Panels as one table, in their order."""
    rows = [
        (
            *(p.id, p.image, p.region, p.width, p.height),
            [(o.id, o.category, o.attributes, o.box, o.score, o.polygons) for o in p.objects],
            *(p.uri, p.phash),
        )
        for p in panels
    ]
    return _table(rows, PANELS)


def panels_from(table: pa.Table) -> Iterator[Panel]:
    """The panels of a table, in its order."""
    for row in _rows(table):
        row["region"] = _box_from(row["region"])
        for o in row["objects"]:
            o["attributes"], o["box"] = _pairs_from(o["attributes"]), _box_from(o["box"])
            o["polygons"] = tuple(tuple((x, y) for x, y in polygon) for polygon in o["polygons"])
        row["objects"] = tuple(SceneObject(**o) for o in row["objects"])
        yield Panel(**row)


def judgements_table(judgements: Iterable[Judgement]) -> pa.Table:
    """Judgements as one table."""
    return _table([(j.item, j.worker, str(j.verdict), j.kind, j.time) for j in judgements], JUDGEMENTS)


def judgements_from(table: pa.Table) -> Iterator[Judgement]:
    """The judgements of a table."""
    for row in _rows(table):
        verdict = row["verdict"]
        row["verdict"] = int(verdict) if verdict.isdecimal() else verdict
        yield Judgement(**row)


def pruned_table(pruned: Iterable[Pruned]) -> pa.Table:
    """What was removed, as one table."""
    return _table([(p.item, p.reason, p.stage) for p in pruned], PRUNED)


def _table(rows: Sequence[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    return pa.Table.from_arrays(
        [pa.array(column, type=field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )


TableRow = dict[str, Any]  # a row as Arrow gives it: a value for each column of its table


def _rows(table: pa.Table) -> Iterator[TableRow]:
    for batch in table.to_batches(max_chunksize=4096):
        yield from batch.to_pylist()


def _tokens(text: Text) -> list[tuple[str | None, tuple[str, ...]]]:
    return [(t, ()) if isinstance(t, str) else (None, t.objects) for t in text.tokens]


def _tokens_from(rows: list[TableRow]) -> tuple[str | Ref, ...]:
    return tuple(r["word"] if r["word"] is not None else Ref(tuple(r["refs"])) for r in rows)


def _pairs_from(rows: list[dict[str, str]]) -> Pairs:
    return tuple((r["name"], r["value"]) for r in rows)


def _box_from(row: list[float] | None) -> Box | None:
    return None if row is None else (row[0], row[1], row[2], row[3])
