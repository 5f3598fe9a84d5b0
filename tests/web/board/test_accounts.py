"""Accounts: signing in with limits, sign-ins that can be ended, forms that only our pages send, headers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from starlette.testclient import TestClient
from tests.web.board.town import PASSWORD, Person, Town, routes_of

from veridical.errors import UserError
from veridical.web import accounts as room
from veridical.web.board import tables
from veridical.web.database import Base, Database, now
from veridical.web.tables import Account, Failure

assert tables


def test_the_migrations_make_the_tables_that_the_code_has(either: Town) -> None:
    with either.site.database.engine.connect() as connection:
        assert not compare_metadata(MigrationContext.configure(connection), Base.metadata)
    either.site.database.upgrade()  # again: nothing to do


def test_logging_in_and_out(either: Town) -> None:
    ada = either.person("ada")
    assert ada.get("/account").status_code == 200
    assert ada.post("/log-out", {}, "/account").status_code == 303
    assert ada.get("/account").headers["location"] == "/log-in"
    again = Person(either.client)
    assert again.post("/log-in", {"name": ada.name.upper(), "password": PASSWORD}).status_code == 303
    assert again.get("/account").status_code == 200


def test_logging_out_everywhere_ends_every_sign_in(town: Town) -> None:
    ada, phone = town.person("ada"), Person(town.client)
    phone.post("/log-in", {"name": ada.name, "password": PASSWORD})
    assert phone.get("/account").status_code == 200
    ada.post("/log-out", {"everywhere": "yes"}, "/account")
    assert phone.get("/account").status_code == ada.get("/account").status_code == 303


def test_a_new_password_ends_the_sign_ins_of_the_old_one(town: Town) -> None:
    ada, thief = town.person("ada"), Person(town.client)
    thief.post("/log-in", {"name": ada.name, "password": PASSWORD})
    assert ada.post("/account", {"old": "wrong", "new": "another sentence"}).status_code == 422
    assert ada.post("/account", {"old": PASSWORD, "new": "another sentence"}).status_code == 303
    assert ada.get("/account").status_code == 200
    assert thief.get("/account").status_code == 303


def test_tries_are_limited_by_name_and_say_nothing_about_it(town: Town) -> None:
    ada, eve = town.person("ada"), Person(town.client)
    said = set()
    for name in (ada.name, "nobody at all"):
        for _ in range(room.MOST_PER_NAME):
            answer = eve.post("/log-in", {"name": name, "password": "not the password"})
            said.add(re.search(r'role="alert".*?</div>', answer.text, re.S)[0])  # type: ignore[index]
        assert eve.post("/log-in", {"name": name, "password": PASSWORD}).status_code == 429
    assert len(said) == 1  # no word tells whether there is such an account
    with town.site.database.write() as session:
        session.query(Failure).delete()
    assert eve.post("/log-in", {"name": ada.name, "password": PASSWORD}).status_code == 303


def test_tries_are_limited_by_address(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_PER_ADDRESS", 3)
    eve = Person(town.client)
    answers = [eve.post("/log-in", {"name": f"n{k}", "password": "not the password"}).status_code for k in range(5)]
    assert answers == [422, 422, 422, 429, 429]
    with town.site.database.write() as session:
        kept = [one.about for one in session.query(Failure)]
        session.query(Failure).delete()
    assert kept
    assert not any("testclient" in one for one in kept)  # the address itself is not kept


@pytest.mark.parametrize("password", ["short", "aaaaaaaaaaaa", "Some Person"])
def test_weak_passwords_are_refused(password: str) -> None:
    with pytest.raises(UserError):
        room.check_password(password, "some person")


@pytest.mark.parametrize("name", ["", " ", "a" * 61, "a\x00b", "a\u202eb", "\ud800"])
def test_names_can_be_shown(name: str) -> None:
    with pytest.raises(UserError):
        room.checked_name(name)


def test_names_that_look_alike_are_one(town: Town) -> None:
    town.person().sign_up("Alan T")
    assert town.person().sign_up("ＡＬＡＮ T").status_code == 422


def test_a_form_of_another_site_does_nothing(town: Town) -> None:
    ada, eve = town.person("ada"), town.person("eve")
    for token in ("", "0" * 64, eve.form_token("/account")):
        answer = ada.request("POST", "/teams", data={"form_token": token, "name": "Forged"})
        assert answer.status_code == 403
    headers = {"sec-fetch-site": "cross-site"}
    fields = {"form_token": ada.form_token("/account"), "name": "Forged"}
    assert ada.request("POST", "/teams", data=fields, headers=headers).status_code == 403
    assert "Forged" not in ada.get("/account").text


def test_every_form_route_wants_a_token(town: Town) -> None:
    ada = town.person("ada")
    routes = routes_of(town.client.app)
    pages = [path for path, methods in routes if "POST" in methods and not path.startswith("/api/")]
    assert len(pages) >= 9
    for path in pages:
        assert ada.request("POST", re.sub(r"\{\w+\}", "1", path), data={"x": "y"}).status_code == 403, path


def test_cookies_and_headers(town: Town) -> None:
    ada = town.person("ada")
    plain = ada.get("/account")
    assert "default-src 'none'" in plain.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in plain.headers["content-security-policy"]
    assert plain.headers["x-frame-options"] == "DENY"
    assert plain.headers["x-content-type-options"] == "nosniff"
    assert plain.headers["cache-control"] == "no-store"
    assert "server" not in plain.headers
    secure = TestClient(town.client.app, base_url="https://board.example")
    token = re.search(r'form_token" value="(\w+)', secure.get("/log-in").text)[1]  # type: ignore[index]
    fields = {"form_token": token, "name": ada.name, "password": PASSWORD}
    signed = secure.post("/log-in", data=fields, follow_redirects=False)
    cookie = next(line for line in signed.headers.get_list("set-cookie") if "session" in line)
    assert cookie.startswith("__Host-session=")
    assert all(word in cookie for word in ("Secure", "HttpOnly", "SameSite=lax", "Path=/"))


def test_a_link_works_once(town: Town) -> None:
    admin, ada = town.admin(), town.person("ada")
    assert "/admin" in admin.get("/").text
    assert ada.get("/admin").status_code == 404
    said = admin.post("/admin", {"do": "password", "name": ada.name}).text
    path = re.search(r"(/links/password/[\w-]+)", said)[1]  # type: ignore[index]
    anew = Person(town.client)
    assert anew.post(path, {"password": "a new sentence"}).status_code == 303
    assert anew.get("/account").status_code == 200
    assert ada.get("/account").status_code == 303
    assert anew.get(path).status_code == 404
    path = re.search(r"(/links/account/[\w-]+)", admin.post("/admin", {"do": "invite"}).text)[1]  # type: ignore[index]
    guest = Person(town.client)
    assert guest.post(path, {"name": "guest", "password": PASSWORD}).status_code == 303
    assert guest.get("/admin").status_code == 404
    admin.post("/admin", {"do": "block", "name": ada.name})
    assert anew.get("/account").status_code == 303


def test_nothing_of_a_person_is_kept_but_a_name(town: Town) -> None:
    ada = town.person("ada")
    kept = Path(town.site.data / "board.sqlite").read_bytes() + Path(town.site.data / "board.sqlite-wal").read_bytes()
    assert PASSWORD.encode() not in kept
    assert ada.cookies["session"].encode() not in kept
    assert b"testclient" not in kept


def test_teams_of_an_older_version_get_their_makers_and_keep_all_else(either: Town) -> None:
    ada, bob = either.person("ada"), either.person("bob")
    alone, shared = ada.team, bob.team
    assert bob.post(f"/teams/{shared}", {"do": "add", "name": ada.name}).status_code == 303
    config = Config()
    config.set_main_option("script_location", "veridical.web:migrations")
    with either.site.database.engine.connect().execution_options(writes=True) as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0004")
        connection.commit()
    either.site.database.upgrade()
    with either.site.database.read() as session:
        makers = {team: session.get_one(tables.Team, team).maker_id for team in (alone, shared)}
        ids = {one.name: one.id for one in session.query(Account)}
        assert makers == {alone: ids[ada.name], shared: None}
        assert session.query(tables.TeamMember).count() == 3


def test_times_keep_their_zone(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'x.sqlite'}")
    database.upgrade()
    moment = now()
    with database.write() as session:
        session.add(Failure(about="x", at=moment))
    with database.read() as session:
        assert session.query(Failure).one().at == moment


@pytest.mark.parametrize("address", ["nonsense", "mysql://x", "postgresql://nobody@127.0.0.1:1/x"])
def test_an_address_that_is_no_database_is_refused_in_words(address: str) -> None:
    with pytest.raises(UserError):
        Database(address).upgrade()
