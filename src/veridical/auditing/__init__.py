"""The audit: can a benchmark be passed without doing the task? `veridical.audit(DIR)` runs every check."""

from veridical._verbs import make_callable
from veridical.auditing.findings import Example, Finding, Power, Verdict
from veridical.auditing.run import CHECKS, Audit, audit

__all__ = ["CHECKS", "Audit", "Example", "Finding", "Power", "Verdict", "audit"]

make_callable(__name__, audit)
