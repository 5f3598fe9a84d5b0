"""Visual commonsense reasoning (VCR; Zellers et al. 2019): questions about tagged photographs, answers and reasons.

`build_vcr` chooses photographs, takes the questions that people wrote (or tells stories of the icon world), and makes
four-way choices by Adversarial Matching, answers and rationales apart, within folds that share no photograph.
"""

from veridical.builders.vcr.builder import build_vcr

__all__ = ["build_vcr"]
