"""The report: `veridical.report(RUNS, OUT)` writes one self-contained page, with the papers' tables beside ours."""

from veridical.reporting.run import Report, report

__all__ = ["Report", "report"]
