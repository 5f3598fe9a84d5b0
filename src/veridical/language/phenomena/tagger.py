"""Tags sentences with the linguistic phenomena of the NLVR and NLVR2 papers.

`tag` gives the names used in NLVR2's `annotated_dev_examples.txt`: ten semantic phenomena (NLVR, Table 2) and three
syntactic ambiguities. `pair_reasoning` gives the five sorts of reasoning over two images (NLVR2, arXiv draft, Table 9).
Both are rules over a dependency parse, so they need spaCy and its English model (the `[offline]` extra). `inferences`
gives what a question about a photograph asks for; it needs no parser.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from veridical.common.files import text_lines
from veridical.common.result import ResultList, Table
from veridical.language.phenomena import rules
from veridical.language.phenomena.pairs import image_reasoning
from veridical.language.phenomena.parse import Parse, parse_many

RULES: dict[str, Callable[[Parse], bool]] = {
    "hard cardinality": rules.hard_cardinality,
    "soft cardinality": rules.soft_cardinality,
    "existential quantifier": rules.existential_quantifier,
    "universal quantifier": rules.universal_quantifier,
    "coordination": rules.coordination,
    "coreference": rules.coreference,
    "spatial relation": rules.spatial_relation,
    "comparison": rules.comparison,
    "presupposition": rules.presupposition,
    "negation": rules.negation,
    "cc ambiguity": rules.cc_ambiguity,
    "pp ambiguity": rules.pp_ambiguity,
    "sbar ambiguity": rules.sbar_ambiguity,
}
PHENOMENA = tuple(RULES)  # all thirteen, in the order of the papers' tables
SEMANTIC = PHENOMENA[:10]
AMBIGUITIES = PHENOMENA[10:]


def tag_many(sentences: Iterable[str]) -> list[tuple[str, ...]]:
    """The phenomena of each sentence, in the order of `PHENOMENA`; parses in batches."""
    return [tuple(name for name, holds in RULES.items() if holds(parse)) for parse in parse_many(sentences)]


def tag(sentence: str) -> tuple[str, ...]:
    """The phenomena of one sentence.

    >>> tag("There are at least two dogs.")
    ('soft cardinality', 'existential quantifier')
    """
    return tag_many([sentence])[0]


@dataclass(frozen=True)
class TaggedSentence:
    """A sentence and what was found in it."""

    sentence: str
    phenomena: tuple[str, ...]
    pair_reasoning: tuple[str, ...]
    inference: tuple[str, ...]  # what a question asks for (VCR, Figure 2)


class TaggedSentences(ResultList[TaggedSentence]):
    """Tagged sentences, for people and for scripts."""

    def parts(self) -> Iterator[Table | str]:
        rows = [(one.sentence, ", ".join((*one.phenomena, *one.pair_reasoning, *one.inference))) for one in self[:20]]
        yield Table("The first sentences", ("sentence", "tags"), rows)
        counts = Counter(name for one in self for name in one.phenomena)
        shares = [(name, count, f"{count / len(self):.1%}") for name, count in counts.most_common()]
        yield Table(f"{len(self):,} sentences", ("phenomenon", "sentences", "share"), shares)


def tag_file(sentences: Path) -> TaggedSentences:
    """Tag every line of a text file; blank lines are passed over."""
    lines = text_lines(sentences, "Give a UTF-8 text file, one sentence a line.")
    parses = parse_many(lines)
    return TaggedSentences(
        TaggedSentence(
            line, tuple(name for name, holds in RULES.items() if holds(parse)), image_reasoning(parse), inferences(line)
        )
        for line, parse in zip(lines, parses, strict=True)
    )


def pair_reasoning_many(sentences: Iterable[str]) -> list[tuple[str, ...]]:
    """The image-pair reasoning of each sentence, in the order of `PAIR_REASONING`; parses in batches."""
    return [image_reasoning(parse) for parse in parse_many(sentences)]


def pair_reasoning(sentence: str) -> tuple[str, ...]:
    """The reasoning over two images that a sentence calls for; none where it just states a property.

    >>> pair_reasoning("Only one image shows warthogs butting heads.")
    ('exactly one image',)
    """
    return pair_reasoning_many([sentence])[0]


# --- the inferences that a question asks for (VCR, Figure 2) ----------------------------------------------------------
# Read from its words alone: `inference.json` has the patterns over lower-case words, in the figure's order. A question
# may ask for several ("What will [person1] do if ... ?" is temporal and hypothetical) or fit none.

_PATTERNS = msgspec.json.decode(Path(__file__).with_name("inference.json").read_bytes(), type=dict[str, list[str]])
_INFERENCES = {name: re.compile("|".join(patterns)) for name, patterns in _PATTERNS.items()}
INFERENCES = tuple(_INFERENCES)


def inferences(question: str) -> tuple[str, ...]:
    """The inferences of a question, in the order of `INFERENCES`; tags may stand as names or classes.

    >>> inferences("Why is person running ?"), inferences("What will happen if person stops ?")
    (('explanation',), ('temporal', 'hypothetical'))
    >>> inferences("What is person doing ?"), inferences("How many dogs are there ?")
    (('activity',), ())
    """
    words = " ".join(question.lower().replace("’", "'").split())
    return tuple(name for name, rule in _INFERENCES.items() if rule.search(words))
