"""The requester's side: how far a collection is, who works, reviews, links, payments, and the export."""

from __future__ import annotations

import io
import tempfile
import time
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from sqlalchemy import delete, insert, select
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.responses import RedirectResponse, Response

from veridical.errors import UserError
from veridical.pages import plots
from veridical.pages.markup import PlotFigure
from veridical.web.accounts import name_key
from veridical.web.board.pages import about
from veridical.web.board.site import Member, Site, TheSite, nothing
from veridical.web.collect import kinds
from veridical.web.collect.entry_pages import TheCollection
from veridical.web.collect.hosted import LINKS, Collection
from veridical.web.collect.ledger import money
from veridical.web.collect.progress import Progress
from veridical.web.collect.records import Picture
from veridical.web.collect.tables import requesters
from veridical.web.collect.tagging import text_of
from veridical.web.collect.work_pages import image
from veridical.web.tables import Account
from veridical.web.visitors import Visitor, checked_form, field, page

router = APIRouter(include_in_schema=False)
FRESH = 10.0  # seconds that a progress is shown for
MOST_LINKS = 200  # personal links at once
PROLIFIC = "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"


def _run(site: TheSite, visitor: Member, one: TheCollection) -> Collection:
    """A collection, for those who run it."""
    with site.database.read() as session:
        if not site.is_requester(session, one.name, visitor):
            raise nothing()
    return one


Run = Annotated[Collection, Depends(_run)]


@router.get("/collections/{project}/run")
def run(request: Request, site: TheSite, visitor: Member, one: Run) -> Response:
    """How far it is, how fast, what it costs, and how people agree."""
    return _run_page(request, site, visitor, one)


_SEEN: dict[str, tuple[float, Progress]] = {}  # a progress reads everything: not for every look


def _progress(site: Site, one: Collection, fresh: bool) -> Progress:
    moment, found = _SEEN.get(one.name, (0.0, None))
    if found is None or fresh or time.monotonic() - moment > FRESH:
        found = site.reading.progress(one.service)
        _SEEN[one.name] = (time.monotonic(), found)
    return found


def _run_page(
    request: Request, site: Site, visitor: Visitor, one: Collection, problem: UserError | None = None, **more: Any
) -> Response:
    with one.store.look(one.name) as session:
        project, status = session.project, session.status
    found = _progress(site, one, problem is not None or bool(more))
    ends = None
    if found.seconds_left:
        ends = datetime.now(UTC) + timedelta(seconds=min(found.seconds_left, 1e9))
    with site.database.read() as session:
        mine = select(Account).join(requesters, requesters.c.account_id == Account.id)
        people = session.scalars(mine.where(requesters.c.project == one.name)).all()
    base = str(request.base_url).rstrip("/")
    links = {
        platform: f"{base}/collections/{one.name}/join/{platform}/{site.signing.entry(one.name, platform)}"
        for platform in LINKS
    }
    links["prolific"] += PROLIFIC
    shown: dict[str, Any] = {
        **about(site), "one": one, "project": project, "state": status, "progress": found, "ends": ends,
        "money": lambda mills: money(mills, project.currency), "links": links, "requesters": people,
        "cents": lambda mills: money(10 * round(mills / 10), project.currency),
        "problem": problem, "invited": (), "files": {}, "grown": _grown(found), **more,
    }  # fmt: skip
    return page(request, visitor, "collect/run.html", shown, 422 if problem else 200)


def _grown(found: Progress) -> PlotFigure | None:
    """Agreement over judgements, once there are two moments to compare."""
    named = {"Krippendorff's alpha": "alpha", "Fleiss' kappa": "kappa"}
    series = []
    for place, (name, field_) in enumerate(named.items()):
        known = [(float(one.judgements), getattr(one, field_)) for one in found.grown]
        points = tuple((at, value) for at, value in known if value is not None)
        if len(points) > 1:
            series.append(plots.Series(name, points, plots.colour(place), dashed=bool(place)))
    if not series:
        return None
    drawn = plots.lines("Agreement as it grows", series, "judgements", "agreement", in_percent=False)
    words = "How people agree, as judgements came in."
    return PlotFigure(drawn, words, [(one.name, one.colour) for one in series])


@router.post("/collections/{project}/run")
async def change(request: Request, site: TheSite, visitor: Member, one: Run) -> Response:
    """Start, pause, resume, finish, end a round; make links; pay; appoint others."""
    form = await checked_form(request, visitor)
    return await run_in_threadpool(_change, request, site, visitor, one, form)


def _change(request: Request, site: Site, visitor: Visitor, one: Collection, form: FormData) -> Response:
    do, service = field(form, "do"), one.service
    plain = {
        "start": service.start, "pause": service.pause, "resume": service.resume, "finish": service.finish,
        "round": service.end_round,
    }  # fmt: skip
    try:
        if do in plain:
            plain[do]()
        elif do == "invite":
            made = _invite(request, site, one, field(form, "many"))
            return _run_page(request, site, visitor, one, invited=made)
        elif do == "pay" and field(form, "platform") in LINKS:
            batch = service.pay(field(form, "platform"))  # type: ignore[arg-type]
            if not batch.files:
                raise UserError("Nobody of this platform is owed a whole cent.", "Nothing was changed.")
            return _zipped(dict(batch.files), f"{batch.name}.zip")
        elif do in ("appoint", "dismiss"):
            _appoint(site, one.name, field(form, "name"), do == "appoint")
    except UserError as error:
        return _run_page(request, site, visitor, one, error)
    _SEEN.pop(one.name, None)
    return RedirectResponse(f"/collections/{one.name}/run", 303)


def _invite(request: Request, site: Site, one: Collection, many: str) -> list[str]:
    """New personal links: each lets in one person, and knows them again."""
    count = int(many) if many.isdecimal() and len(many) < 5 else 0
    if not 1 <= count <= MOST_LINKS:
        raise UserError(f"{many!r} links cannot be made at once.", f"Ask for 1 to {MOST_LINKS}.")
    with one.store.begin(one.name) as session:
        numbers = [session.next_invitation() for _ in range(count)]
    base = f"{str(request.base_url).rstrip('/')}/collections/{one.name}/join/link"
    return [f"{base}/{site.signing.entry(one.name, 'link', number)}" for number in numbers]


def _appoint(site: Site, project: str, name: str, add: bool) -> None:
    with site.database.write() as session:
        account = session.scalar(select(Account).where(Account.key == name_key(name)))
        if account is None:
            raise UserError(f"There is no account {name.strip()!r}.", "Have them sign up first.")
        mine = (requesters.c.project == project, requesters.c.account_id == account.id)
        session.execute(delete(requesters).where(*mine))
        if add:
            session.execute(insert(requesters).values(project=project, account_id=account.id))


# --- people ----------------------------------------------------------------------------------------------------------


@router.get("/collections/{project}/run/people")
def people(request: Request, site: TheSite, visitor: Member, one: Run) -> Response:
    """Everybody who works here, how well and how fast."""
    return _people_page(request, site, visitor, one)


def _people_page(
    request: Request, site: Site, visitor: Visitor, one: Collection, problem: UserError | None = None
) -> Response:
    project = one.service.project
    shown = {
        **about(site), "one": one, "project": project, "people": site.reading.people(one.service), "problem": problem,
        "money": lambda mills: money(mills, project.currency),
    }  # fmt: skip
    return page(request, visitor, "collect/people.html", shown, 422 if problem else 200)


@router.post("/collections/{project}/run/people")
async def change_people(request: Request, site: TheSite, visitor: Member, one: Run) -> Response:
    """Block somebody, let them go on, or add a line to their ledger."""
    form = await checked_form(request, visitor)
    return await run_in_threadpool(_change_people, request, site, visitor, one, form)


def _change_people(request: Request, site: Site, visitor: Visitor, one: Collection, form: FormData) -> Response:
    do, worker, note = field(form, "do"), field(form, "worker"), field(form, "note").strip()
    try:
        if do == "block":
            one.service.block(worker, note or "The requester ended your part in this study.", bool(field(form, "void")))
        elif do == "unblock":
            one.service.unblock(worker)
        elif do == "adjust":
            one.service.adjust(worker, _mills(field(form, "amount")), note)
    except UserError as error:
        return _people_page(request, site, visitor, one, error)
    return RedirectResponse(f"/collections/{one.name}/run/people", 303)


def _mills(text: str) -> int:
    """A sum as people write it, in mills.

    >>> _mills("1.5"), _mills("-0.07")
    (1500, -70)
    """
    from decimal import Decimal, InvalidOperation

    try:
        mills = Decimal(text.strip()) * 1000
        if not mills.is_finite() or mills != mills.to_integral_value() or abs(mills) > 10_000_000:
            raise InvalidOperation
    except InvalidOperation:
        raise UserError(f"{text[:40]!r} is no sum.", "Write it as 1.50, or -1.50 to take it back.") from None
    return int(mills)


# --- reviews ---------------------------------------------------------------------------------------------------------


@router.get("/collections/{project}/run/reviews")
def reviews(request: Request, site: TheSite, visitor: Member, one: Run) -> Response:
    """What waits for a person: the writing of a qualification, and twenty sentences of each writer of a round."""

    def address(picture: Picture) -> str:
        return site.signing.picture(one.name, "run", picture)

    waiting = site.reading.reviews(one.service)
    shown: dict[str, Any] = {
        **about(site), "one": one, "waiting": len(waiting), "address": address, "text_of": text_of, "before": {},
        "reviews": [(found, kinds.payload(found.task)) for found in waiting[:20]],
    }  # fmt: skip
    return page(request, visitor, "collect/reviews.html", shown)


@router.post("/collections/{project}/run/reviews")
async def review(request: Request, site: TheSite, visitor: Member, one: Run) -> Response:
    form = await checked_form(request, visitor)
    return await run_in_threadpool(_review, one, visitor, form)


def _review(one: Collection, visitor: Visitor, form: FormData) -> Response:
    assert visitor.account is not None
    follows = {"yes": True, "no": False}.get(field(form, "follows"))
    if follows is None:
        raise UserError("It was not said whether the sentence follows the guidelines.", "Choose one of the two.")
    one.service.review(field(form, "answer"), follows, visitor.account.name, field(form, "note")[:500])
    return RedirectResponse(f"/collections/{one.name}/run/reviews", 303)


@router.get("/collections/{project}/run/pictures/{mac}/{turned}/{name}")
def picture(site: TheSite, one: Run, mac: str, turned: str, name: str) -> Response:
    """A picture, for those who run the collection."""
    return image(site, one, "run", mac, turned, name)


# --- export ----------------------------------------------------------------------------------------------------------


@router.get("/collections/{project}/run/export.zip")
def export_all(site: TheSite, one: Run) -> Response:
    """All that was collected so far, as `veridical collect export` writes it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / one.name
        site.reading.export(one.service, one.folder, folder)
        files = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
        return _zipped(files, f"{one.name}.zip")


def _zipped(files: dict[str, str] | dict[str, Path], name: str) -> Response:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            if isinstance(content, Path):
                archive.write(content, path)
            else:
                archive.writestr(path, content)
    headers = {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}
    return Response(out.getvalue(), media_type="application/zip", headers=headers)
