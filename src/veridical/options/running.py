"""Options of the verbs that use a benchmark (`audit`, `train`, `sweep`, `solve`, `report`), and who does the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from veridical.errors import UserError
from veridical.options.fields import COMMAS, FROM, MODEL_ARG, NEGATIVE, check_choices

Stage = Literal["both", "answer", "rationale"]
Context = Literal["own", "other", "shuffled"]
Layout = Literal["separate", "together"]
Boxes = Literal["drawn", "coordinates", "none"]
Answers = Literal["auto", "truth", "letter"]
Rationales = Literal["all", "predicted", "none"]
Views = Literal["first", "all"]


@dataclass(frozen=True)
class Workers:
    """Who does the work. None of it changes what comes out: a run can be continued with other values."""

    processes: int | None = None
    """Workers at the same time; left out: as many as there are processors, here or in the cluster."""
    engine: str = "processes"
    """processes (of this machine) or ray."""
    ray_address: str | None = None
    """ray: the cluster (host:6379, ray://host:10001, auto); left out: RAY_ADDRESS, or one on this machine."""
    gpus_per_worker: float = 0.0
    """ray: graphics cards that a worker holds; 0.5 is half of one."""

    def __post_init__(self) -> None:
        if self.engine != "ray" and (self.ray_address is not None or self.gpus_per_worker):
            which = "--ray-address" if self.ray_address is not None else "--gpus-per-worker"
            raise UserError(f"The engine {self.engine} has no use for {which}.", "Say --engine ray, or leave it out.")
        if not self.gpus_per_worker >= 0:
            raise UserError(f"A worker cannot hold {self.gpus_per_worker} graphics cards.", "Give 0 or more.")


@dataclass(frozen=True)
class AuditOptions:
    """What an audit is run with: the same options and benchmark give the same findings."""

    scheme: str = "main"
    """The scheme of splits, or the only one."""
    seed: int = 0
    """Seed of folds, plants and the bootstrap."""
    items: int = 15_000
    """Most items of the training split, and of all others, that blind models are trained and tested on."""
    hidden: bool = False
    """Also use the answers of hidden splits (DIR.hidden)."""
    corpus: Sequence[Path | str] = ()
    """A text file to look for the benchmark in (.gz too); can be given again."""
    controls: bool = True
    """Plant cues; without them no guesser can pass, and only what is found is said."""


@dataclass(frozen=True)
class FeatureOptions:
    """What of a benchmark is encoded, and how."""

    views: Annotated[bool, NEGATIVE] = False
    """Also the whole pictures of views (NLVR's permutations)."""
    objects: Annotated[bool, NEGATIVE] = False
    """Also the box of each object."""
    normalise: Annotated[bool, NEGATIVE] = False
    """Store vectors of length 1."""
    batch_size: int = 32
    """Images given to the network at a time."""
    device: str | None = None
    """cpu or cuda; by default cuda where it is."""
    reuse: Sequence[Path | str] = ()
    """Another benchmark whose vectors may be used; may be repeated."""


@dataclass(frozen=True)
class TrainOptions:
    """How a model of the zoo is trained."""

    set: Mapping[str, Any] | None = None
    """NAME=VALUE: an option of the model or of training (`veridical models MODEL` lists them); repeat for more."""
    stage: Stage = "both"
    """VCR: train on answers, on rationales given the right answer, or jointly on both."""
    split: str = "train"
    """The split to train on."""
    validate: str | None = None
    """The split to choose weights on; otherwise a part of training that shares no sentence."""
    scheme: str = "main"
    """The scheme of splits, or the only one."""
    pretrained: Path | str | None = None
    """A run of the same model on another benchmark to continue from: its best trial, or RUN/trial-K."""
    seed: int = 0
    """Of the first trial; trial k has seed + k."""
    trials: int = 1
    """How many times to train, from different random weights."""
    device: str = "cpu"
    """cpu, cuda, cuda:1 ..."""


@dataclass(frozen=True)
class SweepOptions:
    """Which models, schemes and features a sweep combines, and how each is trained and tested."""

    models: Annotated[Sequence[str], COMMAS] = (
        "mlp-sum-6", "mlp-cat-6", "gru", "gru-shared", "vqa", "relation-network-no-ids", "relation-network",
    )  # fmt: skip
    """Models with commas, or all: the paper's eleven; left out: its best seven."""
    schemes: Annotated[Sequence[str] | None, COMMAS] = None
    """Schemes with commas; left out: all of the benchmark."""
    features: Annotated[Sequence[str], COMMAS] = ("efficientnet-lite0",)
    """Encoders with commas."""
    auxiliary: Literal["no", "yes", "both"] = "no"
    """Train without the auxiliary loss of relation and element type, with it, or both."""
    fractions: Annotated[Sequence[float], COMMAS] = ()
    """Shares of the training data with commas (figure 7), on the first scheme."""
    controls: bool = True
    """Also test on contexts of other items and on shuffled ones, and train the lower bound."""
    bound: str | None = None
    """The model of the lower bound; left out: the relation network, or the last of the models."""
    bounds: Literal["first", "all"] = "first"
    """Schemes to train the lower bound (contexts of other items) on."""
    set: Mapping[str, Any] | None = None
    """NAME=VALUE: an option of models or training; repeat for more."""
    split: str = "train"
    """The split to train on."""
    test: str = "test"
    """The split to test on."""
    seed: int = 0
    """Of the first trial; trial k has seed + k."""
    trials: int = 1
    """How many times to train each model."""
    device: str = "cpu"
    """cpu, cuda, cuda:1 ..."""
    resamples: int = 2000
    """Bootstrap resamples of the intervals."""


@dataclass(frozen=True)
class SolverOptions:
    """What solvers can be told; each refuses what is not for it."""

    scheme: str | None = None
    """The scheme of splits; left out: main, or the only one."""
    limit: int | None = None
    """Solve only the first items (of questions with rationales: the first questions)."""
    seed: int = 0
    """Seed of the random solver, and of --context."""
    source: Annotated[Literal["structure", "pixels"], FROM] = "structure"
    """Programs read the scene from its structure, or from pixels."""
    weights: Path | str | None = None
    """Programs: a saved solver, or shipped (from NLVR's train); left out: trained on train, shipped without one."""
    save_weights: Path | str | None = None
    """Programs: where to keep the trained solver, for --weights; compressed if the name ends in .gz."""
    context: Context = "own"
    """Trained models of matrices: own, or a control: other (of another item) or shuffled."""
    trial: int | str = 0
    """Trained models: which trial of the run, by number or name; all (OUT-0, OUT-1 ...); best: by its validation;
    best-on-dev: of which most items of that split are right, as papers choose the one for their tests."""
    also: Path | str | None = None
    """Trained models of one stage of VCR: the run that was trained on the other, for its items."""
    device: str = "cpu"
    """Trained models: cpu, cuda, cuda:1 ..."""


@dataclass(frozen=True)
class Asking:
    """One way, or several, of putting the items of a benchmark to a vision-language model."""

    layout: Layout | None = None
    """Models: pictures separate, or together (pair side by side, matrix as a grid); by task unless given."""
    answers: Answers = "auto"
    """Models: truth (true/false) or letter; auto: truth for statements, letters for the rest."""
    reasoning: bool = False
    """Models: ask for steps before the answer."""
    wordings: int = 1
    """Models: how many wordings of the prompt."""
    orders: int = 1
    """Models: how many orders of the candidates."""
    boxes: Boxes = "drawn"
    """Models: VCR's objects drawn into the photograph, or as coordinates in the text, or none."""
    rationales: Rationales = "all"
    """Models: VCR's rationales given each answer (official), the predicted one (a fifth of the requests), or none."""
    views: Views = "first"
    """Models and programs: the first drawing of each NLVR item, or all six."""
    blind: bool = False
    """Models: send no pictures. What does the text alone give away?"""

    def __post_init__(self) -> None:
        check_choices(self)
        if self.orders < 1 or self.wordings < 1:
            raise UserError(f"{self.wordings} wordings in {self.orders} orders are none.", "Ask for at least 1.")


@dataclass(frozen=True)
class Sending:
    """How questions travel to a model. None of it changes what is asked: a run can be continued with other values."""

    model_base_url: str | None = None
    """Models: any OpenAI-compatible server."""
    model_arg: Annotated[Mapping[str, Any] | None, MODEL_ARG] = None
    """Models: NAME=VALUE for the provider, as Inspect's -M; may be repeated."""
    max_connections: int = 10
    """Models: requests at the same time."""
    max_retries: int = 5
    """Models: retries of a request that failed."""
    timeout: int | None = None
    """Models: seconds for one attempt of a request."""
    batch: bool | Any = False
    """Models: use the provider's batch API (cheaper, slower). Python: its size or Inspect's BatchConfig, too."""
    logs: Path | str | None = None
    """Models: Inspect's logs; left out: OUT.logs."""
    log_images: bool = True
    """Models: keep the pictures in the logs, for `inspect view`."""
    price: tuple[float, float] | None = None
    """Models: dollars per million input and output tokens."""


@dataclass(frozen=True)
class Generating:
    """How a model writes its replies."""

    max_tokens: int | None = None
    """Models: longest reply; 64, or 2,048 with --reasoning."""
    temperature: float | None = 0.0
    """Models: of sampling."""
    logprobs: bool | None = None
    """Models: ask for log-probabilities; left out: where the provider should give them."""


@dataclass(frozen=True)
class ReportOptions:
    """What a report shows."""

    split: str | None = None
    """The split, where predictions do not say it by their names."""
    scheme: str | None = None
    """The scheme of splits, where names do not say it."""
    title: str | None = None
    """The title of the page."""
    markdown: bool = False
    """Write the tables beside it, as Markdown."""
    latex: bool = False
    """Write the tables beside it, as LaTeX."""
    hidden: bool = False
    """Show answers of hidden splits item by item, where they are here."""
    examples: int = 3
    """Items in each gallery of examples."""
    resamples: int = 2000
    """Bootstrap resamples over groups."""
    seed: int = 0
    """Seed of the bootstrap."""
