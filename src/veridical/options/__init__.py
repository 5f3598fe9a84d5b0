"""What the verbs can be told: one frozen dataclass for each group of options, a line of meaning for each field.

The command line flattens them (`--presentations 50`), Python passes the object or its fields as keywords
(`veridical.build("nlvr", out, presentations=50)`), and the rooms use the very same objects as their config. Everything
may import this room; it needs only the standard library.

    given       how keywords reach the fields, and how options that nobody would use are refused
    building    build (NLVR, NLVR2, V-PROM, VCR) and match
    running     audit, train, sweep, solve, report
"""

from veridical.options.building import (
    Columns,
    Matching,
    MatchOptions,
    Mining,
    NLVR2Options,
    NLVROptions,
    VCROptions,
    VPROMOptions,
)
from veridical.options.given import Spelled, gathered, given, option, refuse_unused
from veridical.options.running import (
    Asking,
    AuditOptions,
    Context,
    Generating,
    ReportOptions,
    Sending,
    SolverOptions,
    SweepOptions,
    TrainOptions,
    Views,
)

__all__ = [
    "Asking",
    "AuditOptions",
    "Columns",
    "Context",
    "Generating",
    "MatchOptions",
    "Matching",
    "Mining",
    "NLVR2Options",
    "NLVROptions",
    "ReportOptions",
    "Sending",
    "SolverOptions",
    "Spelled",
    "SweepOptions",
    "TrainOptions",
    "VCROptions",
    "VPROMOptions",
    "Views",
    "gathered",
    "given",
    "option",
    "refuse_unused",
]
