"""Taking photographs down: the same benchmark without some of them, and without every item that shows one.

Somebody's photograph may have to go long after a benchmark was published. A list names photographs by address, id or
content; what is left is written anew, so that hashes, counts and the hidden part stay true.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.benchmark.place import replacing
from veridical.builders.nlvr2.work import Seen
from veridical.common.files import Json, text_lines, write_whole
from veridical.common.result import Result, Table
from veridical.errors import UserError
from veridical.formats.card import describe
from veridical.records import Pruned

REASON = "photograph taken down"
LIST = "takedown.txt"  # in the work folder: what later builds leave out, too


@dataclass(frozen=True)
class TakedownReport(Result):
    """What was taken down and what is left."""

    out: Path
    photographs: int  # taken down
    unknown: tuple[str, ...]  # names of the list that the benchmark does not have
    items_removed: int
    items: dict[str, int]  # split -> items that are left
    images: int  # that are left
    groups_without_item: int  # sentences of which no item is left
    kept_in: Path  # the list that later builds leave out

    def parts(self) -> Iterator[Table | str]:
        rows = [("photographs taken down", f"{self.photographs:,}"), ("items removed", f"{self.items_removed:,}")]
        rows += [("sentences without an item", f"{self.groups_without_item:,}")]
        rows += [(f"items left, {name}", f"{count:,}") for name, count in self.items.items()]
        yield Table("", ("what", "count"), [*rows, ("images left", f"{self.images:,}")])
        yield from (f"Not in the benchmark: {name}" for name in self.unknown)
        yield f"Later builds leave them out, too: they are listed in {self.kept_in}."


def takedown(
    benchmark: Path | str,
    photographs: Path | str | Iterable[str],
    out: Path | str | None = None,
    work: Path | str | None = None,
) -> TakedownReport:
    """Write a benchmark without some photographs, named in a file (one a line) or a list; in its place unless `out`.

    A photograph is named by its address, its panel's id or its picture's content address. Where answers are hidden, the
    hidden folder must be here: its part is written anew, too. The list is kept in the work folder (`OUT.work` unless
    given), so that later builds leave these photographs out as well.
    """
    opened = Benchmark(benchmark)
    names = _names(photographs)
    panels = opened.panels_table(hidden=True)
    gone, unknown = _find(panels, names)
    if not gone:
        raise UserError("The benchmark has none of these photographs.", "Name them by address, id or content address.")
    target = Path(os.path.abspath(out)) if out is not None else opened.directory
    # before anything else: where this is stopped, no later build shows them
    kept = remember(Path(work) if work is not None else work_folder(target), [*names, *sorted(gone)])
    manifest = opened.manifest
    config = dict(manifest["config"])
    config["takedowns"] = int(config.get("takedowns", 0)) + len(gone)
    with (
        replacing(out is None),
        BenchmarkWriter(  # in its place: that is what is asked for
            target,
            name=manifest["name"],
            task=manifest["task"],
            config=config,
            seed=manifest["seed"],
            licence=manifest["licence"],
            hidden=manifest["hidden"],
            hide_objects=bool(manifest.get("hide_objects")),
            official=manifest["official"],
            describe=describe,
        ) as writer,
    ):
        removed, groups = _keep_items(opened, writer, gone)
        _copy(opened, writer, panels, gone, removed)
    made = Benchmark(target)
    items = {split: n for splits in made.manifest["counts"]["items"].values() for split, n in splits.items()}
    return TakedownReport(
        made.directory, len(gone), unknown, len(removed), items, made.manifest["counts"]["images"], groups, kept
    )


def _keep_items(opened: Benchmark, writer: BenchmarkWriter, gone: set[str]) -> tuple[list[str], int]:
    """Write the items that show none of the photographs; those that do, and how many groups lost all of theirs."""
    removed: list[str] = []
    groups: set[str] = set()
    for scheme, split in opened.parts:
        table = opened.items_table(split, scheme, answers=opened.is_hidden(split))
        shown = table.select(["panels", "candidates"]).to_pylist()
        shows = pa.array([_shows(row["panels"], row["candidates"], gone) for row in shown])
        left = table.filter(pc.invert(shows))
        if not len(left):
            raise UserError(f"No item of {split} would be left.", "Build the benchmark again instead.")
        removed += table.filter(shows)["id"].to_pylist()
        groups |= set(table["group"].to_pylist()) - set(left["group"].to_pylist())
        writer.add_items(split, left, scheme)
    return removed, len(groups)


def work_folder(out: Path) -> Path:
    """Where a build's steps are kept unless told otherwise."""
    return out.with_name(f"{out.name}.work")


def remember(work: Path, names: Iterable[str]) -> Path:
    """Add photographs to those that builds with this work folder leave out."""
    work.mkdir(parents=True, exist_ok=True)
    path = work / LIST
    known = dict.fromkeys([*(_names(path) if path.exists() else ()), *names])
    write_whole(path, "".join(f"{name}\n" for name in known).encode("utf-8", "surrogateescape"))
    return path


def taken_down(work: Path, seen: Iterable[Seen]) -> set[str]:
    """The photographs that were taken down from a build with this work folder, by id or address."""
    path = work / LIST
    gone = set(_names(path)) if path.exists() else set()
    return {one.id for one in seen if one.id in gone or one.uri in gone} if gone else set()


def _shows(panels: list[str], candidates: list[Json] | None, gone: set[str]) -> bool:
    return not gone.isdisjoint([*panels, *(one.get("panel") for one in candidates or ())])


def _copy(opened: Benchmark, writer: BenchmarkWriter, panels: pa.Table, gone: set[str], removed: list[str]) -> None:
    """Everything but the items."""
    stays = panels.filter(pc.invert(pc.is_in(panels["id"], value_set=pa.array(sorted(gone)))))
    for address in dict.fromkeys(stays["image"].drop_null().to_pylist()):
        writer.add_image(opened.image(address).to_pybytes())
    writer.add_panels(stays)
    origins = opened.photographs_table()
    if len(origins):
        writer.add_photographs(origins.filter(pc.is_in(origins["id"], value_set=stays["id"].combine_chunks())))
    writer.add_judgements(opened.judgements_table(hidden=True))
    before = [Pruned(row["item"], row["reason"], row["stage"]) for row in opened.pruned_table().to_pylist()]
    writer.add_pruned([*before, *(Pruned(name, REASON, "takedown") for name in removed)])
    secret = opened.hidden_directory / "secret.txt"
    if opened.manifest["hidden"] and secret.exists():
        writer.add_hidden_file(secret.name, secret.read_bytes())


def _names(photographs: Path | str | Iterable[str]) -> list[str]:
    if isinstance(photographs, Path | str):
        photographs = text_lines(Path(photographs), "Give a file with a photograph a line.")
    names = [name.strip() for name in photographs if name.strip()]
    if not names:
        raise UserError("The list names no photograph.", "Give an address, an id or a content address a line.")
    return list(dict.fromkeys(names))


def _find(panels: pa.Table, names: list[str]) -> tuple[set[str], tuple[str, ...]]:
    """The panels to take down, with all others that show the same picture; and names that are not known."""
    by_name: dict[str, set[str]] = {}
    pictures: dict[str, set[str]] = {}
    for id_, image, uri in zip(*(panels[c].to_pylist() for c in ("id", "image", "uri")), strict=True):
        for name in filter(None, (id_, image, uri)):
            by_name.setdefault(name, set()).add(id_)
        if image:
            pictures.setdefault(image, set()).add(id_)
    gone = {id_ for name in names for id_ in by_name.get(name, ())}
    gone |= {id_ for same in pictures.values() if same & gone for id_ in same}
    return gone, tuple(name for name in names if name not in by_name)
