"""An Inspect provider for local vision-language models: `hf-vision/NAME`, any image-text-to-text model of transformers.

Inspect's own `hf` provider refuses pictures ("does not support multimodal content", 0.3.285), so `veridical solve
hf/..` uses this one unless it asks blind. Requests are answered one at a time; the weights come from a hub name or a
folder (`-M model_path=DIR`).
"""

from __future__ import annotations

import base64
import io
import time
from collections.abc import Sequence
from typing import Any

import anyio
from inspect_ai import model as inspect_model
from inspect_ai.model import ChatMessage, GenerateConfig, Logprob, ModelOutput
from inspect_ai.tool import ToolChoice, ToolInfo

from veridical.errors import UserError, missing_extra

MAX_TOKENS = 512  # where nobody says how many


@inspect_model.modelapi(name="hf-vision")
class HuggingFaceVisionAPI(inspect_model.ModelAPI):
    """Models of `transformers.AutoModelForImageTextToText` with their processor's chat template."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),
        model_path: str | None = None,
        device: str | None = None,
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, ["HF_TOKEN"], config)
        try:
            import torch
            from transformers import AutoModelForImageTextToText, AutoProcessor
        except ImportError as error:
            raise missing_extra(error.name or "transformers", "models") from None

        source = model_path or model_name
        try:
            processors: Any = AutoProcessor  # its loader has no types
            self.processor: Any = processors.from_pretrained(source, **model_args)
            model: Any = AutoModelForImageTextToText.from_pretrained(source, **model_args)
        except (OSError, ValueError) as error:
            raise UserError(
                f"{source} is no vision-language model that can be loaded: {str(error).strip().splitlines()[0]}",
                "Give a hub name, or a folder with weights, config and processor: -M model_path=DIR.",
            ) from None
        if not getattr(self.processor, "chat_template", None):
            raise UserError(
                f"The processor of {source} has no chat template.", "Add chat_template.jinja to its folder."
            )
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.model: Any = model.to(self.device).eval()
        self._one = anyio.CapacityLimiter(1)

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        """Answer one conversation, in a thread so that others can prepare their pictures meanwhile."""
        return await anyio.to_thread.run_sync(self._answer, input, config, limiter=self._one)

    def max_connections(self) -> int:
        return 2

    def _answer(self, messages: list[ChatMessage], config: GenerateConfig) -> ModelOutput:
        import torch

        began = time.monotonic()
        inputs = self.processor.apply_chat_template(
            [_message(one) for one in messages],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        ).to(self.device)
        sample = bool(config.temperature)
        how: dict[str, Any] = {"do_sample": sample, "max_new_tokens": config.max_tokens or MAX_TOKENS}
        if sample:
            how |= {"temperature": config.temperature, "top_p": config.top_p, "top_k": config.top_k}
            torch.manual_seed(config.seed or 0)
        with torch.inference_mode():
            out = self.model.generate(
                **inputs,
                **{name: value for name, value in how.items() if value is not None},
                return_dict_in_generate=True,
                output_logits=bool(config.logprobs),
            )
        start = inputs["input_ids"].shape[1]
        tokens = out.sequences[0, start:]  # (T,)
        text = self.processor.decode(tokens, skip_special_tokens=True)
        logprobs = None
        if config.logprobs:
            # One row of logits per generated token, each (1, V).
            rows = torch.log_softmax(torch.stack([row[0].float() for row in out.logits]), -1)  # (T, V)
            logprobs = inspect_model.Logprobs(content=self._logprobs(rows, tokens, config.top_logprobs or 1))
        stopped = len(tokens) < how["max_new_tokens"]
        choice = inspect_model.ChatCompletionChoice(
            message=inspect_model.ChatMessageAssistant(content=text, model=self.model_name, source="generate"),
            stop_reason="stop" if stopped else "max_tokens",
            logprobs=logprobs,
        )
        used = inspect_model.ModelUsage(input_tokens=start, output_tokens=len(tokens), total_tokens=start + len(tokens))
        return ModelOutput(model=self.model_name, choices=[choice], usage=used, time=time.monotonic() - began)

    def _logprobs(self, rows: Any, tokens: Any, top: int) -> list[Logprob]:
        values, indices = rows.topk(min(top, rows.shape[-1]), -1)  # (T, top)
        out = []
        for place, token in enumerate(tokens.tolist()):
            pairs = zip(indices[place].tolist(), values[place].tolist(), strict=True)
            likely = [inspect_model.TopLogprob(token=self.processor.decode([i]), logprob=v) for i, v in pairs]
            said = self.processor.decode([token])
            out.append(Logprob(token=said, logprob=float(rows[place, token]), top_logprobs=likely))
        return out


def _message(message: ChatMessage) -> dict[str, Any]:
    """A message as `transformers` has it: pictures beside words, in their order."""
    from PIL import Image

    parts: Sequence[Any] = (
        [inspect_model.ContentText(text=message.content)] if isinstance(message.content, str) else message.content
    )
    content: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, inspect_model.ContentText):
            content.append({"type": "text", "text": part.text})
        elif isinstance(part, inspect_model.ContentImage):
            data = base64.b64decode(part.image.partition(",")[2])
            content.append({"type": "image", "image": Image.open(io.BytesIO(data)).convert("RGB")})
        else:
            raise UserError(f"A message holds {type(part).__name__}; this provider takes text and pictures.")
    return {"role": message.role, "content": content}
