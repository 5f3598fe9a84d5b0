"""Copies take files alone and go nowhere else; what a kill left is removed, what is in use is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import veridical
from veridical.common.workplaces import beside, copy_files
from veridical.errors import UserError


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIDICAL_DATA", str(tmp_path / "home"))
    monkeypatch.setenv("VERIDICAL_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """A run from a stranger."""
    folder = tmp_path / "theirs"
    (folder / "trial-0").mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    (folder / "trial-0" / "log.jsonl").write_text("{}\n")
    return folder


@pytest.mark.parametrize(
    "what", ["a link", "a link to a folder", "a dangling link", "a link to itself", "a device", "a pipe"]
)
@pytest.mark.parametrize("to", ["{}/copy", "file://{}/store/copy"])
def test_a_copy_takes_nothing_from_elsewhere(theirs: Path, tmp_path: Path, what: str, to: str) -> None:
    (tmp_path / "key").write_text("what nobody may see")
    odd = theirs / "trial-0" / "weights"
    if what == "a pipe":
        os.mkfifo(odd)
    else:
        places = {"a link": "key", "a link to a folder": "", "a dangling link": "nowhere", "a link to itself": odd}
        odd.symlink_to("/dev/zero" if what == "a device" else tmp_path / places[what])
    with pytest.raises(UserError, match=r"weights is a (link|pipe)"):
        veridical.copy(theirs, to.format(tmp_path))
    assert not (tmp_path / "copy").exists()
    assert not list((tmp_path / "store").rglob("*"))


def test_a_link_that_the_user_names_is_followed(theirs: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(theirs)
    (tmp_path / "file").symlink_to(theirs / "run.json")
    assert veridical.copy(tmp_path / "link", tmp_path / "copy").files == 2
    assert veridical.copy(tmp_path / "file", tmp_path / "copied.json").files == 1
    assert not (tmp_path / "copied.json").is_symlink()


def test_nothing_is_copied_into_itself(theirs: Path) -> None:
    for place in (theirs / "copy", theirs / "trial-0" / "deep" / "copy"):
        with pytest.raises(UserError, match="within"):
            veridical.copy(theirs, place)
    assert sorted(p.name for p in theirs.iterdir()) == ["run.json", "trial-0"]


def test_a_hidden_folder_stays_private_wherever_it_lies(theirs: Path, tmp_path: Path) -> None:
    hidden = theirs / "bench.hidden"
    hidden.mkdir(mode=0o700)
    (hidden / "hidden.json").write_text("{}")
    (hidden / "answers-main-test.parquet").touch(0o600)
    veridical.copy(theirs, tmp_path / "copy")
    for one in ("copy/bench.hidden", "copy/bench.hidden/hidden.json", "copy/bench.hidden/answers-main-test.parquet"):
        assert (tmp_path / one).stat().st_mode & 0o077 == 0
    assert (tmp_path / "copy" / "run.json").stat().st_mode & 0o044


def test_what_cannot_be_copied_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not there"):
        copy_files(tmp_path / "nothing", tmp_path / "copy")


LIVING = """
import sys
from pathlib import Path
from veridical.common.workplaces import hold
print(hold(Path(sys.argv[1])).path, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("verb", ["copy", "collect init"])
def test_what_a_kill_left_goes_and_what_is_in_use_stays(theirs: Path, tmp_path: Path, verb: str) -> None:
    out = tmp_path / "out"
    with subprocess.Popen([sys.executable, "-c", LIVING, out], stdin=-1, stdout=-1, text=True) as other:
        assert other.stdout is not None
        work = Path(other.stdout.readline().strip())
        with beside(out) as mine:
            assert mine != work
            assert work.is_dir(), "somebody works there"
        other.kill()
    assert work.is_dir()
    if verb == "copy":
        veridical.copy(theirs, out)
    else:
        veridical.collect("init", "nlvr", out, presentations=2)
    assert sorted(p.name for p in tmp_path.iterdir() if "out" in p.name) == ["out"]
