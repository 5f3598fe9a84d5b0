"""Local weights: a tiny randomly initialised vision-language model in a folder, asked through `hf/`."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra `vlm`")
pytest.importorskip("torch", reason="needs the extra `models`")
pytest.importorskip("transformers", reason="needs the extra `models`")

from inspect_ai.model import ChatMessage, ChatMessageUser, ContentImage, ContentText, GenerateConfig, ModelOutput

from veridical import solve
from veridical.errors import UserError
from veridical.options.running import Asking, Generating, Sending
from veridical.solvers.solver import Solved
from veridical.solvers.vlm.run import ModelDetails, open_model

from ._vlm_world import png, write_pairs

WORDS = ["<pad>", "<s>", "</s>", "<unk>", "<image>", "true", "false", *"aeiou "]
TEMPLATE = (
    "{% for m in messages %}{{ m.role }}:{% for c in m.content %}"
    "{% if c.type == 'image' %}<image>{% else %}{{ c.text }}{% endif %}{% endfor %}\n{% endfor %}assistant:"
)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A LLaVA of some 20,000 random weights that can say only true and false."""
    import torch
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import (
        CLIPImageProcessorPil,
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
        PreTrainedTokenizerFast,
    )

    out = tmp_path_factory.mktemp("tiny")
    core = Tokenizer(models.WordLevel({word: k for k, word in enumerate(WORDS)}, unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.Split(Regex("true|false|.|\n"), "isolated")
    core.decoder = decoders.Fuse()
    marks = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, additional_special_tokens=["<image>"], **marks)
    images = CLIPImageProcessorPil(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28})
    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    processor = LlavaProcessor(
        image_processor=images,
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
    )
    text = LlamaConfig(vocab_size=len(WORDS), bos_token_id=1, eos_token_id=2, pad_token_id=0, **shape)
    vision = CLIPVisionConfig(image_size=28, patch_size=14, projection_dim=16, **shape)
    torch.manual_seed(0)
    config = LlavaConfig(vision_config=vision.to_dict(), text_config=text.to_dict(), image_token_index=4)
    model = LlavaForConditionalGeneration(config)
    model.generation_config.suppress_tokens = [k for k, word in enumerate(WORDS) if word not in {"true", "false"}]
    model.save_pretrained(out)
    processor.save_pretrained(out)
    return out


def details(done: Solved) -> ModelDetails:
    assert isinstance(done.details, ModelDetails)
    return done.details


def test_a_local_model_answers_with_probabilities(weights: Path, tmp_path: Path) -> None:
    sending = Sending(model_arg={"model_path": str(weights)})
    directory = write_pairs(tmp_path / "b", 6)
    done = solve("hf/tiny", directory, split="dev", out=tmp_path / "p.jsonl", sending=sending, generating=Generating(1))
    assert details(done).unanswered == 0
    assert (details(done).summary.asked, details(done).summary.unreadable, details(done).summary.probable) == (6, 0, 6)
    assert details(done).summary.tokens["output"] == 6
    blind = solve(
        "hf-vision/tiny",
        directory,
        split="dev",
        out=tmp_path / "q.jsonl",
        asking=Asking(blind=True),
        sending=sending,
        generating=Generating(1),
    )
    # The same words without their names of pictures, and without 2 x 4 places for each picture's patches.
    assert details(blind).summary.tokens["input"] + 2 * 4 * 6 < details(done).summary.tokens["input"]
    line = json.loads((tmp_path / "p.jsonl").read_text().splitlines()[0])
    assert 0 < line["scores"][0] < 1
    assert sum(line["scores"]) == pytest.approx(1)


def generate(model: Any, shade: int) -> ModelOutput:
    uri = f"data:image/png;base64,{base64.b64encode(png(shade, (28, 28))).decode()}"
    message: ChatMessage = ChatMessageUser(content=[ContentText(text="a "), ContentImage(image=uri)])
    config = GenerateConfig(max_tokens=1, temperature=0.0, logprobs=True, top_logprobs=20)
    output: ModelOutput = asyncio.run(model.generate([message], config=config))
    return output


def test_the_answer_depends_on_the_picture(weights: Path) -> None:
    model = open_model("hf/tiny", Sending(model_arg={"model_path": str(weights)}), blind=False)
    dark, dark_again, bright = (generate(model, shade).choices[0].logprobs for shade in (0, 0, 255))
    assert dark is not None
    assert bright is not None
    assert dark == dark_again
    assert dark.content[0].top_logprobs != bright.content[0].top_logprobs
    assert len(dark.content[0].top_logprobs or ()) == len(WORDS)


def test_inspects_own_provider_still_refuses_pictures() -> None:
    """The reason for `hf-vision`; when this fails, Inspect has learned to see and ours can go."""
    from inspect_ai.model._providers.hf import message_content_to_string

    message = ChatMessageUser(content=[ContentText(text="a"), ContentImage(image="data:image/png;base64,")])
    with pytest.raises(NotImplementedError, match="does not support multimodal"):
        message_content_to_string([message])


def test_a_folder_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no vision-language model that can be loaded"):
        open_model("hf/tiny", Sending(model_arg={"model_path": str(tmp_path)}), blind=False)
