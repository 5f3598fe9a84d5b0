"""A run of the zoo as a model of pairs of texts: P_rel or P_sim of Adversarial Matching (VCR, section 4).

As P_rel only a run's model and options are taken: it is trained anew on the pairs it is given, each question with its
own response and with that of another, and matching gives it pairs of other folds than those it scores. So whatever the
run itself has seen, no pair is scored by weights that know it. As P_sim (an ESIM trained on entailment or paraphrases)
its weights are taken as they are; a run that was taught any question to be matched with its answer is refused, whether
they stand in a benchmark or in a file (`taught`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from veridical.common.arrays import Floats
from veridical.common.files import Json, read_json
from veridical.errors import UserError
from veridical.options.building import Matching, MatchOptions, is_run
from veridical.records import Item, Text
from veridical.training.config import configure
from veridical.training.run import RUN, fit_trial
from veridical.training.taught import reads_pairs, refuse
from veridical.training.trained import Trained, load_trained
from veridical.zoo import load_model
from veridical.zoo.architecture import Example

HELD = 20  # one of so many questions chooses the weights
Pairs = Sequence[tuple[str, str]]


def judges(options: MatchOptions, matching: Matching) -> tuple[MatchOptions, Matching]:
    """Runs that are named as models of relevance or similarity judge what the usual models put on the shortlists."""
    if is_run(matching.relevance):
        run = _judge(matching.relevance, options.rerank, "relevance")
        options, matching = replace(options, rerank=run), replace(matching, relevance=Matching.relevance)
    if is_run(matching.similarity):
        run = _judge(matching.similarity, options.rerank_similarity, "similarity")
        options, matching = replace(options, rerank_similarity=run), replace(matching, similarity=Matching.similarity)
    return options, matching


def _judge(run: str, other: object, of: str) -> RunScorer:
    if other is not None:
        raise UserError(f"{run} and {other} are both to judge {of}.", "Give one of them.")
    return RunScorer(Path(run))


class RunScorer:
    """A model that reads two texts: what `matching` calls a reranker."""

    def __init__(self, run: Path, trained: Trained | None = None) -> None:
        self.run = run
        about: Json = read_json(run / RUN, Json, "a run", "Train it again.")
        self.about = about
        self.architecture = load_model(str(about["model"]))
        if not reads_pairs(self.architecture):
            raise UserError(
                f"{run} is a run of {self.architecture.name}, which does not read question and response alone.",
                "Take a run of bert or esim.",
            )
        self._trained = trained

    @property
    def name(self) -> str:
        return str(self.run)

    def refuse(self, pairs: Pairs) -> None:
        """An error where the run was taught some of these questions with their answers."""
        refuse(self.run, pairs)

    def score(self, pairs: Pairs) -> Floats:
        """How well the second text of each pair goes with the first, uncalibrated: (N,)."""
        trained = self._trained or load_trained(self.run / "trial-0")
        data = trained.encode([_example(k, one, (other,), None) for k, (one, other) in enumerate(pairs)])
        return np.array([found[0] for found in trained.scores(data)], np.float32)

    def trained(self, pairs: Pairs, labels: Sequence[int], seed: int) -> RunScorer:
        """The same model, trained anew to tell the own response of a text (1) from others (0)."""
        config, training = configure(self.architecture, {**self.about["config"], **self._training()})
        examples = _lessons(pairs, labels, np.random.default_rng(seed))
        held, rest = examples[::HELD], [one for k, one in enumerate(examples) if k % HELD]
        with tempfile.TemporaryDirectory() as folder:
            fit_trial(self.architecture, config, training, rest, held, Path(folder), about={"seed": seed})
            return RunScorer(self.run, load_trained(folder))

    def _training(self) -> dict[str, Any]:
        """How the run was trained, except on which part."""
        return {k: v for k, v in self.about["training"].items() if k not in ("stage", "limit", "fraction")}


def _lessons(pairs: Pairs, labels: Sequence[int], rng: np.random.Generator) -> list[Example]:
    """A choice between the own response and that of another, for each text that has both."""
    right: dict[str, list[str]] = {}
    for (text, response), label in zip(pairs, labels, strict=True):
        if label:
            right.setdefault(text, []).append(response)
    out: list[Example] = []
    for (text, response), label in zip(pairs, labels, strict=True):
        if not label and right.get(text) and response not in right[text]:
            own = right[text][int(rng.integers(len(right[text])))]
            answer = int(rng.integers(2))
            out.append(_example(len(out), text, (response, own) if answer else (own, response), answer))
    return out


def _example(number: int, text: str, responses: tuple[str, ...], answer: int | None) -> Example:
    candidates = tuple(Text(one) for one in responses)
    return Example(Item(f"pair-{number}", "choice", (), Text(text), candidates, answer), (), _no_image)


def _no_image(address: str) -> bytes:
    raise LookupError(address)
