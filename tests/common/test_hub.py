"""hf://: Hugging Face's own client, against a server on this machine that speaks as much of the hub as it asks for."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import veridical
from veridical.benchmark import Benchmark

pytest.importorskip("huggingface_hub")
SOURCE = Path(__file__).resolve().parents[2] / "src"
REPOSITORY = "somebody/things"


class Hub(ThreadingHTTPServer):
    """One repository of data sets. Two commits at the same time are refused, as the hub does."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.order: list[str] = []  # of the files that were committed
        self.committing = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    server: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        api, files = f"/api/datasets/{REPOSITORY}", f"/datasets/{REPOSITORY}/resolve/main/"
        if path in (api, f"{api}/revision/main"):
            self.answer({"id": REPOSITORY, "sha": "0" * 40, "siblings": []})
        elif path.startswith(f"{api}/tree/main"):
            self.listed(path.removeprefix(f"{api}/tree/main").strip("/"))
        elif path.startswith(files) and path.removeprefix(files) in self.server.files:
            self.sent(self.server.files[path.removeprefix(files)])
        else:
            self.answer({"error": "Entry not found"}, 404, "EntryNotFound")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/preupload/main"):
            told = [
                {"path": one["path"], "uploadMode": "regular", "shouldIgnore": False}
                for one in json.loads(body)["files"]
            ]
            self.answer({"files": told})
        elif self.path.endswith("/paths-info/main"):  # asked for what no listing has
            self.answer([])
        elif "/commit/main" in self.path:
            self.commit([json.loads(line) for line in body.splitlines()])
        else:  # the head of a README
            self.answer({"errors": [], "warnings": []})

    def listed(self, folder: str) -> None:
        start = f"{folder}/" if folder else ""
        inside = {name.removeprefix(start) for name in self.server.files if name.startswith(start)}
        if not inside:
            return self.answer({"error": "Entry not found"}, 404, "EntryNotFound")
        found = []
        for name in sorted({one.partition("/")[0] for one in inside}):
            data = self.server.files.get(start + name)
            known = {"path": start + name, "oid": hashlib.sha1(data or b"").hexdigest()}
            found.append(known | ({"type": "directory"} if data is None else {"type": "file", "size": len(data)}))
        return self.answer(found)

    def commit(self, lines: list[dict[str, dict[str, str]]]) -> None:
        if not self.server.committing.acquire(blocking=False):
            return self.answer({"error": "A commit has happened since. Please refresh and try again."}, 412)
        try:
            for line in lines:
                if str(line["key"]) == "file":
                    self.server.files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
                    self.server.order.append(line["value"]["path"])
            place = f"http://127.0.0.1:{self.server.server_address[1]}/datasets/{REPOSITORY}"
            return self.answer({"commitUrl": f"{place}/commit/{'0' * 40}", "commitOid": "0" * 40})
        finally:
            self.server.committing.release()

    def sent(self, data: bytes) -> None:
        start, code = 0, 200
        if told := self.headers.get("Range"):
            first, _, last = told.removeprefix("bytes=").partition("-")
            start, code = int(first), 206
            data = data[start : int(last) + 1 if last else None]
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def answer(self, found: object, code: int = 200, problem: str = "") -> None:
        data = json.dumps(found).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if problem:
            self.send_header("X-Error-Code", problem)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


@pytest.fixture
def hub() -> Iterator[Hub]:
    server = Hub()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


CODE = """
import sys, veridical
bench, address, table = sys.argv[1:]
veridical.copy(bench, address)
opened = veridical.open(address)
print(len(opened), opened.hash)
veridical.solve("random", address, split="dev", out=address + ".jsonl")
print(veridical.evaluate(address, address + ".jsonl").to_json()["items"])
veridical.import_release("table", table, bench + "-more", hide=["test"])
veridical.copy(bench + "-more", address)  # a new version: nothing of the old one is remembered
print(len(veridical.open(address)))
"""


def test_a_benchmark_on_the_hub(hub: Hub, tmp_path: Path) -> None:
    """Published file by file with the manifest last, opened, solved and scored there, and replaced."""
    tables = []
    for rows in (12, 15):
        lines = ["question,a,b,answer,split"]
        lines += [f"what is {n}?,{n},{n + 1},{'ab'[n % 2]},{'dev' if n % 3 else 'test'}" for n in range(rows)]
        tables.append(tmp_path / f"{rows}.csv")
        tables[-1].write_text("\n".join(lines) + "\n")
    veridical.import_release("table", tables[0], tmp_path / "bench", hide=["test"])
    address = f"hf://datasets/{REPOSITORY}/bench"
    environment = {
        **os.environ, "PYTHONPATH": str(SOURCE), "HF_ENDPOINT": f"http://127.0.0.1:{hub.server_address[1]}",
        "HF_TOKEN": "hf_none", "HF_HUB_OFFLINE": "0", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1",
        "VERIDICAL_CACHE": str(tmp_path / "cache"), "VERIDICAL_DATA": str(tmp_path / "data"),
    }  # fmt: skip
    words = [sys.executable, "-c", CODE, str(tmp_path / "bench"), address, str(tables[1])]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    made = Benchmark(tmp_path / "bench")
    assert done.stdout.split() == [str(len(made)), made.hash, "8", "15"]
    first = hub.order[: hub.order.index("bench/benchmark.json") + 1]
    assert sorted(first[:-1]) == sorted(f"bench/{name}" for name in made.manifest["files"])
    assert not [name for name in hub.files if "hidden" in name or "answers" in name]
