"""What a benchmark is, in words: its title, one-paragraph summary, the paper behind it, and its canary.

All from the manifest, for the dataset card and the Croissant metadata.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Paper:
    """The paper that a benchmark comes from."""

    title: str
    authors: str
    venue: str
    year: int
    item: str  # what one item is

    def text(self) -> str:
        return f"{self.authors}. {self.title}. {self.venue}, {self.year}."

    def bibtex(self, key: str) -> str:
        names = self.authors.replace(", ", " and ")
        fields = {"title": self.title, "author": names, "booktitle": self.venue, "year": str(self.year)}
        lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
        return f"@inproceedings{{{key},\n{lines}}}\n"


PAPERS: dict[str, Paper] = {
    "nlvr": Paper(
        "A Corpus of Natural Language for Visual Reasoning",
        "Alane Suhr, Mike Lewis, James Yeh, Yoav Artzi",
        "ACL",
        2017,
        "a drawing of three boxes and a sentence: is it true or false?",
    ),
    "nlvr2": Paper(
        "A Corpus for Reasoning about Natural Language Grounded in Photographs",
        "Alane Suhr, Stephanie Zhou, Ally Zhang, Iris Zhang, Huajun Bai, Yoav Artzi",
        "ACL",
        2019,
        "two photographs and a sentence: is it true or false?",
    ),
    "vprom": Paper(
        "V-PROM: A Benchmark for Visual Reasoning Using Visual Progressive Matrices",
        "Damien Teney, Peng Wang, Jiewei Cao, Lingqiao Liu, Chunhua Shen, Anton van den Hengel",
        "AAAI",
        2020,
        "a 3x3 matrix of photographs whose ninth is missing: which of eight fits?",
    ),
    "vcr": Paper(
        "From Recognition to Cognition: Visual Commonsense Reasoning",
        "Rowan Zellers, Yonatan Bisk, Ali Farhadi, Yejin Choi",
        "CVPR",
        2019,
        "a photograph with tagged objects and a question: which of four answers is right, and which of four reasons?",
    ),
}
_CANARIES = uuid.UUID("0f6f1a52-7b0c-5c6e-9d0a-5b8e4c1a2f37")  # the namespace of all our canaries
_TASKS = {
    "statement": "Each item is a sentence about pictures: is it true or false?",
    "matrix": "Each item is a matrix of pictures with one missing: which candidate fits?",
    "choice": "Each item is a question about a picture: which candidate answers it?",
}


def builder_of(manifest: Mapping[str, Any]) -> str:
    """Which of the four systems a benchmark belongs to; empty where it is something else."""
    config = manifest["config"]
    for name in (config.get("format"), config.get("kind"), manifest["name"]):
        short = str(name or "").lower().replace("-", "").replace("_", "")
        if short in PAPERS:
            return short
    return ""


def title(manifest: Mapping[str, Any]) -> str:
    """The name for people; VCR is always spelt out, as other tools use the letters for something else."""
    name = str(manifest["name"])
    spelt = "visual commonsense reasoning (VCR)"
    if builder_of(manifest) != "vcr" or spelt.lower() in name.lower():
        return name
    return spelt if name.lower() == "vcr" else f"{name}: {spelt}"


def summary(manifest: Mapping[str, Any]) -> str:
    """One paragraph: what it is, how large, where from."""
    paper = PAPERS.get(builder_of(manifest))
    task = f"Each item is {paper.item}" if paper else _TASKS.get(str(manifest["task"]), "")
    counts = manifest["counts"]
    items = sum(sum(splits.values()) for splits in counts["items"].values())
    size = f"{_count(items, 'item')}, {_count(counts.get('images', 0), 'image')}."
    if manifest["official"]:
        origin = "The official release, imported by veridical."
    else:
        origin = f"Built by veridical {manifest['veridical']}" + (" after the paper cited." if paper else ".")
    return " ".join(part for part in (task, size, origin) if part)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def citation(manifest: Mapping[str, Any]) -> str:
    """BibTeX of the paper behind a benchmark."""
    short = builder_of(manifest)
    return PAPERS[short].bibtex(f"{short}{PAPERS[short].year}") if short else ""


def canary(manifest: Mapping[str, Any]) -> str:
    """A string in the card and the metadata, to search training data for: the same for every build of one config."""
    content = [manifest["name"], manifest["config"], manifest["seed"]]
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, default=str)
    return f"veridical:canary:{uuid.uuid5(_CANARIES, text)}"
