"""A VCR build from a collection: its photographs, what people wrote about them, and what others let pass."""

from __future__ import annotations

from dataclasses import replace

from veridical.builders.collected import JUDGEMENTS, QUESTIONS, Collected, read_collection
from veridical.errors import UserError
from veridical.options import filled
from veridical.options.building import VCROptions
from veridical.sources.icons.stories import FOUR, IconStories


def taken_over(options: VCROptions) -> tuple[VCROptions, Collected | None]:
    """The options with which a collection was begun, and its files; and what it counted."""
    if options.from_collection is None:
        return options, None
    if options.questions is not None or options.judgements is not None:
        problem = "Both --from-collection and files of their own say what people did."
        raise UserError(problem, "Give one of them.")
    found = read_collection(options.from_collection, "vcr")
    if found.is_study:
        raise UserError(f"{found.folder} has the answers of a study.", "Give it as --answers.")
    made = filled(options, {"source": found.about["source"], "seed": found.seed})
    if made.source == "icons":  # the stories that people saw, told again
        count = -(-int(found.about["photographs"]) // FOUR) * FOUR
        made = replace(made, source=IconStories(count, found.seed))
    return replace(made, questions=found.path(QUESTIONS), judgements=found.path(JUDGEMENTS)), found
