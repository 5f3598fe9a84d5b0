"""What is given to a V-PROM build, checked before anything is mined or drawn, which may take an hour.

Beside the options these are people's answers (section 3.3): JSON lines of an item, a worker and a candidate's place or
"skip", and optionally a time. An item's id ends in a digest of its matrix: answers to another build are noticed.

{"item": "neutral-test-000012-9f3ac0", "worker": "w3", "verdict": 5}
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from veridical.builders.vprom.matrices import CANDIDATES
from veridical.builders.vprom.pool import Pool
from veridical.builders.vprom.schemes import SCHEMES, SIDES, SPLIT
from veridical.common.files import numbered_lines
from veridical.errors import UserError
from veridical.options.building import Mining, VPROMOptions
from veridical.records import Judgement
from veridical.sources import Source, open_source
from veridical.sources.icons.worlds import THINGS, IconPanels

_LOWER = {"richness": "lower --least-images", "purity": "raise --most-others", "quality": "lower --least-side"}
_FORM = '{"item": "neutral-test-000012-9f3ac0", "worker": "w3", "verdict": 5}'


def check_options(names: Sequence[str], options: VPROMOptions) -> None:
    """Refuse options that make no benchmark."""
    matrices, seed = options.matrices, options.seed
    if not names:
        raise UserError("No scheme was asked for.", f"Choose from: {', '.join(SCHEMES)}.")
    for name in names:
        if name not in SCHEMES:
            raise UserError(f"There is no scheme {name!r}.", f"Choose from: {', '.join(SCHEMES)}.")
    if matrices < SPLIT:
        raise UserError(f"{matrices} matrices cannot be divided two to one.", f"Ask for {SPLIT} or more.")
    if seed < 0:
        raise UserError(f"The seed is {seed}.", "Give a whole number from 0.")
    for split in options.hide:
        if split not in SIDES:
            raise UserError(f"There is no split {split!r} to hide.", f"The splits are: {', '.join(SIDES)}.")
    if options.secret and not options.hide:
        raise UserError("A secret was given, and no split is hidden.", "Name the split to hide: --hide test.")


def check_mining(mining: Mining, source: Source) -> None:
    """Refuse principles that nothing, or nothing of this source, can meet."""
    for option, given, least in (
        ("--least-images", mining.least_images, 1),
        ("--most-others", mining.most_others, 0),
        ("--least-side", mining.least_side, 1),
    ):
        if given < least:
            raise UserError(f"{option} is {given}.", f"Give a whole number from {least}.")
    if isinstance(source, IconPanels) and mining.least_side > source.side:
        raise UserError(
            f"--least-side is {mining.least_side}, and the panels of the icon world have {source.side} pixels a side.",
            f"Give {source.side} or less.",
        )


def open_panels(options: VPROMOptions) -> Source:
    """The source of a build; `images` and `categories` are those of the icon world."""
    source: str | Source = options.source
    given = {"images": options.images, "categories": options.categories}
    if source != "icons":
        for option, number in given.items():
            if number is not None:
                raise UserError(
                    f"The number of {option} is that of the source.", f"Leave --{option} out, or use --source icons."
                )
        return open_source(source) if isinstance(source, str) else source
    for option, most in (("images", None), ("categories", len(THINGS))):
        number = given[option]
        if number is not None and not 1 <= number <= (most or number):
            limit = "1 or more" if most is None else f"1 to {most}"
            raise UserError(f"{number} {option} of icons were asked for.", f"Give {limit}, or leave --{option} out.")
    images = default_images(options.matrices) if options.images is None else options.images
    return IconPanels(images, options.seed, categories=options.categories or 0)


def too_little(pool: Pool) -> UserError:
    """Why no matrix could be made: the principle that removed the most is the first to be lowered."""
    removed = {principle: sum(types.values()) for principle, types in pool.removed.items() if principle in _LOWER}
    worst = max(_LOWER, key=lambda principle: removed.get(principle, 0))
    number = removed.get(worst, 0)
    why = f" {worst.capitalize()} removed the most: {number:,} depictions." if number else ""
    return UserError(
        f"No matrix could be made: {len(pool):,} crops show {int(pool.usable.sum())} elements.{why}",
        f"Use a larger source, or {_LOWER[worst]}.",
    )


def default_images(matrices: int) -> int:
    """Icon panels to draw from: enough for each of 140 categories on both sides, and more for more matrices.

    >>> default_images(3), default_images(15_000), default_images(1_000_000)
    (6000, 7500, 20000)
    """
    return int(np.clip(matrices // 2, 6000, 20_000))


class _Answer(msgspec.Struct, frozen=True):
    item: str
    worker: str
    verdict: int | Literal["skip"]
    time: float | None = None


def read_answers(path: Path) -> list[Judgement]:
    """The answers of a human test, in the order of the file; a worker answers an item once."""
    out: list[Judgement] = []
    seen: set[tuple[str, str]] = set()
    for number, one in numbered_lines(path, _Answer, f'Each line is {_FORM}, or "skip".'):
        where = f"{path.name}, line {number}"
        if isinstance(one.verdict, int) and not 0 <= one.verdict < CANDIDATES:
            raise UserError(f"{where}: {one.verdict} is no candidate.", f'Give 0 to {CANDIDATES - 1}, or "skip".')
        if (one.item, one.worker) in seen:
            raise UserError(f"{where}: {one.worker} answered {one.item} before.", "Keep the first answer.")
        seen.add((one.item, one.worker))
        out.append(Judgement(one.item, one.worker, one.verdict, "human", one.time))
    return out


def check_answers(answers: Sequence[Judgement], items: Container[str]) -> None:
    """Refuse answers to other matrices than these."""
    for one in answers:
        if one.item not in items:
            raise UserError(
                f"{one.worker} answered {one.item!r}, and this build has no such item.",
                "Answers belong to the build that people saw: give all its options again, and its --secret if it had "
                "one. Nothing was written.",
            )
