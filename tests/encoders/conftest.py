"""Tiny `transformers` checkpoints with random weights, and a small benchmark of drawn panels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ._panels import write_panels

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "dog", "cat", "two", "left", "##s", "."]


@pytest.fixture(autouse=True)
def _quiet_and_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIDICAL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("VERIDICAL_PROGRESS", "0")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.delenv("VERIDICAL_WEIGHTS", raising=False)


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
        (root / "tiny").symlink_to(checkpoints)
    monkeypatch.setenv("VERIDICAL_WEIGHTS", str(root))
    return root
