"""The command line as a person runs it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from veridical.cli import VERBS


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "veridical", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_help_names_every_verb() -> None:
    out = run("--help")
    assert out.returncode == 0
    assert all(f" {verb} " in out.stdout for verb in VERBS)


def test_version() -> None:
    assert run("--version").stdout.strip() == "0.1.0"


def test_bad_input_is_two_lines_and_exit_code_2(tmp_path: Path) -> None:
    out = run("check", str(tmp_path))
    assert out.returncode == 2
    assert out.stdout == ""
    problem, fix = out.stderr.splitlines()
    assert problem == f"veridical: {tmp_path} is not a benchmark: it has no benchmark.json."
    assert fix.startswith("  Make one with")


def test_an_option_that_is_empty_is_refused(tmp_path: Path) -> None:
    """As of a variable of the shell that is not set: no secret would then be mixed in."""
    out = run("build", "nlvr", "--presentations", "4", "--hide", "test-u", "--secret", "", "--out", str(tmp_path / "b"))
    assert out.returncode == 2
    assert out.stderr.splitlines()[0] == "veridical: --secret is empty."
    assert not (tmp_path / "b").exists()


def test_a_path_that_cannot_be_written_is_no_traceback(tmp_path: Path, shared: Path) -> None:
    (tmp_path / "file").touch()
    out = run("import", "vcr", str(shared / "vcr" / "val-1.jsonl"), "--out", str(tmp_path / "file" / "b"))
    assert out.returncode == 2
    assert len(out.stderr.splitlines()) == 2
    assert "Not a directory" in out.stderr or "File exists" in out.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb: str) -> None:
    out = run(verb, "--help")
    assert out.returncode == 0, out.stderr
    assert out.stdout.startswith(f"Usage: veridical {verb}")


def test_a_signal_while_it_starts_ends_it_in_a_line() -> None:
    """Modules are still being loaded: nothing else has had the chance to catch it."""
    early = "import os, signal, sys; from veridical import cli; import builtins; own = builtins.__import__\n"
    early += "def load(name, *more):\n    if name == 'cyclopts': os.kill(os.getpid(), signal.SIGTERM)\n"
    early += "    return own(name, *more)\nbuiltins.__import__ = load; sys.argv = ['veridical', 'models']; cli.main()"
    done = subprocess.run([sys.executable, "-c", early], capture_output=True, text=True, timeout=60)
    assert done.returncode == 128 + signal.SIGTERM
    assert done.stderr == "veridical: stopped. Run the same command again to continue.\n"


def test_sigterm_ends_it_as_ctrl_c_does(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "veridical", "build", "nlvr", "--presentations", "2000", "--processes", "1"]
    with subprocess.Popen([*command, "--out", str(tmp_path / "x")], stderr=subprocess.PIPE, text=True) as process:
        end = time.monotonic() + 60
        while not list(tmp_path.glob(".x.building-*")) and time.monotonic() < end:
            time.sleep(0.01)
        process.terminate()
        _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert "stopped. Run the same command again to continue." in said
    assert not list(tmp_path.glob(".x.building-*"))
