"""Evaluation: predictions against a benchmark. `veridical.evaluate(DIR, FILE)` gives all scores.

In reading order:

    readers     files of predictions as columns, whatever their format; `arrays` are VCR's
    grade       the answers of a split, and predictions joined to them by name
    bootstrap   intervals over groups, and the sign test
    metrics     accuracy, consistency, staged accuracy (the rule of Q->AR), by tag, two files compared, and baselines
    scores      the verb: everything about one file, or about several trials; `shown` as tables
    submission  predictions as official leaderboards take them
"""

from veridical.evaluation.scores import Scores, Trials, evaluate, trials_of

__all__ = ["Scores", "Trials", "evaluate", "trials_of"]
