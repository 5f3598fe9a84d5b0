"""Every `sh` and `python` block of the README and the docs runs, page by page, in order, in an empty folder.

An `output` block says what the block before it prints, line by line; an ellipsis is anything. Blocks that download,
need a key or a user's own files are fenced as `console`: their commands are read by the command line, but not run. A
block with a title is saved as the file of that name.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r'^```(sh|python|output|\w+ title="([^"\n]+)")\n(.*?)^```', re.MULTILINE | re.DOTALL)
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
READ = """
import json, sys
from veridical.cli.parser import app
for words in json.loads(sys.argv[1]):
    app(words[0]).parse_args(words, exit_on_error=False, print_error=False)
"""
OTHER_TOOLS = ("hf", "inspect", "make", "pip", "python", "python3", "source", "uv")
ALL = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
PAGES = sorted(p for p in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")] if BLOCK.search(p.read_text()))
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_code_blocks_run(page: Path, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    printed = ""
    for language, file, code in BLOCK.findall(page.read_text()):
        if file:
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text(code)
            continue
        if language == "output":
            missing = [line for line in code.splitlines() if not shown(line, printed)]
            assert missing == [], f"{page.name}: these lines are not printed:\n{missing}\nbut:\n{printed}"
            continue
        command = ["bash", "-euc", code] if language == "sh" else [sys.executable, "-c", code]
        done = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{page.name}:\n{code}\n{done.stdout}\n{done.stderr}"
        printed = done.stdout + done.stderr


def shown(line: str, printed: str) -> bool:
    """Whether a line was printed: spaces do not matter, and an ellipsis is anything."""
    wanted = re.escape(" ".join(line.split())).replace("…", ".*")
    return any(re.fullmatch(wanted, " ".join(one.split())) for one in printed.splitlines())


def commands(page: Path) -> list[str]:
    """The commands of a page that are not run, without comments and prompts."""
    joined = "\n".join(CONSOLE.findall(page.read_text())).replace("\\\n", " ")
    lines = (re.sub(r"\s+#.*", "", line).strip() for line in joined.splitlines())
    return [part for line in lines if line for part in line.split(" && ")]


@pytest.mark.parametrize("page", [p for p in ALL if commands(p)], ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_that_are_not_run_are_commands(page: Path) -> None:
    told = [shlex.split(line.partition(" > ")[0]) for line in commands(page)]
    assert {words[0] for words in told} - {"veridical", *OTHER_TOOLS} == set()
    ours = [words[1:] for words in told if words[0] == "veridical"]
    command = [sys.executable, "-c", READ, json.dumps(ours)]  # in a process of its own, as a command is
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda p: p.stem)
def test_every_tutorial_says_what_to_expect(page: Path) -> None:
    assert "```output" in page.read_text()


@pytest.mark.parametrize("page", ALL, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    missing = [link for link in LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert missing == []


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "commands" / "index.html").exists()
    notebook = (tmp_path / "site" / "notebook" / "index.html").read_text()
    assert "veridical-item" in notebook  # a card that a cell gave
    assert 'href="../notebook/"' in (tmp_path / "site" / "api" / "index.html").read_text()
