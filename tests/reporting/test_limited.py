"""Predictions that `solve --limit` made stand in a report as the subset they are."""

from __future__ import annotations

from pathlib import Path

import veridical


def test_limited_predictions_are_scored_on_their_items_and_the_page_says_so(
    nlvr, predict, read_page, tmp_path: Path
) -> None:
    made = nlvr()
    whole = predict(made, "dev", lambda n, item: n % 3 > 0, "whole.jsonl")
    few = tmp_path / "few.jsonl"
    veridical.solve("random", made, split="dev", out=few, limit=8)
    about = few.with_name("few.jsonl.meta.json")
    about.write_text(about.read_text().replace('"random"', '"mine"'))  # random itself is no rival
    veridical.report([f"all of it={whole}", f"some={few}"], tmp_path / "r.html", benchmark=made, resamples=50)
    words = read_page(tmp_path / "r.html").words
    assert "“some” was made with --limit 8: it is scored on 8 of the 48 items of dev." in words
    assert "“all of it” and “some” were made for different items, so they are not compared." in words
