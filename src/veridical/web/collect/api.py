"""The routes for programs that work in a collection, with a worker's pass: the next task, and an answer to it."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ConfigDict, Field

from veridical.web.board.api import Problem
from veridical.web.board.site import TheSite
from veridical.web.collect.entry_pages import TheCollection
from veridical.web.collect.records import Nothing
from veridical.web.collect.working import Refused

router = APIRouter(prefix="/api/collections", tags=["collections"])
_bearer = HTTPBearer(auto_error=False, description="the pass of a worker")
_REFUSALS: dict[int | str, dict[str, Any]] = {
    401: {"model": Problem, "description": "no pass"},
    404: {"model": Problem, "description": "no such thing, or not yours"},
}


async def _worker(
    site: TheSite, project: str, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> str:
    found = site.signing.worker_of(project, given.credentials if given else None)
    if found is None:
        raise HTTPException(401, "The pass of a worker is needed.", {"www-authenticate": "Bearer"})
    return found


TheWorker = Annotated[str, Depends(_worker)]


class TaskOut(BaseModel):
    """What to do next; or, where `lease` is empty, why there is nothing."""

    lease: str = ""
    kind: str = ""
    payload: dict[str, Any] = Field(default_factory=dict)
    expires: float = 0.0
    nothing: str = ""
    words: str = ""
    code: str = ""


class AnswerIn(BaseModel):
    """An answer to the task of a lease, of the shape of its kind."""

    model_config = ConfigDict(extra="forbid")
    lease: str
    value: dict[str, Any]


class AnswerOut(BaseModel):
    """Whether an answer was taken; what is wrong with it where it was not."""

    taken: bool
    again: bool = False
    problems: list[str] = Field(default_factory=list)
    gone: bool = False


@router.get("/{project}/task", responses=_REFUSALS)
def task(one: TheCollection, worker: TheWorker) -> TaskOut:
    """The task that a worker holds, or the next one."""
    found = one.service.next(worker)
    if isinstance(found, Nothing):
        return TaskOut(nothing=found.why, words=found.words, code=found.code)
    payload = dict(found.task.payload)
    return TaskOut(lease=found.lease.id, kind=found.task.kind, payload=payload, expires=found.lease.expires)


@router.post("/{project}/answers", responses=_REFUSALS)
def answer(one: TheCollection, worker: TheWorker, given: AnswerIn) -> AnswerOut:
    """Answer the task of a lease; the same again changes nothing."""
    taken = one.service.submit(worker, given.lease, given.value)
    if isinstance(taken, Refused):
        return AnswerOut(taken=False, problems=list(taken.problems), gone=taken.gone)
    return AnswerOut(taken=True, again=taken.again)
