"""Evaluation: predictions against a benchmark. `veridical.evaluate(DIR, FILE)` gives all scores."""

from veridical._verbs import make_callable
from veridical.common.intervals import Estimate
from veridical.evaluation.bootstrap import sign_test
from veridical.evaluation.compare import Comparison
from veridical.evaluation.metrics import Row
from veridical.evaluation.readers import Predictions, read_predictions
from veridical.evaluation.run import evaluate, evaluate_trials
from veridical.evaluation.scores import Scores, Trials, official_output

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
