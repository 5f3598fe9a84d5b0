"""Plans: what follows from the rates, and files that ask for something."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import veridical
from veridical.common.result import Caution
from veridical.engine.planning import Asked, Machine, _stage, rates
from veridical.errors import UserError

KINDS = ("pictures", "matrices", "images", "texts", "pairs")


def test_every_kind_was_measured() -> None:
    assert tuple(rates().work) == KINDS
    assert all(rate.worker_seconds > 0 and rate.leader_seconds >= 0 for rate in rates().work.values())


def test_without_a_file_the_plan_is_of_ten_million_pictures_and_three_million_pairs() -> None:
    found = veridical.plan()
    assert [(stage.name, stage.count) for stage in found.stages] == [("pictures", 10_000_000), ("pairs", 3_000_000)]
    used = [[limit.used for limit in stage.limits] for stage in found.stages]
    assert all(shares == sorted(shares, reverse=True) for shares in used)
    assert json.loads(json.dumps(found.to_json()))["stages"][0]["count"] == 10_000_000


@given(st.sampled_from(KINDS), st.integers(1, 10**8), st.integers(1, 256), st.floats(0.5, 1000))
def test_laws_of_a_plan(kind: str, count: int, cores: int, hours: float) -> None:
    machine = Machine(cores=cores, dollars_per_hour=2)
    stage = _stage(kind, count, Asked(**{kind: count}, hours=hours, machine=machine))  # type: ignore[arg-type]
    rate = rates().work[kind]
    spent = count * (rate.worker_seconds + rate.leader_seconds) / 3600
    assert stage.core_hours == pytest.approx(spent)
    assert stage.machines * cores * stage.hours >= spent * (1 - 1e-9)  # nobody works faster than measured
    assert stage.hours <= max(hours * (1 + 1e-9), count * rate.leader_seconds / 3600)  # in time, unless one leads it
    assert stage.dollars == pytest.approx(2 * stage.machines * stage.hours)
    more = _stage(kind, 2 * count, Asked(**{kind: 2 * count}, hours=hours, machine=machine))  # type: ignore[arg-type]
    assert more.core_hours == pytest.approx(2 * spent)


@pytest.mark.parametrize(("name", "text"), [
    ("plan.toml", "matrices = 2300000\nhours = 8\n[machine]\ncores = 64\n"),
    ("plan.json", '{"matrices": 2300000, "hours": 8, "machine": {"cores": 64}}'),
])  # fmt: skip
def test_a_config_of_ones_own(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    (stage,) = veridical.plan([tmp_path / name]).stages
    assert (stage.name, stage.count) == ("matrices", 2_300_000)


def test_numbers_without_an_end_are_no_plan(tmp_path: Path) -> None:
    for value in ("inf", "nan", "-inf"):
        (tmp_path / "plan.toml").write_text(f"pictures = 5\nhours = {value}\n")
        with pytest.raises(UserError, match="hours is"):
            veridical.plan([tmp_path / "plan.toml"])


def test_what_is_too_little_is_said_with_what_helps(tmp_path: Path) -> None:
    """Ten thousand million matrices: one process cannot lead them in an hour, nor one disk hold them."""
    (tmp_path / "plan.json").write_text('{"matrices": 10000000000, "hours": 1}')
    (stage,) = (made := veridical.plan([tmp_path / "plan.json"])).stages
    broken = [limit for limit in stage.limits if limit.used > 1]
    assert any("leading process" in limit.what for limit in broken)
    assert any("the disk" in limit.what for limit in broken)
    said = [str(part) for part in made.parts() if isinstance(part, Caution)]
    assert len(said) == len(broken)
    assert all("matrices" in one for one in said)


def test_memory_for_workers_is_not_won_by_cutting(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text('{"pairs": 1000, "machine": {"cores": 64, "memory_gb": 8}}')
    (stage,) = veridical.plan([tmp_path / "plan.json"]).stages
    assert "--processes" in stage.limits[0].fix


DOCS = Path(__file__).resolve().parents[2] / "docs" / "plan.md"


def test_the_page_has_the_rates_that_were_measured() -> None:
    text = DOCS.read_text()
    for name, rate in rates().work.items():
        row = f"| {name} | {1 / rate.worker_seconds:,.1f} | {1e6 * rate.leader_seconds:,.0f} | {rate.bytes:,.0f} | "
        assert f"{row}{rate.leader_bytes:,.0f} |" in text
    found = rates()
    assert f"{1e6 * found.batch_seconds:,.0f} us to a batch by processes" in text
    assert f"{1e6 * found.batch_seconds_ray:,.0f} us by Ray" in text


WRONG = ("", "{", "[]", "{}", '{"picture": 1}', '{"pictures": "x"}', '{"machine": {"core": 1}}')
ODD = (
    '"hours": 0', '"matrices": -1', '"machine": {"cores": 0}', '"machine": {"memory_gb": -1}',
    '"machine": {"disk_gb": 0}', '"machine": {"dollars_per_hour": -1}',
)  # fmt: skip


@pytest.mark.parametrize("text", [*WRONG, *(f'{{"pictures": 5, {part}}}' for part in ODD)])
def test_what_is_no_plan(text: str, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(UserError):
        veridical.plan([tmp_path / "plan.json"])
