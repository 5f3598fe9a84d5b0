"""A loopback web server that misbehaves as told (slow, dropping, lying, redirecting) and logs what was asked."""

from __future__ import annotations

import hashlib
import ssl
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

Act = Callable[["Handler"], None]


@dataclass
class Site:
    """What the server has, and what it does with the next requests for a path before it behaves."""

    files: dict[str, bytes] = field(default_factory=dict)
    acts: dict[str, list[Act]] = field(default_factory=lambda: defaultdict(list))
    log: list[tuple[str, str | None]] = field(default_factory=list)  # path, Range header
    etags: bool = True
    url: str = ""
    open_now: int = 0
    open_most: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def asked(self, path: str) -> list[str | None]:
        return [ranges for name, ranges in self.log if name == path]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: Site

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        site = self.site
        with site.lock:
            site.log.append((self.path, self.headers.get("Range")))
            site.open_now += 1
            site.open_most = max(site.open_most, site.open_now)
            acts = site.acts[self.path]
            act = acts.pop(0) if acts else ok
        try:
            act(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with site.lock:
                site.open_now -= 1

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.do_GET()

    def answer(self, status: int, body: bytes = b"", length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def part(self) -> tuple[int, bytes, dict[str, str]]:
        """Status, body and headers that a good server would send."""
        body = self.site.files[self.path]
        headers = {"ETag": f'"{hashlib.md5(body).hexdigest()}"'} if self.site.etags else {}
        wanted = self.headers.get("Range")
        if wanted and self.headers.get("If-Range") in (None, headers.get("ETag")):
            start = int(wanted.removeprefix("bytes=").partition("-")[0])
            if start >= len(body):
                return 416, b"", {"Content_Range": f"bytes */{len(body)}"}
            return 206, body[start:], headers | {"Content_Range": f"bytes {start}-{len(body) - 1}/{len(body)}"}
        return 200, body, headers


def ok(handler: Handler) -> None:
    if handler.path not in handler.site.files:
        handler.answer(404, b"<html>gone</html>")
        return
    status, body, headers = handler.part()
    handler.answer(status, body, **headers)


def status(code: int, **headers: str) -> Act:
    return lambda handler: handler.answer(code, b"no", **headers)


def redirect(to: str) -> Act:
    return lambda handler: handler.answer(302, Location=to)


def drop(after: int) -> Act:
    """Cut the connection in the middle of the body."""

    def act(handler: Handler) -> None:
        code, body, headers = handler.part()
        handler.answer(code, body[:after], len(body), **headers)
        handler.close_connection = True

    return act


def silent(seconds: float) -> Act:
    def act(handler: Handler) -> None:
        time.sleep(seconds)
        handler.close_connection = True

    return act


def slow(step: int, seconds: float) -> Act:
    """Send the body in small steps."""

    def act(handler: Handler) -> None:
        code, body, headers = handler.part()
        handler.answer(code, b"", len(body), **headers)
        for start in range(0, len(body), step):
            handler.wfile.write(body[start : start + step])
            time.sleep(seconds)

    return act


def lie(body: bytes, **headers: str) -> Act:
    return lambda handler: handler.answer(200, body, **headers)


def endless(handler: Handler) -> None:
    """A chunked body without a length that never ends."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    while True:
        handler.wfile.write(b"1000\r\n" + b"x" * 0x1000 + b"\r\n")


class _Server(ThreadingHTTPServer):
    request_queue_size = 64

    def handle_error(self, *_: object) -> None:
        """A client that went away is what some tests are about."""


@contextmanager
def serving(certificate: Path | None = None, key: Path | None = None) -> Iterator[Site]:
    """A site; an encrypted one, with a certificate and its key."""
    site = Site()
    handler = type("SiteHandler", (Handler,), {"site": site})
    server = _Server(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    site.url = f"{'http' if certificate is None else 'https'}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
