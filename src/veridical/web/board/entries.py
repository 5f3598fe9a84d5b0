"""Entries: what teams send, from the first byte to withdrawal.

A file and its row are on disk before anybody is told that the entry is there. A file that cannot be scored costs no
try; the same file under the same name again is the same entry, so that a program may send again what it had no answer
to. A folder carries a marker until its row is committed, and only what carries one is ever swept away: a folder without
a row may be an entry of another database.
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

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from veridical.common.result import remark
from veridical.errors import UserError
from veridical.web.accounts import Limited, checked_name
from veridical.web.board.tables import ADDRESS, FAILED, OPEN, REFUSED, SCORED, TEAM, WAITING, Board, Entry, Team
from veridical.web.database import Database, now
from veridical.web.tables import Account

MOST_BAD = 60  # files of a team within an hour that cost nothing
HOUR = timedelta(hours=1)
RECEIVING = ".receiving"  # in a folder whose file is no entry yet; no file that is sent has such a name
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
    """How often the teams of one account may send, together."""

    per_day: int = 5
    total: int | None = None


class Entries:
    """The entries of all boards."""

    def __init__(self, database: Database, folder: Path, rules: Rules) -> None:
        self.database, self.folder, self.rules = database, folder, rules
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    # --- taking a file ---

    def check_free(self, team: int, board: str) -> None:
        """Refuse before a file is read, where it could not be taken anyway.

        Tries are counted once it is read: without one left, what is sent again is still the entry that it is.
        """
        with self.database.read() as session:
            self._check_free(session, team, board)

    def new_folder(self) -> Path:
        """A folder for a file that is being sent, marked as such."""
        made = self.folder / secrets.token_hex(12)
        made.mkdir(mode=0o700)
        (made / RECEIVING).touch()
        return made

    def settle(self, entry: str) -> None:
        """Take the marker off an entry whose row is committed; whoever is told of the entry is told after this."""
        folder = self.folder / entry
        try:
            (folder / RECEIVING).unlink()
            sync_folder(folder)
        except FileNotFoundError:  # settled before, or refused by a worker meanwhile, and the folder with it
            return

    def take(self, folder: Path, file: str, sha256: str, team: int, board: str, said: Said) -> Entry:
        """Keep a file that lies in its folder, whole and on disk, as an entry; or the entry that it is already."""
        sync_folder(folder)
        sync_folder(self.folder)
        try:
            made = self._taken(folder, file, sha256, team, board, checked(said))
        except UserError:
            shutil.rmtree(folder)
            raise
        self.settle(made.id)
        if made.id != folder.name:
            shutil.rmtree(folder)
        return made

    def _taken(self, folder: Path, file: str, sha256: str, team: int, board: str, said: Said) -> Entry:
        with self.database.write() as session:
            _lock_tries(session, team)
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
                # what is left out stays: who sends again without --public does not hide what was shown meanwhile
                paper, code = said.paper or known.paper, said.code or known.code
                self.change(session, known, Said(known.name, paper, code, said.public or known.public))
                return known
            self._check_free(session, team, board)
            self._check_tries(session, team, board)
            made = Entry(
                id=folder.name, board_id=board, team_id=team, kind=TEAM, name=said.name, paper=said.paper,
                code=said.code, public=said.public, file=file, sha256=sha256, status=WAITING, at=now(),
            )  # fmt: skip
            session.add(made)
        return made

    def left(self, session: Session, team: int, board: str) -> int:
        """How many tries a team has left today, which it shares with the other teams of whoever made it."""
        maker = select(Team.maker_id).where(Team.id == team).scalar_subquery()
        together = or_(Entry.team_id == team, Entry.team_id.in_(select(Team.id).where(Team.maker_id == maker)))
        counted = [Entry.board_id == board, together, Entry.status.in_((WAITING, SCORED))]
        today = session.scalar(select(func.count()).where(*counted, Entry.at >= start_of_day(now()))) or 0
        left = self.rules.per_day - today
        if self.rules.total is not None:
            left = min(left, self.rules.total - (session.scalar(select(func.count()).where(*counted)) or 0))
        return max(left, 0)

    def _check_free(self, session: Session, team: int, board: str) -> None:
        found = session.get(Board, board)
        if found is None or found.status != OPEN:
            raise UserError("This board takes no entries at present.", "Its host can open it.")
        bad = [Entry.team_id == team, Entry.status.in_((REFUSED, FAILED)), Entry.at > now() - HOUR]
        if (session.scalar(select(func.count()).where(*bad)) or 0) >= MOST_BAD:
            raise Limited("Your team sent many files that could not be scored.", "Try again in an hour.")

    def _check_tries(self, session: Session, team: int, board: str) -> None:
        if not self.left(session, team, board):
            total = "" if self.rules.total is None else f" and {self.rules.total} in all"
            problem = (
                f"Your team has no try left: {self.rules.per_day} a day{total}, for all teams that one account made."
            )
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

    def kept(self) -> set[str]:
        """The names of the folders that hold files of entries, of this database or of another."""
        return {one.name for one in self._folders() if not _is_cut_off(one)}

    def _folders(self) -> list[Path]:
        return [one for one in self.folder.iterdir() if one.is_dir()]

    def sweep(self) -> None:
        """Remove files that were cut off before they became entries. Nobody else may be at work."""
        with self.database.read() as session:
            known = set(session.scalars(select(Entry.id)))
        for folder in filter(_is_cut_off, self._folders()):
            if folder.name in known:
                self.settle(folder.name)
            else:
                shutil.rmtree(folder)
        strange = sorted(self.kept() - known)
        if strange:
            some = f"{len(strange):,} folders in {self.folder} are no entries of this database, such as {strange[0]}"
            remark(f"veridical: {some}. They are left alone.")


def _is_cut_off(folder: Path) -> bool:
    """Whether a folder was made for a file that never became an entry; an empty one has nothing to lose."""
    return (folder / RECEIVING).exists() or not any(folder.iterdir())


def _lock_tries(session: Session, team: int) -> None:
    """Let one at a time count the tries that a team shares."""
    found = session.get(Team, team, with_for_update=True)
    if found is not None and found.maker_id is not None:
        session.get(Account, found.maker_id, with_for_update=True)


def start_of_day(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
