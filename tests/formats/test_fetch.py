"""Fetching from a bad server: every fault is met with patience, a bound, and a reason. Only loopback is asked."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from veridical.errors import UserError
from veridical.formats.fetch import Manners, Outcome, WantedFile, fetch

from . import _server as server
from ._server import Site

QUICK = Manners(connections=4, retries=3, first_wait=0.01, longest_wait=0.05, silence=0.5, seconds=5)
BODY = bytes(range(256)) * 400


@pytest.fixture
def site() -> Iterator[Site]:
    with server.serving() as site:
        site.files["/a"] = BODY
        yield site


def one(site: Site, folder: Path, path: str = "/a", manners: Manners = QUICK, limit: int = 1 << 20) -> Outcome:
    url = path if "://" in path else site.url + path
    (outcome,) = fetch([WantedFile("a.bin", url, limit)], folder, "files", manners)
    return outcome


def whole(folder: Path) -> bool:
    left = list((folder / ".get" / "partial").iterdir())
    return (folder / "a.bin").read_bytes() == BODY and not left


def test_a_file_comes_once(site: Site, tmp_path: Path) -> None:
    assert one(site, tmp_path).status == "fetched"
    assert whole(tmp_path)
    assert one(site, tmp_path).status == "had"
    assert site.asked("/a") == [None]


@pytest.mark.parametrize(
    "act",
    [
        server.status(429, Retry_After="0"),
        server.status(503),
        server.status(500),
        server.drop(0),
        server.silent(0.8),
    ],
    ids=["429", "503", "500", "drop", "silent"],
)
def test_a_passing_fault(site: Site, tmp_path: Path, act: server.Act) -> None:
    site.acts["/a"] = [act, act]
    assert one(site, tmp_path).status == "fetched"
    assert whole(tmp_path)
    assert len(site.asked("/a")) == 3


def test_a_dropped_file_continues_where_it_was(site: Site, tmp_path: Path) -> None:
    site.acts["/a"] = [server.drop(30_000), server.drop(20_000)]
    outcome = one(site, tmp_path)
    assert outcome.status == "fetched"
    assert whole(tmp_path)
    assert site.asked("/a") == [None, "bytes=30000-", "bytes=50000-"]
    assert outcome.bytes == len(BODY)  # no byte was sent twice


def test_a_file_that_changed_in_between_starts_again(site: Site, tmp_path: Path) -> None:
    def other(handler: server.Handler) -> None:
        server.drop(30_000)(handler)
        site.files["/a"] = BODY[::-1]

    site.acts["/a"] = [other]
    assert one(site, tmp_path).status == "fetched"
    assert (tmp_path / "a.bin").read_bytes() == BODY[::-1]


def test_without_a_validator_it_starts_again(site: Site, tmp_path: Path) -> None:
    site.etags = False
    site.acts["/a"] = [server.drop(30_000)]
    assert one(site, tmp_path).status == "fetched"
    assert whole(tmp_path)
    assert site.asked("/a") == [None, None]


def test_a_server_that_sends_another_part(site: Site, tmp_path: Path) -> None:
    site.acts["/a"] = [
        server.drop(30_000),
        lambda handler: handler.answer(206, BODY[7:], Content_Range=f"bytes 7-{len(BODY) - 1}/{len(BODY)}"),
    ]
    assert one(site, tmp_path).status == "fetched"
    assert whole(tmp_path)


def test_a_file_that_was_complete_but_had_no_name_yet(site: Site, tmp_path: Path) -> None:
    site.acts["/a"] = [server.drop(30_000)] * 4
    one(site, tmp_path, manners=Manners(retries=0))
    (part,) = (tmp_path / ".get" / "partial").glob("*.part")
    part.write_bytes(BODY)
    site.acts["/a"] = []
    assert one(site, tmp_path).status == "fetched"
    assert whole(tmp_path)


def test_retries_are_bounded_and_the_rest_is_kept_for_the_next_run(site: Site, tmp_path: Path) -> None:
    site.acts["/a"] = [server.drop(10_000)] * 4
    outcome = one(site, tmp_path)
    assert outcome.status == "missing"
    assert "4 tries" in outcome.reason
    assert not (tmp_path / "a.bin").exists()
    assert one(site, tmp_path).status == "fetched"
    assert site.asked("/a")[-1] == "bytes=40000-"
    assert whole(tmp_path)


@pytest.mark.parametrize("code", [400, 403, 404, 410])
def test_a_final_answer_is_not_asked_twice(site: Site, tmp_path: Path, code: int) -> None:
    site.acts["/a"] = [server.status(code)] * 9
    outcome = one(site, tmp_path)
    assert (outcome.status, outcome.reason) == ("missing", f"status {code}")
    assert len(site.asked("/a")) == 1


def test_redirects_are_followed(site: Site, tmp_path: Path) -> None:
    site.acts["/b"] = [server.redirect("/c")] * 9
    site.acts["/c"] = [server.redirect(site.url + "/a")] * 9
    assert one(site, tmp_path, "/b").status == "fetched"
    assert whole(tmp_path)


def test_a_redirect_from_https_to_plain_http_is_refused(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (openssl := shutil.which("openssl")) is None:
        pytest.skip("no openssl on this machine: sudo apt-get install -y openssl")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    subprocess.run([openssl, *words.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with server.serving(certificate, key) as encrypted:
        encrypted.acts["/b"] = [server.redirect(site.url + "/a")] * 9
        encrypted.acts["/c"] = [server.redirect("/d")] * 9
        encrypted.files["/d"] = site.files["/a"]
        outcomes = fetch(
            [WantedFile(name, encrypted.url + f"/{name}", 10**6) for name in "bc"], tmp_path / "got", "files", QUICK
        )
    assert [one.status for one in outcomes] == ["missing", "fetched"]
    assert "from https to plain http" in outcomes[0].reason
    assert not site.asked("/a")


def test_redirects_end(site: Site, tmp_path: Path) -> None:
    site.acts["/b"] = [server.redirect("/b")] * 50
    outcome = one(site, tmp_path, "/b")
    assert (outcome.status, outcome.reason) == ("missing", "more than 10 redirects")
    assert len(site.asked("/b")) == 11


@pytest.mark.parametrize(
    "to", ["file:///etc/passwd", "ftp://127.0.0.1/a", "data:text/plain,x", "javascript:1", "http://localhost:99999/"]
)
def test_other_schemes_are_refused(site: Site, tmp_path: Path, to: str) -> None:
    site.acts["/b"] = [server.redirect(to)]
    for address in ("/b", to):
        outcome = one(site, tmp_path, address if "://" in address or address == "/b" else address + "://")
        assert outcome.status == "missing"
        assert not (tmp_path / "a.bin").exists()
    assert len(site.log) == 1


@pytest.mark.parametrize("url", ["", "no address", "http://", "http://[::1", "http:///a", "http://127.0.0.1:99999/a"])
def test_what_is_no_address(site: Site, tmp_path: Path, url: str) -> None:
    (outcome,) = fetch([WantedFile("a.bin", url, 100)], tmp_path, "files", QUICK)
    assert outcome.status == "missing"
    assert "address" in outcome.reason


def test_too_large(site: Site, tmp_path: Path) -> None:
    outcome = one(site, tmp_path, limit=1000)
    assert outcome.status == "missing"
    assert "at most 1,000" in outcome.reason
    assert outcome.bytes == 0  # its announced length was enough


def test_endless(site: Site, tmp_path: Path) -> None:
    site.acts["/a"] = [server.endless] * 9
    outcome = one(site, tmp_path, limit=500_000)
    assert (outcome.status, outcome.reason) == ("missing", "more than 500,000 bytes")
    assert not list((tmp_path / ".get" / "partial").iterdir())


def test_a_dripping_server_gets_a_bounded_time(site: Site, tmp_path: Path) -> None:
    site.acts["/a"] = [server.slow(1000, 0.1)] * 9
    outcome = one(site, tmp_path, manners=Manners(retries=1, first_wait=0.01, seconds=0.4))
    assert outcome.status == "missing"
    assert site.asked("/a")[1].startswith("bytes=")  # type: ignore[union-attr]


def test_unasked_compression_is_undone(site: Site, tmp_path: Path) -> None:
    site.acts["/a"] = [server.lie(gzip.compress(BODY), Content_Encoding="gzip", ETag='"x"')]
    assert one(site, tmp_path).status == "fetched"
    assert whole(tmp_path)


def test_a_file_that_fails_its_check_is_kept_apart(site: Site, tmp_path: Path) -> None:
    wanted = WantedFile("sub/a.bin", site.url + "/a", 1 << 20, lambda path: f"{path.stat().st_size} bytes of nonsense")
    (outcome,) = fetch([wanted], tmp_path, "files", QUICK)
    assert (outcome.status, outcome.reason) == ("changed", f"{len(BODY)} bytes of nonsense")
    assert not (tmp_path / "sub/a.bin").exists()
    assert (tmp_path / ".get/changed/sub/a.bin").read_bytes() == BODY


def test_many_at_once_but_not_too_many(site: Site, tmp_path: Path) -> None:
    names = [f"/{n}" for n in range(40)]
    site.files.update(dict.fromkeys(names, BODY[:1000]))
    site.acts.update({name: [server.slow(500, 0.02)] for name in names})
    outcomes = fetch([WantedFile(n[1:], site.url + n, 10_000) for n in names], tmp_path, "files", QUICK)
    assert [o.wanted.name for o in outcomes] == [n[1:] for n in names]
    assert {o.status for o in outcomes} == {"fetched"}
    assert 2 <= site.open_most <= 4


def test_in_a_notebook(site: Site, tmp_path: Path) -> None:
    async def cell() -> Outcome:
        return one(site, tmp_path)

    assert asyncio.run(cell()).status == "fetched"


def test_a_full_disk_is_said(site: Site, tmp_path: Path) -> None:
    (tmp_path / "a.bin").mkdir()  # stands for any failure to write
    with pytest.raises(UserError, match="run it again"):
        one(site, tmp_path)


def test_notes_that_find_no_room_are_said(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found with a quota on btrfs: a traceback of a group of exceptions."""

    def full(*given: object) -> None:
        raise UserError("notes.json cannot be written: Disk quota exceeded.", "Choose another place.")

    monkeypatch.setattr("veridical.formats.fetch._remember", full)
    with pytest.raises(UserError, match=r"(?s)quota exceeded\..*run it again"):
        one(site, tmp_path)


def test_nobody_answers(tmp_path: Path) -> None:
    with server.serving() as site:
        url = site.url
    (outcome,) = fetch([WantedFile("a.bin", url + "/a", 100)], tmp_path, "files", QUICK)
    assert outcome.status == "missing"
    assert "4 tries" in outcome.reason
