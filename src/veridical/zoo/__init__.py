"""The model zoo: one architecture per file (with its variants), one line per model here.

In reading order:

    architecture      what a model file gives: a config, the inputs it looks at, a module that scores candidates
    inputs            words, candidate texts, pixels and stored vectors, as arrays
    facts, detections properties and counts of a scene of boxes, numbers of detected objects, crossed with n-grams
    layers            readers of words, a small CNN, attention, perceptrons
    cnn_rnn, structure, pair_baselines                         NLVR's baselines, and NLVR2's
    panels, towers    what models of drawings and pairs share: one to three panels as pixels or maps; a tower, a reader
    given, seen       annotated objects in place of pixels, and objects that a CNN learned to see of annotated pictures
    counted, pointed, verdict   lessons where programs are known: to count, to point; and from soft sets to an answer
    film, mac, cmm, biatt, wmemnn        models of pixels
    layouts, phrases, parsed_layouts, eyes, modules; nmn, n2nmn   what module networks share; the models
    slots, slot_reasoner   objects that a CNN learned to see; soft sets over them, asked for by the sentence
    matrices; mlp_panels, gru_panels, vqa_panels, relation_network   what V-PROM's models share; the models
    spoken, objects, regions   what VCR's models share: words in context with their tags; classes, places and features
    r2c, grounded     R2C, with its ablations as options; and a small one that learns its own words
    bert, esim, lstm, responses                                VCR's blind models
    vqa_parts; revisited_vqa, bottom_up_top_down, mlb, mutan   what VCR's VQA models share; the models
    probe             over frozen encoders, for every task
    figures           what the papers and we measured of them

From outside: `load_model`, `models`, and `architecture`. Other packages add models by entry points of the group
`veridical.zoo`. tests/zoo/test_contract.py runs over every entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

import msgspec

from veridical.common import registry
from veridical.common.result import ResultList, Table
from veridical.zoo.architecture import Architecture
from veridical.zoo.figures import figures
from veridical.zoo.options import options_of

MODELS: dict[str, str] = {
    "majority": "veridical.zoo.cnn_rnn:MAJORITY",
    "text": "veridical.zoo.cnn_rnn:TEXT",
    "image": "veridical.zoo.cnn_rnn:IMAGE",
    "cnn-rnn": "veridical.zoo.cnn_rnn:CNN_RNN",
    "film": "veridical.zoo.film:MODEL",
    "film-sentence": "veridical.zoo.film:SENTENCE",
    "nmn": "veridical.zoo.nmn:MODEL",
    "n2nmn": "veridical.zoo.n2nmn:MODEL",
    "cnn-biatt": "veridical.zoo.biatt:MODEL",
    "w-memnn": "veridical.zoo.wmemnn:MODEL",
    "cmm": "veridical.zoo.cmm:MODEL",
    "mac": "veridical.zoo.mac:MODEL",
    "slot-reasoner": "veridical.zoo.slot_reasoner:MODEL",
    "maxent": "veridical.zoo.structure:MAXENT",
    "maxent-objects": "veridical.zoo.structure:MAXENT_OBJECTS",
    "pair-text": "veridical.zoo.pair_baselines:TEXT",
    "pair-image": "veridical.zoo.pair_baselines:IMAGE",
    "pair-cnn-rnn": "veridical.zoo.pair_baselines:CNN_RNN",
    "structure-mlp": "veridical.zoo.structure:MLP",
    "structure-rnn": "veridical.zoo.structure:RNN",
    "response-only": "veridical.zoo.responses:RESPONSE_ONLY",
    "question-only": "veridical.zoo.responses:QUESTION_ONLY",
    "probe": "veridical.zoo.probe:MODEL",
    "grounded": "veridical.zoo.grounded:MODEL",
    "r2c": "veridical.zoo.r2c:MODEL",
    "bert": "veridical.zoo.bert:MODEL",
    "bert-response-only": "veridical.zoo.bert:RESPONSE_ONLY",
    "esim": "veridical.zoo.esim:MODEL",
    "lstm": "veridical.zoo.lstm:MODEL",
    "revisited-vqa": "veridical.zoo.revisited_vqa:MODEL",
    "bottom-up-top-down": "veridical.zoo.bottom_up_top_down:MODEL",
    "mlb": "veridical.zoo.mlb:MODEL",
    "mutan": "veridical.zoo.mutan:MODEL",
    **{f"mlp-{j}-{k}": f"veridical.zoo.mlp_panels:{j.upper()}_{k}" for j in ("sum", "cat") for k in (2, 4, 6)},
    "gru": "veridical.zoo.gru_panels:MODEL",
    "gru-shared": "veridical.zoo.gru_panels:SHARED",
    "vqa": "veridical.zoo.vqa_panels:MODEL",
    "vqa-attention": "veridical.zoo.vqa_panels:ATTENTION",
    "relation-network-no-ids": "veridical.zoo.relation_network:NO_IDS",
    "relation-network": "veridical.zoo.relation_network:MODEL",
}


def load_model(name: str) -> Architecture:
    """A model of the zoo, or of a plug-in, by name."""
    found = registry.resolve(MODELS, name, "model", "zoo")
    if not isinstance(found, Architecture):
        raise TypeError(f"the model {name} is not an Architecture")
    return found


def _figures(name: str) -> Iterator[tuple[str, ...]]:
    """A line for each figure of a model; where the papers have one alone, it stands beside the first of ours."""
    papers = [one for one in figures().published if one.model == name]
    ours = [one for one in figures().measured if one.model == name]
    for on in dict.fromkeys([*(one.benchmark for one in papers), *(one.benchmark for one in ours)]):
        printed = [one.accuracy for one in papers if one.benchmark == on]
        own = [(f"{100 * o.accuracy:.1f}", o.row, f"{o.minutes:.0f} min") for o in ours if o.benchmark == on]
        beside = printed[0] if len(printed) == 1 and own else ""
        for paper in printed if not beside else ():
            yield name, on, paper, "", "", ""
        for number, row in enumerate(own):
            yield name, on, "" if number else beside, *row


class ModelList(ResultList[Architecture]):
    """Models of the zoo, for people and for scripts: with the papers' figures and ours, where there are some."""

    training: type[Any] | None = None  # the trainer's config, whose options are shown beside those of a single model

    def parts(self) -> Iterator[Table | str]:
        rows = [(m.name, ", ".join(m.tasks), f"{m.summary} ({m.paper})") for m in self]
        yield Table("", ("model", "tasks", "what it is"), rows)
        figures_of = [row for m in self for row in _figures(m.name)]
        columns = ("model", "on", "published", "ours", "our row", "training")
        yield Table("What they came to, % right", columns, figures_of)
        if len(self) != 1:
            yield "Options of a model: `veridical models NAME`. How a figure was measured is in its script (--json)."
            return
        yield Table(f"Options of {self[0].name}", ("--set", "default", "what it is"), options_of(self[0].config))
        if self.training is not None:
            given = {name: str(value) for name, value in self[0].training.items()}
            general = [(name, given.get(name, default), told) for name, default, told in options_of(self.training)]
            yield Table("Options of training", ("--set", "default", "what it is"), general)

    def to_json(self) -> list[dict[str, object]]:
        known = figures()
        return [
            {
                **{name: getattr(m, name) for name in ("name", "summary", "paper", "tasks", "sees")},
                "options": {f.name: f.default for f in fields(m.config)},
                "published": [msgspec.to_builtins(one) for one in known.published if one.model == m.name],
                "measured": [msgspec.to_builtins(one) for one in known.measured if one.model == m.name],
            }
            for m in self
        ]


def models(chosen: Sequence[str] = (), training: type[Any] | None = None) -> ModelList:
    """Every model of the zoo, or those of some names; `training` is the trainer's config."""
    found = ModelList(load_model(name) for name in chosen or registry.names(MODELS, "zoo"))
    found.training = training
    return found
