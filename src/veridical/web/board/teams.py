"""Teams: who competes together, and the tokens of their programs, which are shown once and kept as hashes."""

from __future__ import annotations

import secrets

from sqlalchemy import delete, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from veridical.errors import UserError
from veridical.web.accounts import checked_name, digest, name_key
from veridical.web.board.tables import Team, TeamMember, Token
from veridical.web.tables import Account

PREFIX = "vrd_"  # so that people and scanners of code know a token when they see one
MOST_TEAMS, MOST_MEMBERS, MOST_TOKENS = 5, 50, 20


def make_team(session: Session, name: str, account: int) -> Team:
    """A new team with its first member, whose teams have their tries together."""
    name = checked_name(name, "team's name")
    if len(teams_of(session, account)) >= MOST_TEAMS:
        raise UserError(f"You are in {MOST_TEAMS} teams.", "Leave one of them first.")
    made = Team(name=name, key=name_key(name), maker_id=account)
    session.add(made)
    try:
        session.flush()
    except IntegrityError:
        session.rollback()
        raise UserError(f"There is a team {name!r}.", "Choose another name, or have a member add you.") from None
    session.add(TeamMember(team_id=made.id, account_id=account))
    return made


def teams_of(session: Session, account: int) -> list[Team]:
    """The teams of an account, the oldest first."""
    found = select(Team).join(TeamMember).where(TeamMember.account_id == account).order_by(Team.id)
    return list(session.scalars(found))


def team_of(session: Session, team: int, account: int) -> Team:
    """A team, for its members alone; to others there is none."""
    if session.get(TeamMember, (team, account)) is None:
        raise LookupError(team)
    found = session.get(Team, team)
    assert found is not None
    return found


def members_of(session: Session, team: int) -> list[Account]:
    found = select(Account).join(TeamMember).where(TeamMember.team_id == team).order_by(Account.key)
    return list(session.scalars(found))


def add_member(session: Session, team: int, name: str) -> None:
    """Let somebody else in."""
    account = session.scalar(select(Account).where(Account.key == name_key(name)))
    if account is None or account.blocked:
        raise UserError(f"There is no account {name.strip()!r}.", "Have them sign up first, then give their name.")
    if session.get(TeamMember, (team, account.id)) is not None:
        raise UserError(f"{account.name} is in the team.", "Add somebody else.")
    if len(members_of(session, team)) >= MOST_MEMBERS or len(teams_of(session, account.id)) >= MOST_TEAMS:
        raise UserError("The team is full, or they are in too many.", "A member or they can leave one.")
    session.add(TeamMember(team_id=team, account_id=account.id))


def leave(session: Session, team: int, account: int) -> None:
    """Leave a team; the last member stays, since somebody must be able to withdraw its entries."""
    if len(members_of(session, team)) == 1:
        raise UserError("You are its only member.", "Add somebody else before you leave.")
    session.execute(delete(TeamMember).where(TeamMember.team_id == team, TeamMember.account_id == account))


def make_token(session: Session, team: int, name: str) -> str:
    """A new token of a team, to be shown once."""
    if (session.scalar(select(func.count()).where(Token.team_id == team)) or 0) >= MOST_TOKENS:
        raise UserError(f"The team has {MOST_TOKENS} tokens.", "Revoke one that is not used any more.")
    token = PREFIX + secrets.token_urlsafe(32)
    session.add(Token(digest=digest(token), team_id=team, name=checked_name(name, "token's name")))
    return token


def tokens_of(session: Session, team: int) -> list[Token]:
    return list(session.scalars(select(Token).where(Token.team_id == team).order_by(Token.id)))


def revoke(session: Session, team: int, token: int) -> None:
    session.execute(delete(Token).where(Token.team_id == team, Token.id == token))


def team_of_token(session: Session, token: str) -> Team | None:
    """Whose token this is; one of a team whose members are all blocked opens nothing."""
    found = session.scalar(select(Token).where(Token.digest == digest(token)))
    if found is None or all(one.blocked for one in members_of(session, found.team_id)):
        return None
    return session.get(Team, found.team_id)
