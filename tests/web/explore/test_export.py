"""An exported site: whole, linked, small, without anything hidden; and where it may not be written."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from tests.commands import invoke

from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.web.explore.explorer import Explorer
from veridical.web.explore.export import export


def test_every_link_of_a_site_leads_to_a_file_of_it(opened: Explorer, tmp_path: Path) -> None:
    made = export(opened, tmp_path / "site", 30)
    assert (made.items, made.pages) == (30, len(list(made.out.rglob("*.html")))) == (30, 32)
    follow_links(made.out)


def test_a_site_holds_every_scheme(vprom: Path, tmp_path: Path) -> None:
    """Each has its cards and its items, under names of their own: the same id may stand in several."""
    explorer = Explorer(vprom)
    made = export(explorer, tmp_path / "site", 26)
    follow_links(made.out)
    pages = {name: (made.out / name).read_text() for name in ("index.html", "scheme-2.html")}
    for scheme in explorer.benchmark.schemes:
        assert all(f">{scheme}</a>" in page for page in pages.values())
    shown = {name: set(re.findall(r'href="(items/\d+\.html)"', page)) for name, page in pages.items()}
    assert all(shown.values())
    assert not shown["index.html"] & shown["scheme-2.html"]
    other = next(name for name in explorer.benchmark.schemes if name != explorer.scheme)
    for name, scheme in (("index.html", explorer.scheme), ("scheme-2.html", other)):
        page = (made.out / sorted(shown[name])[0]).read_text()
        assert f"({scheme})" in page
        assert f'href="../{name}"' in page
    assert made.pages == len(list(made.out.rglob("*.html")))
    assert made.items == len(list((made.out / "items").iterdir()))


def follow_links(site: Path) -> None:
    """Every link of every page leads to a file of the site, and none is heavy."""
    assert all(script.stat().st_size < 200_000 for script in site.glob("cards/*.js"))
    for page in site.rglob("*.html"):
        text = page.read_text()
        assert len(text) < 200_000
        for link in re.findall(r'(?:href|src)="([^"]+)"', text):
            target = unescape(link).partition("#")[0]
            assert target.startswith("data:") or (page.parent / target).exists(), (page, target)


def test_a_site_holds_nothing_hidden(nlvr: Path, opened: Explorer, tmp_path: Path) -> None:
    made = export(opened, tmp_path / "site", 48)
    programs = {item.program for item in Benchmark(nlvr).items("test-u", answers=True)}
    files = [*made.out.rglob("*.html"), *made.out.glob("cards/*.js")]
    whole = "".join(unescape(page.read_text()) for page in files)
    open_ones = {item.program for item in Benchmark(nlvr).items("dev")}
    assert all(program not in whole for program in programs - open_ones)
    cards = [card for script in made.out.glob("cards/*.js") for card in cards_of(script)]
    assert len(cards) == 48
    for item in Benchmark(nlvr).items("test-u"):
        [own] = [card for card in cards if f"<code>{item.id}</code>" in card]
        assert re.search(r"label.{0,40}hidden", own)


def cards_of(script: Path) -> list[str]:
    """The cards that a script holds."""
    text = script.read_text()
    return list(json.loads(text[text.index("[") : text.rindex("]") + 1]))


def test_what_a_filter_shows_is_the_card_of_its_page(nlvr2: Path, tmp_path: Path) -> None:
    """Both photographs of a pair, and not one of them."""
    made = export(Explorer(nlvr2), tmp_path / "site", 30)
    pages = "".join(page.read_text() for page in made.out.glob("*.html"))
    cards = [card for script in made.out.glob("cards/*.js") for card in cards_of(script)]
    assert len(cards) == 30
    for card in cards:
        assert card.strip() in pages
        assert card.count("<img") == 2


def test_what_is_refused(nlvr: Path, opened: Explorer, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no hidden answers"):
        export(Explorer(nlvr, hidden=True), tmp_path / "site", 3)
    with pytest.raises(UserError, match="within the benchmark"):
        export(opened, nlvr / "site", 3)
    with pytest.raises(UserError, match="sample of 0"):
        export(opened, tmp_path / "site", 0)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="not an empty folder"):
        export(opened, tmp_path / "full", 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full"]


def test_the_command_exports(nlvr: Path, tmp_path: Path) -> None:
    ran = invoke("show", nlvr, "--export", tmp_path / "site", "--sample", 3, "--json")
    assert ran.exit_code == 0
    assert json.loads(ran.stdout)["items"] == 3
    assert (tmp_path / "site" / "items" / "00003.html").is_file()


def test_predictions_stand_before_and_after_options(opened: Explorer, nlvr: Path, tmp_path: Path) -> None:
    keen, dull = (one.files["main", "dev"].path for one in opened.solvers)
    ran = invoke("show", nlvr, keen, "--export", tmp_path / "site", "--sample", 3, f"slow={dull}")
    assert ran.exit_code == 0
    page = (tmp_path / "site" / "items" / "00001.html").read_text()
    assert "keen" in page
    assert "slow" in page
