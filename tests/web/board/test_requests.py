"""Whatever is sent: the OpenAPI tried by schemathesis, and uploads that hypothesis thinks of. No 500."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.web.board.test_kills import Server
from tests.web.board.town import Person, Town, predictions

BOARD = "/boards/boxes-test/entries"
SOAK_CASES = int(os.environ.get("CASES", "3000"))
_QUICK = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much]


@pytest.fixture(scope="module")
def served(benchmarks: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(benchmarks["boxes"], tmp_path_factory.mktemp("tried"))
    server.start()
    yield server
    server.kill()


def try_all(server: Server, examples: int) -> None:
    """Requests by the schema and against it, with a token of a team: never an error of ours."""
    with httpx.Client(base_url=server.address, timeout=60) as client:
        ada = Person(client)  # type: ignore[arg-type]
        ada.sign_up(f"ada {examples}")
        token = ada.token()
    schema = schemathesis.openapi.from_url(f"{server.address}/api/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) >= 8
    for operation in operations:

        @settings(
            max_examples=examples, deadline=None, suppress_health_check=_QUICK, database=None, derandomize=True,
            phases=(Phase.generate,),
        )  # fmt: skip
        @given(case=operation.as_strategy())
        def tried(case: schemathesis.Case) -> None:
            case.headers = {**dict(case.headers or {}), "authorization": f"Bearer {token}"}
            answer = case.call()
            assert answer.status_code < 500, (case.as_curl_command(), answer.text)

        tried()


def test_no_request_is_too_odd(served: Server) -> None:
    try_all(served, 20)


@pytest.mark.soak
def test_no_request_is_too_odd_for_long(served: Server) -> None:
    try_all(served, SOAK_CASES)


def bomb() -> bytes:
    """A small archive that would unpack to 200 MB."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("answers.npy", b"\0" * (200 << 20))
    return out.getvalue()


LARGE = b"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999, 4), }" + b" " * 40
ODD = {
    "nothing": b"",
    "an archive that unpacks to much": bomb(),
    "deep lists": b"[" * 200_000,
    "deep objects": b'{"item":' * 100_000,
    "a long line": b'{"item": "' + b"x" * 3_000_000,
    "not text": bytes(range(256)) * 400,
    "an array that says it is large": b"\x93NUMPY\x01\x00v\x00" + LARGE,
    "a number too large": b'{"item": "test-qx1", "scores": [1e999, 1]}\n',
    "a CSV with a script": b"identifier,prediction\n<script>alert(1)</script>,true\n",
    "a CSV with a formula": b'=HYPERLINK("http://x"),true\n',
}


@pytest.mark.parametrize("what", ODD)
def test_odd_files_are_refused_in_words(town: Town, what: str) -> None:
    ada = town.person("ada")
    sent = town.api(ada.token(), "POST", BOARD, params={"name": "x", "file": f"{what}.jsonl"}, content=ODD[what])
    assert sent.status_code in (201, 422), sent.text
    if sent.status_code == 201:
        assert sent.json()["status"] == "failed"
    page = ada.send("boxes-test", ODD[what])
    assert page.status_code in (303, 422)
    assert "<script>alert" not in page.text


@settings(max_examples=40, deadline=None, suppress_health_check=_QUICK, database=None)
@given(name=st.text(max_size=80), link=st.text(max_size=60), data=st.binary(max_size=400), file=st.text(max_size=40))
def test_no_upload_is_too_odd(town: Town, name: str, link: str, data: bytes, file: str) -> None:
    token = _token(town)
    given = {"name": name, "paper": link, "file": file}
    sent = town.api(token, "POST", BOARD, params=_encodable(given), content=data)
    assert sent.status_code in (201, 202, 422, 429), sent.text


def _encodable(values: dict[str, str]) -> dict[str, str]:
    return {name: value.encode("utf-8", "replace").decode() for name, value in values.items()}


_TOKENS: dict[int, str] = {}


def _token(town: Town) -> str:
    if id(town) not in _TOKENS:
        _TOKENS[id(town)] = town.person("odd").token()
    return _TOKENS[id(town)]


NAMES = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}",
    "'; DROP TABLE entries; --",
    "=1+1",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_text_wherever_they_are_shown(town: Town, benchmarks: dict[str, Path], name: str) -> None:
    ada = town.person(name[:50], name[:50])
    seed = NAMES.index(name)
    sent = ada.send("boxes-test", predictions(benchmarks["boxes"], 0.9, seed), name)
    assert sent.status_code == 303, sent.text
    town.settled()
    for path in ("/", "/boards/boxes-test", sent.headers["location"], "/account", f"/teams/{ada.team}"):
        page = ada.get(path).text
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "49" not in page or "{{" not in name or "{{ 7 * 7 }}" in page


ENCODINGS = [("unicode_escape", r"\ud800"), ("unicode_escape", r"\x00"), ("undefined", "x"), ("utf-16-le", "\0\0")]


@pytest.mark.parametrize(("charset", "text"), ENCODINGS)
@pytest.mark.parametrize("where", ["form_token", "name", "password"])
def test_a_form_whose_fields_are_no_text_is_refused(town: Town, charset: str, text: str, where: str) -> None:
    """A client names the encoding of a form; what it says then must be text all the same."""
    eve = town.person()
    token = eve.form_token("/log-in")
    body = b""
    for name, value in {"form_token": token, "name": "eve", "password": "x" * 12, where: text}.items():
        body += f'--end\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
    sent = eve.request(
        "POST", "/log-in", content=body + b"--end--\r\n",
        headers={"content-type": f"multipart/form-data; boundary=end; charset={charset}"},
    )  # fmt: skip
    assert sent.status_code == 422, sent.text
