"""Prolific's signed links ("Secured external URL"): who comes is said by a token that Prolific alone can make.

A link with PROLIFIC_PID in it can be written by anybody who knows one. The token is a JWT, signed by a key that
Prolific publishes; it names the person, the sitting and the workspace that pays for the study. Signatures are
RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017, section 8.2.2): the whole encoded message is made again, and compared.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from urllib.parse import urlsplit

import msgspec

from veridical.errors import UserError
from veridical.options.serving import ServeOptions

ISSUER = "https://www.prolific.com"
TOKEN = "prolific_token"  # the parameter that has it
DAY, MINUTE = 86_400.0, 60.0
LEEWAY = 60.0  # seconds that two clocks may differ
LONGEST = 8192  # letters of a token
LEAST_BITS = 2048  # of a key
_SHA256 = bytes.fromhex("3031300d060960864801650304020105000420")  # what a digest is named by inside of a signature
AGAIN = "Open the study from Prolific again."


class _Header(msgspec.Struct):
    alg: str
    kid: str


class _Person(msgspec.Struct):
    PROLIFIC_PID: str
    SESSION_ID: str
    workspace_id: str


class _Claims(msgspec.Struct):
    iss: str
    aud: str | list[str]
    exp: float
    prolific: _Person


class _Key(msgspec.Struct):
    kid: str
    n: str = ""  # keys of other kinds have none
    e: str = ""
    kty: str = "RSA"


class _Keys(msgspec.Struct):
    keys: list[_Key]


@dataclass(frozen=True)
class Came:
    """Somebody whom Prolific sent."""

    person: str  # PROLIFIC_PID
    sitting: str  # SESSION_ID


class Refused(UserError):
    """A link that Prolific did not sign, or not for this study, or too long ago."""


class Unreachable(UserError):
    """Prolific's keys cannot be had now."""


class Keys:
    """Prolific's public keys, from an address or a file; read once a day, and when a token names one that is new."""

    def __init__(self, where: str = ServeOptions.prolific_keys, now: Callable[[], float] = time.time) -> None:
        self._where, self._now = where, now
        self._known: Mapping[str, tuple[int, int]] = {}  # kid -> modulus, exponent
        self._read = self._tried = 0.0
        self._lock = Lock()

    def key(self, kid: str) -> tuple[int, int] | None:
        """The key of this name. While keys cannot be had, those that are known count, and one try a minute is made."""
        with self._lock:
            now = self._now()
            if (now - self._read > DAY or kid not in self._known) and now - self._tried > MINUTE:
                self._tried = now
                try:
                    self._known, self._read = self._fetched(), now
                except Unreachable:
                    if kid not in self._known:
                        raise
            if kid not in self._known and self._read < self._tried:
                raise Unreachable("Prolific's keys cannot be read now.", "Try again in a minute.")
            return self._known.get(kid)

    def _fetched(self) -> dict[str, tuple[int, int]]:
        import httpx

        try:
            if self._where.startswith(("http://", "https://")):
                data = httpx.get(self._where, timeout=10).raise_for_status().content
            else:
                data = Path(self._where).read_bytes()
            found = msgspec.json.decode(data, type=_Keys).keys
            made = {one.kid: (_number(one.n), _number(one.e)) for one in found if one.kty == "RSA"}
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            problem = f"Prolific's keys cannot be read from {self._where}: {type(error).__name__}."
            raise Unreachable(problem, "Try again in a moment; who runs this server gives --prolific-keys.") from None
        return {kid: key for kid, key in made.items() if key[0].bit_length() >= LEAST_BITS}


def came(token: str, keys: Keys, workspace: str, path: str, now: float) -> Came:
    """Whom a token names, if Prolific signed it for a study of this workspace that leads to this path."""
    try:
        head, body, signature = token[:LONGEST].split(".")
        header = msgspec.json.decode(_bytes(head), type=_Header)
        claims = msgspec.json.decode(_bytes(body), type=_Claims)
        signed = _bytes(signature)
    except (ValueError, RecursionError):  # of base64, and of msgspec
        raise Refused("This link is not signed by Prolific.", AGAIN) from None
    key = keys.key(header.kid) if header.alg == "RS256" else None
    if key is None or not is_signed(f"{head}.{body}".encode(), signed, *key):
        raise Refused("This link is not signed by Prolific.", AGAIN)
    if claims.iss != ISSUER or claims.prolific.workspace_id != workspace or not _leads(claims.aud, path):
        raise Refused("Prolific signed this link for another study.", AGAIN)
    if claims.exp + LEEWAY < now:
        raise Refused("This link is too old.", AGAIN)
    return Came(claims.prolific.PROLIFIC_PID, claims.prolific.SESSION_ID)


def is_signed(message: bytes, signature: bytes, modulus: int, exponent: int) -> bool:
    """Whether a signature is one of a message, by the key of which this is the public half."""
    size = (modulus.bit_length() + 7) // 8
    number = int.from_bytes(signature, "big")
    if len(signature) != size or number >= modulus:
        return False
    named = _SHA256 + hashlib.sha256(message).digest()
    whole = b"\x00\x01" + b"\xff" * (size - len(named) - 3) + b"\x00" + named
    return hmac.compare_digest(pow(number, exponent, modulus).to_bytes(size, "big"), whole)


def _leads(audience: str | list[str], path: str) -> bool:
    """Whether a token is for this study: an address without a path is a whole server's."""
    given = [audience] if isinstance(audience, str) else audience
    return any(urlsplit(one).path in ("", "/", path) for one in given)


def _bytes(text: str) -> bytes:
    return urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))


def _number(text: str) -> int:
    return int.from_bytes(_bytes(text), "big")
