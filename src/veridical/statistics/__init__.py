"""Statistics of a benchmark. `veridical.stats(DIR)` counts it all.

    summary      every number of a benchmark, per split and over all
    judgements   what people said, as arrays; the papers' rules for pruning by it
    agreement    Krippendorff's alpha and Fleiss' kappa, with bootstrap intervals
    human        how well people do, as each paper measures it
    language     lengths of sentences and vocabulary
    shown        all of it as tables for people

From outside: what is imported below, `judgements` (builders prune by its rules), and `language`'s lengths.
"""

from veridical.statistics.human import HumanPerformance, human_performance
from veridical.statistics.summary import SplitStats, Stats, stats

__all__ = ["HumanPerformance", "SplitStats", "Stats", "human_performance", "stats"]
