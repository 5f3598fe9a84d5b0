"""Tables in three languages, plots and escaping."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

from hypothesis import given, settings
from hypothesis import strategies as st

from veridical.pages import drawing, plots
from veridical.pages.markup import Markup, Paragraph, element, page, plain
from veridical.pages.tables import Cell, PageTable, TableRow, to_latex, to_markdown

TABLE = PageTable(
    title="Results_1, percent",
    columns=("acc.", "cons.", "acc."),
    heads=(("Dev", 2), ("Test-P", 1)),
    rows=(
        TableRow("ours & co", (Cell("89.3", "[88.5, 90.0]"), Cell("68.0"), Cell())),
        TableRow("human", (Cell("96.2±2.1"), Cell(), Cell()), "baseline"),
        TableRow(
            "MaxEnt", (Cell("54.1"), Cell("11.4"), Cell("–")), "published", "Structured", "A, B: C. ACL 2019, Table 6"
        ),
        TableRow("older", (Cell("1"), Cell("2"), Cell("3")), "published", "", "A, B: C. ACL 2019, Table 6", more=True),
    ),
    notes=("[ ] is an interval.",),
)


class _Text(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found = ""
        self.tags: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.found += data


@settings(deadline=None)
@given(st.text())
def test_text_never_becomes_markup(text: str) -> None:
    kept = "".join("\ufffd" if (ord(c) < 32 and c not in "\t\n\r") or c == "\x7f" else c for c in text)
    for written in (element("p", text, title=text), plain(Paragraph(text, text)).rstrip("\n")):
        parsed = _Text(written)
        assert parsed.tags == ["p"]
        assert parsed.found == kept
    assert plain(Markup("<b>")) == "<b>"


def test_a_page_holds_what_it_is_given_as_text_only() -> None:
    found = _Text(page("brand", "<b>", [Paragraph("</style><script>")], []))
    assert {"script", "b"}.isdisjoint(found.tags)
    assert "</style><script>" in found.found


def test_html_folds_more_rows() -> None:
    html = plain(TABLE)
    before, _, after = html.partition("<details>")
    assert "ours &amp; co" in before
    assert "Published: A, B: C. ACL 2019, Table 6" in before
    assert "older" not in before
    assert "older" in after
    assert "1 more published rows" in after


def test_markdown_has_a_line_for_each_row() -> None:
    lines = to_markdown(TABLE).splitlines()
    assert lines[0] == r"**Results\_1, percent**"
    rows = [line for line in lines if line.startswith("|")]
    assert len(rows) == 2 + len(TABLE.rows)
    assert rows[0] == "|  | Dev acc. | Dev cons. | Test-P acc. |"
    assert {line.replace(r"\|", "").count("|") for line in rows} == {5}
    assert rows[2] == r"| ours & co | 89.3 \[88.5, 90.0\] | 68.0 |  |"
    assert "*(published)*" in rows[4]


def test_latex_is_balanced_and_escaped() -> None:
    text = to_latex(TABLE)
    assert r"ours \& co" in text
    assert r"Results\_1" in text
    assert r"96.2$\pm$2.1" in text
    assert r"\emph{Published: A et al., ACL 2019, Table 6}" in text
    assert text.count("{") == text.count("}")
    body = [line for line in text.splitlines() if line.endswith(r"\\") and "multicolumn{4}" not in line]
    assert {line.replace(r"\&", "").count("&") for line in body if "multicolumn" not in line} == {3}


@settings(deadline=None)
@given(st.lists(st.tuples(st.text(max_size=40), st.floats(0, 1)), min_size=1, max_size=6))
def test_plots_are_well_formed(values: list[tuple[str, float]]) -> None:
    marks = [plots.PlotMark(name, value, value * 0.9, min(1.0, value * 1.1)) for name, value in values]
    drawn = [
        plots.dots("t", marks, (("chance", 0.5), ("people", 0.95))),
        plots.bars("t", [(m.label, "3 items", [m, m]) for m in marks]),
        plots.stacks("t", [(m.label, [("a", m.value, "#3d8b6d"), ("b", 1 - m.value, "#c9d3dc")]) for m in marks]),
        plots.lines("t", [plots.Series(m.label, ((0.0, m.value), (3.0, 0.2)), m.colour) for m in marks], "x", "y"),
        plots.ranked("t", [(m.label, k + 1) for k, m in enumerate(marks)], "items"),
    ]
    for svg in drawn:
        assert ElementTree.fromstring(plots.picture("t", [svg, svg], [(m.label, m.colour) for m in marks])) is not None
        both = list(ElementTree.fromstring(f"<div>{svg}</div>"))
        assert [root.get("class") for root in both] == ["plot", "plot narrow"]  # for a wide screen, and for a phone
        for root in both:
            assert root.tag == "svg"
            assert root.get("role") == "img"
            assert root[0].tag == "title"
        assert "nan" not in svg


def test_every_system_has_its_own_colour() -> None:
    found = [plots.colour(place) for place in range(100)]
    assert len(set(found)) == 100
    assert all(re.fullmatch("#[0-9a-f]{6}", one) for one in found)


def test_bars_are_as_long_as_their_values() -> None:
    svg = plots.bars("t", [("a", "", [plots.PlotMark("a", 0.5), plots.PlotMark("b", 1.0)])], width=drawing.WIDTH)
    widths = [float(e.get("width", "0")) for e in ElementTree.fromstring(svg).iter("rect")]
    assert widths[0] * 2 == widths[1]


@settings(deadline=None)
@given(st.text(st.characters(categories=["L", "N", "P"]), min_size=1), st.integers(40, 300))
def test_labels_fit_in_their_room(name: str, room: int) -> None:
    rows = drawing.wrapped(name, room)
    assert 1 <= len(rows) <= 2
    assert max(map(len, rows)) <= max(room / drawing.LETTER, 8)
    assert rows[-1].endswith("…") or "".join(rows).replace(" ", "") == name.replace(" ", "")


def test_long_names_have_two_lines() -> None:
    svg = plots.dots("t", [plots.PlotMark("relation network, contexts of other items only", 0.5)], width=drawing.WIDTH)
    assert [e.text for e in ElementTree.fromstring(svg).iter("tspan")] == [
        "relation network, contexts of other",
        "items only",
    ]
    narrow = plots.dots(
        "t", [plots.PlotMark("relation network, contexts of other items only", 0.5)], width=drawing.NARROW
    )
    assert "relation network, contexts of other items only<" in narrow
