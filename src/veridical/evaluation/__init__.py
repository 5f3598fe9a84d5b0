"""Evaluation: predictions against a benchmark. `veridical.evaluate(DIR, FILE)` gives all scores.

In reading order:

    predictions predictions as columns; `words` is what people write for a choice
    readers     files of predictions, whatever their format; `csv_files` and `arrays` (VCR's) are formats of their own
    grade       the answers of a split, and predictions joined to them by name
    opened      predictions as verbs take them: files, dicts, frames; `notes` is what lies beside a file
    bootstrap   intervals over groups, and the sign test
    metrics     accuracy, consistency, staged accuracy (the rule of Q->AR), by tag, two files compared, and baselines
    scores      the verbs: everything about one file, about several trials, about two systems; `shown` as tables
    submission  predictions as official leaderboards take them
"""

from veridical.evaluation.scores import Compared, Scores, Trials, compare, evaluate, trials_of

__all__ = ["Compared", "Scores", "Trials", "compare", "evaluate", "trials_of"]
