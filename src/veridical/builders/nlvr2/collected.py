"""An NLVR2 build from a collection: the steps that people did are put into the work folder, and their files named.

The sets that were held out while people judged stay held out: only their items have five judgements.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from veridical.benchmark.writer import file_hash
from veridical.builders.collected import (
    COLLECTION,
    COSTS,
    DULL,
    JUDGEMENTS,
    REMOVALS,
    SENTENCES,
    WORK,
    Collected,
    read_collection,
)
from veridical.builders.nlvr2.takedown import work_folder
from veridical.builders.nlvr2.work import Work
from veridical.common.files import read_json, write_json
from veridical.common.workplaces import copy_files
from veridical.errors import UserError
from veridical.options import filled, given_names
from veridical.options.building import NLVR2Options

HELD = "held_out.json"  # in the work folder: sets, whose items have extra judgements
MADE_FROM = "collection.json"  # the hashes of the export's files
_FILES = ("removals", "dull", "labels", "sentences", "judgements", "costs")


def taken_over(options: NLVR2Options, out: Path, work: Path | None) -> NLVR2Options:
    """The options with which a collection was begun, and its files; a work folder that goes on from its steps."""
    found = read_collection(options.from_collection or "", "nlvr2")
    for name in _FILES:
        if getattr(options, name) is not None:
            raise UserError(f"Both --from-collection and --{name} say what people did.", "Give one of them.")
    _go_on_from(found, work if work is not None else work_folder(Path(out).absolute()))
    about = found.about
    known = {"source": about["source"], "sets": about["sets"], "seed": found.seed}
    known |= {name: about[name] for name in ("synsets", "search") if about.get(name)}
    if about["source"] == "icons" and about["sets"] is None:
        known["sets"] = 100
    made = filled(options, {name: value for name, value in known.items() if name not in given_names(options)})
    removals, dull = (found.folder / name for name in (REMOVALS, DULL))
    return replace(
        made,
        removals=str(removals) if removals.is_file() else None,
        dull=str(dull) if dull.is_file() else None,
        sentences=str(found.path(SENTENCES)),
        judgements=str(found.path(JUDGEMENTS)),
        costs=str(found.path(COSTS)),
    )


def _go_on_from(found: Collected, place: Path) -> None:
    """A work folder with the steps that people did; one of an earlier export is made anew."""
    made_from = {name: file_hash(found.path(name)) for name in (COLLECTION, SENTENCES, JUDGEMENTS)}
    marker = place / MADE_FROM
    if place.exists() and any(place.iterdir()):
        if not marker.is_file():
            raise UserError(f"{place} is the work folder of another build.", "Choose another --out or --work.")
        if read_json(marker, dict[str, str], "what a work folder was made from", "Delete it.") == made_from:
            return
        shutil.rmtree(place)
    copy_files(found.path(WORK), place)
    write_json(place / HELD, sorted(name for name, split in found.splits().items() if split != "train"))
    write_json(marker, made_from)


def held_out(work: Work) -> frozenset[str] | None:
    """The sets that a collection held out; None where nobody said."""
    path = work.path(HELD)
    if not path.exists():
        return None
    return frozenset(read_json(path, list[str], "a list of sets that are held out", "Delete the work folder."))
