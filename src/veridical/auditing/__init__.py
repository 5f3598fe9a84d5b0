"""The audit: can a benchmark be passed without doing the task? `veridical.audit(DIR)` runs every check.

In reading order:

    findings         what a check finds, and every rule by which it says pass, warn or fail
    run              all checks by name, run side by side; the page and the JSON
    data             a benchmark's items as the audit reads them, and folds that share nothing
    samples          what a blind model may see of them, and the cues that controls plant
    harness          train, test, compare with the reference, plant a cue, see if it is found
    blind            which guesser sees what, for each task, and what is said of it
    texts, pictures  guessers that read, and guessers that look
    models           what guessers learn with
    cues             single words and elements tied to the answer, groups with one label
    leaks            what is in several splits; `near_duplicates` finds what is nearly there
    people           ambiguous and unanswerable items, agreement, the human ceiling
    contamination    the canary, and the benchmark's texts in corpora
    page             the audit as one HTML page, drawn by `veridical.pages`

From outside: what is imported below. Another check costs a function and a line in `run.CHECKS`.
"""

from veridical.auditing.findings import Finding, Power, Verdict, WorstExample
from veridical.auditing.run import CHECKS, Audit, audit

__all__ = ["CHECKS", "Audit", "Finding", "Power", "Verdict", "WorstExample", "audit"]
