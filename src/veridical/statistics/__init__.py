"""Statistics of a benchmark: agreement, human performance, language. `veridical.stats(DIR)` counts it all."""

from veridical._verbs import make_callable
from veridical.statistics.agreement import (
    Agreement,
    bootstrap_alpha,
    fleiss_kappa,
    krippendorff_alpha,
    random_rater_kappa,
)
from veridical.statistics.human import HumanPerformance, human_performance
from veridical.statistics.language import Lengths, profile
from veridical.statistics.summary import Stats, Summary, stats

__all__ = [
    "Agreement",
    "HumanPerformance",
    "Lengths",
    "Stats",
    "Summary",
    "bootstrap_alpha",
    "fleiss_kappa",
    "human_performance",
    "krippendorff_alpha",
    "profile",
    "random_rater_kappa",
    "stats",
]

make_callable(__name__, stats)
