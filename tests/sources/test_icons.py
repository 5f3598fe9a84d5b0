"""The icon world: scenes hold what was asked for, and its truth is what the pixels show."""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.errors import UserError
from veridical.sources import icons, open_source


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


NAMES = sorted(icons.CATEGORIES)
GROUPS = st.lists(st.builds(icons.Group, st.sampled_from(NAMES), st.integers(1, 4)), min_size=1, max_size=3)


@settings(max_examples=40, deadline=None)
@given(groups=GROUPS, distractors=st.integers(0, 3), seed=st.integers(0, 2**32))
def test_scene_holds_what_was_asked_for(groups: list[icons.Group], distractors: int, seed: int) -> None:
    scene = icons.compose(rng(seed), groups, distractors=distractors)
    asked = {group.category for group in groups}
    objects = icons.panel(scene, "p").objects
    for name in asked:
        wanted = sum(group.count for group in groups if group.category == name)
        assert sum(one.category == name for one in objects) == wanted
    assert sum(one.category not in asked for one in objects) == distractors
    for one in objects:
        assert one.box is not None
        left, top, right, bottom = one.box
        assert 0 <= left < right <= scene.width
        assert 0 <= top < bottom <= scene.height
        kind = icons.CATEGORIES[one.category]
        assert all(value in kind.allows(name) for name, value in one.attributes)


def test_unknown_category_is_refused() -> None:
    with pytest.raises(UserError, match="no category 'unicorn'"):
        icons.compose(rng(), [icons.Group("unicorn")])


def test_photographs_are_the_same_in_another_process() -> None:
    code = (
        "from veridical.sources import open_source; from hashlib import sha256;"
        "s = open_source('icons', count=9, seed=5); print(sha256(s.picture(s.photograph(7))).hexdigest())"
    )
    source = open_source("icons", count=9, seed=5)
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert sha256(source.picture(list(source.photographs())[7])).hexdigest() == there
