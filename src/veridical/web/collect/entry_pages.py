"""Where workers come in, and where they leave: links, consent, withdrawal.

Nothing is kept of anybody who did not agree: a link only shows the text, and the form that agrees to it carries the
platform's parameters on. Prolific adds PROLIFIC_PID, STUDY_ID and SESSION_ID to its link, and its signature where the
study asks for it (`prolific`); MTurk shows a page of ours in a frame, without cookies, so that work is done in a tab of
its own and only the end is said in the frame.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.responses import RedirectResponse, Response

from veridical.errors import UserError
from veridical.web import look
from veridical.web.board.pages import about
from veridical.web.board.site import Site, TheSite, TheVisitor, nothing
from veridical.web.collect import prolific
from veridical.web.collect.hosted import Collection
from veridical.web.collect.ledger import money, totals
from veridical.web.collect.records import FORGOTTEN, Platform, Worker
from veridical.web.visitors import Visitor, checked_form, cookie_name, field, page, set_cookie

router = APIRouter(include_in_schema=False)
KNOWN = 30 * 86400  # seconds that a browser keeps a pass
TURK = ("https://www.mturk.com", "https://workersandbox.mturk.com")
PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
# what a platform adds to a link: who comes, and for which sitting
PARAMETERS: Mapping[str, tuple[str, str]] = {
    "prolific": ("PROLIFIC_PID", "SESSION_ID"),
    "mturk": ("workerId", "assignmentId"),
}
CAME = "came"  # the parameter that has our own signature, of who was sent by Prolific, and until when it counts
READING = 86400  # seconds in which somebody may read what to agree to
_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")


async def _collection(site: TheSite, project: str) -> Collection:
    return site.collection(project)


def about_study(site: Site, one: Collection) -> dict[str, Any]:
    """What every page for workers says of the study."""
    return {**about(site), "one": one, "brand": one.title, "home": f"/collections/{one.name}"}


TheCollection = Annotated[Collection, Depends(_collection)]


class JoinFirst(Exception):
    """Only somebody who came in by a link can go on."""

    def __init__(self, project: str) -> None:
        self.project = project


def known_as(request: Request, site: Site, project: str) -> str | None:
    """The worker whose pass a browser has."""
    return site.signing.worker_of(project, request.cookies.get(cookie_name(request, f"worker-{project}")))


async def _worker(request: Request, site: TheSite, project: str) -> str:
    found = known_as(request, site, project)
    if found is None:
        raise JoinFirst(site.collection(project).name)
    return found


TheWorker = Annotated[str, Depends(_worker)]


@router.get("/collections/{project}")
def front(request: Request, site: TheSite, visitor: TheVisitor, one: TheCollection) -> Response:
    """What a collection is, for whoever comes without a link."""
    known = known_as(request, site, one.name)
    with site.database.read() as session:
        runs = site.is_requester(session, one.name, visitor)
    shown = {**about_study(site, one), "known": known is not None, "runs": runs}
    return page(request, visitor, "collect/front.html", shown)


# --- coming in -------------------------------------------------------------------------------------------------------


def _who(site: Site, one: Collection, platform: str, key: str, given: Mapping[str, str]) -> tuple[str, str]:
    """The platform's name for who comes by a link, and the sitting; "" for a stranger."""
    invited = site.signing.invited(one.name, platform, key)
    if invited is None:
        raise nothing()
    if platform not in PARAMETERS:
        return invited, ""
    person, sitting = (given.get(name, "") for name in PARAMETERS[platform])
    if not _ID.fullmatch(person) or not _ID.fullmatch(sitting):
        raise nothing()
    return person, sitting


def _known(request: Request, site: Site, one: Collection, platform: str, who: tuple[str, str]) -> Worker | None:
    """The worker who comes, if there is one yet; refused where it is not shown that they are who they say.

    A browser that has a worker's pass shows it. So does Prolific's signature, where the project asks for it; where it
    does not, who is known comes in the sitting they came in: a person's id is known to others, that number is not.
    """
    (person, sitting), before = who, known_as(request, site, one.name)
    with one.store.look(one.name) as session:
        workspace = session.project.prolific_workspace
        found = (
            session.find_worker(_platform(platform), person) if person else session.worker(before) if before else None
        )
    if platform != "prolific" or (found is not None and found.id == before):
        return found
    if workspace:
        _check_signed(request, site, one, workspace, prolific.Came(person, sitting))
    elif found is not None and found.session != sitting:
        problem = "Somebody with this Prolific id works here already, in another sitting."
        raise UserError(
            problem, "Open the link in the browser that you used before, or write to whoever runs the study."
        )
    return found


def _check_signed(request: Request, site: Site, one: Collection, workspace: str, who: prolific.Came) -> None:
    """Refuse whom Prolific did not send."""
    given = request.query_params
    until, _, mac = given.get(CAME, "").partition(".")
    if site.signing.holds(mac, *_sent(one, who, until)) and time.time() < int(until):
        return
    if prolific.came(given.get(prolific.TOKEN, ""), site.prolific, workspace, request.url.path, time.time()) != who:
        raise prolific.Refused("Prolific signed this link for somebody else.", prolific.AGAIN)


def _sent(one: Collection, who: prolific.Came, until: str) -> tuple[str, ...]:
    """What we sign once Prolific's signature was seen: that is too old when somebody has read what to agree to."""
    return CAME, one.name, who.person, who.sitting, until


@router.get("/collections/{project}/join/{platform}/{key}")
def join_page(
    request: Request, site: TheSite, visitor: TheVisitor, one: TheCollection, platform: str, key: str
) -> Response:
    """The text to agree to; who agreed before goes on at once."""
    if platform == "mturk" and request.query_params.get("assignmentId", PREVIEW) == PREVIEW:
        return _in_a_frame(request, site, one, key, {})
    who = _who(site, one, platform, key, request.query_params)
    if platform == "mturk" and "tab" not in request.query_params:
        return _in_a_frame(request, site, one, key, request.query_params)
    known, project = _known(request, site, one, platform, who), one.service.project
    if known is not None and known.consented is not None and known.withdrawn is None:
        return _let_in(request, site, one, known.id)
    action = ""
    if platform == "prolific" and project.prolific_workspace:
        until = str(int(time.time()) + READING)
        ours = {CAME: f"{until}.{site.signing.mac(*_sent(one, prolific.Came(*who), until))}"}
        action = f"{request.url.path}?{urlencode(dict(zip(PARAMETERS[platform], who, strict=True)) | ours)}"
    shown = {**about_study(site, one), "project": project, "action": action, "joined": False}
    return page(request, visitor, "collect/consent.html", shown)


def _platform(name: str) -> Platform:
    assert name in ("link", "prolific", "mturk")
    return name  # type: ignore[return-value]


@router.post("/collections/{project}/join/{platform}/{key}")
async def join(
    request: Request, site: TheSite, visitor: TheVisitor, one: TheCollection, platform: str, key: str
) -> Response:
    """Somebody agrees, and is let in."""
    form = await checked_form(request, visitor)
    return await run_in_threadpool(_join, request, site, one, platform, key, form)


def _join(request: Request, site: Site, one: Collection, platform: str, key: str, form: FormData) -> Response:
    person, sitting = who = _who(site, one, platform, key, request.query_params)
    if field(form, "agree") != "yes":
        return RedirectResponse(f"/collections/{one.name}", 303)
    _known(request, site, one, platform, who)
    worker = one.service.join(_platform(platform), person, sitting)
    one.service.consent(worker.id, field(form, "version"))
    return _let_in(request, site, one, worker.id)


def _let_in(request: Request, site: Site, one: Collection, worker: str) -> Response:
    made = RedirectResponse(f"/collections/{one.name}/work", 303)
    set_cookie(made, request, f"worker-{one.name}", site.signing.worker_pass(one.name, worker), KNOWN)
    return made


def _in_a_frame(request: Request, site: Site, one: Collection, key: str, given: Mapping[str, str]) -> Response:
    """What MTurk shows in its frame: the way to the work, and the end of it."""
    if site.signing.invited(one.name, "mturk", key) != "":
        raise nothing()
    to = given.get("turkSubmitTo", TURK[0]).rstrip("/")
    if to not in TURK:
        raise nothing()
    tab = f"{request.url.path}?{urlencode({**given, 'tab': 'yes'})}"
    end = f"{to}/mturk/externalSubmit"
    shown: dict[str, Any] = {"one": one, "given": given, "tab": tab, "to": end, "root": "/", "home": tab}
    made = look.page("collect/mturk.html", brand=site.title, **shown)
    made.headers["content-security-policy"] = (
        "default-src 'none'; style-src 'self'; base-uri 'none'; "
        f"form-action {' '.join(TURK)}; frame-ancestors {' '.join(TURK)} https://*.mturk.com"
    )
    made.headers["cache-control"] = "no-store"
    return made


# --- being here, and leaving -----------------------------------------------------------------------------------------


@router.get("/collections/{project}/me")
def me(request: Request, site: TheSite, visitor: TheVisitor, one: TheCollection, worker: TheWorker) -> Response:
    """What is known of a worker, for that worker."""
    return _me(request, site, visitor, one, worker)


def _me(request: Request, site: Site, visitor: Visitor, one: Collection, worker: str) -> Response:
    with one.store.look(one.name) as session:
        found, project = session.worker(worker), session.project
        if found is None:
            raise JoinFirst(one.name)
        answers, payments = session.answers_by(worker), session.payments(worker)
    earned = totals(payments)
    shown: dict[str, Any] = {
        **about_study(site, one), "worker": found, "project": project, "answers": len(answers),
        "kept": any(FORGOTTEN not in said.value for said in answers),
        "earned": money(earned.mills, project.currency), "paid": money(earned.paid, project.currency),
    }  # fmt: skip
    return page(request, visitor, "collect/me.html", shown)


@router.get("/collections/{project}/consent")
def consent_page(
    request: Request, site: TheSite, visitor: TheVisitor, one: TheCollection, worker: TheWorker
) -> Response:
    """The text to agree to, for somebody who is known: it has changed."""
    with one.store.look(one.name) as session:
        project = session.project
    shown = {**about_study(site, one), "project": project, "action": f"/collections/{one.name}/me", "joined": True}
    return page(request, visitor, "collect/consent.html", shown)


@router.post("/collections/{project}/me")
async def change_me(
    request: Request, site: TheSite, visitor: TheVisitor, one: TheCollection, worker: TheWorker
) -> Response:
    """Agree to a new text, leave, or leave and be forgotten."""
    form = await checked_form(request, visitor)
    return await run_in_threadpool(_change_me, one, worker, form)


def _change_me(one: Collection, worker: str, form: FormData) -> Response:
    do = field(form, "do")
    if do == "withdraw":
        one.service.withdraw(worker)
    elif do == "forget":
        one.service.forget(worker)
    elif field(form, "agree") == "yes":
        one.service.consent(worker, field(form, "version"))
        return RedirectResponse(f"/collections/{one.name}/work", 303)
    return RedirectResponse(f"/collections/{one.name}/me", 303)
