"""A V-PROM build with the answers of a human study: the options of the build that people saw."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from veridical.builders.collected import ANSWERS, read_collection
from veridical.errors import UserError
from veridical.options import filled
from veridical.options.building import VPROMOptions


def taken_over(options: VPROMOptions) -> VPROMOptions:
    """The options with those of the earlier build that its manifest says, and people's answers."""
    if options.judgements is not None:
        raise UserError("Both --from-collection and --judgements say what people answered.", "Give one of them.")
    found = read_collection(options.from_collection or "", "vprom")
    built: dict[str, Any] = dict(found.about.get("built", {}))
    source = built.pop("source", {})
    known: dict[str, Any] = {name: built[name] for name in ("schemes", "matrices", "seed") if name in built}
    if options.source == "icons" and str(source.get("source", "")).startswith("icons"):
        known |= {"images": source.get("count"), "categories": source.get("categories") or None}
    return replace(filled(options, known), judgements=str(found.path(ANSWERS)))
