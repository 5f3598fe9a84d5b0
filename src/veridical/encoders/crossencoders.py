"""Cross-encoders: a `transformers` checkpoint that reads two texts together and says whether they belong together.

Any sequence classifier works by name or folder: one with a single output (its logit), an entailment or paraphrase
classifier (the log-odds of that class), or a bare encoder, which gets a fresh head and must be trained first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from veridical.encoders.encoder import device_of, import_torch
from veridical.encoders.hub import find_checkpoint, import_transformers, load_part, load_tokenizer
from veridical.encoders.spread import spread
from veridical.engine.progress import Progress
from veridical.errors import UserError
from veridical.options.running import Workers

if TYPE_CHECKING:
    import torch

YES = ("entailment", "entail", "paraphrase", "duplicate", "is_duplicate", "equivalent", "positive", "relevant", "yes")
LONGEST = 128  # tokens of a pair; longer ones are cut


@dataclass(frozen=True)
class FineTuning:
    """How a cross-encoder is fine-tuned: the usual settings of BERT (Devlin et al. 2018, A.3)."""

    epochs: int = 2
    batch: int = 32
    rate: float = 3e-5
    warmup: float = 0.1  # share of the steps
    decay: float = 0.01


class CrossEncoder:
    """A model of pairs of texts; see the module's first lines."""

    def __init__(
        self,
        name: str,
        *,
        device: str | None = None,
        training: FineTuning | None = None,
        batch: int = 64,
        workers: Workers = Workers(),
    ) -> None:
        self.name = name
        self.training = training or FineTuning()
        self._batch, self._device, self.workers = batch, device, workers
        self._weights: dict[str, torch.Tensor] | None = None  # of a trained copy

    @cached_property
    def folder(self) -> Path:
        return find_checkpoint(self.name)

    def score(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        """The log-odds that each pair belongs together: (N,) float32."""
        out = np.zeros(len(pairs), np.float32)
        order = sorted(range(len(pairs)), key=lambda k: -len(pairs[k][0]) - len(pairs[k][1]))
        parts = [order[start : start + self._batch] for start in range(0, len(order), self._batch)]
        batches = [[pairs[k] for k in rows] for rows in parts]
        found = spread(partial(_odds_of, self), batches, self.workers, f"Reading pairs with {self.name}", "pairs")
        for rows, odds in zip(parts, found, strict=True):
            out[rows] = odds
        return out

    def __getstate__(self) -> dict[str, Any]:
        """What a worker gets: it loads the network itself."""
        return {name: value for name, value in vars(self).items() if name not in ("_model", "_tokenizer")}

    def trained(self, pairs: Sequence[tuple[str, str]], labels: Sequence[int], seed: int) -> CrossEncoder:
        """A copy with a single output, fine-tuned to tell pairs that belong together (1) from others (0)."""
        torch = import_torch()
        given = {"device": self._device, "training": self.training, "batch": self._batch}
        copy = CrossEncoder(self.name, **given, workers=self.workers)  # type: ignore[arg-type]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = copy._load(heads=1).train()
            _train(model, copy._inputs, pairs, labels, self.training, f"Training {self.name}")
        copy._weights = {name: tensor.detach() for name, tensor in model.state_dict().items()}
        return copy

    @cached_property
    def _model(self) -> Any:
        model = self._load(heads=None if self._weights is None else 1)
        if self._weights is not None:
            model.load_state_dict(self._weights)
        return model.eval()

    def _load(self, heads: int | None) -> Any:
        transformers = import_transformers()
        options: dict[str, object] = {}
        if heads is not None:
            options = {"num_labels": heads, "ignore_mismatched_sizes": True, "problem_type": None}
        level = transformers.utils.logging.get_verbosity()
        transformers.utils.logging.set_verbosity_error()  # a fresh head is what we ask for
        fix = "Name a checkpoint of transformers that reads text, such as a BERT or a cross-encoder."
        try:
            part, problem = "AutoModelForSequenceClassification", "does not load as a classifier of texts"
            return load_part(part, self.folder, problem, fix, **options).to(device_of(self._device))
        finally:
            transformers.utils.logging.set_verbosity(level)

    @cached_property
    def _tokenizer(self) -> Any:
        return load_tokenizer(self.folder)

    def _inputs(self, pairs: Sequence[tuple[str, str]]) -> Any:
        longest = min(LONGEST, int(self._tokenizer.model_max_length))
        one, other = [p[0] for p in pairs], [p[1] for p in pairs]
        encoded = self._tokenizer(one, other, padding=True, truncation=True, max_length=longest, return_tensors="pt")
        return encoded.to(device_of(self._device))

    def _odds(self, logits: Any) -> Any:
        """(B, labels) -> (B,) the log-odds of the class that means yes."""
        if logits.shape[1] == 1:
            return logits[:, 0]
        names = {str(name).lower(): int(k) for k, name in self._model.config.id2label.items()}
        yes = next((names[name] for name in YES if name in names), None)
        if yes is None:
            raise UserError(
                f"{self.name} has the classes {', '.join(names)}: none of them says that two texts mean the same.",
                f"Name a checkpoint with a single output, or with a class called {', '.join(YES[:4])} ...",
            )
        rest = logits[:, [k for k in range(logits.shape[1]) if k != yes]]
        return logits[:, yes] - rest.logsumexp(1)


def _odds_of(model: CrossEncoder, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """The log-odds of a batch of pairs: (B,)."""
    torch = import_torch()
    with torch.inference_mode():
        logits = model._model(**model._inputs(pairs)).logits.float()  # (B, labels)
        found: np.ndarray = model._odds(logits).cpu().numpy()
    return found


def _train(
    model: Any, inputs: Any, pairs: Sequence[tuple[str, str]], labels: Sequence[int], config: FineTuning, label: str
) -> None:
    """Fine-tune in place: AdamW, a linear warm-up and decay."""
    torch = import_torch()
    target = torch.tensor(list(labels), dtype=torch.float32)
    batches = -(-len(pairs) // config.batch)
    steps = config.epochs * batches
    warm = max(1, int(config.warmup * steps))
    optimiser = torch.optim.AdamW(model.parameters(), lr=config.rate, weight_decay=config.decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / warm, max(0.0, (steps - step) / max(steps - warm, 1)))
    )
    with Progress(label, steps, "steps") as progress:
        for _ in range(config.epochs):
            order = torch.randperm(len(pairs)).tolist()
            for start in range(0, len(order), config.batch):
                rows = order[start : start + config.batch]
                logits = model(**inputs([pairs[k] for k in rows])).logits[:, 0]
                loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, target[rows].to(logits.device))
                optimiser.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimiser.step()
                schedule.step()
                progress.advance()
