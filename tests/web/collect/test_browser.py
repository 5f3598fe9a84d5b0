"""Every kind of task in a real browser, from the link to the last answer; odd people; requesters. And axe."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page
from tests.web.board.test_browser import looked_at
from tests.web.board.test_kills import Server
from tests.web.board.town import PASSWORD
from tests.web.collect.town import SCRIPT, SENTENCE, write_every, write_judging
from tests.web.conftest import NewPage

from veridical.web.collect import rules

TASK = "document.querySelector('form.task')"


class Study:
    """A server with a collection that has started, and its requester."""

    def __init__(self, folder: Path, data: Path, browser: Browser) -> None:
        data.mkdir(parents=True, exist_ok=True)
        self.server = Server(folder, data)
        self.server.start()
        self.requester = browser.new_context().new_page()
        link = re.search(r"http://\S+/links/claim/\S+", self.server.log.read_text())
        assert link is not None
        self.requester.goto(link[0])
        self.requester.get_by_label("Name").fill("Host")
        self.requester.get_by_label("Password").fill(PASSWORD)
        self.requester.get_by_role("button", name="Go on").click()
        self.name = json.loads((folder / "project.json").read_text())["name"]
        self.path = f"{self.server.address}/collections/{self.name}"
        self.requester.goto(f"{self.path}/run")

    def begin(self) -> str:
        """Start it; the link for everybody."""
        self.requester.get_by_role("button", name="Start").click()
        self.requester.get_by_role("button", name="Pause").wait_for()
        return self.requester.locator("dd code").first.inner_text()


@pytest.fixture
def every(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Study]:
    made = Study(write_every(tmp_path_factory.mktemp("study") / "every"), tmp_path_factory.mktemp("data"), browser)
    yield made
    made.server.kill()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Study]:
    made = Study(write_judging(tmp_path_factory.mktemp("study") / "j", 30), tmp_path_factory.mktemp("data2"), browser)
    yield made
    made.server.kill()


def come(page: Page, link: str) -> None:
    page.goto(link)
    page.get_by_role("button", name="I agree").click()
    page.locator("form.task").wait_for()
    page.wait_for_load_state()  # keys are heard from then on


# --- what somebody does for each kind --------------------------------------------------------------------------------


def tutorial(page: Page) -> None:
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    page.get_by_text("Not quite.").wait_for()
    page.get_by_label("what it shows").check()
    page.get_by_role("button", name="Send").click()


def guideline(page: Page) -> None:
    assert page.get_by_text(SCRIPT).is_visible()
    page.keyboard.press("n")


def prune(page: Page) -> None:
    page.locator(".shot").nth(0).click()
    page.keyboard.press("2")
    page.locator(".shot").nth(1).click()
    page.locator(".shot").nth(1).click()  # back
    page.get_by_label("Picture 3", exact=True).focus()
    page.keyboard.press("3")
    assert page.get_by_label("Picture 3", exact=True).input_value() == "inappropriate"
    assert page.locator("[data-count]").inner_text() == "2 marked"
    page.get_by_role("button", name="Send").click()


def sets(page: Page) -> None:
    page.locator(".shot").nth(0).click()
    page.get_by_label("Picture 2", exact=True).select_option("dull")
    page.get_by_role("button", name="Send").click()


def sentence(page: Page) -> None:
    box = page.get_by_label("One sentence that meets all of these")
    box.fill("In image A there is a black square")
    page.get_by_text("Do not mention the images").wait_for()
    page.keyboard.press("Control+Enter")
    assert page.url.endswith("/work")
    box.fill("There is a tower with a yellow base <b>")
    page.locator(".said .refused").wait_for(state="detached")
    page.keyboard.press("Control+Enter")


def contrast(page: Page) -> None:
    for place in ("1", "3", "4"):
        page.keyboard.press(place)
    assert "take one of them away" in page.get_by_role("alert").inner_text()
    assert page.locator("[name=pair]:checked").count() == 2
    page.get_by_label("Your sentence").fill(SENTENCE + ' & <script>alert("x")</script>')
    page.get_by_role("button", name="Send").click()


def validate(page: Page) -> None:
    page.keyboard.press("t")


def accept(page: Page) -> None:
    page.get_by_role("button", name="False").click()


def choose(page: Page) -> None:
    page.keyboard.press("2")
    if page.locator(".matrix").count():
        page.keyboard.press("s")
    else:
        page.keyboard.press("Enter")


def questions(page: Page) -> None:
    page.get_by_label("Question 1").fill("Why is ")
    page.locator(".object[data-tag=person1]").click(position={"x": 8, "y": 60})
    page.keyboard.type("pointing at ")
    page.get_by_role("button", name="person2", exact=True).click()
    page.get_by_role("button", name="dog1", exact=True).click()
    page.keyboard.press("Backspace")
    page.keyboard.type("?")
    assert page.get_by_label("Question 1").input_value() == "Why is [person1] pointing at [person2, dog1]?"
    page.get_by_label("Answer 1").fill("[person1] wants the cake that [nobody9] has.")
    page.get_by_label("Reason 1").fill("There is a cake on the table between them.")
    page.locator("[name=likelihood-1]").nth(1).check()
    page.get_by_role("button", name="Send").click()
    page.get_by_text("there is no [nobody9]").wait_for()
    page.reload()  # what was written is kept
    page.get_by_label("Answer 1").fill("[person1] wants the cake that [person2] has.")
    page.locator("[name=likelihood-1]").nth(1).check()
    page.get_by_role("button", name="Send").click()


DO: dict[str, Callable[[Page], None]] = {
    "tutorial": tutorial, "guideline": guideline, "prune": prune, "sets": sets, "sentence": sentence,
    "contrast": contrast, "validate": validate, "questions": questions, "accept": accept, "choose": choose,
}  # fmt: skip


def do_all(page: Page, seen: set[str]) -> None:
    """Do what is offered until there is nothing."""
    for _ in range(40):
        page.locator("form.task, h1:not(.ask)").first.wait_for()
        form = page.locator("form.task")
        if not form.count():
            return
        page.wait_for_load_state()  # keys are heard from then on
        kind, lease = str(form.get_attribute("data-kind")), form.get_attribute("data-lease")
        name = f"{kind}-matrix" if page.locator(".matrix").count() else kind
        if name not in seen:
            looked_at(page, f"collect-{name}")
            seen.add(name)
        DO[kind](page)
        page.wait_for_function(f"before => !({TASK}) || {TASK}.dataset.lease !== before", arg=lease)
    raise AssertionError("there is no end of it")


def test_every_kind_of_task_from_the_link_to_the_last(every: Study, browser: Browser) -> None:
    looked_at(every.requester, "collect-run-draft")
    link, page = every.begin(), browser.new_context().new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda said: complaints.append(said.message))
    page.goto(link)
    looked_at(page, "collect-consent")
    page.get_by_role("button", name="I agree").click()
    seen: set[str] = set()
    do_all(page, seen)
    assert "Somebody reads what you wrote" in page.locator("h1").inner_text()
    looked_at(page, "collect-nothing")
    requester = every.requester
    requester.on("dialog", lambda said: complaints.append(said.message))
    requester.get_by_role("link", name="Reviews").click()
    assert requester.get_by_text('<script>alert("x")</script>').is_visible()
    looked_at(requester, "collect-reviews")
    requester.get_by_role("button", name="It follows them").click()
    requester.get_by_text("Nothing waits for you").wait_for()
    page.get_by_role("link", name="Look again").click()
    do_all(page, seen)
    assert seen == {*DO, "choose-matrix"}
    page.goto(f"{every.path}/me")
    looked_at(page, "collect-me")
    requester.goto(f"{every.path}/run")
    looked_at(requester, "collect-run")
    requester.get_by_role("link", name="People").click()
    assert requester.get_by_role("rowheader", name="w1").is_visible()
    looked_at(requester, "collect-people")
    with requester.expect_download() as found:
        requester.evaluate("location.href = location.href.replace('people', 'export.zip')")
    assert found.value.suggested_filename == "every.zip"
    page.get_by_role("button", name="Stop, and delete").click()
    page.get_by_text("Nothing is kept by which you could be recognised").wait_for()
    assert complaints == []


def answers(study: Study, worker: int) -> int:
    """How many answers of a worker are there, as the requester sees it."""
    study.requester.goto(f"{study.path}/run/people")
    row = study.requester.get_by_role("row").filter(has=study.requester.get_by_role("rowheader", name=f"w{worker} "))
    return int(row.locator("td").first.inner_text()) if row.count() else 0


def next_lease(page: Page, before: str) -> str:
    page.wait_for_function(f"before => {TASK} && {TASK}.dataset.lease !== before", arg=before)
    return str(page.locator("form.task").get_attribute("data-lease"))


def test_odd_people_count_once(served: Study, browser: Browser) -> None:
    """Double clicks, the back button, two tabs, and no connection in mid-submit."""
    link, context = served.begin(), browser.new_context()
    page = context.new_page()
    come(page, link)
    first = str(page.locator("form.task").get_attribute("data-lease"))
    page.get_by_role("button", name="True").dblclick()
    second = next_lease(page, first)
    assert answers(served, 1) == 1
    page.go_back()  # not to what was answered
    page.goto(f"{served.path}/work")
    assert page.locator("form.task").get_attribute("data-lease") == second
    other = context.new_page()  # a second tab shows the same task
    other.goto(f"{served.path}/work")
    assert other.locator("form.task").get_attribute("data-lease") == second
    page.get_by_role("button", name="True").click()
    third = next_lease(page, second)
    other.get_by_role("button", name="False").click()  # too late: it was answered in the first tab
    assert next_lease(other, second) == third
    assert answers(served, 1) == 2
    sent: list[Any] = []

    def lose(route: Any) -> None:
        """The first request is lost; of the second the answer is lost; the third arrives."""
        sent.append(route.request.post_data)
        if len(sent) == 1:
            route.abort()
        elif len(sent) == 2:
            route.fetch()
            route.abort()
        else:
            route.continue_()

    page.route("**/work", lambda route: lose(route) if route.request.method == "POST" else route.continue_())
    page.get_by_role("button", name="False").click()
    page.get_by_text("There is no connection").wait_for()
    next_lease(page, third)
    assert len(sent) == 3
    assert answers(served, 1) == 3


def test_without_a_script_a_form_is_a_form(served: Study, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    served.requester.goto(f"{served.path}/run")
    come(page, served.requester.locator("dd code").first.inner_text())
    before = page.locator("form.task").get_attribute("data-lease")
    page.get_by_role("button", name="Makes no sense").click()
    page.locator("form.task").wait_for()
    assert page.locator("form.task").get_attribute("data-lease") != before


def test_the_page_checks_as_the_server_does(served: Study, new_page: NewPage) -> None:
    """The rules are read in the browser and here: the same text breaks the same."""
    page = new_page()
    page.goto(f"{served.server.address}/log-in")
    cases = json.loads(Path(__file__).with_name("rules_cases.json").read_text())
    texts = [text for some in cases.values() for text in some]
    texts += ["", "There is", "In image A there is a black square", "The dog’s\n tail", "İ ſ é", SENTENCE, SCRIPT]
    for name in rules.names():
        found = page.evaluate(
            """async ([name, texts]) => {
              const { check } = await import("/static/collect-rules.js");
              const { rules } = await (await fetch(`/collection-rules/${name}.json`)).json();
              return texts.map((text) => check(rules, text).map((rule) => rule.name));
            }""",
            [name, texts],
        )
        assert found == [[one.rule for one in rules.check(rules.load(name), text)] for text in texts], name
