"""Examples of a benchmark as batches: encoded once, cut into batches of about equal length so that little is padding;
and a module's scores of them.

The order of an epoch depends on the seed and the epoch alone, so a run that was killed finds its place again. Inputs
that look up stored vectors keep row numbers in one table, and a batch is one gather.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from veridical.benchmark import Benchmark
from veridical.common.arrays import Array, Doubles, Ints
from veridical.engine.progress import Progress
from veridical.errors import UserError
from veridical.options.running import Context
from veridical.records import Item, Text
from veridical.zoo.architecture import ByView, Encoded, Example, Input, Lesson, LookedUp, Prepared, Target
from veridical.zoo.inputs import pad
from veridical.zoo.towers import MOST_PANELS

POOL = 50  # batches whose examples are sorted by length together


def examples_of(
    benchmark: Benchmark, items: Iterable[Item], answers: Mapping[str, Text] | None = None
) -> list[Example]:
    """Items with their panels; reasons with the answers they assume, which are looked up where they are not given."""
    items = list(items)
    panels, answers = benchmark.panels, assumed(benchmark, items) if answers is None else answers

    def image(address: str) -> bytes:
        return bytes(benchmark.image(address))

    return [
        Example(
            item=item,
            panels=tuple(panels[p] for p in item.panels),
            image=image,
            choices=tuple(panels[c] for c in item.candidates if isinstance(c, str)),
            folder=benchmark.directory,
            assumed=answers.get(item.id),
        )
        for item in items
    ]


def assumed(benchmark: Benchmark, items: Sequence[Item]) -> dict[str, Text]:
    """The answer that each rationale item assumes, by its id."""
    reasons = [item for item in items if item.parent is not None and item.given is not None]
    known = {item.id: item for item in items if item.parent is None}
    wanted = {item.parent for item in reasons} - known.keys()
    if wanted:  # only some of the items are here
        everywhere = ((split, scheme) for scheme in benchmark.schemes for split in benchmark.splits_of(scheme))
        known |= {i.id: i for split, scheme in everywhere for i in benchmark.items(split, scheme) if i.id in wanted}
    out: dict[str, Text] = {}
    for item in reasons:
        parent = known.get(item.parent or "")
        text = parent.candidates[item.given or 0] if parent is not None else None
        if isinstance(text, Text):
            out[item.id] = text
    return out


def with_context(items: Iterable[Item], context: Context, rng: np.random.Generator) -> list[Item]:
    """Items with their own context, that of another item each, or their own in a random order: controls for matrices.

    A model whose items have the context panels of other items must fall to chance, or the candidates give the answer
    away (V-PROM section 5 trains its lower bound so). Panels shuffled within a matrix show how much it uses places.
    """
    found = list(items)
    if context == "own" or not found:
        return found
    if found[0].task != "matrix":
        raise UserError(
            f"Items of the task {found[0].task} have no context panels to exchange.", "Use the context 'own'."
        )
    if context == "shuffled":
        return [replace(i, panels=tuple(i.panels[n] for n in rng.permutation(len(i.panels)))) for i in found]
    if len(found) < 2:
        raise UserError("A single item has no other item to take its context from.", "Give more items.")
    order = rng.permutation(len(found))  # each takes that of the one before it on a random circle: never its own
    panels = {int(here): found[there].panels for here, there in zip(order, np.roll(order, 1), strict=True)}
    return [replace(item, panels=panels[n]) for n, item in enumerate(found)]


@dataclass
class Dataset:
    """Examples with everything encoded that is the same for all views."""

    examples: Sequence[Example]
    inputs: Mapping[str, Input]
    kept: list[Encoded]
    lengths: Ints  # what each example costs, in numbers
    answers: Ints  # -1 where unknown
    candidates: Ints  # how many each example has
    tables: dict[str, Array]  # of inputs that are looked up and have one shape: row numbers (N, ...)
    targets: dict[str, Array]  # of auxiliary losses: distributions (N, K)

    @classmethod
    def encode(
        cls,
        examples: Sequence[Example],
        inputs: Mapping[str, Input],
        label: str = "encoding",
        targets: Mapping[str, Target] | None = None,
        lessons: bool = True,
    ) -> Dataset:
        """Encode examples; what differs by view is left for later. To answer them, lessons are left out."""
        kept: list[Encoded] = []
        if not lessons:
            inputs = {name: source for name, source in inputs.items() if not isinstance(source, Lesson)}
        for source in inputs.values():
            if isinstance(source, Prepared):
                source.prepare(examples)
        with Progress(label, len(examples), "items") as progress:
            for example in examples:
                kept.append({n: i.encode(example) for n, i in inputs.items() if not i.per_view})
                progress.advance()
        for name, source in inputs.items():
            if isinstance(source, ByView):
                check_panels(examples, [row[name].shape[1] for row in kept])
        lengths = np.array([sum(a.size for a in row.values()) for row in kept], np.int64)
        looked_up = [n for n, i in inputs.items() if isinstance(i, LookedUp) and len({r[n].shape for r in kept}) == 1]
        tables = {name: np.stack([row.pop(name) for row in kept]) for name in looked_up}
        answers = [-1 if e.item.answer is None else e.item.answer for e in examples]
        return cls(
            examples=examples,
            inputs=inputs,
            kept=kept,
            lengths=lengths,
            answers=np.array(answers, np.int64),
            candidates=np.array([len(e.item.candidates) for e in examples], np.int64),
            tables=tables,
            targets={name: np.stack([t.encode(e) for e in examples]) for name, t in (targets or {}).items() if kept},
        )

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def per_view(self) -> bool:
        """Whether the views of an item look different to this model."""
        by_view = any(i.per_view or isinstance(i, ByView) for i in self.inputs.values())
        return by_view and any(e.item.views for e in self.examples)

    def views(self, row: int) -> int:
        return len(self.examples[row].item.views) if self.per_view else 0

    def batch(self, rows: Ints, views: Ints | None = None) -> dict[str, Tensor]:
        """Some examples as tensors, padded with zeros; `views` says which view to look at for each."""
        out: dict[str, Tensor] = {}
        for name, source in self.inputs.items():
            chosen = np.zeros(len(rows), np.int64) if views is None else views
            if name in self.tables and isinstance(source, LookedUp):
                table = self.tables[name]
                found = table[rows, chosen] if isinstance(source, ByView) else table[rows]
                out[name] = torch.from_numpy(source.look_up(found))
                continue
            if source.per_view:
                arrays = [
                    source.encode(replace(self.examples[r], view=int(v)))
                    for r, v in zip(rows.tolist(), chosen, strict=True)
                ]
            elif isinstance(source, ByView):
                arrays = [self.kept[r][name][v] for r, v in zip(rows.tolist(), chosen, strict=True)]
            else:
                arrays = [self.kept[r][name] for r in rows.tolist()]
            padded = pad(arrays)
            out[name] = torch.from_numpy(source.look_up(padded) if isinstance(source, LookedUp) else padded)
        return out

    def blank(self, rows: Ints) -> Tensor | None:
        """True where an example has no such candidate, (B, C); None where all have the same number."""
        own = self.candidates[rows]
        if own.min() == own.max():
            return None
        return torch.from_numpy(np.arange(own.max())[None] >= own[:, None])


def check_panels(examples: Sequence[Example], counts: Sequence[int]) -> None:
    """Panels of a batch stand side by side: all items have one number of them, which is one that models know."""
    for example, count in zip(examples, counts, strict=True):
        if not 1 <= count <= MOST_PANELS:
            raise UserError(
                f"Item {example.item.id} has {count} panels.", f"This model looks at one to {MOST_PANELS}; use another."
            )
        if count != counts[0]:
            raise UserError(
                f"Item {example.item.id} has {count} panels, item {examples[0].item.id} {counts[0]}.",
                "This model takes items with one number of panels: make a benchmark of each kind.",
            )


def epoch_batches(lengths: Ints, size: int, rng: np.random.Generator, most: int | None = None) -> list[Ints]:
    """The rows of each batch of one epoch (of at most so many), in random order, those of similar length together."""
    order = rng.permutation(len(lengths))[:most]
    batches: list[Ints] = []
    for start in range(0, len(order), size * POOL):
        pool = order[start : start + size * POOL]
        pool = pool[np.argsort(lengths[pool], kind="stable")]
        batches += [pool[i : i + size] for i in range(0, len(pool), size)]
    return [batches[i] for i in rng.permutation(len(batches))]


def ordered_batches(lengths: Ints, size: int) -> list[Ints]:
    """Every row once, shortest first: for scoring, where the order does not matter."""
    order = np.argsort(lengths, kind="stable")
    return [order[i : i + size] for i in range(0, len(order), size)]


def run_module(
    module: nn.Module, data: Dataset, rows: Ints, views: Ints | None, device: str
) -> tuple[Tensor, dict[str, Tensor]]:
    """Scores (B, C) of some examples and logits (B, K) of auxiliary targets; absent candidates score -inf."""
    inputs = {name: tensor.to(device) for name, tensor in data.batch(rows, views).items()}
    found: Tensor | tuple[Tensor, dict[str, Tensor]] = module(**inputs)
    scores, extra = found if isinstance(found, tuple) else (found, {})
    blank = data.blank(rows)
    return scores if blank is None else scores.masked_fill(blank.to(device), float("-inf")), extra


def score(module: nn.Module, data: Dataset, views: Ints | None, batch: int, device: str = "cpu") -> list[Doubles]:
    """The scores of every example in its order, one array each; of its first view where `views` is None."""
    out: list[Doubles] = [np.zeros(0)] * len(data)
    was_training = module.training
    module.eval()
    with torch.inference_mode():
        for rows in ordered_batches(data.lengths, batch):
            scores, _ = run_module(module, data, rows, None if views is None else views[rows], device)
            for row, values in zip(rows.tolist(), scores.double().cpu().numpy(), strict=True):
                out[row] = values[: data.candidates[row]]
    module.train(was_training)
    return out
