"""The server: a process that answers and ends with Ctrl-C, and a thread beside a notebook."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import veridical
from veridical.errors import UserError
from veridical.web.explore.server import listen


def test_the_command_shows_a_benchmark_until_it_is_stopped(nlvr: Path) -> None:
    command = [sys.executable, "-m", "veridical", "show", str(nlvr), "--no-open", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        said = process.stderr.readline()
        address = re.search(r"http://127\.0\.0\.1:[0-9]+/", said)[0]
        assert "NLVR" in httpx.get(address).text
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert "no longer shown" in process.stderr.read()


def test_a_notebook_shows_it_in_a_frame(nlvr: Path) -> None:
    running = veridical.open(nlvr).explore()
    try:
        assert httpx.get(running.url).status_code == 200
        assert f'<iframe src="{running.url}"' in running._repr_html_()
        assert "frame-ancestors http://localhost:*" in httpx.get(running.url).headers["content-security-policy"]
    finally:
        running.close()
    with pytest.raises(httpx.ConnectError):
        httpx.get(running.url)


def test_a_port_that_is_taken_is_said(nlvr: Path) -> None:
    taken = listen(0)
    port = taken.getsockname()[1]
    with pytest.raises(UserError, match=f"Port {port}"):
        listen(port)
    with pytest.raises(UserError, match="no port"):
        listen(70_000)
    taken.close()
