"""The page: its numbers are evaluate's, it loads nothing, hides what is hidden, and is the same each time."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from veridical import report
from veridical.errors import UserError
from veridical.evaluation import evaluate

ATTACK = "<script>document.title='taken'</script><img src=x onerror=alert(1)>\"'&"


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIDICAL_PROGRESS", "0")


def good(n: int, item: object) -> bool:
    return n % 5 > 0


def poor(n: int, item: object) -> bool:
    return n % 2 > 0


def test_numbers_are_those_of_evaluate(nlvr, predict, read_page, tmp_path: Path) -> None:
    bench = nlvr()
    runs = {name: predict(bench, "dev", rule, f"{name}.jsonl") for name, rule in (("good", good), ("poor", poor))}
    made = report(list(runs.values()), tmp_path / "r.html", benchmark=bench)
    assert made.systems == ("good", "poor")
    page = read_page(made.out)
    for path in runs.values():
        scores = evaluate(bench, path)
        for value in (scores.accuracy, scores.consistency):
            interval = f"[{100 * value.low:.1f}, {100 * value.high:.1f}]"
            assert f"{100 * value.value:.1f}{interval}" in page.cells
        for row in scores.by["phenomenon"].values():
            assert f"{100 * row.accuracy.value:.1f}" in page.words
    compared = evaluate(bench, runs["good"], against=runs["poor"]).comparison
    assert compared is not None
    points = compared.accuracy
    assert f"{100 * points.value:+.1f} [{100 * points.low:+.1f}, {100 * points.high:+.1f}]" in page.cells
    assert f"{compared.sign_test.only_this:,}" in page.cells
    assert f"{compared.sign_test.only_other:,}" in page.cells


def test_published_rows_stand_beside_ours(nlvr, predict, read_page, tmp_path: Path) -> None:
    bench = nlvr()
    made = report(predict(bench, "dev", good), tmp_path / "r.html", benchmark=bench)
    page = read_page(made.out)
    assert "67.50±0.5" in page.cells  # MLP on dev, table 3 of NLVR
    assert "Published: Suhr, Lewis, Yeh, Artzi" in page.words
    assert "compare orders of systems, not digits" in page.words  # it is not the official release


def test_nothing_is_loaded_and_user_text_is_escaped(nlvr, predict, read_page, tmp_path: Path) -> None:
    bench = nlvr(sentence=lambda n: f"{n} {ATTACK}", name=f"NLVR {ATTACK}")
    first = predict(bench, "dev", good, "a.jsonl", raw=ATTACK)
    second = predict(bench, "dev", poor, "b.jsonl")
    made = report([f"{ATTACK[:8]}x={first}", second], tmp_path / "r.html", benchmark=bench, title=ATTACK)
    page = read_page(made.out)
    assert "script" not in {name for name, _ in page.elements}
    assert ATTACK in " ".join(page.text)  # it is text
    for name, attributes in page.elements:
        assert name not in ("link", "iframe", "object", "embed", "base", "form")
        assert not any(key.startswith("on") for key in attributes)
        assert (attributes.get("href") or "#").startswith("#")
        assert (attributes.get("src") or "data:").startswith("data:")
        assert "url(" not in (attributes.get("style") or "")
    html = made.out.read_text()
    assert "@import" not in html
    assert not re.search(r"url\(", html)
    assert not page.open  # every element is closed
    policy = next(a["content"] for n, a in page.elements if n == "meta" and "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_addresses_of_photographs_are_text_only(read_page, tmp_path: Path) -> None:
    from veridical.benchmark import BenchmarkWriter
    from veridical.records import TRUTH, Item, Panel, Text

    with BenchmarkWriter(tmp_path / "n2", name="NLVR2", task="statement") as writer:
        writer.add_panels(Panel(f"i{k}", uri="https://example.org/secret/dog.jpg") for k in range(2))
        writer.add_items(
            "dev", [Item(f"dev-1-{k}-0", "statement", ("i0", "i1"), Text("Two."), TRUTH, k % 2) for k in range(8)]
        )
    path = tmp_path / "p.csv"
    path.write_text("".join(f"dev-1-{k}-0,True\n" for k in range(8)))
    made = report(path, tmp_path / "r.html", benchmark=tmp_path / "n2")
    html = made.out.read_text()
    assert "from example.org" in html
    assert "http" not in html.replace("http-equiv", "")


def test_a_browser_runs_nothing_of_it(chromium, nlvr, predict, tmp_path: Path) -> None:
    bench = nlvr(sentence=lambda n: f"{n} {ATTACK}")
    made = report(predict(bench, "dev", poor, raw=ATTACK), tmp_path / "r.html", benchmark=bench, title="untouched")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    told = subprocess.run(
        [chromium, *flags, "--dump-dom", f"--user-data-dir={tmp_path / 'profile'}", made.out.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "<title>untouched</title>" in told.stdout
    assert "<script" not in told.stdout


def test_the_same_input_gives_the_same_bytes(nlvr, predict, tmp_path: Path) -> None:
    bench = nlvr()
    runs = [predict(bench, "dev", rule, f"{rule.__name__}.jsonl") for rule in (good, poor)]
    pages = [report(runs, tmp_path / f"{k}.html", benchmark=bench, markdown=True, latex=True) for k in range(2)]
    assert pages[0].out.read_bytes() == pages[1].out.read_bytes()
    assert pages[0].markdown is not None
    assert pages[1].markdown is not None
    assert pages[0].markdown.read_bytes() == pages[1].markdown.read_bytes()


def test_hidden_answers_stay_hidden(nlvr, predict, read_page, tmp_path: Path) -> None:
    bench = nlvr(hidden=("test-u",), sentence=lambda n: f"Sentence number {n}.")
    runs = [predict(bench, "test-u", rule, f"{rule.__name__}.jsonl") for rule in (good, poor)]
    closed = read_page(report(runs, tmp_path / "closed.html", benchmark=bench).out)
    accuracy = evaluate(bench, runs[0]).accuracy
    assert f"{100 * accuracy.value:.1f}[{100 * accuracy.low:.1f}, {100 * accuracy.high:.1f}]" in closed.cells
    for told in ("Sentence number", "test-u-0-0", "Where it is hard", "Where systems differ", "Instructive"):
        assert told not in closed.words
    shown = read_page(report(runs, tmp_path / "open.html", benchmark=bench, hidden=True).out)
    for told in ("Sentence number", "Where it is hard", "Where systems differ"):
        assert told in shown.words
    shutil.rmtree(bench.with_name(bench.name + ".hidden"))
    alone = read_page(report(runs, tmp_path / "alone.html", benchmark=bench, hidden=True).out)
    assert "its answers are not here; it is not scored" in alone.words
    assert "Sentence number" not in alone.words


def test_visible_splits_are_looked_at_beside_hidden_ones(nlvr, predict, read_page, tmp_path: Path) -> None:
    bench = nlvr(hidden=("test-u",))
    runs = [f"a={predict(bench, split, good, f'{split}.jsonl')}" for split in ("dev", "test-u")]
    made = report(runs, tmp_path / "r.html", benchmark=bench)
    assert made.systems == ("a",)
    page = read_page(made.out)
    assert "What “a” gets wrong" in page.words
    assert "test-u-" not in page.words


def test_runs_of_one_name_are_trials(nlvr, predict, read_page, tmp_path: Path) -> None:
    bench = nlvr()
    runs = [f"mine={predict(bench, 'dev', rule, f'{rule.__name__}.jsonl')}" for rule in (good, poor)]
    made = report(runs, tmp_path / "r.html", benchmark=bench)
    assert made.systems == ("mine",)
    values = [evaluate(bench, run.partition("=")[2]).accuracy.value for run in runs]
    mean, deviation = sum(values) / 2, abs(values[0] - values[1]) / 2
    assert f"{100 * mean:.1f}±{100 * deviation:.1f}2 trials" in read_page(made.out).cells


def test_items_are_compared_as_all_of_their_views(nlvr, predict, read_page, tmp_path: Path) -> None:
    bench = nlvr()
    whole = predict(bench, "dev", good, "whole.jsonl")
    views = tmp_path / "views.jsonl"
    rows = [json.loads(line) for line in whole.read_text().splitlines()]
    views.write_text("".join(json.dumps(row | {"item": f"{row['item']}#{k}"}) + "\n" for row in rows for k in range(6)))
    page = read_page(report([whole, views], tmp_path / "r.html", benchmark=bench).out)
    assert "Where systems differ" in page.words
    assert "of 288 images" in read_page(report(views, tmp_path / "s.html", benchmark=bench).out).words


def test_right_answers_with_wrong_rationales(vcr, predict, read_page, tmp_path: Path) -> None:
    bench = vcr()
    run = predict(bench, "val", lambda n, item: item.given is None, "blind.jsonl")
    page = read_page(report(run, tmp_path / "r.html", benchmark=bench).out)
    assert "“blind”: right answer, wrong rationale" in page.words
    assert any(cell.startswith("100.0[") and cell.endswith(", 100.0]") for cell in page.cells)  # Q->A
    assert any(cell.startswith("0.0[0.0, ") for cell in page.cells)  # Q->AR
    assert "reason 1 for" in page.words
    assert "Why is [person1] here?" in page.words
    assert sum(name == "img" for name, _ in page.elements) == 6
    assert "visual commonsense reasoning (VCR)" in page.words
    assert "63.8" in page.cells  # R2C, published
    assert "48.3" in page.cells  # R2C without the query


def test_ablations_of_val_stand_beside_ours_of_test(vcr, predict, read_page, tmp_path: Path) -> None:
    """Table 2 was published for val alone; whose its numbers are is said."""
    bench = vcr(split="test")
    run = predict(bench, "test", good, "r2c.jsonl")
    made = report(run, tmp_path / "r.html", benchmark=bench)
    page = read_page(made.out)
    beside = page.words.partition("The whole published tables")[0]
    assert "Table 2, of Val (ours are not)" in beside
    assert "No query 48.3 43.5 21.5" in beside
    assert "R2C 63.8 67.2 43.1" in beside  # what the ablations are without
    assert "R2C 65.1 67.3 44.0" in beside  # Table 1, of test
    assert "Table 2 was published for Val alone" in beside


def test_questions_are_told_apart_by_what_they_ask_to_reason_about(vcr, predict, read_page, tmp_path: Path) -> None:
    bench = vcr()  # it has no tags
    run = predict(bench, "val", lambda n, item: item.query.tokens[0] == "Why", "why.jsonl")
    page = read_page(report(run, tmp_path / "r.html", benchmark=bench).out)
    assert "By inference" in page.words
    assert "each inference is one that our tagger finds" in page.words
    assert "explanation" in page.words
    assert "temporal" in page.words


def test_answers_without_rationales_stand_under_the_first_stage(vcr, predict, read_page, tmp_path: Path) -> None:
    """As in GD-VCR: what is ours stands in the column of Q->A, beside the paper's."""
    bench = vcr(rationales=False)
    run = predict(bench, "val", lambda n, item: n % 4 > 0, "answers.jsonl")
    page = read_page(report(run, tmp_path / "r.html", benchmark=bench).out)
    assert "63.8" in page.cells
    assert any(cell.startswith("75.0[") for cell in page.cells)
    assert page.cells.count("25.0") >= 2  # chance, computed and published


def test_matrices_by_scheme(vprom, predict, read_page, tmp_path: Path) -> None:
    bench = vprom()
    runs = [f"rn={predict(bench, 'test', good, f'{scheme}.jsonl', scheme)}" for scheme in ("neutral", "extrapolation")]
    page = read_page(report(runs, tmp_path / "r.html", benchmark=bench).out)
    assert "Generalisation" in page.words
    assert "By relation" in page.words
    value = evaluate(bench, runs[0].partition("=")[2], scheme="neutral").accuracy
    assert page.cells.count(f"{100 * value.value:.1f}[{100 * value.low:.1f}, {100 * value.high:.1f}]") == 2
    assert "28 more published rows" in page.words
    assert "47.4" in page.cells  # RN, BotUp + aux. loss, interpolation


def test_several_benchmarks_on_one_page(nlvr, vcr, predict, read_page, tmp_path: Path) -> None:
    one, two = nlvr(), vcr()
    runs = [predict(one, "dev", good, "a.jsonl"), predict(two, "val", poor, "b.jsonl")]
    made = report(runs, tmp_path / "r.html", benchmark=[one, two])
    assert made.benchmarks == ("NLVR", "VCR")
    ids = [a["id"] for _, a in read_page(made.out).elements if "id" in a]
    assert len(ids) == len(set(ids))
    links = [a["href"] for _, a in read_page(made.out).elements if "href" in a]
    assert {f"#{i}" for i in ids} == set(links)


def test_programs_are_explained(nlvr, predict, read_page, tmp_path: Path) -> None:
    program = "(count (at-least 1) (keep (is color black) things))"
    bench = nlvr(program=program)
    page = read_page(report(predict(bench, "dev", poor), tmp_path / "r.html", benchmark=bench).out)
    assert "What is framed and ringed decides this reading" in page.words
    assert program in page.words
    unknown = nlvr(folder="other")
    run = predict(unknown, "dev", poor, "programs.jsonl", raw=program)
    assert "decides this reading" in read_page(report(run, tmp_path / "s.html", benchmark=unknown).out).words


def test_galleries_beyond_the_second_are_folded(nlvr, predict, read_page, tmp_path: Path) -> None:
    bench = nlvr()
    runs = [predict(bench, "dev", lambda n, item, k=k: n % 4 == k, f"{k}.jsonl") for k in range(3)]
    page = read_page(report(runs, tmp_path / "r.html", benchmark=bench).out)
    folded = [a for name, a in page.elements if name == "details" and a.get("class") == "gallery"]
    assert len(folded) == 4  # what everybody gets wrong, and what only each of three gets right
    assert "“0” right, “1” wrong" in page.words  # the two that are open


def test_tags_that_repeat_or_have_too_many_values_are_left_out(predict, read_page, tmp_path: Path) -> None:
    from veridical.benchmark import BenchmarkWriter
    from veridical.records import TRUTH, Item, Text, pairs

    with BenchmarkWriter(tmp_path / "b", name="quiz", task="statement") as writer:
        tags = [pairs(relation="ab"[n % 2], again="xy"[n % 2], half="pq"[n % 4 > 1], own=str(n)) for n in range(48)]
        items = [Item(f"q{n}", "statement", (), Text("So."), TRUTH, n % 3 % 2, tags=tags[n]) for n in range(48)]
        writer.add_items("dev", items)
    run = predict(tmp_path / "b", "dev", good)
    page = read_page(report(run, tmp_path / "r.html", benchmark=tmp_path / "b").out)
    assert "By relation" in page.words
    assert "By half" in page.words
    assert "By again" not in page.words
    assert "By own" not in page.words


def test_pictures_stay_within_their_budget(
    vcr, predict, read_page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = vcr(count=40)
    run = predict(bench, "val", lambda n, item: False)
    whole = report(run, tmp_path / "r.html", benchmark=bench, examples=30)
    assert whole.bytes < 1_000_000
    monkeypatch.setattr("veridical.reporting.run.BUDGET", 500)
    small = report(run, tmp_path / "s.html", benchmark=bench, examples=30)
    assert small.bytes < whole.bytes
    cards, pictures = ([name for name, _ in read_page(small.out).elements].count(tag) for tag in ("article", "img"))
    assert 0 < cards == pictures < 10  # fewer cards, each of them whole
    assert "left out" not in small.out.read_text()
    assert report(run, tmp_path / "t.html", benchmark=bench, examples=0).out.read_text().count("<img") == 0


def test_training_runs_and_audits(nlvr, predict, read_page, tmp_path: Path) -> None:
    from veridical.benchmark import Benchmark

    bench = nlvr()
    for number, items in enumerate((100, 200)):
        folder = tmp_path / f"run{number}"
        history = [{"epoch": e, "loss": 1 / e, "train": 0.5 + e / 20, "validation": 0.5, "rate": 0.1} for e in (1, 2)]
        result = {"best": 0.5 + number / 8, "best_epoch": 1, "epochs": 2, "history": history, "training_items": items}
        (folder / "trial-0").mkdir(parents=True)
        (folder / "trial-0" / "result.json").write_text(json.dumps(result | {"seed": 0, "validation_items": 9}))
        about = {"model": "text", "benchmark": {"name": "NLVR", "hash": Benchmark(bench).hash}, "seed": 0}
        (folder / "run.json").write_text(json.dumps(about))
        predict(bench, "dev", good, f"run{number}/predictions-dev.jsonl")
    checks = [
        {"check": "length", "title": "Lengths", "verdict": "pass", "says": "no bias", "do": "nothing"},
        {"check": "text", "title": "Text only", "verdict": "warn", "says": "a little above majority", "number": 0.57}
        | {"low": 0.55, "high": 0.59, "unit": "accuracy", "do": "balance the labels"},
    ]
    (tmp_path / "audit.json").write_text(json.dumps({"checks": checks}))
    runs = [tmp_path / "run0", tmp_path / "run1", tmp_path / "audit.json"]
    made = report(runs, tmp_path / "r.html", benchmark=bench)
    assert made.systems == ("text (run0)", "text (run1)")
    page = read_page(made.out)
    for told in ("Learning curves", "Sample efficiency", "Training and Audits", "a little above majority"):
        assert told in page.words
    assert "62.5" in page.cells
    assert "57.0% [55.0, 59.0]" in page.cells
    assert "balance the labels" in page.words  # what to do about a warning, and only there
    assert "nothing" not in page.words
    assert page.words.index("Text only") < page.words.index("Lengths")  # the worst first
    alone = report(tmp_path / "audit.json", tmp_path / "a.html")
    assert "a little above majority" in alone.out.read_text()


def test_nothing_half_written_on_bad_input(nlvr, predict, tmp_path: Path) -> None:
    bench = nlvr()
    run = predict(bench, "dev", good)
    out = tmp_path / "r.html"
    for runs, options, said in (
        ([tmp_path / "none.csv"], {"benchmark": bench}, "does not exist"),
        ([run], {}, "does not say which benchmark"),
        ([], {"benchmark": bench}, "nothing to report"),
        ([tmp_path], {"benchmark": bench}, "without run.json"),
        ([run], {"benchmark": bench, "examples": -1}, "cannot be shown"),
    ):
        with pytest.raises(UserError, match=said):
            report(runs, out, **options)
    assert not out.exists()
    with pytest.raises(UserError, match="cannot be written"):
        report([run], tmp_path / "no" / "where.html", benchmark=bench)


def test_real_nlvr2(shared: Path, tmp_path: Path, read_page) -> None:
    from veridical.benchmark import Benchmark
    from veridical.formats.releases import import_release

    import_release("nlvr2", shared / "nlvr2", out=tmp_path / "nlvr2")
    path = tmp_path / "guess.csv"
    ids = Benchmark(tmp_path / "nlvr2").items_table("dev", columns=["id"])["id"].to_pylist()
    path.write_text("".join(f"{name},True\n" for name in ids))
    made = report(path, tmp_path / "r.html", benchmark=tmp_path / "nlvr2")
    page = read_page(made.out)
    assert page.cells.count("50.9[50.4, 51.3]") == 2  # ours, and the majority row computed beside it
    assert "50.9" in page.cells  # as printed
    assert "Items per synset" in page.words
    assert made.bytes < 400_000
