"""Whatever programs send to a collection: the OpenAPI tried by schemathesis, with the pass of a worker. No 500."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.web.board.test_kills import Server
from tests.web.collect.town import write_every

from veridical.options.serving import ServeOptions
from veridical.web.board.app import make_site

SOAK_CASES = int(os.environ.get("CASES", "2000"))
VALUES = st.dictionaries(
    st.sampled_from(["verdict", "choice", "skip", "sentence", "selected", "flag", "follows", "removed", "duplicates",
                     "dull", "questions", "x"]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
        max_leaves=8,
    ),
    max_size=4,
)  # fmt: skip


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, str]]:
    """A server with a task of every kind, and the pass of somebody who agreed."""
    folder, data = write_every(tmp_path_factory.mktemp("tried") / "every"), tmp_path_factory.mktemp("data")
    site = make_site({}, data, ServeOptions(), None, [folder])
    service = site.collections["every"].service
    service.start()
    worker = service.join("link").id
    service.consent(worker, "1")
    given_pass = site.signing.worker_pass("every", worker)
    site.database.close()
    server = Server(folder, data)
    server.start()
    yield server, given_pass
    server.kill()


def try_all(server: Server, given_pass: str, examples: int) -> set[int]:
    """Requests by the schema and against it, most to the project that is there; which answers came."""
    seen: set[int] = set()
    schema = schemathesis.openapi.from_url(f"{server.address}/api/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations()]
    mine = [one for one in operations if one.path.startswith("/api/collections/")]
    assert len(mine) == 2
    quick = settings(max_examples=examples, deadline=None, database=None, derandomize=True, phases=(Phase.generate,),
                     suppress_health_check=list(HealthCheck))  # fmt: skip
    for operation in mine:

        @quick
        @given(case=operation.as_strategy(), there=st.integers(0, 3), known=st.booleans())
        def odd(case: Any, there: int, known: bool) -> None:
            if there:
                case.path_parameters = {"project": "every"}
            if known:
                case.headers = {**dict(case.headers or {}), "authorization": f"Bearer {given_pass}"}
            answer = case.call()
            seen.add(answer.status_code)
            assert answer.status_code < 500, (case.as_curl_command(), answer.text)

        odd()
    with httpx.Client(base_url=server.address, headers={"authorization": f"Bearer {given_pass}"}) as client:

        @quick
        @given(value=VALUES)
        def said(value: dict[str, Any]) -> None:
            lease = client.get("/api/collections/every/task").json()["lease"]
            body = {"lease": lease, "value": value}
            try:
                answer = client.post("/api/collections/every/answers", json=body)
            except (ValueError, UnicodeEncodeError):  # no JSON: not a number, half a letter
                return
            seen.add(answer.status_code)
            assert answer.status_code < 500, (body, answer.text)

        said()
    return seen


def test_no_request_is_too_odd(tried: tuple[Server, str]) -> None:
    assert {200, 401, 422} <= try_all(*tried, 25)


@pytest.mark.soak
def test_no_request_is_too_odd_for_long(tried: tuple[Server, str]) -> None:
    try_all(*tried, SOAK_CASES)
