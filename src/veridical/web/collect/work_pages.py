"""Where workers work: the next task, what they say, and its pictures. A worker sees and answers what they hold alone.

A form is an ordinary one; a page's script sends it by itself, again and again while there is no connection, and gets
JSON. The lease in the form makes an answer count once, however often it arrives.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.responses import JSONResponse, RedirectResponse, Response

from veridical.errors import UserError
from veridical.web.board.site import Site, TheSite, TheVisitor, nothing
from veridical.web.collect import forms, kinds, rules
from veridical.web.collect.entry_pages import TheCollection, TheWorker, about_study
from veridical.web.collect.hosted import Collection
from veridical.web.collect.pictures import picture_bytes
from veridical.web.collect.records import Nothing, Offer, Picture
from veridical.web.collect.tagging import text_of
from veridical.web.collect.working import NotTheirs, Refused
from veridical.web.visitors import Visitor, checked_form, field, page

router = APIRouter(include_in_schema=False)
KEPT_BYTES = 64_000_000
PROLIFIC = "https://app.prolific.com/submissions/complete?cc="


@router.get("/collections/{project}/work")
def work(
    request: Request, site: TheSite, visitor: TheVisitor, one: TheCollection, worker: TheWorker, after: str = ""
) -> Response:
    """The task that a worker holds, or the next one."""
    found = one.service.next(worker)
    if isinstance(found, Nothing):
        return _nothing(request, site, visitor, one, worker, found)
    said = _said(one, worker, after) if after else None
    return _task_page(request, site, visitor, one, worker, found, said=said)


def _task_page(
    request: Request, site: Site, visitor: Visitor, one: Collection, worker: str, offer: Offer,
    problems: tuple[str, ...] = (), said: dict[str, Any] | None = None, form: FormData | None = None,
) -> Response:  # fmt: skip
    def address(picture: Picture) -> str:
        return site.signing.picture(one.name, worker, picture)

    task = offer.task
    shown: dict[str, Any] = {
        **about_study(site, one), "offer": offer, "task": task, "shown": kinds.payload(task), "address": address,
        "problems": problems, "said": said, "before": form or {}, "rules": kinds.RULES.get(task.kind, ""),
        "text_of": text_of, "PRUNE_REASONS": kinds.PRUNE_REASONS, "FLAG_REASONS": kinds.FLAG_REASONS,
        "LIKELIHOODS": kinds.LIKELIHOODS, "LONGEST": kinds.LONGEST, "picture_of": _picture,
    }  # fmt: skip
    return page(request, visitor, "collect/work.html", shown, 422 if problems else 200)


def _picture(given: Mapping[str, Any]) -> Picture:
    """A candidate that is a picture."""
    return msgspec.convert(given, Picture)


def _nothing(request: Request, site: Site, visitor: Visitor, one: Collection, worker: str, found: Nothing) -> Response:
    if found.why == "consent":
        return RedirectResponse(f"/collections/{one.name}/consent", 303)
    with one.store.look(one.name) as session:
        known, project = session.worker(worker), session.project
    back = f"{PROLIFIC}{found.code}" if known and known.platform == "prolific" and found.code else ""
    idle = found.why in ("waiting", "finished", "withdrawn") and not found.code and bool(project.completion_code)
    idle = idle and known is not None and known.platform == "prolific"
    shown = {**about_study(site, one), "nothing": found, "back": back, "idle": idle}
    return page(request, visitor, "collect/nothing.html", shown)


def _said(one: Collection, worker: str, answer: str) -> dict[str, Any] | None:
    """How the last question of a tutorial was answered, and why."""
    with one.store.look(one.name) as session:
        found = session.answer(answer)
        if found is None or found.worker != worker or found.kind != "tutorial":
            return None
        task = session.task(found.task)
    return {"right": found.right, "explanation": str(task.payload.get("explanation", "")) if task else ""}


@router.post("/collections/{project}/work")
async def answer(
    request: Request, site: TheSite, visitor: TheVisitor, one: TheCollection, worker: TheWorker
) -> Response:
    """Take an answer, or say what is wrong with it."""
    form = await checked_form(request, visitor)
    return await run_in_threadpool(_answered, request, site, visitor, one, worker, form)


def _answered(request: Request, site: Site, visitor: Visitor, one: Collection, worker: str, form: FormData) -> Response:
    lease, by_script = field(form, "lease"), "application/json" in request.headers.get("accept", "")
    if field(form, "back"):
        one.service.give_back(worker, lease)
        return _go(f"/collections/{one.name}/work", by_script)
    try:
        taken = one.service.submit(worker, lease, lambda task: forms.answer_of(task, form))
        problems = taken.problems if isinstance(taken, Refused) else ()
    except NotTheirs:
        raise nothing() from None
    except UserError as error:
        taken, problems = Refused((str(error),)), (f"{error.problem} {error.fix}".strip(),)
    if not isinstance(taken, Refused):
        after = f"?after={lease}" if taken.answer.kind == "tutorial" else ""
        return _go(f"/collections/{one.name}/work{after}", by_script)
    if by_script:
        return JSONResponse({"problems": list(problems), "gone": taken.gone}, 422)
    offer = one.service.next(worker)
    if isinstance(offer, Nothing) or offer.lease.id != lease:  # it went to somebody else meanwhile
        return _go(f"/collections/{one.name}/work", by_script)
    return _task_page(request, site, visitor, one, worker, offer, tuple(problems), form=form)


def _go(to: str, by_script: bool) -> Response:
    return JSONResponse({"to": to}) if by_script else RedirectResponse(to, 303)


# --- pictures and rules ----------------------------------------------------------------------------------------------


class Shelf:
    """Pictures as they are sent, the last ones asked for in memory."""

    def __init__(self, most: int = KEPT_BYTES) -> None:
        self._most, self._bytes = most, 0
        self._kept: OrderedDict[tuple[str, str, tuple[int, ...]], bytes] = OrderedDict()
        self._lock = Lock()

    def get(self, one: Collection, picture: Picture) -> bytes:
        key = (one.name, picture.name, picture.order)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = picture_bytes(one.folder, picture)
        with self._lock:
            if key not in self._kept:
                self._kept[key] = made
                self._bytes += len(made)
            while self._bytes > self._most and len(self._kept) > 1:
                self._bytes -= len(self._kept.popitem(last=False)[1])
        return made


SHELF = Shelf()


@router.get("/collections/{project}/pictures/{mac}/{turned}/{name}")
def picture(site: TheSite, one: TheCollection, worker: TheWorker, mac: str, turned: str, name: str) -> Response:
    """A picture of a task that this worker was shown."""
    return image(site, one, worker, mac, turned, name)


def image(site: Site, one: Collection, whose: str, mac: str, turned: str, name: str) -> Response:
    """A picture whose address was made for somebody."""
    if not site.signing.holds(mac, "picture", one.name, whose, name, turned):
        raise nothing()
    order = () if turned == "0" else tuple(int(digit) for digit in turned)
    try:
        data = SHELF.get(one, Picture(name, order=order))
    except UserError:
        raise nothing() from None
    kind = "image/png" if data.startswith(b"\x89PNG") else "image/jpeg"
    return Response(data, media_type=kind, headers={"cache-control": "private, max-age=86400, immutable"})


@router.get("/collection-rules/{name}.json")
def guidelines(name: str) -> Response:
    """The rules that a page checks while somebody types."""
    if name not in rules.names():
        raise nothing()
    return Response(rules.as_json(name), media_type="application/json", headers={"cache-control": "max-age=3600"})
