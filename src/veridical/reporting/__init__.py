"""The report: `veridical.report(RUNS, OUT)` writes one self-contained page, with the papers' tables beside ours.

    run         the verb: chapters of a page, and the tables as Markdown and LaTeX
    inputs      what the given runs are: prediction files, folders of `train` and `sweep`, audits
    studies     runs sorted by benchmark and scored
    overview    the first screen: every benchmark in one line
    published   the papers' numbers (published.json), and the tables of results with ours beside them
    tagged      what our tagger says of sentences that a benchmark says nothing of
    analysis    what results say: by tag, pair by pair, group by group, in words
    corpora     what sentences show, here and in the corpora that the papers counted
    examples    the most instructive items, as cards
    sections    the sections of a page, each from what was found
    trained     what was trained: tables and curves of runs and sweeps

Everything is computed here and drawn by `veridical.pages`. From outside only `report` is used.
"""

from veridical.reporting.run import Report, report

__all__ = ["Report", "report"]
