"""The generated command reference is up to date."""

from pathlib import Path

from veridical.cli.reference import reference

PAGE = Path(__file__).resolve().parents[2] / "docs" / "commands.md"


def test_reference_is_not_stale() -> None:
    assert PAGE.read_text() == reference(), "run `make docs` and commit docs/commands.md"
