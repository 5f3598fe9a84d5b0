"""Tiny `transformers` checkpoints with random weights, and a small benchmark of drawn panels."""

from __future__ import annotations

import json
import os
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from veridical.benchmark import BenchmarkWriter
from veridical.records import TRUTH, Item, Panel, SceneObject, Text, View

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "dog", "cat", "two", "left", "##s", "."]


@pytest.fixture(autouse=True)
def _quiet_and_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIDICAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("VERIDICAL_PROGRESS", "0")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.delenv("VERIDICAL_WEIGHTS", raising=False)


def picture(seed: int, width: int = 60, height: int = 40) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 255, (height, width, 3), np.uint8)
    out = BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def write_panels(out: Path, images: int = 6, first: int = 0) -> Path:
    """Each image is shown whole, twice under two names, and as two crops; items of dev and test."""
    with BenchmarkWriter(out, name="panels", task="statement") as writer:
        for split, numbers in (("dev", range(images - 2)), ("test", range(images - 2, images))):
            items = []
            for n in numbers:
                address = writer.add_image(picture(first + n))
                view = writer.add_image(picture(1000 + first + n))
                thing = SceneObject("0", "dog", box=(2, 3, 12, 20))
                regions = {"whole": None, "again": None, "left": (0, 0, 30, 40), "right": (30.5, 0, 60, 40)}
                writer.add_panels(
                    Panel(f"{n}-{name}", address, region, objects=(thing,) if name == "right" else ())
                    for name, region in regions.items()
                )
                panels = tuple(f"{n}-{name}" for name in regions)
                items.append(Item(str(n), "statement", panels, Text("a dog"), TRUTH, 0, views=(View((0,), view),)))
            writer.add_items(split, items)
    return out


@pytest.fixture
def panels(tmp_path: Path) -> Path:
    return write_panels(tmp_path / "panels")


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a ResNet, a CLIP and a BERT, all tiny and untrained."""
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    import torch

    torch.set_num_threads(1)  # tests share the machine
    root = tmp_path_factory.mktemp("checkpoints")
    torch.manual_seed(0)
    resnet = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")
    transformers.ResNetModel(resnet).save_pretrained(root / "resnet")
    normal = {"image_mean": [0.5] * 3, "image_std": [0.25] * 3, "do_normalize": True, "do_rescale": True}
    save_settings(
        root / "resnet",
        "preprocessor_config.json",
        {"image_processor_type": "ConvNextImageProcessor", "size": {"shortest_edge": 32}, "crop_pct": 0.875, **normal},
    )
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    clip = transformers.CLIPConfig(
        text_config={**small, "vocab_size": len(WORDS), "max_position_embeddings": 8, "eos_token_id": 3},
        vision_config={**small, "image_size": 32, "patch_size": 16},
        projection_dim=12,
    )
    transformers.CLIPModel(clip).save_pretrained(root / "clip")
    save_settings(
        root / "clip",
        "preprocessor_config.json",
        {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": 32}, "crop_size": 32, **normal},
    )
    bert = transformers.BertConfig(vocab_size=len(WORDS), max_position_embeddings=16, **small)
    transformers.BertModel(bert).save_pretrained(root / "bert")
    for name in ("clip", "bert"):
        (root / name / "vocab.txt").write_text("\n".join(WORDS) + "\n")
        transformers.BertTokenizer(str(root / name / "vocab.txt")).save_pretrained(root / name)
    return root


def save_settings(folder: Path, name: str, value: dict[str, object]) -> None:
    (folder / name).write_text(json.dumps(value))


@pytest.fixture
def weights(checkpoints: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The checkpoints under names such as `tiny/resnet`."""
    root = checkpoints.parent / "weights"
    if not root.exists():
        root.mkdir()
        os.symlink(checkpoints, root / "tiny")
    monkeypatch.setenv("VERIDICAL_WEIGHTS", str(root))
    return root
