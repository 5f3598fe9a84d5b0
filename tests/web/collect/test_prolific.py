"""Links that Prolific signed: the tokens are made by a library for them, as Prolific makes its own."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey
from tests.web.collect.town import Camp, camp, write_judging

from veridical.errors import UserError
from veridical.options.serving import ServeOptions
from veridical.web.collect import entry_pages, prolific
from veridical.web.collect.prolific import Came, Keys, came, is_signed

WORKSPACE = "64395e9c2332b8a59a65d51e"
PERSON, SITTING = "5f00000000000000000000aa", "6f00000000000000000000bb"
AGREED = {"agree": "yes", "version": "1"}
PATH = "/collections/judging/join/prolific/abc"


@pytest.fixture(scope="module")
def signing() -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": "k1", "use": "sig"}, auto_kid=False)


@pytest.fixture
def published(signing: RSAKey, tmp_path: Path) -> Path:
    file = tmp_path / "jwks.json"
    file.write_text(json.dumps({"keys": [signing.as_dict(private=False)]}))
    return file


def token(key: Any, path: str = PATH, head: dict[str, Any] | None = None, **changed: Any) -> str:
    person = {"PROLIFIC_PID": PERSON, "STUDY_ID": "s", "SESSION_ID": SITTING, "workspace_id": WORKSPACE}
    claims = {
        "iss": prolific.ISSUER, "aud": f"https://collect.example.org{path}", "sub": SITTING, "exp": time.time() + 300,
        "prolific": person | changed.pop("person", {}), **changed,
    }  # fmt: skip
    return jwt.encode(
        {"alg": "RS256", "kid": "k1", **(head or {})}, claims, key, algorithms=["RS256", "HS256", "RS512"]
    )


def seen(made: str, keys: Keys, now: float | None = None) -> Came:
    return came(made, keys, WORKSPACE, PATH, now or time.time())


def test_a_token_says_who_comes(signing: RSAKey, published: Path) -> None:
    keys = Keys(str(published))
    assert seen(token(signing), keys) == Came(PERSON, SITTING)
    assert seen(token(signing, path=""), keys) == Came(PERSON, SITTING)  # for the whole server
    assert seen(token(signing, aud=["https://x.org/other", f"https://x.org{PATH}"]), keys) == Came(PERSON, SITTING)


def test_what_prolific_did_not_sign_is_refused(signing: RSAKey, published: Path) -> None:
    keys, good = Keys(str(published)), token(signing)
    head, body, signature = good.split(".")
    other = RSAKey.generate_key(2048, {"kid": "k1"}, auto_kid=False)
    secret = OctKey.generate_key(256)
    from joserfc.util import urlsafe_b64encode as b64

    nobody = b64(b'{"alg":"none","kid":"k1"}').decode()
    bad = [
        "", "..", "a.b", f"{head}.{body}.", f"{nobody}.{body}.", f"{nobody}.{body}.{signature}", f"{head}.{body}.AAAA",
        f"{head}.{body}.{signature[:-8]}AAAAAAAA", token(other), token(secret, head={"alg": "HS256"}),
        token(signing, head={"alg": "RS512"}), token(signing, head={"kid": "k2"}), "é.é.é", "x" * 100_000,
        ".".join((head, token(signing, person={"PROLIFIC_PID": "a"}).split(".")[1], signature)),
    ]  # fmt: skip
    for one in bad:
        with pytest.raises(prolific.Refused, match="not signed by Prolific"):
            seen(one, keys)
    for changed in ({"iss": "https://evil.example"}, {"person": {"workspace_id": "mine"}}, {"path": "/elsewhere"}):
        with pytest.raises(prolific.Refused, match="for another study"):
            seen(token(signing, **changed), keys)  # type: ignore[arg-type]
    with pytest.raises(prolific.Refused, match="too old"):
        seen(good, keys, time.time() + 3600)


def test_a_signature_is_of_one_message_and_one_key(signing: RSAKey) -> None:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding

    private = signing.private_key
    numbers = private.public_key().public_numbers()
    sign = {kind: private.sign(b"message", padding.PKCS1v15(), kind()) for kind in (hashes.SHA256, hashes.SHA1)}
    right = sign[hashes.SHA256]
    assert is_signed(b"message", right, numbers.n, numbers.e)
    assert not is_signed(b"messagf", right, numbers.n, numbers.e)
    assert not is_signed(b"message", sign[hashes.SHA1], numbers.n, numbers.e)
    for place in range(0, len(right), 16):
        flipped = bytes([*right[:place], right[place] ^ 1, *right[place + 1 :]])
        assert not is_signed(b"message", flipped, numbers.n, numbers.e)
    for wrong in (b"", right[1:], right + b"\0", b"\0" + right, (int.from_bytes(right) + numbers.n).to_bytes(257)):
        assert not is_signed(b"message", wrong, numbers.n, numbers.e)


def test_keys_are_read_once_a_day_and_when_a_new_one_is_named(signing: RSAKey, published: Path) -> None:
    clock = [1e9]
    keys = Keys(str(published), lambda: clock[0])
    assert keys.key("k1") is not None
    published.write_text('{"keys": []}')
    clock[0] += prolific.DAY - 1
    assert keys.key("k1") is not None
    assert keys.key("k2") is None  # asked again for it, and k1 is gone, too
    assert keys.key("k1") is None
    short = RSAKey.generate_key(1024, {"kid": "k1"}, auto_kid=False)
    published.write_text(
        json.dumps(
            {"keys": [short.as_dict(private=False), {"kid": "e", "kty": "EC", "crv": "P-256", "x": "", "y": ""}]}
        )
    )
    clock[0] += 2 * prolific.DAY
    assert keys.key("k1") is None
    assert keys.key("e") is None
    for where in ("/nowhere/keys.json", "http://127.0.0.1:9/", "http://[/"):
        with pytest.raises(prolific.Unreachable, match="cannot be read"):
            Keys(where).key("k1")
    published.write_text("[]")
    with pytest.raises(UserError, match="cannot be read"):
        Keys(str(published)).key("k1")


def test_while_keys_cannot_be_had_known_ones_count_and_one_try_a_minute_is_made(
    signing: RSAKey, published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1e9]
    keys = Keys(str(published), lambda: clock[0])
    assert keys.key("k1") is not None
    published.unlink()
    clock[0] += 2 * prolific.DAY
    assert keys.key("k1") is not None
    read: list[str] = []
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(str(path)) or b"{}")
    for _ in range(3):
        with pytest.raises(prolific.Unreachable, match="cannot be read"):
            keys.key("k2")
    assert not read  # the minute is not over
    clock[0] += prolific.MINUTE + 1
    with pytest.raises(prolific.Unreachable, match="cannot be read"):
        keys.key("k2")
    assert read == [str(published)]


def test_a_token_of_deep_brackets_is_refused(published: Path) -> None:
    from joserfc.util import urlsafe_b64encode as b64

    deep = b64(b'{"x":' + b"[" * 5000).decode()
    with pytest.raises(prolific.Refused, match="not signed"):
        seen(f"{b64(b'{}').decode()}.{deep}.AAAA", Keys(str(published)))
    with pytest.raises(prolific.Refused, match="not signed"):
        seen(f"{deep}.{deep}.AAAA", Keys(str(published)))


# --- at the door ------------------------------------------------------------------------------------------------------


@pytest.fixture
def signed(tmp_path: Path, published: Path) -> Iterator[Camp]:
    folder = write_judging(tmp_path / "judging", 5)
    file = folder / "project.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "prolific_workspace": WORKSPACE}))
    with camp(folder, tmp_path / "data", options=ServeOptions(prolific_keys=str(published))) as made:
        yield made


def link(where: Camp, made: str = "", person: str = PERSON, sitting: str = SITTING) -> str:
    query = f"?PROLIFIC_PID={person}&STUDY_ID=s&SESSION_ID={sitting}"
    return where.entry("prolific") + query + (f"&prolific_token={made}" if made else "")


def test_only_whom_prolific_sent_comes_in(signed: Camp, signing: RSAKey, monkeypatch: pytest.MonkeyPatch) -> None:
    path, eve = signed.entry("prolific"), signed.stranger()
    assert "Secured external URL" in signed.admin().get(f"{signed.path}/run").text
    good = token(signing, path)
    for bad in (link(signed), link(signed, "x.y.z"),
                link(signed, good, person="5f0000"), link(signed, good, sitting="7"),
                link(signed, token(signing, path, exp=time.time() - 600))):  # fmt: skip
        for answer in (eve.get(bad), eve.post(bad, AGREED, "/log-in")):
            assert answer.status_code == 422
            assert "from Prolific again" in answer.text
    ada = signed.stranger()
    page = ada.get(link(signed, good))
    assert page.status_code == 200
    action = unescape(re.search(r'<form method="post" action="([^"]+)" class="sheet"', page.text)[1])  # type: ignore[index]
    assert "prolific_token" not in action  # it is too old when they have read what to agree to
    with monkeypatch.context() as later:
        day_after = time.time() + 90000
        later.setattr(entry_pages.time, "time", lambda: day_after)
        assert eve.post(action, AGREED, "/log-in").status_code == 422  # out of somebody's history
    for until in ("9999999999", "x", "", "-1"):
        assert eve.post(re.sub(r"came=\d+", f"came={until}", action), AGREED, "/log-in").status_code == 422
    assert ada.post(action, AGREED, "/log-in").status_code == 303
    assert eve.post(action.replace(PERSON, "5f0000"), AGREED, "/log-in").status_code == 422
    assert ada.get(link(signed)).status_code == 303  # the browser has a pass
    assert eve.get(link(signed)).status_code == 422  # hers has not
    elsewhere = signed.stranger()
    again = token(signing, path, person={"SESSION_ID": "another"})
    assert elsewhere.get(link(signed, again, sitting="another")).status_code == 303
    assert signed.name_of(elsewhere) == signed.name_of(ada)


def test_keys_that_cannot_be_had_are_said(tmp_path: Path, signing: RSAKey) -> None:
    folder = write_judging(tmp_path / "judging", 5)
    file = folder / "project.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "prolific_workspace": WORKSPACE}))
    with camp(folder, tmp_path / "data", options=ServeOptions(prolific_keys=str(tmp_path / "none"))) as made:
        answer = made.stranger().get(link(made, token(signing, made.entry("prolific"))))
    assert answer.status_code == 503
    assert "keys cannot be read" in answer.text


def test_without_signatures_somebody_known_is_known_by_their_sitting(judging: Camp) -> None:
    ada, eve, grace = judging.stranger(), judging.stranger(), judging.stranger()
    assert ada.post(link(judging), AGREED, "/log-in").status_code == 303
    guessed = link(judging, sitting="guessed")
    for answer in (eve.get(guessed), eve.post(guessed, AGREED, "/log-in")):
        assert answer.status_code == 422
        assert "in another sitting" in answer.text
    assert ada.get(link(judging, sitting="next")).status_code == 303
    assert grace.get(link(judging)).status_code == 303  # another browser, the same sitting
    assert judging.name_of(grace) == judging.name_of(ada)
