"""A database and a folder of files that belong together: both hold the same random id.

Without this a server whose `--database` was forgotten once would go on with an empty database beside the files of
another, and take new entries into it.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from sqlalchemy import select

from veridical.common.files import read_bytes, write_whole
from veridical.errors import UserError
from veridical.web.board.entries import Entries
from veridical.web.board.tables import Entry, Identity
from veridical.web.database import Database

IDENTITY, LENGTH = "board.id", 32  # in the folder of a server; characters of an id


def check_belongs(database: Database, entries: Entries, data: Path) -> None:
    """Refuse a folder whose files are another database's; what has no id yet gets one, if it can be told.

    A folder without an id is taken where it holds no entries, or one that the database knows; so is a database.
    """
    path = data / IDENTITY
    of_folder = read_bytes(path).decode("ascii", "replace").strip()[:LENGTH] if path.exists() else ""
    with database.write() as session:
        known = session.scalar(select(Identity))
        kept = entries.kept()
        shares = bool(kept) and not kept.isdisjoint(session.scalars(select(Entry.id)))
        differ = known is not None and of_folder not in ("", known.id)
        told = known is not None and known.id == of_folder
        if differ or (kept and not shares and not told):
            raise _apart(database, data, len(kept))
        if known is None:
            # with nothing kept the folder changes hands: the database that it had must not match it any more
            known = Identity(id=of_folder if of_folder and shares else secrets.token_hex(LENGTH // 2))
            session.add(known)
    if known.id != of_folder:
        write_whole(path, known.id + "\n")


def _apart(database: Database, data: Path, count: int) -> UserError:
    where = database.engine.url.render_as_string(hide_password=True)
    problem = f"{data} ({count:,} entries) is the folder of another database than {where}."
    return UserError(
        problem,
        "Give the --database that it was served with (none: its board.sqlite), or another --data. If it has moved to "
        f"this database, with its entries, remove {data / IDENTITY}. Nothing was changed.",
    )
