"""The OpenAPI of collections tried by schemathesis: no 500, and nothing for whoever has no pass."""

from __future__ import annotations

import os

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from tests.web.collect.town import Camp

SOAK_CASES = int(os.environ.get("CASES", "2000"))


def try_all(judging: Camp, examples: int) -> None:
    name = judging.one.service.join("simulated").id
    judging.one.service.consent(name, "1")
    bearer = {"authorization": f"Bearer {judging.site.signing.worker_pass(judging.one.name, name)}"}
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", judging.client.app)
    tried = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        if "/collections/" not in operation.path:
            continue

        @settings(
            max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None,
            derandomize=True, phases=(Phase.generate,),
        )  # fmt: skip
        @given(case=operation.as_strategy())
        def attempt(case: schemathesis.Case) -> None:
            case.path_parameters = {"project": judging.one.name}
            assert case.call().status_code in (401, 422), case.as_curl_command()
            case.headers = {**dict(case.headers or {}), **bearer}
            answer = case.call()
            assert answer.status_code < 500, (case.as_curl_command(), answer.text)

        attempt()
        tried += 1
    assert tried == 2


def test_no_request_is_too_odd(judging: Camp) -> None:
    try_all(judging, 15)


@pytest.mark.soak
def test_no_request_is_too_odd_for_long(judging: Camp) -> None:
    try_all(judging, SOAK_CASES)


def test_a_program_works_with_a_pass(judging: Camp) -> None:
    service = judging.one.service
    name = service.join("simulated").id
    service.consent(name, "1")
    headers = {"authorization": f"Bearer {judging.site.signing.worker_pass(judging.one.name, name)}"}
    base = f"/api/collections/{judging.one.name}"
    task = judging.client.get(f"{base}/task", headers=headers).json()
    assert (task["kind"], task["nothing"]) == ("validate", "")
    assert {"expected", "author", "purpose"}.isdisjoint(task["payload"])
    bad = judging.client.post(
        f"{base}/answers", headers=headers, json={"lease": task["lease"], "value": {"verdict": 3}}
    )
    assert (bad.json()["taken"], bad.json()["gone"]) == (False, False)
    said = {"lease": task["lease"], "value": {"verdict": "nonsense"}}
    taken = [judging.client.post(f"{base}/answers", headers=headers, json=said).json() for _ in range(2)]
    assert [(one["taken"], one["again"]) for one in taken] == [(True, False), (True, True)]
    assert judging.client.post(f"{base}/answers", json=said).status_code == 401
    assert judging.client.post(f"{base}/answers", headers=headers, json={**said, "lease": "w1-0"}).status_code == 422
