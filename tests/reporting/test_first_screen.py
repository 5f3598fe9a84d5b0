"""What a reader sees first: all benchmarks in one table, sentences that claim nothing, and photographs as they are."""

from __future__ import annotations

import io
import json
import re
import subprocess
from pathlib import Path

import pytest

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.records import TRUTH, Item, Panel, SceneObject, Text
from veridical.reporting import report
from veridical.reporting.inputs import role_of

from .conftest import Page, picture


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIDICAL_PROGRESS", "0")


def most(n: int, item: object) -> bool:
    return n % 5 > 0


def half(n: int, item: object) -> bool:
    return n % 2 > 0


def first_table(page: Page) -> dict[str, list[str]]:
    """The rows of the first screen by benchmark."""
    width = 7
    head = page.cells.index("benchmark")
    rows = [page.cells[k : k + width] for k in range(head + width, len(page.cells), width)]
    found: dict[str, list[str]] = {}
    for row in rows:  # cells of later tables follow, cut at odd places: the first row of a name is that of the table
        if len(row) == width:
            found.setdefault(row[0], [" ".join(cell.split()) for cell in row[1:]])
    return found


def test_one_table_says_how_every_benchmark_stands(nlvr, vcr, predict, read_page, tmp_path: Path) -> None:
    boxes, questions = nlvr(), vcr(official=True)
    audit = {"benchmark": "NLVR", "hash": Benchmark(boxes).hash, "findings": [{"verdict": "pass"}, {"verdict": "warn"}]}
    (tmp_path / "audit.json").write_text(json.dumps(audit))
    runs = {"mine": predict(boxes, "dev", most, "mine.jsonl"), "text only": predict(boxes, "dev", half, "text.jsonl")}
    given = [*(f"{name}={path}" for name, path in runs.items()), predict(questions, "val", most, "b.jsonl")]
    page = read_page(report([*given, tmp_path / "audit.json"], tmp_path / "r.html", benchmark=[boxes, questions]).out)
    assert page.words.index("benchmark items audit best blind people chance") < page.words.index("Where it is hard")
    rows = first_table(page)
    assert rows["NLVR"] == ["48dev", "warn1 of 2 checks pass", "79.2mine", "50.0text only", "–", "50.0"]
    assert rows["VCR"][1] == "not audited"
    assert rows["VCR"][4] == "85.0published, Test"


def test_the_papers_people_stand_beside_the_papers_benchmark_only(vcr, predict, read_page, tmp_path: Path) -> None:
    anew = vcr()
    page = read_page(report(predict(anew, "val", most), tmp_path / "r.html", benchmark=anew).out)
    assert first_table(page)["VCR"][4] == "–"


def test_weak_checks_are_named_and_lead_to_the_audits_page(read_page, tmp_path: Path) -> None:
    checks = [{"check": f"c{k}", "title": f"Check {k}", "verdict": "cannot tell"} for k in range(6)]
    checks.append({"check": "leak", "title": "Shared pictures", "verdict": "warn"})
    (tmp_path / "a b.json").write_text(json.dumps({"benchmark": "Mine", "checks": checks, "not_run": ["text-only"]}))
    alone = read_page(report(tmp_path / "a b.json", tmp_path / "r.html").out)
    assert "warn: Shared pictures; cannot tell: Check 0, Check 1, Check 2, Check 3, 2 more" in alone.words
    assert "Not run: text-only" not in alone.words  # by its title
    assert "a%20b.html" not in {a.get("href") for _, a in alone.elements}
    (tmp_path / "a b.html").write_text("its page")
    beside = read_page(report(tmp_path / "a b.json", tmp_path / "r.html").out)
    assert "a%20b.html" in {a.get("href") for _, a in beside.elements}


def test_an_audit_alone_has_its_line(read_page, tmp_path: Path) -> None:
    checks = [{"check": "text-only", "title": "Text", "verdict": "fail", "number": 0.7}]
    (tmp_path / "a.json").write_text(json.dumps({"benchmark": "Mine", "checks": checks}))
    rows = first_table(read_page(report(tmp_path / "a.json", tmp_path / "r.html").out))
    assert rows["Mine"][:2] == ["–", "fail0 of 1 checks pass; fail: Text"]


def test_the_audits_best_reader_is_blind_where_no_system_is(nlvr, predict, read_page, tmp_path: Path) -> None:
    bench = nlvr()
    checks = [
        {"check": "text-only", "title": "Sentences", "verdict": "warn", "number": 0.57, "unit": "accuracy"},
        {"check": "label", "title": "Labels", "verdict": "pass", "number": 0.9},
    ]
    (tmp_path / "a.json").write_text(json.dumps({"hash": Benchmark(bench).hash, "checks": checks}))
    runs = [predict(bench, "dev", most), tmp_path / "a.json"]
    rows = first_table(read_page(report(runs, tmp_path / "r.html", benchmark=bench).out))
    assert rows["NLVR"][3] == "57.0audit: Sentences"


def test_who_looks_and_who_does_not() -> None:
    assert role_of("mine", {"name": "majority"}) == "guess"
    assert role_of("random", {}) == "random"
    assert role_of("mine", {"model": "grounded", "blind": True}) == "blind"
    assert role_of("text only, but it was shown the picture", {"model": "probe", "blind": False}) == "looks"
    assert role_of("gpt", {"asking": {"blind": True}}) == "blind"
    assert role_of("gpt-blind", {}) == "blind"
    assert role_of("gpt", {}) == "looks"


def test_a_guess_never_leads(nlvr, predict, read_page, tmp_path: Path) -> None:
    bench = nlvr()
    lucky, unlucky = predict(bench, "dev", most, "lucky.jsonl"), predict(bench, "dev", half, "model.jsonl")
    page = read_page(report([f"random={lucky}", unlucky], tmp_path / "r.html", benchmark=bench).out)
    assert "no system is above chance (50.0%): “model” is right on 50.0%" in page.words
    assert "random" not in page.cells[: page.cells.index("sha256 of file")]  # no row of its own, only chance
    assert "A run of “random” was given (79.2 on dev): a draw of what the row “chance” says exactly." in page.words
    assert first_table(page)["NLVR"][2:4] == ["50.0model: not above chance", "–"]
    alone = read_page(report(f"random={lucky}", tmp_path / "s.html", benchmark=bench).out)
    assert "only guesses were run: “random” is right on 79.2%" in alone.words


def test_systems_that_tie_are_level_and_still_have_examples(nlvr, predict, read_page, tmp_path: Path) -> None:
    bench = nlvr()
    runs = [predict(bench, "dev", lambda n, item: True, f"{name}.jsonl") for name in ("scene", "pixels")]
    page = read_page(report(runs, tmp_path / "r.html", benchmark=bench).out)
    assert "“scene” and “pixels” are right on 100.0%" in page.words
    assert "“scene” and “pixels” are level: they are right on the same items." in page.words
    assert "leads" not in page.words
    assert "What everybody gets right" in page.words
    other = [predict(bench, "dev", lambda n, item, k=k: n % 4 != k, f"{k}.jsonl") for k in (0, 1)]
    page = read_page(report(other, tmp_path / "s.html", benchmark=bench).out)
    assert "are level: each is right on 12 where the other is wrong." in page.words
    assert "“0” right, “1” wrong 3 of 12" in page.words


def test_columns_of_other_splits_are_folded_away(nlvr, predict, read_page, tmp_path: Path) -> None:
    bench = nlvr()
    page = read_page(report(predict(bench, "dev", most), tmp_path / "r.html", benchmark=bench).out)
    assert page.cells.count("Train") == 1 < page.cells.count("Dev")  # only in the whole published table
    assert "The whole published tables, percent" in page.words
    assert "98.37±0.6" in page.cells  # NMN on train, there


def photographs(folder: Path) -> Path:
    """A pair of photographs with a dog in each, and a program about them."""
    with BenchmarkWriter(folder, name="NLVR2", task="statement") as writer:
        for k in range(2):
            dogs = tuple(SceneObject(f"{k}-{n}", "dog", box=(2 + 12 * n, 4, 10 + 12 * n, 24)) for n in range(1 + k))
            writer.add_panels([Panel(f"i{k}", writer.add_image(picture(60 + k)), None, 40, 30, dogs)])
        program = "(count (at-least 3) (keep (is category dog) things))"
        items = [
            Item(f"dev-{n}-0-0", "statement", ("i0", "i1"), Text("Dogs."), TRUTH, 1, group=str(n), program=program)
            for n in range(4)
        ]
        writer.add_items("dev", items)
    return folder


def test_photographs_are_shown_with_boxes_around_what_decides(predict, read_page, tmp_path: Path) -> None:
    bench = photographs(tmp_path / "b")
    page = read_page(report(predict(bench, "dev", half), tmp_path / "r.html", benchmark=bench).out)
    images = [a for name, a in page.elements if name == "img"]
    assert len(images) == 2 * [name for name, _ in page.elements].count("article")
    assert all((a["src"] or "").startswith("data:image/") for a in images)
    assert "The boxes show what decides this reading:" in page.words
    assert {"dog1", "dog2"} <= set(page.words.split())
    assert not any(a.get("class") == "drawing" for _, a in page.elements)  # nothing is redrawn as NLVR's grey boxes


def test_photographs_stay_as_small_as_they_are(tmp_path: Path) -> None:
    from PIL import Image

    from veridical.pages.cards import ItemPictures

    with BenchmarkWriter(tmp_path / "b", name="b", task="choice") as writer:
        out = io.BytesIO()
        Image.effect_noise((900, 600), 60).save(out, "PNG")
        writer.add_panels([Panel("p", writer.add_image(out.getvalue()), None, 900, 600)])
        four = tuple(Text(str(k)) for k in range(4))
        writer.add_items("val", [Item("q", "choice", ("p",), Text("?"), four, 0)])
    opened = Benchmark(tmp_path / "b")
    item = next(opened.items("val"))
    drawn = ItemPictures(opened)
    drawn.load([item])
    shown = drawn.item(item)
    assert shown is not None
    assert drawn.used == len(shown.frames[0].source) < len(out.getvalue()) / 4
    less = ItemPictures(opened, drawn.used - 1)
    less.load([item])
    assert less.whole(item) is None
    assert less.used == 0


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("dark", [False, True])
def test_a_page_fits_its_window_dark_and_light(
    chromium, nlvr, vcr, predict, tmp_path: Path, width: int, dark: bool
) -> None:
    boxes, questions = nlvr(), vcr()
    names = {"a system with quite a long name, most": most, "a system with quite a long name, half": half}
    runs = [predict(boxes, "dev", rule, f"{name}.jsonl") for name, rule in names.items()]
    runs.append(predict(questions, "val", most, "b.jsonl"))
    report(runs, tmp_path / "r.html", benchmark=[boxes, questions])
    # the page itself runs no script; a frame around it is asked how wide its content is
    frame = tmp_path / "frame.html"
    frame.write_text(
        f"<body style='margin:0'><iframe style='border:0' width={width} height=900 src='r.html'></iframe><script>"
        "onload = () => { const d = document.querySelector('iframe').contentDocument;"
        "document.title = d.documentElement.scrollWidth + ' ' + getComputedStyle(d.body).backgroundColor }</script>"
    )
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--allow-file-access-from-files"]
    flags += ["--blink-settings=preferredColorScheme=0"] if dark else []
    command = [chromium, *flags, "--dump-dom", f"--user-data-dir={tmp_path / 'profile'}", frame.as_uri()]
    told = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    title = re.search(r"<title>(\d+) (.*)</title>", told)
    assert title is not None
    assert int(title[1]) <= width
    assert title[2] == ("rgb(18, 22, 28)" if dark else "rgb(255, 255, 255)")


def test_consistency_is_told_only_of_groups(predict, read_page, tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "b", name="quiz", task="choice") as writer:
        four = tuple(Text(letter) for letter in "wxyz")
        writer.add_items("test", [Item(f"q{n}", "choice", (), Text("Which?"), four, n % 4) for n in range(8)])
    page = read_page(report(predict(tmp_path / "b", "test", half), tmp_path / "r.html", benchmark=tmp_path / "b").out)
    assert "cons." not in page.cells
    assert page.cells.count("50.0[12.5, 87.5]") == 1


def test_checks_that_do_not_apply_are_only_named(read_page, tmp_path: Path) -> None:
    checks = [
        {"check": "label", "title": "Labels", "verdict": "pass", "says": "even"},
        {"check": "position", "title": "Places", "verdict": "not applicable", "says": "there are none"},
    ]
    (tmp_path / "a.json").write_text(json.dumps({"benchmark": "Mine", "checks": checks}))
    page = read_page(report(tmp_path / "a.json", tmp_path / "r.html").out)
    assert "Not applicable: Places." in page.words
    assert "Labels" in page.cells
    assert "Places" not in page.cells


@pytest.mark.parametrize(("right", "said"), [(2, True), (7, False)])
def test_what_is_hardest_is_said_only_where_its_interval_lies_below(
    nlvr, predict, read_page, tmp_path: Path, right: int, said: bool
) -> None:
    """Negated sentences are the worst either way; a little worse is nothing to speak of."""

    def is_right(n: int, item: Item) -> bool:
        return n % 10 < (right if item.tag("phenomenon") == ("negation",) else 8)

    folder = nlvr(count=120)
    page = read_page(report([f"mine={predict(folder, 'dev', is_right)}"], tmp_path / "r.html", benchmark=folder).out)
    found = re.search(r"“mine” finds (.+?) hardest", page.words)
    assert (found and found[1]) == ("negation" if said else None)
