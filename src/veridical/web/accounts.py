"""Accounts: signing up and in, with limits; sign-ins that can be ended; links that work once.

A password is kept as argon2's hash. A wrong name costs the same time as a wrong password, and so does a name that has
been tried too often: an answer tells nobody which names there are.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import unicodedata
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from veridical.errors import UserError
from veridical.web.database import Database, now
from veridical.web.tables import NAME, Account, Failure, Link, SignIn

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SIGNED_IN = timedelta(days=14)
LINK_LASTS = timedelta(days=2)
SHORTEST, LONGEST = 10, 200  # characters of a password
TRIES = timedelta(minutes=15)  # within which tries are counted
MOST_PER_NAME, MOST_PER_ADDRESS, MOST_ACCOUNTS = 10, 40, 30
HASHING = threading.Semaphore(2)  # argon2 takes 64 MB each

WRONG = "The name or the password is wrong."
TOO_OFTEN = "Too many tries."


class Limited(UserError):
    """Refused for now: too many tries."""


class Accounts:
    """The accounts of a database; `secret` keys what is hashed."""

    def __init__(self, database: Database, secret: bytes, sign_up: bool = True) -> None:
        self.database, self._secret, self.is_open = database, secret, sign_up

    # --- limits ---

    def keyed(self, text: str) -> str:
        """A keyed hash: nobody without the secret can try what it was made of."""
        return hmac.new(self._secret, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()

    def count(self, session: Session, what: str, whose: str, most: int, within: timedelta = TRIES) -> None:
        """Refuse where there were too many tries."""
        since = now() - within
        tries = select(func.count()).where(Failure.about == self._about(what, whose), Failure.at > since)
        if (session.scalar(tries) or 0) >= most:
            raise Limited(TOO_OFTEN, f"Try again in {int(within.total_seconds() // 60)} minutes.")

    def note(self, session: Session, what: str, whose: str) -> None:
        """Count a try, and forget old ones."""
        session.add(Failure(about=self._about(what, whose)))
        session.execute(delete(Failure).where(Failure.at < now() - timedelta(days=1)))

    def _about(self, what: str, whose: str) -> str:
        return f"{what}:{self.keyed(whose)[:40]}"

    # --- signing up and in ---

    def sign_up(self, session: Session, name: str, password: str, address: str) -> Account:
        """A new account."""
        if not self.is_open:
            raise UserError("New accounts are closed on this server.", "Ask whoever runs it for an account.")
        self.count(session, "sign up", address, MOST_ACCOUNTS)
        made = self.make(session, name, password)
        self.note(session, "sign up", address)
        return made

    def make(self, session: Session, name: str, password: str, admin: bool = False) -> Account:
        """An account, whoever asked for it."""
        name = checked_name(name)
        check_password(password, name)
        made = Account(name=name, key=name_key(name), password=hashed(password), admin=admin)
        session.add(made)
        try:
            session.flush()
        except IntegrityError:
            session.rollback()
            raise UserError(f"The name {name!r} is taken.", "Choose another.") from None
        return made

    def log_in(self, name: str, password: str, address: str) -> str:
        """The token of a new sign-in; the password is checked outside of any transaction."""
        with self.database.read() as session:
            found = session.scalar(select(Account).where(Account.key == name_key(name)))
            refused: Limited | None = None
            try:
                self.count(session, "name", name_key(name), MOST_PER_NAME)
                self.count(session, "address", address, MOST_PER_ADDRESS)
            except Limited as error:
                refused = error
        right = verified(found.password if found else nobody(), password[: LONGEST + 1])
        if refused is not None:
            raise refused
        if found is None or not right or found.blocked:
            with self.database.write() as session:
                self.note(session, "name", name_key(name))
                self.note(session, "address", address)
            raise UserError(WRONG, "Check both. Whoever runs this server can give you a link for a new password.")
        with self.database.write() as session:
            return self.signed_in(session, found.id)

    def signed_in(self, session: Session, account: int) -> str:
        """A new sign-in of an account: its token, which is kept nowhere else."""
        token = secrets.token_urlsafe(32)
        session.execute(delete(SignIn).where(SignIn.ends < now()))
        session.add(SignIn(digest=digest(token), account_id=account, ends=now() + SIGNED_IN))
        return token

    def who(self, session: Session, token: str | None) -> Account | None:
        """Whose sign-in this is."""
        if not token:
            return None
        found = session.get(SignIn, digest(token))
        if found is None or found.ends < now():
            return None
        account = session.get(Account, found.account_id)
        return None if account is None or account.blocked else account

    def log_out(self, session: Session, token: str) -> None:
        session.execute(delete(SignIn).where(SignIn.digest == digest(token)))

    def log_out_everywhere(self, session: Session, account: int) -> None:
        session.execute(delete(SignIn).where(SignIn.account_id == account))

    def change_password(self, session: Session, account: Account, password: str) -> None:
        """A new password; whoever was signed in with the old one no longer is."""
        check_password(password, account.name)
        account.password = hashed(password)
        session.add(account)
        self.log_out_everywhere(session, account.id)

    # --- links ---

    def link(self, session: Session, purpose: str, account: int | None = None) -> str:
        """The token of a link that works once; but for invitations, an older one of the same purpose ends."""
        token = secrets.token_urlsafe(32)
        if purpose != "account":
            same = (Link.purpose == purpose, Link.account_id.is_not_distinct_from(account))
            session.execute(delete(Link).where(*same))
        session.add(Link(digest=digest(token), purpose=purpose, account_id=account, ends=now() + LINK_LASTS))
        return token

    def linked(self, session: Session, token: str, purpose: str) -> Link:
        """The link of a token, if it still works."""
        found = session.get(Link, digest(token))
        if found is None or found.purpose != purpose or found.ends < now():
            raise UserError("This link does not work any more.", "Ask for another.")
        return found

    def has_admin(self, session: Session) -> bool:
        return session.scalar(select(Account.id).where(Account.admin).limit(1)) is not None


def digest(token: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def name_key(name: str) -> str:
    """A name as it is compared: letters that look alike are one."""
    return unicodedata.normalize("NFKC", name).strip().casefold()[: 4 * NAME]


def checked_name(name: str, what: str = "name") -> str:
    """A name that can be shown: some letters, none of which steer a terminal or a line of text.

    >>> checked_name("  Ada ")
    'Ada'
    """
    clean = " ".join(name.split())
    if not clean or len(clean) > NAME:
        raise UserError(f"The {what} has {len(clean)} characters.", f"Give it 1 to {NAME}.")
    if not clean.isprintable() or any(unicodedata.category(letter) in {"Cf", "Co", "Cn", "Cs"} for letter in clean):
        raise UserError(f"The {what} has characters that cannot be seen.", "Write it with letters and numbers.")
    return clean


def check_password(password: str, name: str) -> None:
    """A password that is not the first to be tried."""
    if not SHORTEST <= len(password) <= LONGEST:
        problem = f"The password has {len(password)} characters."
        raise UserError(problem, f"Take {SHORTEST} to {LONGEST}; a sentence is easy to remember.")
    if name_key(password) == name_key(name) or len(set(password)) < 4:
        raise UserError("The password would be among the first to be tried.", "Take another, such as a sentence.")


@cache
def hasher() -> PasswordHasher:
    from argon2 import PasswordHasher

    return PasswordHasher()


def hashed(password: str) -> str:
    with HASHING:
        return hasher().hash(password)


@cache
def nobody() -> str:
    """The hash of a password that nobody has, which a wrong name is checked against."""
    return hashed(secrets.token_urlsafe(32))


def verified(known: str, password: str) -> bool:
    from argon2.exceptions import VerificationError

    with HASHING:
        try:
            return hasher().verify(known, password)
        except (VerificationError, UnicodeEncodeError):  # of halves of letters, which no form sends
            return False
