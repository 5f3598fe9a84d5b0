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
