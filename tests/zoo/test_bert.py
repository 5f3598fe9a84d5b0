"""BERT: what it reads, and that frozen layers stay as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.training.batches import examples_of
from veridical.zoo.bert import BERT, BERTConfig, Pieces, text_encoder

from . import _tagged as tagged
from ._bert import WORDS, tiny_bert


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tagged.write(tmp_path_factory.mktemp("bert") / "boxes", 5)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_bert(tmp_path_factory.mktemp("tiny") / "bert"))


def test_question_and_response_are_read_together_or_the_response_alone(folder: Path, tiny: str) -> None:
    bench = Benchmark(folder)
    example = examples_of(bench, bench.items("train"))[0]
    for query in (True, False):
        source = Pieces(tiny, query)
        source.learn([example])
        found = source.encode(example)  # (4, T, 2)
        first = [WORDS[piece - 1] for piece in found[0, :, 0].tolist() if piece]
        thing = "cup" if "cup" in first else "box"
        asked = ["what", "is", thing, "[SEP]"] if query else []
        assert first == ["[CLS]", *asked, thing, "is", "red", "[SEP]"]
        assert set(found[0, :, 1].tolist()) == ({0, 1} if query else {0})


def test_frozen_layers_do_not_learn(tiny: str) -> None:
    module = BERT(BERTConfig(words=tiny, frozen=1), {})
    pieces = torch.tensor([[[[3, 0], [10, 0], [4, 0]], [[3, 0], [11, 0], [4, 0]]]])
    torch.nn.functional.cross_entropy(module(pieces), torch.tensor([0])).backward()
    learning = {name for name, parameter in module.named_parameters() if parameter.grad is not None}
    assert any("layer.1." in name for name in learning)
    assert not any("layer.0." in name or "embeddings" in name for name in learning)


def test_more_layers_than_there_are_cannot_be_frozen(tiny: str) -> None:
    BERT(BERTConfig(words=tiny, frozen=2), {})
    with pytest.raises(UserError, match=r"frozen is 3, and .* has 2 layers"):
        BERT(BERTConfig(words=tiny, frozen=3), {})


def test_what_cannot_be_fine_tuned_is_refused() -> None:
    with pytest.raises(UserError, match="no encoder that can be fine-tuned"):
        text_encoder("glove")
