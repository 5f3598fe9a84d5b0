"""Experiments: many models on many schemes of one benchmark.

points   what one run of a sweep came to, on disk
sweep    points (a model, a scheme, features) that are trained, solved, scored and controlled; the verb at its end
"""

SWEEP = "sweep.json"  # in a sweep's folder: the scores of all its points
TYPES = ("relation", "element")  # tags that their accuracies are broken down by
