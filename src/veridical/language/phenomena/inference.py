"""The inferences that a question about a photograph asks for (VCR, Figure 2), read from its words.

A question may ask for several: "What will [person1] do if ... ?" is temporal and hypothetical. The rules look at
words only, so they need no parser; a question that fits none has no tag.
"""

from __future__ import annotations

import re

# In the order of the figure. Each has patterns over lower-case words.
_RULES: dict[str, tuple[str, ...]] = {
    "explanation": (
        r"^why\b",
        r"\bwhy (is|are|was|were|does|do|did|would|has|have)\b",
        r"\bhow come\b",
        r"\bwhat (is|are|was|were|'s) the (reason|cause|purpose)",
        r"\bwhat (caused|causes|made|makes)\b",
        r"\bwhat for\b",
        r"\bhow (do|does|did|can|could) (you|we|one|i) (know|tell)\b",
        r"\bfor what reason\b",
    ),
    "activity": (
        r"\bwhat\b.*\b(doing|up to|busy with|engaged in|working on|playing|talking about|discussing|saying|"
        r"holding|looking at|watching|reading|wearing|carrying|eating|drinking|trying to do|noticed)\b",
        r"\bwhat (do|does|did) .* do\b",
        r"\b(what|which) (event|activity|game|sport|ceremony)\b",
        r"\b(attending|participating in|giving to)\b",
        r"\bwhat (is|'s) (happening|going on|taking place)\b",
        r"\bhow (is|are) .*ing\b",
    ),
    "temporal": (
        r"\bnext\b",
        r"\babout to\b",
        r"\bgoing to\b",
        r"\bwill\b",
        r"\bwhat (just )?happened\b",
        r"\bjust (now|finished|happened|did|come|been)\b",
        r"\b(before|after|afterwards|later|earlier|recently|previously|soon)\b",
        r"\bwhere (did|has|have) .* (come|been|go)\b",
        r"\bhow long\b",
    ),
    "mental": (
        r"\b(feel|feels|feeling|felt|think|thinks|thinking|thought|want|wants|wanted|know|knows|believe|"
        r"believes|love|loves|hate|hates|afraid|scared|happy|sad|angry|mad|upset|worried|excited|"
        r"surprised|nervous|bored|interested|enjoy|enjoying|enjoys|mood|emotion|emotions|attitude|hope|hoping|"
        r"trust|trusts|confused|proud|annoyed|intention|intentions|mind)\b",
        r"(?<!look )(?<!looks )(?<!looked )\blikes?\b",
    ),
    "role": (
        r"^who( is| are| was| were| ?'s|'re)\b(?! \w+ing\b)",
        r"\b(identity|relationship|relationships|related|relation|job|jobs|profession|occupation|role|roles|"
        r"career|rank|boss|in charge|work as|works as|for a living|couple|married|dating|friends|family|"
        r"strangers|know each other|social status|social class)\b",
    ),
    "scene": (
        r"^where\b",
        r"\bwhere (is|are|was|were|does|do|did) .* (taking place|happening|located|set|right now|be)\b",
        r"\b(what|which) (kind of |type of |sort of )?(place|room|building|location|country|city|era|time|"
        r"season|year|decade|occasion|weather|restaurant|store|establishment|environment|setting)\b",
        r"\bwhat time\b",
        r"\bwhen (is|are|was|does|did)\b",
        r"\bhow is the weather\b",
        r"\btime of (day|year)\b",
        r"\bis it (day|night|summer|winter|cold|hot|raining|snowing)\b",
    ),
    "hypothetical": (
        r"\bif\b",
        r"\bwhat would\b",
        r"\bwould .* (happen|be|do|have)\b",
        r"\b(could|might) (have )?(happen|happened|be the result)\b",
        r"\bsuppose\b",
        r"\bhow would\b",
        r"\bwhat might\b",
    ),
}
INFERENCES = tuple(_RULES)
_COMPILED = {name: re.compile("|".join(rule)) for name, rule in _RULES.items()}


def inferences(question: str) -> tuple[str, ...]:
    """The inferences of a question, in the order of `INFERENCES`; tags may stand as names or classes.

    >>> inferences("Why is person running ?"), inferences("What will happen if person stops ?")
    (('explanation',), ('temporal', 'hypothetical'))
    >>> inferences("What is person doing ?"), inferences("How many dogs are there ?")
    (('activity',), ())
    """
    words = " ".join(question.lower().replace("’", "'").split())
    return tuple(name for name, rule in _COMPILED.items() if rule.search(words))
