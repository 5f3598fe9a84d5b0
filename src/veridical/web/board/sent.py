"""An entry on its way: a body becomes a file, the file an entry, and the entry has its scores if that is quick."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator

from starlette.concurrency import run_in_threadpool

from veridical.errors import UserError
from veridical.web.board.entries import Said, checked, file_name
from veridical.web.board.site import Site
from veridical.web.board.tables import REFUSED, Entry
from veridical.web.board.uploads import kept


async def take(site: Site, team: int, board: str, said: Said, name: str, body: AsyncIterator[bytes]) -> Entry:
    """Take what is sent as an entry; a file that is bad comes back as an error, with what is wrong with it."""
    checked(said)
    await run_in_threadpool(site.entries.check_free, team, board)
    folder = await run_in_threadpool(site.entries.new_folder)
    file = file_name(name)
    try:
        sha256 = await kept(body, folder / file)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)  # it is no entry: nothing of it is kept
        raise
    entry = await run_in_threadpool(site.entries.take, folder, file, sha256, team, board, said)
    return await waited(site, entry.id)


async def waited(site: Site, entry: str) -> Entry:
    """The entry once it is scored, or as it is when patience ends."""
    future = asyncio.wrap_future(site.workers.add(entry))
    await asyncio.wait([future], timeout=site.patience)
    found = await run_in_threadpool(_read, site, entry)
    if found.status == REFUSED:
        problem, _, fix = found.said.partition("\n")
        raise UserError(problem, fix.strip())
    return found


def _read(site: Site, entry: str) -> Entry:
    with site.database.read() as session:
        found = session.get(Entry, entry)
        assert found is not None
        return found
