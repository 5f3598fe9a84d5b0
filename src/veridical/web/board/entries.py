"""Entries: what teams send, from the first byte to withdrawal.

A file and its row are on disk before anybody is told that the entry is there. A file that cannot be scored costs no
try; the same file under the same name again is the same entry, so that a program may send again what it had no answer
to.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from veridical.errors import UserError
from veridical.web.accounts import Limited, checked_name
from veridical.web.board.tables import ADDRESS, FAILED, OPEN, REFUSED, SCORED, TEAM, WAITING, Board, Entry, Team
from veridical.web.database import Database, now

MOST_BAD = 60  # files of a team within an hour that cost nothing
HOUR = timedelta(hours=1)
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")


@dataclass(frozen=True)
class Said:
    """What a team says of its entry."""

    name: str
    paper: str = ""
    code: str = ""
    public: bool = False


def checked(said: Said) -> Said:
    """What is said of an entry, if all of it can be shown."""
    return Said(checked_name(said.name, "entry's name"), checked_link(said.paper), checked_link(said.code), said.public)


def checked_link(address: str) -> str:
    """An address of the web, or none.

    >>> checked_link(" https://example.org/paper ")
    'https://example.org/paper'
    """
    address = address.strip()
    if not address:
        return ""
    try:
        parts = urlsplit(address)
    except ValueError:
        parts = urlsplit("")
    clean = address.isprintable() and not any(letter.isspace() for letter in address)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or not clean:
        raise UserError("A link is not an address of the web.", "Write https://..., or leave it out.")
    if len(address) > ADDRESS:
        raise UserError(f"A link has {len(address)} characters.", f"Give one of at most {ADDRESS}.")
    return address


def file_name(name: str) -> str:
    """What a file is called here: as its team calls it, if that is a plain name.

    >>> file_name("C:\\\\runs\\\\dev.jsonl"), file_name("../../etc/passwd"), file_name("\\x00")
    ('dev.jsonl', 'passwd', 'predictions')
    """
    last = re.split(r"[/\\]", name)[-1]
    return last if _FILE.fullmatch(last) else "predictions"


@dataclass(frozen=True)
class Rules:
    """How often teams may send."""

    per_day: int = 5
    total: int | None = None


class Entries:
    """The entries of all boards."""

    def __init__(self, database: Database, folder: Path, rules: Rules) -> None:
        self.database, self.folder, self.rules = database, folder, rules

    # --- taking a file ---

    def check_free(self, team: int, board: str) -> None:
        """Refuse before a file is read, where it could not be taken anyway."""
        with self.database.read() as session:
            self._check(session, team, board)

    def new_folder(self) -> Path:
        """A folder for a file that is being sent."""
        made = self.folder / secrets.token_hex(12)
        made.mkdir(mode=0o700)
        return made

    def take(self, folder: Path, file: str, sha256: str, team: int, board: str, said: Said) -> Entry:
        """Keep a file that lies in its folder, whole and on disk, as an entry; or the entry that it is already."""
        sync_folder(folder)
        sync_folder(self.folder)
        try:
            made = self._taken(folder, file, sha256, team, board, checked(said))
        except UserError:
            shutil.rmtree(folder)
            raise
        if made.id != folder.name:
            shutil.rmtree(folder)
        return made

    def _taken(self, folder: Path, file: str, sha256: str, team: int, board: str, said: Said) -> Entry:
        with self.database.write() as session:
            session.get(Team, team, with_for_update=True)  # one at a time counts a team's tries
            same = select(Entry).where(
                Entry.board_id == board,
                Entry.team_id == team,
                Entry.sha256 == sha256,
                Entry.name == said.name,
                Entry.status.in_((WAITING, SCORED)),
                Entry.withdrawn.is_(False),
            )
            known = session.scalar(same)
            if known is not None:
                return known
            self._check(session, team, board)
            made = Entry(
                id=folder.name, board_id=board, team_id=team, kind=TEAM, name=said.name, paper=said.paper,
                code=said.code, public=said.public, file=file, sha256=sha256, status=WAITING, at=now(),
            )  # fmt: skip
            session.add(made)
        return made

    def left(self, session: Session, team: int, board: str) -> int:
        """How many tries a team has left today."""
        counted = [Entry.board_id == board, Entry.team_id == team, Entry.status.in_((WAITING, SCORED))]
        today = session.scalar(select(func.count()).where(*counted, Entry.at >= start_of_day(now()))) or 0
        left = self.rules.per_day - today
        if self.rules.total is not None:
            left = min(left, self.rules.total - (session.scalar(select(func.count()).where(*counted)) or 0))
        return max(left, 0)

    def _check(self, session: Session, team: int, board: str) -> None:
        found = session.get(Board, board)
        if found is None or found.status != OPEN:
            raise UserError("This board takes no entries at present.", "Its host can open it.")
        bad = [Entry.team_id == team, Entry.status.in_((REFUSED, FAILED)), Entry.at > now() - HOUR]
        if (session.scalar(select(func.count()).where(*bad)) or 0) >= MOST_BAD:
            raise Limited("Your team sent many files that could not be scored.", "Try again in an hour.")
        if not self.left(session, team, board):
            total = "" if self.rules.total is None else f" and {self.rules.total} in all"
            problem = f"Your team has no try left: {self.rules.per_day} a day{total}."
            raise Limited(problem, "A new day begins at midnight UTC. Files that cannot be scored do not count.")

    # --- afterwards ---

    def change(self, session: Session, entry: Entry, said: Said) -> None:
        """Say something else of an entry."""
        said = checked(said)
        entry.name, entry.paper, entry.code, entry.public = said.name, said.paper, said.code, said.public
        session.add(entry)

    def withdraw(self, session: Session, entry: Entry) -> None:
        """Take an entry off the board for good; the try stays used."""
        entry.withdrawn, entry.public = True, False
        session.add(entry)

    def sweep(self) -> None:
        """Remove files that were cut off before they became entries. Nobody else may be at work."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self.database.read() as session:
            known = set(session.scalars(select(Entry.id)))
        for folder in self.folder.iterdir():
            if folder.name not in known:
                shutil.rmtree(folder)


def start_of_day(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
