"""What a model file gives: a config, the inputs it looks at, and a module that scores candidates.

The trainer knows nothing more about a model. An input turns an example into one array; what it has to learn first (a
vocabulary) it learns from training examples alone. Models without gradients (majority, MaxEnt) are estimators: they
fit themselves on the same inputs and keep what they learned as named arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from veridical.common.arrays import Array, Doubles, Floats, Ints
from veridical.records import Item, Panel, Task, Text

if TYPE_CHECKING:
    from torch import Tensor, nn

Encoded = dict[str, Array]  # one example: an array per input
State = Any  # what an input learned; JSON


@dataclass(frozen=True, slots=True)
class Example:
    """One item as a model sees it, or one view of it."""

    item: Item
    panels: tuple[Panel, ...]
    image: Callable[[str], bytes]  # the bytes of a stored image, by content address
    view: int | None = None  # which view to look at; None where it makes no difference
    choices: tuple[Panel, ...] = ()  # the candidates, where they are panels
    folder: Path | None = None  # the benchmark, for what is stored with it (features)
    assumed: Text | None = None  # of a reason: the answer that it is a reason for

    @property
    def query(self) -> Text | None:
        """The sentence or question; where a reason is asked for, with the assumed answer (VCR: QA -> R)."""
        asked, assumed = self.item.query, self.assumed
        if asked is None or assumed is None:
            return asked
        if not asked.tokens and not assumed.tokens:
            return Text(f"{asked.raw} {assumed.raw}")
        parts = [text.tokens or tuple(text.raw.split()) for text in (asked, assumed)]
        return Text("", parts[0] + parts[1])


def bounded(default: int, least: int = 1, most: int | None = None) -> int:
    """The default of an option with bounds, which are checked before anything is read. Other sizes are above zero."""
    return field(default=default, metadata={"least": least, "most": most})


def or_none(default: int, most: int | None = None) -> int:
    """The default of an option that may also be 0: leave it out."""
    return bounded(default, 0, most)


class Input(Protocol):
    """One thing a model looks at. 0 is padding: shorter arrays of a batch are filled up with it."""

    @property
    def per_view(self) -> bool:
        """Whether it is made batch by batch and not kept: it differs between views of an item, or is large."""

    def learn(self, examples: Sequence[Example]) -> None:
        """Learn from training examples."""

    def encode(self, example: Example) -> Array:
        """The array of an example."""

    @property
    def size(self) -> int:
        """How many different ids there are, or the width of the array."""

    @property
    def state(self) -> State:
        """What was learned, as JSON; where the class has a type `state_shape`, it is checked when it is read back."""

    @state.setter
    def state(self, value: State) -> None: ...


@runtime_checkable
class Prepared(Protocol):
    """An input that does better with many examples at once: it is shown them all before it encodes the first."""

    def prepare(self, examples: Sequence[Example]) -> None: ...


@runtime_checkable
class Growing(Protocol):
    """An input that can learn more after what it learned on another benchmark (`train --pretrained`)."""

    def grow(self, examples: Sequence[Example]) -> None:
        """Learn what is new; what was known keeps its number."""


@runtime_checkable
class LookedUp(Protocol):
    """An input that keeps row numbers of a stored matrix for each example and reads the rows of a batch at once.

    Nothing large is kept; where all examples have arrays of one shape, nothing is done example by example in a step.
    Other inputs are filled up with 0, which must then be the number of a row of zeros.
    """

    def look_up(self, rows: Array) -> Array:
        """What the module sees: (B, ...) row numbers -> (B, ..., D)."""


@runtime_checkable
class ByView(LookedUp, Protocol):
    """A looked-up input that keeps the row numbers of every view of an example, (V, ...); a batch takes one view."""

    by_view: bool


@runtime_checkable
class Lesson(Protocol):
    """An input of training alone, made of what only training knows (programs): a model that answers goes without."""

    lesson: bool


@dataclass(frozen=True)
class Target:
    """Something more to predict in training (an auxiliary loss): which of some names are true of an example."""

    names: tuple[str, ...]
    of: Callable[[Example], Sequence[str]]  # those that are true share the weight; none: the example does not count

    def encode(self, example: Example) -> Floats:
        """The distribution to predict, (K,); zeros where nothing is known."""
        out = np.zeros(len(self.names), np.float32)
        for name in self.of(example):
            out[self.names.index(name)] += 1
        return out / max(float(out.sum()), 1.0)


@runtime_checkable
class OwnLoss(Protocol):
    """A module that says itself what its loss is, of its scores and of what else it returns in training (a policy)."""

    def loss(self, scores: Tensor, extra: Mapping[str, Tensor], answers: Tensor) -> Tensor:
        """scores (B, C), answers (B,) -> a number."""


class Estimator(Protocol):
    """A model that fits itself."""

    def fit(self, encoded: Sequence[Encoded], answers: Ints, candidates: int) -> None:
        """Learn from encoded training examples."""

    def scores(self, encoded: Sequence[Encoded]) -> Doubles:
        """One score per candidate, (N, C)."""

    @property
    def arrays(self) -> dict[str, Array]:
        """What was learned."""

    @arrays.setter
    def arrays(self, value: dict[str, Array]) -> None: ...


@dataclass(frozen=True)
class Architecture:
    """A model of the zoo.

    Its module returns scores (B, C). One with targets returns them in training with its logits (B, K) for each target
    by name, and in evaluation the scores alone. What else it returns of each example (B,) is an auxiliary loss, too.
    """

    name: str
    summary: str  # one line
    paper: str  # where it is described
    tasks: tuple[Task, ...]
    config: type[Any]  # a frozen dataclass
    inputs: Callable[[Any], dict[str, Input]]  # config -> what it looks at, by the name forward() calls it
    module: Callable[[Any, Mapping[str, int]], nn.Module] | None = None  # config, input sizes -> forward(**inputs)
    estimator: Callable[[Any], Estimator] | None = None  # config -> a model that fits itself
    training: Mapping[str, Any] = field(default_factory=dict)  # its own defaults of the training config
    targets: Callable[[Any], dict[str, Target]] = lambda config: {}  # config -> auxiliary losses, by name
    sees: tuple[str, ...] = ()  # text, image, structure, candidates: what it would need to be fair without the rest

    def blind(self, config: Any, context: str = "own") -> bool:
        """Whether it lacks what nobody can do without: the picture or scene, the sentence, the item's own context."""
        sees = {*self.sees}
        if not getattr(config, "photograph", True):
            sees -= {"image", "structure"}
        if not getattr(config, "images", "some"):
            sees -= {"image"}
        if not getattr(config, "query", True) or not getattr(config, "texts", "some"):
            sees -= {"text"}
        return not (sees & {"image", "structure"} and ("text" in sees or "matrix" in self.tasks)) or context == "other"
