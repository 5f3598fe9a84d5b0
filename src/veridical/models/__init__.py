"""The model zoo: one architecture per file, one line per model here.

`MODELS` maps a name to the `Architecture` in a model file; tests/models/test_contract.py runs over every entry.
"""

from __future__ import annotations

from pkgutil import resolve_name

from veridical._verbs import make_callable
from veridical.errors import UserError
from veridical.models.architecture import Architecture

MODELS: dict[str, str] = {
    "majority": "veridical.models.majority:MODEL",
    "text": "veridical.models.text:MODEL",
    "image": "veridical.models.image:MODEL",
    "cnn-rnn": "veridical.models.cnn_rnn:MODEL",
    "maxent": "veridical.models.maxent:MODEL",
    "structure-mlp": "veridical.models.structure_mlp:MODEL",
    "structure-rnn": "veridical.models.structure_rnn:MODEL",
    "response-only": "veridical.models.responses:RESPONSE_ONLY",
    "question-only": "veridical.models.responses:QUESTION_ONLY",
    "probe": "veridical.models.probe:MODEL",
    "grounded": "veridical.models.grounded:MODEL",
    "mlp-sum-2": "veridical.models.mlp_panels:SUM_2",
    "mlp-sum-4": "veridical.models.mlp_panels:SUM_4",
    "mlp-sum-6": "veridical.models.mlp_panels:SUM_6",
    "mlp-cat-2": "veridical.models.mlp_panels:CAT_2",
    "mlp-cat-4": "veridical.models.mlp_panels:CAT_4",
    "mlp-cat-6": "veridical.models.mlp_panels:CAT_6",
    "gru": "veridical.models.gru_panels:MODEL",
    "gru-shared": "veridical.models.gru_panels:SHARED",
    "vqa": "veridical.models.vqa_panels:MODEL",
    "vqa-attention": "veridical.models.vqa_panels:ATTENTION",
    "relation-network-no-ids": "veridical.models.relation_network:NO_IDS",
    "relation-network": "veridical.models.relation_network:MODEL",
}


def load_model(name: str) -> Architecture:
    """A model of the zoo by name."""
    if name not in MODELS:
        raise UserError(f"There is no model {name!r}.", f"Choose one of: {', '.join(MODELS)}.")
    found = resolve_name(MODELS[name])
    if not isinstance(found, Architecture):
        raise TypeError(f"{MODELS[name]} is not an Architecture")
    return found


def models() -> list[Architecture]:
    """Every model of the zoo."""
    return [load_model(name) for name in MODELS]


make_callable(__name__, models)
