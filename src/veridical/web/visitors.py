"""Who asks: the account behind a cookie, and forms that only our own pages can send.

A form carries a keyed hash of the visitor's cookie. Another site can make a browser send the cookie, but cannot know
the hash. Cookies are out of reach of scripts and, behind TLS, tied to this host.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from veridical.errors import UserError
from veridical.web import look
from veridical.web.accounts import SIGNED_IN, Accounts
from veridical.web.tables import Account

FORM_TOKEN = "form_token"  # the field of every form that holds the hash
MOST_FIELDS = 20
LONGEST_FIELD = 1 << 12


class Forged(Exception):
    """A form that did not come from a page of ours, or from one of an earlier sign-in."""


@dataclass(frozen=True)
class Visitor:
    """Who asks, and from where."""

    account: Account | None
    cookie: str  # of the sign-in, or of a visit without one
    form_token: str
    address: str
    is_new: bool  # the cookie has to be set

    @property
    def is_admin(self) -> bool:
        return self.account is not None and self.account.admin


def may_be_signed_in(request: Request) -> bool:
    """Whether a request has a cookie that the database has to be asked about."""
    return bool(request.cookies.get(cookie_name(request, "session")))


def visitor_of(request: Request, accounts: Accounts) -> Visitor:
    """Who sent a request."""
    token = request.cookies.get(cookie_name(request, "session"))
    account = None
    if token:
        with accounts.database.read() as session:
            account = accounts.who(session, token)
    visit = token if account else request.cookies.get(cookie_name(request, "visit"))
    cookie = visit or secrets.token_urlsafe(24)
    address = request.client.host if request.client else "unknown"
    return Visitor(account, cookie, accounts.keyed(f"form {cookie}"), address, is_new=visit is None)


async def checked_form(request: Request, visitor: Visitor) -> FormData:
    """The fields of a form that one of our pages sent."""
    try:
        form = await request.form(max_files=1, max_fields=MOST_FIELDS, max_part_size=LONGEST_FIELD)
    except ValueError:  # the client names the encoding, and Python's own are not all for text
        raise _no_text() from None
    if not all(is_text(value) for _, value in form.multi_items() if isinstance(value, str)):
        raise _no_text()
    given = form.get(FORM_TOKEN)
    if not isinstance(given, str) or not hmac.compare_digest(given.encode(), visitor.form_token.encode()):
        raise Forged
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Forged
    return form


def is_text(value: str) -> bool:
    """Whether a value can be hashed, and kept in any database.

    >>> is_text("Zoë"), is_text("\\ud800"), is_text("a\\0")
    (True, False, False)
    """
    return "\0" not in value and not any("\ud800" <= letter <= "\udfff" for letter in value)


def _no_text() -> UserError:
    return UserError("A field of the form is not text.", "Send it as UTF-8, without characters that are none.")


def field(form: FormData, name: str) -> str:
    """A field as text; empty where it is missing or a file."""
    value = form.get(name)
    return value if isinstance(value, str) else ""


def page(request: Request, visitor: Visitor, template: str, values: Mapping[str, Any], status: int = 200) -> Response:
    """A page for a visitor, who gets a cookie if there is none."""
    about = {"visitor": visitor, "form_token": visitor.form_token, "root": "/", "home": "/", **values}
    made: HTMLResponse = look.page(template, status, **about)
    made.headers["cache-control"] = "no-store"
    if visitor.is_new:
        set_cookie(made, request, "visit", visitor.cookie)
    return made


def signed_in(request: Request, token: str, to: str = "/") -> Response:
    """Go on with a new sign-in; the cookie of the visit before is not used any more."""
    made = RedirectResponse(to, 303)
    set_cookie(made, request, "session", token, int(SIGNED_IN.total_seconds()))
    made.delete_cookie(
        cookie_name(request, "visit"), path="/", secure=_is_secure(request), httponly=True, samesite="lax"
    )
    return made


def signed_out(request: Request) -> Response:
    made = RedirectResponse("/", 303)
    made.delete_cookie(
        cookie_name(request, "session"), path="/", secure=_is_secure(request), httponly=True, samesite="lax"
    )
    return made


def set_cookie(response: Response, request: Request, name: str, value: str, seconds: int | None = None) -> None:
    response.set_cookie(
        cookie_name(request, name), value, max_age=seconds, path="/", httponly=True, samesite="lax",
        secure=_is_secure(request),
    )  # fmt: skip


def cookie_name(request: Request, name: str) -> str:
    """Behind TLS a browser takes a cookie of this name from this very host alone."""
    return f"__Host-{name}" if _is_secure(request) else name


def _is_secure(request: Request) -> bool:
    return request.url.scheme == "https"
