"""One typed language over panels and objects: parse it, execute it, explain it.

The parts are in `terms` (operators, types, text form), `execution` (what each operator means) and `explanations`; this
module is their public face. `Item.program` holds the text form.

    truth   (and T..) (or T..) (not T) (count AMOUNT SET) (every SET TEST) (values ATTRIBUTE AMOUNT OBJECTS)
            (agree AMOUNT KEY GROUPS): so many groups share the same key
    objects things (keep TEST OBJECTS) (either OBJECTS OBJECTS) (others OBJECTS OBJECTS)
    groups  panels towers (where T GROUPS) (most OBJECTS GROUPS) (least OBJECTS GROUPS)
    test    (is ATTRIBUTE VALUE) (touching PLACE) (nearing PLACE) (at HEIGHT) (nth N HEIGHT)
            (related RELATION AMOUNT OBJECTS) (alike ATTRIBUTE AMOUNT OBJECTS) (inside T GROUPS) any and or not
    amount  (exactly N) (at-least N) (at-most N) (more-than N) (fewer-than N) (between N N) even odd
            where N is a number or (size SET)
    key     (tally OBJECTS) (value ATTRIBUTE OBJECTS)
"""

from __future__ import annotations

from veridical.language.programs.execution import execute
from veridical.language.programs.explanations import Explanation, Step, explain, explain_svg
from veridical.language.programs.terms import Program, parse, show, subterms, term

__all__ = [
    "Explanation",
    "Program",
    "Step",
    "execute",
    "explain",
    "explain_svg",
    "parse",
    "show",
    "subterms",
    "term",
]
