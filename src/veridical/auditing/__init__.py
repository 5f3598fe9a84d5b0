"""The audit: can a benchmark be passed without doing the task? `veridical.audit(DIR)` runs every check.

In reading order:

    findings         what the checks are (`checks.json`), what they find, and every rule by which they judge
    run              all checks by name, run side by side; the page, drawn by `veridical.pages`, and the JSON
    data             a benchmark's items as the audit reads them, folds that share nothing, what a model may see
    harness          train, test, compare with the reference, plant a cue, see if it is found
    blind            the checks that guess, and what is said of them
    texts, pictures  guessers that read, and guessers that look; `reading` reads with the text encoder, the strongest
    joint            items that give each other away: responses that are right once, labels that are opposite
    models           what guessers learn with
    cues             single words and elements tied to the answer, groups with one label
    leaks            what is in several splits, or in corpora; `near_duplicates` finds what is nearly there
    people           ambiguous and unanswerable items, agreement, the human ceiling

From outside: what is imported below. Another check costs a function and its words in `checks.json`.
"""

from veridical.auditing.findings import Finding, Power, Verdict, WorstExample
from veridical.auditing.run import CHECKS, Audit, audit

__all__ = ["CHECKS", "Audit", "Finding", "Power", "Verdict", "WorstExample", "audit"]
