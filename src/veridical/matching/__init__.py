"""Adversarial Matching: right answers are handed out again as wrong choices (VCR, section 4).

`problem` says what is matched, `rounds.match(problem, shortlist=64, tolerance=1e-3, threads=2)` solves it: a sparse
auction (`auction`) whose prices are then tried on all pairs in blocks (`pricing`), so that the result proves its own
distance to the optimum.
"""

from __future__ import annotations

from veridical.matching.assignment.problem import EmbeddingScores, Matching, Problem, Scores

__all__ = ["EmbeddingScores", "Matching", "Problem", "Scores"]
