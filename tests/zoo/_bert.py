"""A tiny untrained BERT that knows the words of the small questions."""

from __future__ import annotations

from pathlib import Path

import torch

WORDS = (
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "what", "is", "it", "looks", "red", "green", "blue", "white", "cup",
    "box", "casey",
)  # fmt: skip


def tiny_bert(folder: Path) -> Path:
    """A checkpoint of two layers; the same at every call."""
    from transformers import BertConfig, BertModel, BertTokenizer

    with torch.random.fork_rng():
        torch.manual_seed(0)
        small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
        none = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        config = BertConfig(vocab_size=len(WORDS), max_position_embeddings=32, **small, **none)
        BertModel(config).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    return folder
