"""`veridical collect export`: what people did, as the folder of files that the builders read.

    statistics   who wrote, validated, pruned and relabelled; what it cost
    files        the files of each benchmark: sentences, questions, judgements, answers
    label_studio tasks and judgements as Label Studio has them, both ways

An export has no name of any person, and can be made at any time, as often as one likes. From outside: `export`.

    collection.json   what was collected, for which benchmark, and its statistics
    answers-all.jsonl everything that was said, by whom (w1, w2 ...) and when
    costs.json        what each kind of task cost, and how many people did it
    splits.json       which sets or presentations are held out
    ...               the files of the builder: `builders.collected` says which
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from veridical import __version__
from veridical.benchmark.place import staging
from veridical.builders.collected import COLLECTION, COSTS, FORMAT, SPLITS
from veridical.common.files import write_json, write_lines
from veridical.common.result import Result, Table
from veridical.errors import UserError
from veridical.web.collect.exporting import files
from veridical.web.collect.exporting.statistics import Statistics, costs, statistics
from veridical.web.collect.ledger import money
from veridical.web.collect.managing import state
from veridical.web.collect.store import Store

__all__ = ["Exported", "export"]


@dataclass(frozen=True)
class Exported(Result):
    """What an export wrote."""

    out: Path
    benchmark: str
    statistics: Statistics

    def to_json(self) -> dict[str, Any]:
        made: dict[str, Any] = msgspec.to_builtins(self.statistics)
        return {"out": str(self.out), "benchmark": self.benchmark, **made}

    def parts(self) -> list[Table | str]:
        found = self.statistics
        rows: list[tuple[object, ...]] = [
            (one.name, f"{one.tasks:,}", f"{one.answers:,}", f"{one.workers:,}", money(one.mills)) for one in found.work
        ]
        rest = found.mills - found.qualification - sum(one.mills for one in found.work)
        for name, mills in (("qualification", found.qualification), ("by hand", rest), ("platform fee", found.fee)):
            if mills:
                rows.append((name, "", "", "", money(mills)))
        answers, cost = sum(one.answers for one in found.work), money(found.mills + found.fee)
        rows.append(("all", "", f"{answers:,}", f"{found.workers:,}", cost))
        more: list[tuple[object, ...]] = [("sentences", f"{found.sentences:,}")]
        if found.per_sentence is not None:
            more.append(("cost of a sentence", money(round(found.per_sentence))))
        if found.relabelled is not None:
            more.append(("relabelled", f"{found.relabelled:.1%}"))
        more += [("workers blocked", f"{found.blocked:,}"), ("answers that do not count", f"{found.void:,}")]
        return [
            Table("", ("work", "tasks", "answers", "workers", "paid"), rows),
            Table("", ("", ""), more),
            f"Written: {self.out}. Next: `veridical build {self.benchmark} --from-collection {self.out} --out DIR`.",
        ]


def export(store: Store, name: str, project: Path, out: Path) -> Exported:
    """Write what people did for a project so far; `project` is its folder."""
    if out.exists():
        raise UserError(f"{out} is there already.", "Choose another folder.")
    with store.look(name) as tx:
        settings, found = tx.project, state(tx)
        counted = statistics(settings, found, tx.workers())
    with staging(out) as work:
        folder = work / "made"
        folder.mkdir(parents=True)
        said = files.Said.of(settings, found, project)
        files.write(said, folder)
        about: dict[str, object] = {
            "format": FORMAT,
            "version": __version__,
            "name": settings.name,
            "benchmark": settings.benchmark,
            "seed": settings.seed,
            "about": dict(settings.about),
            "statistics": msgspec.to_builtins(counted),
        }
        write_json(folder / COLLECTION, about, indent=1)
        write_json(folder / COSTS, costs(settings, found), indent=1)
        write_json(folder / SPLITS, said.splits(), indent=1)
        write_lines(folder / "answers-all.jsonl", map(files.line_of, found.answers))
        folder.rename(out)
    return Exported(out, settings.benchmark, counted)
