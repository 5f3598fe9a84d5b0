"""Evaluation: predictions against a benchmark. `veridical.evaluate(DIR, FILE)` gives all scores.

In reading order:

    readers     files of predictions as columns, whatever their format; `arrays` are VCR's
    key         the answers of a split; `grade` joins predictions to them by name
    metrics     accuracy, consistency, staged accuracy (the rule of Q->AR), by tag, and the comparison of two files
    bootstrap   intervals over groups, and the sign test
    baselines   what numbers are set beside: the majority, chance, people
    scores      the verb: everything about one file, or about several trials; `shown` as tables
    submission  predictions as official leaderboards take them
"""

from veridical.common.intervals import Estimate
from veridical.evaluation.bootstrap import sign_test
from veridical.evaluation.metrics import Comparison, Row
from veridical.evaluation.readers import Predictions, read_predictions
from veridical.evaluation.scores import Scores, Trials, evaluate, official_output, trials_of

__all__ = [
    "Comparison",
    "Estimate",
    "Predictions",
    "Row",
    "Scores",
    "Trials",
    "evaluate",
    "official_output",
    "read_predictions",
    "sign_test",
    "trials_of",
]
