"""Answers of people belong to one build, and what cannot be built is noticed before the work."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from veridical.benchmark import Benchmark
from veridical.builders.vprom import build as room
from veridical.builders.vprom import build_vprom
from veridical.builders.vprom.elements import read_lists
from veridical.builders.vprom.matrices import Matrices
from veridical.builders.vprom.mining import Mining, mine, pool_of
from veridical.builders.vprom.storing import item_names
from veridical.errors import UserError
from veridical.statistics import human_performance

from ._painted import Painted
from .conftest import SMALL


def written(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_answers_to_another_build_are_refused(small: Path, tmp_path: Path) -> None:
    """Right answers to the matrices of one seed are wrong ones to those of another."""
    items = list(Benchmark(small).items("test", "neutral"))
    rows = [{"item": item.id, "worker": "w", "verdict": item.answer} for item in items]
    path = written(tmp_path / "answers.jsonl", rows)
    options = SMALL | {"schemes": ["neutral"], "judgements": path}
    same = Benchmark(build_vprom(tmp_path / "same", **options).out)  # fewer schemes: the same matrices
    assert human_performance(same, "test", scheme="neutral").mean == 1
    others = {"seed": {"seed": 4}, "source": {"source": Painted(901)}}
    for name, other in others.items():
        with pytest.raises(UserError, match="this build has no such item") as error:
            build_vprom(tmp_path / name, **options | other)
        assert "all its options" in error.value.fix
        assert not (tmp_path / name).exists()


def test_an_id_is_of_one_matrix_of_one_pool(small: Path) -> None:
    """Scheme, side, number and six digits that are not the number's."""
    ids = [item.id for item in Benchmark(small).items("test", "neutral")]
    assert all(re.fullmatch(rf"neutral-test-{n:06d}-[0-9a-f]{{6}}", name) for n, name in enumerate(ids))
    assert len({name[-6:] for name in ids}) > len(ids) * 0.9
    pool, _ = pool_of([mine(Painted().photographs(), read_lists(), Mining(), exact=True)], Mining())
    renamed = replace(pool, elements=tuple(replace(e, name=f"{e.name} x") for e in pool.elements))
    none, crops = np.zeros(2, np.int64), np.zeros((2, 16), np.int32)
    matrices = Matrices(cell=none, answer=none, crops=crops, elements=crops.astype(np.int64), rejected={}, missing={})
    names = pa.array([f"p{n}" for n in range(pool.photographs)])
    one, other, third = (
        list(item_names(matrices, chosen, called, ("a", "test")))
        for chosen, called in ((pool, names), (renamed, names), (pool, pa.array([f"q{n}" for n in range(len(names))])))
    )
    assert one[0][-6:] == one[1][-6:]
    assert len({one[0], other[0], third[0]}) == 3


@pytest.mark.parametrize("what", ["judgements", "out"])
def test_what_is_wrong_is_noticed_before_the_work(tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "letter.txt").write_text("mine")
    wrong = {"judgements": {"judgements": tmp_path / "none.jsonl"}, "out": {"out": tmp_path / "foreign"}}
    monkeypatch.setattr(room, "pool_of", lambda *_: pytest.fail("the source was mined"))
    with pytest.raises(UserError, match=r"cannot be read|is not a benchmark"):
        build_vprom(**{"out": tmp_path / "made", **SMALL, **wrong[what]})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["foreign"]
