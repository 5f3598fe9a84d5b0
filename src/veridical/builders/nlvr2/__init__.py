"""`veridical build nlvr2`: queries, sets of similar photographs, pairs, sentences, validation, splits (section 3).

From the icon world or any source of annotated photographs with generated sentences, or from what people marked, wrote
and judged. Every step is a file in the work folder, so that a build can stop, be looked at, be redone by
people and continue.
"""

from veridical.builders.nlvr2.build import build_nlvr2
from veridical.builders.nlvr2.config import Config, read_config
from veridical.builders.nlvr2.people import check_presence, check_sentence
from veridical.builders.nlvr2.takedown import TakedownReport, takedown

__all__ = [
    "Config",
    "TakedownReport",
    "build_nlvr2",
    "check_presence",
    "check_sentence",
    "read_config",
    "takedown",
]
