"""Evaluation: predictions against a benchmark. `veridical.evaluate(DIR, FILE)` gives all scores."""

from veridical._verbs import make_callable
from veridical.evaluate.bootstrap import Estimate, sign_test
from veridical.evaluate.compare import Comparison
from veridical.evaluate.metrics import Row
from veridical.evaluate.readers import Predictions, read_predictions
from veridical.evaluate.run import evaluate, evaluate_trials
from veridical.evaluate.scores import Scores, Trials, official_output

__all__ = [
    "Comparison",
    "Estimate",
    "Predictions",
    "Row",
    "Scores",
    "Trials",
    "evaluate",
    "evaluate_trials",
    "official_output",
    "read_predictions",
    "sign_test",
]

make_callable(__name__, evaluate)
