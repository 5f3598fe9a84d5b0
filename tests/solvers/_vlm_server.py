"""An OpenAI-compatible server on loopback: it looks at the pictures it is sent, logs every request, and misbehaves as
told (429, silence, malformed JSON, empty completions).

Run as a program it serves until it is killed and writes its log to a file, so that other processes may be killed.
"""

from __future__ import annotations

import base64
import io
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from PIL import Image

Reply = Callable[[str, list[Image.Image]], Any]  # words and pictures of a request -> text, or a whole message


@dataclass
class Site:
    """What the server answers, what it does wrong, and what it was asked."""

    reply: Reply
    faults: dict[int | str, str] = field(default_factory=dict)  # request number, or words in it -> what goes wrong
    delay: float = 0.0
    log: Path | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)  # of the batch API
    batches: dict[str, dict[str, Any]] = field(default_factory=dict)
    url: str = ""
    open_now: int = 0
    open_most: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def words(self) -> list[str]:
        """The words of each request that was answered properly."""
        return [r["words"] for r in self.requests if r["done"]]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: Site

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        """The models; and the rest of the batch API: the state of a batch, and its answers."""
        if self.path == "/v1/models":
            self.send(200, {"object": "list", "data": [{"id": "tiny", "object": "model"}]}, {})
        elif not self.path.startswith("/v1/"):
            self.send(404, {"error": {"message": "Not Found"}}, {})
        elif self.path.startswith("/v1/batches/"):
            self.send(200, self.site.batches[self.path.rpartition("/")[2]], {})
        else:
            self.raw(200, self.site.files[self.path.split("/")[3]])

    def batch(self, data: bytes) -> None:
        """Take a file of requests, or answer all requests of one at once."""
        site = self.site
        if self.path == "/v1/files":
            lines = [line for line in data.splitlines() if line.startswith(b'{"custom_id"')]
            name = f"in{len(site.files)}"
            site.files[name] = b"\n".join(lines)
            self.send(200, {"id": name, "object": "file", "bytes": 1, "created_at": 1, "filename": "x"}, {})
            return
        asked = json.loads(data)
        lines = []
        for request in map(json.loads, site.files[asked["input_file_id"]].splitlines()):
            words, pictures = unpack(request["body"])
            site.requests.append({"path": self.path, "words": words, "pictures": len(pictures), "done": True})
            answer = {"status_code": 200, "request_id": "r", "body": completion("gpt", site.reply(words, pictures))}
            lines.append(json.dumps({"id": "l", "custom_id": request["custom_id"], "response": answer, "error": None}))
        site.files[f"out-{asked['input_file_id']}"] = "\n".join(lines).encode()
        batch = {"id": f"b{len(site.batches)}", "object": "batch", "status": "completed", "created_at": 1}
        counts = {"total": len(lines), "completed": len(lines), "failed": 0}
        batch |= {"output_file_id": f"out-{asked['input_file_id']}", "request_counts": counts} | asked
        site.batches[batch["id"]] = batch
        self.send(200, batch, {})

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path in {"/v1/files", "/v1/batches"}:
            self.batch(data)
            return
        body = json.loads(data)
        words, pictures = unpack(body)
        site = self.site
        record = {"path": self.path, "words": words, "pictures": len(pictures), "done": False, "body": slim(body)}
        with site.lock:
            site.requests.append(record)
            fault = site.faults.get(len(site.requests) - 1, "")
            fault = next((f for part, f in site.faults.items() if isinstance(part, str) and part in words), fault)
            site.open_now += 1
            site.open_most = max(site.open_most, site.open_now)
        try:
            time.sleep(site.delay)
            self.respond(fault, body, words, pictures, record)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with site.lock:
                site.open_now -= 1
                if site.log:
                    with site.log.open("a") as file:
                        file.write(json.dumps({"words": words, "done": record["done"]}) + "\n")

    def respond(
        self, fault: str, body: dict[str, Any], words: str, pictures: list[Any], record: dict[str, Any]
    ) -> None:
        if fault == "429":
            self.send(429, {"error": {"message": "slow down", "type": "rate_limit"}}, {"retry-after-ms": "20"})
        elif fault == "500":
            self.send(500, {"error": {"message": "oops"}}, {"retry-after-ms": "20"})
        elif fault == "400":
            self.send(400, {"error": {"message": "this picture is too large", "type": "invalid_request_error"}}, {})
        elif fault == "malformed":
            self.raw(200, b'{"id": "x", "choices": [{"mess')
        elif fault == "silence":
            time.sleep(3)
            self.close_connection = True
        elif fault == "drop":
            self.close_connection = True
            self.connection.close()
        else:
            said = "" if fault == "empty" else self.site.reply(words, pictures)
            record["done"] = True
            self.send(200, completion(body["model"], said), {})

    def send(self, status: int, value: Any, headers: dict[str, str]) -> None:
        self.raw(status, json.dumps(value).encode(), headers)

    def raw(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_: Any) -> None:
        """A client that was killed is no error of the server."""


def completion(model: str, said: Any) -> dict[str, Any]:
    """A reply as OpenAI has it."""
    choice = said if isinstance(said, dict) else {"message": {"role": "assistant", "content": said}}
    usage = {"prompt_tokens": 100, "completion_tokens": 2, "total_tokens": 102}
    out = {"id": "c1", "object": "chat.completion", "created": 1, "model": model, "usage": usage}
    return out | {"choices": [{"index": 0, "finish_reason": "stop"} | choice]}


def unpack(body: dict[str, Any]) -> tuple[str, list[Image.Image]]:
    """The words and decoded pictures of a request, pictures marked in the words where they stand."""
    words, pictures = [], []
    for message in body["messages"]:
        content = message["content"]
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part["type"] == "text":
                words.append(part["text"])
            else:
                data = base64.b64decode(part["image_url"]["url"].partition(",")[2])
                pictures.append(Image.open(io.BytesIO(data)).convert("RGB"))
                words.append("[picture]")
    return "\n".join(words), pictures


def slim(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "messages"}


@contextmanager
def serve(reply: Reply, **how: Any) -> Iterator[Site]:
    """A running server."""
    site = Site(reply, **how)
    server = Server(("127.0.0.1", 0), type("_Handler", (Handler,), {"site": site}))
    site.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()


def brightness(words: str, pictures: list[Image.Image]) -> str:
    """A seeing model: "picture N is bright/dark" is judged by the pixels."""
    del words
    return "true" if pictures and pictures[0].getpixel((1, 1))[0] > 127 else "false"


if __name__ == "__main__":
    with serve(brightness, delay=float(sys.argv[2]), log=Path(sys.argv[1])) as running:
        print(running.url, flush=True)
        threading.Event().wait()
