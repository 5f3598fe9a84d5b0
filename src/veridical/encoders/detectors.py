"""Object detectors behind one small interface: pictures in, boxes with categories and scores out.

Any `transformers` checkpoint for object detection (DETR, YOLOS, RT-DETR ...) is one, by a folder or a hub's name;
anything else with `name`, `identity` and `detect` can be handed in its place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from veridical.benchmark.writer import file_hash
from veridical.encoders.encoder import device_of, import_torch
from veridical.encoders.hub import find_checkpoint, load_part, load_processor, weight_files
from veridical.records import Box

if TYPE_CHECKING:
    import torch
    from PIL import Image

DETECTOR = "facebook/detr-resnet-50"
_SETTINGS = ("config.json", "preprocessor_config.json")


@dataclass(frozen=True, slots=True)
class Detection:
    """Something found in a picture."""

    category: str
    box: Box
    score: float


class Detector(Protocol):
    """Finds objects."""

    name: str  # what a benchmark says found its objects

    @property
    def identity(self) -> str:
        """What its results depend on, such as a hash of its weights: what was found is remembered under it."""

    def detect(self, pictures: Sequence[Image.Image], threshold: float) -> list[list[Detection]]:
        """What is in each RGB picture, with a score of at least `threshold`, best first."""


def open_detector(detector: str | Detector, *, device: str | None = None) -> Detector:
    """The detector of a name: a folder with a `transformers` checkpoint, or a hub's name for one."""
    return TransformersDetector(detector, device=device) if isinstance(detector, str) else detector


class TransformersDetector:
    """A `transformers` checkpoint for object detection."""

    def __init__(self, name: str = DETECTOR, *, device: str | None = None) -> None:
        self.name = name
        self._device = device

    @cached_property
    def folder(self) -> Path:
        return find_checkpoint(self.name, "detector")

    @cached_property
    def identity(self) -> str:
        digest = hashlib.sha256()
        settings = [self.folder / name for name in _SETTINGS if (self.folder / name).is_file()]
        for path in [*settings, *sorted(weight_files(self.folder))]:
            digest.update(f"{path.name} {file_hash(path)}\n".encode())
        return digest.hexdigest()

    def detect(self, pictures: Sequence[Image.Image], threshold: float) -> list[list[Detection]]:
        torch = import_torch()
        inputs = self._processor(images=list(pictures), return_tensors="pt").to(self.device)
        with torch.inference_mode():
            outputs = self._model(**inputs)
        sizes = [(picture.height, picture.width) for picture in pictures]
        found = self._processor.post_process_object_detection(outputs, threshold=threshold, target_sizes=sizes)
        names = self._model.config.id2label
        return [
            sorted(
                (
                    Detection(str(names[label]), (box[0], box[1], box[2], box[3]), score)
                    for label, score, box in zip(
                        one["labels"].tolist(), one["scores"].tolist(), one["boxes"].tolist(), strict=True
                    )
                ),
                key=lambda detection: -detection.score,
            )
            for one in found
        ]

    @cached_property
    def device(self) -> torch.device:
        return device_of(self._device)

    @cached_property
    def _model(self) -> Any:
        fix = f"Name a checkpoint for object detection, such as {DETECTOR}."
        model = load_part("AutoModelForObjectDetection", self.folder, "does not load as an object detector", fix)
        return model.eval().to(self.device)

    @cached_property
    def _processor(self) -> Any:
        return load_processor(self.folder)
