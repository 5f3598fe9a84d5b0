"""The model zoo: one architecture per file, one line per model here.

`MODELS` maps a name to the `Architecture` in a model file; tests/models/test_contract.py runs over every entry.
"""

from __future__ import annotations

from veridical._verbs import make_callable
from veridical.common import registry
from veridical.zoo.architecture import Architecture

MODELS: dict[str, str] = {
    "majority": "veridical.zoo.majority:MODEL",
    "text": "veridical.zoo.text:MODEL",
    "image": "veridical.zoo.image:MODEL",
    "cnn-rnn": "veridical.zoo.cnn_rnn:MODEL",
    "maxent": "veridical.zoo.maxent:MODEL",
    "structure-mlp": "veridical.zoo.structure_mlp:MODEL",
    "structure-rnn": "veridical.zoo.structure_rnn:MODEL",
    "response-only": "veridical.zoo.responses:RESPONSE_ONLY",
    "question-only": "veridical.zoo.responses:QUESTION_ONLY",
    "probe": "veridical.zoo.probe:MODEL",
    "grounded": "veridical.zoo.grounded:MODEL",
    "mlp-sum-2": "veridical.zoo.mlp_panels:SUM_2",
    "mlp-sum-4": "veridical.zoo.mlp_panels:SUM_4",
    "mlp-sum-6": "veridical.zoo.mlp_panels:SUM_6",
    "mlp-cat-2": "veridical.zoo.mlp_panels:CAT_2",
    "mlp-cat-4": "veridical.zoo.mlp_panels:CAT_4",
    "mlp-cat-6": "veridical.zoo.mlp_panels:CAT_6",
    "gru": "veridical.zoo.gru_panels:MODEL",
    "gru-shared": "veridical.zoo.gru_panels:SHARED",
    "vqa": "veridical.zoo.vqa_panels:MODEL",
    "vqa-attention": "veridical.zoo.vqa_panels:ATTENTION",
    "relation-network-no-ids": "veridical.zoo.relation_network:NO_IDS",
    "relation-network": "veridical.zoo.relation_network:MODEL",
}


def load_model(name: str) -> Architecture:
    """A model of the zoo by name."""
    found = registry.resolve(MODELS, name, "model", "zoo")
    if not isinstance(found, Architecture):
        raise TypeError(f"what the model {name!r} stands for is not an Architecture")
    return found


def models() -> list[Architecture]:
    """Every model of the zoo."""
    return [load_model(name) for name in registry.names(MODELS, "zoo")]


make_callable(__name__, models)
