"""Tags of a card light up their boxes, in a real browser: under the mouse, and with the keyboard."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from veridical.reporting import report

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe")
WAIT = 60  # seconds


class Tab:
    """A page in a browser that is spoken to over a pipe (Chrome's DevTools protocol)."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = os.fdopen(read, "rb"), os.fdopen(write, "wb")
        self._numbers, self._session = count(1), ""

    def open(self, address: str) -> None:
        target = self.send("Target.createTarget", url=address)["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        until = time.monotonic() + WAIT
        while self.says("location.protocol + document.readyState") != "file:complete" and time.monotonic() < until:
            time.sleep(0.05)

    def send(self, method: str, **parameters: object) -> Any:
        number = next(self._numbers)
        message: dict[str, object] = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._write.write(json.dumps(message).encode() + b"\0")
        self._write.flush()
        while True:
            answer = json.loads(self._next())
            if answer.get("id") == number:
                return answer["result"]

    def _next(self) -> bytes:
        out = bytearray()
        while (byte := self._read.read(1)) != b"\0":
            assert byte, "the browser has closed its pipe"
            out += byte
        return bytes(out)

    def says(self, script: str) -> Any:
        return self.send("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")


@contextmanager
def browser(chromium: str, profile: Path) -> Iterator[Tab]:
    (theirs_in, ours_out), (ours_in, theirs_out) = os.pipe(), os.pipe()
    command = [chromium, *FLAGS, f"--user-data-dir={profile}"]
    shell = ["bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "bash", *command]
    with subprocess.Popen(shell, pass_fds=(theirs_in, theirs_out), stderr=subprocess.DEVNULL) as process:
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            yield Tab(ours_in, ours_out)
        finally:
            process.kill()


def test_a_tag_lights_up_its_box_under_the_mouse_and_with_the_keyboard(
    chromium: str, vcr, predict, tmp_path: Path
) -> None:
    bench = vcr()
    made = report(predict(bench, "val", lambda n, item: n % 2 > 0, "p.jsonl"), tmp_path / "r.html", benchmark=bench)
    tag = "document.querySelector('.card:has(.b0) .points.t0')"
    lit = f"getComputedStyle({tag}.closest('.card').querySelector('.b0 rect')).fillOpacity"
    with browser(chromium, tmp_path / "profile") as tab:
        tab.open(made.out.as_uri())
        tab.says("document.querySelectorAll('details').forEach(one => { one.open = true })")
        tab.says(f"{tag}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        assert tab.says(lit) == "0"
        x, y, width, height = (
            tab.says(f"{tag}.getBoundingClientRect().{part}") for part in ("x", "y", "width", "height")
        )
        tab.send("Input.dispatchMouseEvent", type="mouseMoved", x=x + width / 2, y=y + height / 2)
        assert tab.says(lit) == "0.4"
        tab.send("Input.dispatchMouseEvent", type="mouseMoved", x=0, y=0)
        assert tab.says(lit) == "0"
        for _ in range(60):  # the tabs of the keyboard come to it
            for kind in ("keyDown", "keyUp"):
                tab.send("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
            if tab.says(f"document.activeElement == {tag}"):
                break
        assert tab.says(lit) == "0.4"
