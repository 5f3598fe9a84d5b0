"""Who may see and do what; what is kept of whom; and that text stays text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import select, text
from tests.web.board.town import PASSWORD, Person, routes_of
from tests.web.collect.town import CODES, SCRIPT, Camp, camp, lease_on, write_judging

from veridical.web.collect.tables import answers, leases, workers

TRUE = {"verdict": "true"}


def work(person: Person, where: Camp) -> str:
    found = person.get(f"{where.path}/work")
    assert found.status_code == 200, found.text
    return str(found.text)


def send(person: Person, where: Camp, lease: str, fields: dict[str, str], script: bool = False) -> Any:
    token = person.form_token(f"{where.path}/me")
    headers = {"accept": "application/json"} if script else {}
    values = {"form_token": token, "lease": lease, **fields}
    return person.request("POST", f"{where.path}/work", data=values, headers=headers)


def count(where: Camp, table: Any = answers) -> int:
    with where.site.database.read() as session:
        return len(session.execute(select(table).where(table.c.project == where.one.name)).all())


# --- a worker's own assignment, and nobody else's --------------------------------------------------------------------


def test_an_answer_counts_once_and_only_from_its_worker(judging: Camp) -> None:
    ada, eve = judging.worker(), judging.worker()
    lease = lease_on(work(ada, judging))
    assert send(eve, judging, lease, TRUE).status_code == 404
    assert send(eve, judging, "w999-0", TRUE).status_code == 404  # looks the same
    before = count(judging)
    assert send(ada, judging, lease, TRUE).status_code == 303
    assert send(ada, judging, lease, TRUE, script=True).json() == {"to": f"{judging.path}/work"}  # again: as before
    assert count(judging) == before + 1
    assert send(eve, judging, lease, {"back": "yes"}).status_code in (404, 422)
    assert lease_on(work(ada, judging)) != lease


def test_pictures_open_for_whom_they_were_shown(judging: Camp) -> None:
    ada, eve = judging.worker(), judging.worker()
    address = re.search(r'src="([^"]+/pictures/[^"]+)"', work(ada, judging))[1]  # type: ignore[index]
    seen = ada.get(address)
    assert seen.status_code == 200
    assert seen.headers["content-type"] == "image/png"
    assert eve.get(address).status_code == 404
    assert judging.stranger().get(address).status_code == 303  # to the front
    mac = re.search(r"/pictures/([0-9a-f]+)/", address)[1]  # type: ignore[index]
    for other in ("../../project.json", "..%2f..%2fproject.json", "p7.png"):
        assert ada.get(f"{judging.path}/pictures/{mac}/0/{other}").status_code == 404
    assert ada.get(address.replace("/pictures/", "/run/pictures/")).status_code == 303  # log in first


def test_nothing_tells_gold_from_work_or_what_is_expected(study: Camp) -> None:
    ada = study.worker()
    for _ in range(3):
        page = work(ada, study)
        for secret in ("expected", "prune:a", "qualification:", "gold", "author"):
            assert secret not in page
        assert send(ada, study, lease_on(page), {"back": "yes"}).status_code == 303


def test_a_pass_is_of_one_worker_in_one_collection(judging: Camp, study: Camp) -> None:
    ada = judging.worker()
    given = ada.cookies["worker-judging"]
    for bad in ("", "w1", "w1.", f"w2.{given.partition('.')[2]}", given + "0"):
        eve = judging.stranger()
        eve.cookies["worker-judging"] = bad
        assert eve.get(f"{judging.path}/work").status_code == 303
    eve = study.stranger()
    eve.cookies["worker-every"] = given
    assert eve.get(f"{study.path}/work").status_code == 303


def test_only_requesters_see_the_other_side(judging: Camp) -> None:
    ada, admin = judging.worker(), judging.admin()
    somebody = judging.stranger()
    assert somebody.sign_up("Somebody").status_code == 303
    for path in ("run", "run/people", "run/reviews", "run/export.zip"):
        for person in (ada, judging.stranger()):
            assert person.get(f"{judging.path}/{path}").headers["location"] == "/log-in"
        assert somebody.get(f"{judging.path}/{path}").status_code == 404
        assert admin.get(f"{judging.path}/{path}").status_code == 200
    run = f"{judging.path}/run"
    assert admin.post(run, {"do": "appoint", "name": "Somebody"}).status_code == 303
    assert somebody.get(run).status_code == 200
    assert judging.one.title in somebody.get("/").text
    assert somebody.post(run, {"do": "dismiss", "name": "Somebody"}).status_code == 303
    assert somebody.get(run).status_code == 404
    assert judging.one.title not in somebody.get("/").text


def test_the_requester_sees_agreement_grow(judging: Camp) -> None:
    people, admin = [judging.worker() for _ in range(3)], judging.stranger()
    with judging.site.database.write() as session:
        judging.site.accounts.make(session, "another admin", PASSWORD, admin=True)
    assert admin.post("/log-in", {"name": "another admin", "password": PASSWORD}).status_code == 303
    for person in people:
        for place in range(8):
            page = work(person, judging)
            said = "true" if int(re.search(r"in set (\d+)", page)[1]) % 2 else "false"  # type: ignore[index]
            send(person, judging, lease_on(page), {"verdict": said if place else "true"})
    assert "Agreement as it grows" in admin.post(f"{judging.path}/run", {"do": "pay", "platform": "link"}).text


def test_forms_of_strangers_do_nothing(judging: Camp) -> None:
    ada = judging.worker()
    lease = lease_on(work(ada, judging))
    for fields in ({"lease": lease, **TRUE}, {"lease": lease, **TRUE, "form_token": "0" * 64}):
        assert ada.request("POST", f"{judging.path}/work", data=fields).status_code == 403
    assert ada.request("POST", f"{judging.path}/me", data={"do": "forget"}).status_code == 403
    with judging.site.database.read() as session:
        held = select(leases.c.ended).where(leases.c.id == lease, leases.c.project == judging.one.name)
        assert session.execute(held).scalar_one() is None


def answer_one(person: Person, where: Camp) -> None:
    """Go on until there is a sentence to judge, and judge it."""
    for _ in range(12):
        page = work(person, where)
        if 'data-kind="validate"' in page:
            assert send(person, where, lease_on(page), TRUE).status_code == 303
            return
        send(person, where, lease_on(page), {"back": "yes"})


# --- coming in -------------------------------------------------------------------------------------------------------


def test_nothing_is_kept_of_who_does_not_agree(study: Camp) -> None:
    people = count(study, workers)
    query = "?PROLIFIC_PID=5f00000000000000000000aa&STUDY_ID=s1&SESSION_ID=t1"
    link = study.entry("prolific") + query
    grace = study.stranger()
    page = grace.get(link)
    assert page.status_code == 200
    assert "We study pictures." in page.text
    assert grace.post(link, {"agree": "no", "version": "1"}).headers["location"] == study.path
    assert count(study, workers) == people
    assert grace.post(link, {"agree": "yes", "version": "0"}).status_code == 422  # another text than is shown now
    assert grace.post(link, {"agree": "yes", "version": "1"}).status_code == 303
    name = study.name_of(grace)
    again = study.stranger()  # another browser, the same person
    assert again.get(link).status_code == 303
    assert study.name_of(again) == name
    idle = study.stranger()  # who does nothing is not done
    other = link.replace("aa&", "bb&")
    assert idle.post(other, {"agree": "yes", "version": "1"}).status_code == 303
    assert idle.post(f"{study.path}/me", {"do": "withdraw"}).status_code == 303
    told = idle.get(f"{study.path}/work").text
    assert CODES["completion_code"] not in told
    assert "return your place on Prolific" in told
    answer_one(grace, study)
    assert grace.post(f"{study.path}/me", {"do": "forget"}).status_code == 303
    with study.site.database.read() as session:
        dump = str(session.execute(text("SELECT * FROM collect_workers")).all())
    assert "5f00000000000000000000aa" not in dump
    done = grace.get(f"{study.path}/work").text
    assert CODES["completion_code"] in done
    assert f"https://app.prolific.com/submissions/complete?cc={CODES['completion_code']}" in done


def test_who_left_can_still_have_what_they_said_deleted(study: Camp) -> None:
    """Also who came by a plain link, by which nobody is known."""
    ada, page = study.worker(), f"{study.path}/me"
    answer_one(ada, study)
    assert ada.post(page, {"do": "withdraw"}).status_code == 303
    assert "Delete what I said, too" in ada.get(page).text
    assert ada.post(page, {"do": "forget"}).status_code == 303
    assert "Delete what I said" not in ada.get(page).text


@pytest.mark.parametrize("query", ["", "?PROLIFIC_PID=&SESSION_ID=a", "?PROLIFIC_PID=<script>&SESSION_ID=a",
                                   f"?PROLIFIC_PID={'a' * 101}&SESSION_ID=a"])  # fmt: skip
def test_links_without_their_parameters_lead_nowhere(study: Camp, query: str) -> None:
    assert study.stranger().get(study.entry("prolific") + query).status_code == 404


def test_links_that_nobody_made_lead_nowhere(study: Camp) -> None:
    good = study.entry()
    for bad in (good[:-1], good[:-1] + "g", good.replace("/link/", "/prolific/"), good.replace("/link/", "/simulated/"),
                study.entry(number=1)[:-1], study.entry(number=1).replace("/1-", "/2-")):  # fmt: skip
        assert study.stranger().get(bad).status_code == 404, bad


def test_a_personal_link_knows_its_person_again(study: Camp) -> None:
    admin = study.admin()
    page = admin.post(f"{study.path}/run", {"do": "invite", "many": "2"})
    links = re.findall(r"<li><code>http://testserver([^<]+)</code>", page.text)
    assert len(links) == 2
    for many in ("0", "201", "-1", "many", "1e3"):
        assert admin.post(f"{study.path}/run", {"do": "invite", "many": many}).status_code == 422
    one, other = study.stranger(), study.stranger()
    for person, link in zip((one, other), links, strict=True):
        assert person.post(link, {"agree": "yes", "version": "1"}).status_code == 303
    assert study.name_of(one) != study.name_of(other)
    elsewhere = study.stranger()
    assert elsewhere.get(links[0]).status_code == 303
    assert study.name_of(elsewhere) == study.name_of(one)


def test_mturk_shows_a_frame_and_work_is_done_in_a_tab(study: Camp) -> None:
    link = study.entry("mturk")
    shown = study.stranger().get(link + "?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=h")
    assert "Accept this assignment first" in shown.text
    given = "?assignmentId=A1&hitId=h&workerId=W1&turkSubmitTo=https://workersandbox.mturk.com"
    frame = study.stranger().get(link + given)
    assert "frame-ancestors https://www.mturk.com" in frame.headers["content-security-policy"]
    assert 'action="https://workersandbox.mturk.com/mturk/externalSubmit"' in frame.text
    assert 'name="assignmentId" value="A1"' in frame.text
    assert study.stranger().get(link + given.replace("workersandbox.mturk.com", "evil.example")).status_code == 404
    tab = re.search(r'href="([^"]+tab=yes)"', frame.text)[1].replace("&amp;", "&")  # type: ignore[index]
    alan = study.stranger()
    assert "frame-ancestors 'none'" in alan.get(tab).headers["content-security-policy"]
    assert alan.post(tab, {"agree": "yes", "version": "1"}).status_code == 303
    with study.site.database.read() as session:
        row = session.execute(select(workers).where(workers.c.id == study.name_of(alan))).mappings().one()
    assert (row["platform"], row["platform_id"], row["session"]) == ("mturk", "W1", "A1")


# --- what is refused, and escaped ------------------------------------------------------------------------------------


def test_what_people_wrote_is_text_wherever_it_is_shown(study: Camp) -> None:
    ada = study.worker()
    seen = set()
    for _ in range(12):
        found = ada.get(f"{study.path}/work").text
        if 'name="lease"' not in found:
            break
        assert "<script>alert" not in found
        assert "<img src=x" not in found
        seen |= {SCRIPT.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") in found}
        send(ada, study, lease_on(found), {"back": "yes"})
    assert seen == {True, False}


def test_a_refused_answer_comes_back_with_what_was_written(study: Camp) -> None:
    ada = study.worker()
    for _ in range(10):
        page = work(ada, study)
        if 'data-kind="sentence"' in page:
            break
        send(ada, study, lease_on(page), {"back": "yes"})
    sent = send(ada, study, lease_on(page), {"sentence": "In image A <b>there is</b> a square"})
    assert sent.status_code == 422
    assert "Do not mention the images" in sent.text
    assert "In image A &lt;b&gt;there is&lt;/b&gt; a square" in sent.text
    told = send(ada, study, lease_on(page), {"sentence": "x" * 4000}, script=True)
    assert told.status_code == 422
    assert told.json()["problems"]
    token = ada.form_token(f"{study.path}/me")
    long = ada.request("POST", f"{study.path}/work", data={"form_token": token, "sentence": "x" * 5000},
                       files={"a": b""})  # fmt: skip
    assert long.status_code == 400


NAMES = [
    "verdict",
    "choice",
    "skip",
    "sentence",
    "pair",
    "flag",
    "flagged",
    "follows",
    "reason-0",
    "mark-1",
    "back",
    "question-1",
    "answer-1",
    "rationale-1",
    "likelihood-1",
    "question-3",
    "do",
    "agree",
    "version",
    "worker",
    "many",
    "amount",
    "note",
    "answer",
    "platform",
    "name",
]
WORDS = st.one_of(st.text(max_size=30), st.sampled_from(["true", "0", "yes", "adjust", "block", "pay", "round", "w1"]))
ODD = settings(max_examples=40, deadline=None, database=None, phases=(Phase.generate,),
               suppress_health_check=list(HealthCheck))  # fmt: skip


@ODD
@given(st.dictionaries(st.sampled_from(NAMES), WORDS, max_size=6), st.booleans())
def test_no_form_is_too_odd(study: Camp, fields: dict[str, str], script: bool) -> None:
    """Whatever a form says, of a worker or of a requester: an answer in words."""
    clean = {name: value.encode("utf-8", "replace").decode() for name, value in fields.items()}
    ada, admin = _odd_people(study)
    page = ada.get(f"{study.path}/work").text
    lease = lease_on(page) if 'name="lease"' in page else "w1-0"
    assert send(ada, study, lease, clean, script).status_code < 500
    token = admin.form_token("/account")
    for path in ("run", "run/people", "run/reviews"):
        sent = admin.request("POST", f"{study.path}/{path}", data={**clean, "form_token": token})
        assert sent.status_code < 500, sent.text


_ODD: dict[int, tuple[Person, Person]] = {}


def _odd_people(study: Camp) -> tuple[Person, Person]:
    if id(study) not in _ODD:
        admin = study.stranger()
        with study.site.database.write() as session:
            study.site.accounts.make(session, "odd admin", PASSWORD, admin=True)
        assert admin.post("/log-in", {"name": "odd admin", "password": PASSWORD}).status_code == 303
        _ODD[id(study)] = (study.worker(), admin)
    return _ODD[id(study)]


def test_every_route_of_a_collection_is_somebodys(study: Camp) -> None:
    """A stranger gets nothing from any of them but the front page and the rules."""
    found = [(path, methods) for path, methods in routes_of(study.client.app) if "collection" in path]
    assert len(found) > 12
    for path, methods in found:
        filled = path.replace("{project}", "every").replace("{name}", "nlvr").replace("{platform}", "link")
        filled = re.sub(r"{\w+}", "x", filled)
        for method in methods - {"HEAD"}:
            status = study.stranger().request(method, filled).status_code
            free = filled in ("/collections/every", "/collection-rules/nlvr.json")
            assert status == 200 if free and method == "GET" else status in (303, 401, 403, 404, 422), (method, filled)


def test_a_project_that_started_is_not_changed_behind_peoples_backs(tmp_path: Path) -> None:
    from veridical.errors import UserError

    folder = write_judging(tmp_path / "p", 3)
    with camp(folder, tmp_path / "data", start=False):
        pass
    file = folder / "project.json"
    file.write_text(file.read_text().replace("Judge sentences", "Judge them"))
    with camp(folder, tmp_path / "data") as made:  # a draft may change
        assert made.one.service.project.title == "Judge them"
    file.write_text(file.read_text().replace("Judge them", "Others"))
    with pytest.raises(UserError, match="begun with another"), camp(folder, tmp_path / "data"):
        pass
