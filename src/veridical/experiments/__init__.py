"""Experiments: many models on many schemes of one benchmark.

sweep    points (a model, a scheme, features) that are trained, solved, scored and controlled, run by run
swept    the verb: which points there are, and what came of them
"""

SWEEP = "sweep.json"  # in a sweep's folder: the scores of all its points
TYPES = ("relation", "element")  # tags that their accuracies are broken down by
