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
import numpy.typing as npt

from veridical.records import Item, Panel, Task

if TYPE_CHECKING:
    from torch import nn

Array = npt.NDArray[Any]
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
        """What was learned, as JSON."""

    @state.setter
    def state(self, value: State) -> None: ...


@runtime_checkable
class Prepared(Protocol):
    """An input that does better with many examples at once: it is shown them all before it encodes the first."""

    def prepare(self, examples: Sequence[Example]) -> None: ...


class Estimator(Protocol):
    """A model that fits itself."""

    def fit(self, encoded: Sequence[Encoded], answers: npt.NDArray[np.int64], candidates: int) -> None:
        """Learn from encoded training examples."""

    def scores(self, encoded: Sequence[Encoded]) -> npt.NDArray[np.float64]:
        """One score per candidate, (N, C)."""

    @property
    def arrays(self) -> dict[str, Array]:
        """What was learned."""

    @arrays.setter
    def arrays(self, value: dict[str, Array]) -> None: ...


@dataclass(frozen=True)
class Architecture:
    """A model of the zoo."""

    name: str
    summary: str  # one line
    paper: str  # where it is described
    tasks: tuple[Task, ...]
    config: type[Any]  # a frozen dataclass
    inputs: Callable[[Any], dict[str, Input]]  # config -> what it looks at, by the name forward() calls it
    module: Callable[[Any, Mapping[str, int]], nn.Module] | None = None  # config, input sizes -> forward(**inputs)
    estimator: Callable[[Any], Estimator] | None = None  # config -> a model that fits itself
    training: Mapping[str, Any] = field(default_factory=dict)  # its own defaults of the training config
    sees: tuple[str, ...] = ()  # text, image, structure, candidates: what it would need to be fair without the rest
