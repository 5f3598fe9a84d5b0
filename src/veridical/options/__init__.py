"""What the verbs can be told: one frozen dataclass for each group of options, a line of meaning for each field.

The command line flattens them (`--presentations 50`), Python passes the object or its fields as keywords
(`veridical.build("nlvr", out, presentations=50)`), and the rooms use the very same objects as their config. Everything
may import this room; it needs only the standard library.

    building    build (NLVR, NLVR2, V-PROM, VCR), augment and match
    importing   import, of tables
    running     audit, features, train, sweep, solve, report
    serving     serve
    collecting  collect init
    fields      how keywords reach the fields, and how options that nobody would use are refused
"""

from veridical.options.fields import (
    ARGUMENTS,
    COMMAS,
    FROM,
    LAMBDA,
    MODEL_ARG,
    NEGATIVE,
    RENAMED,
    NamedAnswers,
    Spelled,
    check_choices,
    check_seed,
    filled,
    gathered,
    given,
    given_names,
    option,
    refuse_unused,
    several,
)

# isort: split
from veridical.options.building import (
    AugmentOptions,
    Columns,
    Matching,
    MatchOptions,
    Mining,
    NLVR2Options,
    NLVROptions,
    VCROptions,
    VPROMOptions,
)
from veridical.options.collecting import CollectOptions, RunningOptions
from veridical.options.importing import TableOptions
from veridical.options.running import (
    Asking,
    AuditOptions,
    FeatureOptions,
    Generating,
    ReportOptions,
    Sending,
    SolverOptions,
    SweepOptions,
    TrainOptions,
    Workers,
)
from veridical.options.serving import BoardRows, ServeOptions

__all__ = [  # noqa: RUF022 - the dataclasses, then what makes them
    "TableOptions", "NLVROptions", "NLVR2Options", "VPROMOptions", "Mining", "VCROptions", "AugmentOptions",
    "MatchOptions", "Matching", "Columns",
    "AuditOptions", "FeatureOptions", "TrainOptions", "SweepOptions", "SolverOptions", "Asking", "Sending",
    "Generating", "ReportOptions", "BoardRows", "ServeOptions", "CollectOptions", "RunningOptions", "Workers",
    "ARGUMENTS", "COMMAS", "FROM", "LAMBDA", "MODEL_ARG", "NEGATIVE", "RENAMED", "NamedAnswers", "Spelled",
    "check_choices", "check_seed", "filled", "gathered", "given", "given_names", "option", "refuse_unused", "several",
]  # fmt: skip
