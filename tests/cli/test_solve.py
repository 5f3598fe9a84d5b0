"""`veridical solve`: which solver a name means, what is written, what people see, and what is refused."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from tests.commands import Ran, invoke

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.evaluation import evaluate
from veridical.formats.releases import import_release
from veridical.records import TRUTH, Item, Panel, SceneObject, Text, View
from veridical.solvers.programs import SHIPPED, ProgramSolver, examples, fingerprint

SENTENCES = ("There is a black square.", "There is a yellow square.")


def square(color: str) -> SceneObject:
    return SceneObject("0", "square", (("color", color), ("size", "medium")), (10, 10, 30, 30))


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    """Statements about boxes; most of train is true. Two views each, without drawings."""
    with BenchmarkWriter(tmp_path / "b", name="NLVR", task="statement") as writer:
        panels = [Panel(f"{c}{k}", None, None, 100, 100, (square(c),)) for c in ("black", "yellow") for k in range(3)]
        writer.add_panels(panels)
        views = tuple(View(order) for order in list(itertools.permutations(range(3)))[:2])
        for split, colors in (("train", ("black", "black", "yellow")), ("dev", ("black", "yellow"))):
            items = [
                Item(f"{split}-{n}", "statement", tuple(f"{color}{k}" for k in range(3)), Text(SENTENCES[0]), TRUTH)
                for n, color in enumerate(colors)
            ]
            answered = [
                Item(i.id, i.task, i.panels, i.query, TRUTH, answer=int("black" in i.panels[0]), views=views)
                for i in items
            ]
            writer.add_items(split, answered)
    return tmp_path / "b"


def run(*args: object) -> Ran:
    return invoke("solve", *args)


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_programs_answer_and_say_why(benchmark: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.jsonl"
    result = run("programs", benchmark, "--split", "dev", "--out", out, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["items"] == 2
    assert evaluate(benchmark, out).accuracy.value == 1.0
    assert "black" in str(lines(out)[0]["raw"]), "the program is kept as what the scores were read from"
    assert lines(out)[0]["benchmark"] == Benchmark(benchmark).hash
    meta = json.loads((tmp_path / "p.jsonl.meta.json").read_text())
    assert (meta["benchmark_hash"], meta["solver"]["name"]) == (Benchmark(benchmark).hash, "programs")


def test_programs_for_every_view(benchmark: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.jsonl"
    assert run("programs", benchmark, "--out", out, "--views", "all").exit_code == 0
    assert [line["item"] for line in lines(out)] == ["dev-0#0", "dev-0#1", "dev-1#0", "dev-1#1"]
    assert run("programs", benchmark, "--out", out, "--views", "all", "--limit", 1).exit_code == 0
    assert len(lines(out)) == 2, "a limit counts items"


def test_programs_from_pixels(shared: Path, benchmark: Path, tmp_path: Path) -> None:
    small = tmp_path / "release"
    (small / "images").mkdir(parents=True)
    records = (shared / "nlvr" / "dev" / "dev.json").read_text().splitlines()[:12]
    (small / "dev.json").write_text("\n".join(records) + "\n")
    for record in map(json.loads, records):
        for view in range(6):
            name = f"dev-{record['identifier']}-{view}.png"
            folder = small / "images" / str(record["directory"])
            folder.mkdir(exist_ok=True)
            found = next((shared / "nlvr" / "dev").rglob(name))
            (folder / name).write_bytes(found.read_bytes())
    made = import_release("nlvr", small / "dev.json", tmp_path / "nlvr").benchmark
    weights = tmp_path / "weights.json"
    assert run("programs", benchmark, "--out", tmp_path / "b.jsonl", "--save-weights", weights).exit_code == 0
    assert run("programs", made, "--out", tmp_path / "s.jsonl", "--weights", weights).exit_code == 0
    pixels = run("programs", made, "--out", tmp_path / "p.jsonl", "--from", "pixels", "--weights", weights)
    assert pixels.exit_code == 0
    assert (tmp_path / "p.jsonl").read_text() == (tmp_path / "s.jsonl").read_text(), "a drawing holds the whole scene"


def test_programs_say_how_much_they_read(tmp_path: Path) -> None:
    sentences = ("There is a black square.", "There is a black square.", "Wibble wobble.", "Never asked.")
    with BenchmarkWriter(tmp_path / "b", name="NLVR", task="statement") as writer:
        writer.add_panels([Panel("p", None, None, 100, 100, (square("black"),))])
        for split in ("train", "dev"):
            items = [Item(f"{split}-{n}", "statement", ("p",), Text(s), TRUTH) for n, s in enumerate(sentences)]
            writer.add_items(split, [replace(i, answer=1) for i in items])
    result = run("programs", tmp_path / "b", "--out", tmp_path / "p.jsonl", "--limit", 3, "--json")
    assert result.exit_code == 0, result.stderr
    expected = {"sentences": 2, "sentences_read": 1, "coverage": 0.5, "answers": 3, "answers_by_fallback": 1}
    assert json.loads(result.stdout)["reading"] == {**expected, "fallback_share": pytest.approx(1 / 3)}
    assert "50.0% of 2 sentences were read as programs." in result.stderr
    assert "33.3% of 3 answers come from the fallback." in result.stderr
    meta = json.loads((tmp_path / "p.jsonl.meta.json").read_text())
    assert meta["solver"]["reading"]["sentences"] == 2


def test_a_trained_solver_is_kept_and_used(benchmark: Path, tmp_path: Path) -> None:
    weights, once, again = tmp_path / "w.json", tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    assert run("programs", benchmark, "--out", once, "--save-weights", weights).exit_code == 0
    assert run("programs", benchmark, "--out", again, "--weights", weights).exit_code == 0
    metas = [json.loads(path.with_name(path.name + ".meta.json").read_text())["solver"] for path in (once, again)]
    assert metas[0]["trained_on"] == metas[1]["trained_on"] == fingerprint(examples(Benchmark(benchmark), "train"))
    assert [line["raw"] for line in lines(once)] == [line["raw"] for line in lines(again)]
    assert [meta["weights"] for meta in metas] == ["train", str(weights)]
    assert metas[0]["weights_hash"] == metas[1]["weights_hash"] == hashlib.sha256(weights.read_bytes()).hexdigest()
    assert run("programs", benchmark, "--split", "train", "--weights", weights, "--out", once).exit_code == 0


@pytest.mark.parametrize(("splits", "hidden"), [(("dev",), ()), (("train", "dev"), ("train",))])
def test_without_a_train_to_learn_from_the_shipped_weights_answer(
    splits: Sequence[str], hidden: Sequence[str], tmp_path: Path
) -> None:
    with BenchmarkWriter(tmp_path / "b", name="NLVR", task="statement", hidden=hidden) as writer:
        panels = [Panel(color, None, None, 100, 100, (square(color),)) for color in ("black", "yellow")]
        writer.add_panels(panels)
        for split in splits:
            names = [("black", 1), ("yellow", 0)]
            sentence = Text("There is a box with a black item.")
            items = [Item(f"{split}-{n}", "statement", (n,) * 3, sentence, TRUTH, answer=k) for n, k in names]
            writer.add_items(split, items)
    done = run("programs", tmp_path / "b", "--split", "dev", "--out", tmp_path / "p.jsonl")
    assert done.exit_code == 0, done.stderr
    assert evaluate(tmp_path / "b", tmp_path / "p.jsonl").accuracy.value == 1.0
    meta = json.loads((tmp_path / "p.jsonl.meta.json").read_text())["solver"]
    assert (meta["weights"], meta["weights_hash"]) == ("shipped", ProgramSolver.load(SHIPPED).digest)


def test_the_shipped_weights_can_be_asked_for(benchmark: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.jsonl"
    assert run("programs", benchmark, "--split", "dev", "--weights", "shipped", "--out", out).exit_code == 0
    assert evaluate(benchmark, out).accuracy.value == 1.0
    trained = run("programs", benchmark, "--split", "train", "--out", out)
    assert trained.exit_code == 0
    assert "if these are its items, they were seen" in trained.stderr


@pytest.mark.parametrize("how", [(), ("--weights", "w.json")])
def test_photographs_are_not_read_as_boxes(how: tuple[str, ...], benchmark: Path, tmp_path: Path) -> None:
    if how:
        how = (how[0], str(tmp_path / how[1]))
        assert run("programs", benchmark, "--out", tmp_path / "b.jsonl", "--save-weights", how[1]).exit_code == 0
    with BenchmarkWriter(tmp_path / "n", name="NLVR2", task="statement") as writer:
        writer.add_panels([Panel("left"), Panel("right")])
        for split in ("train", "dev"):
            item = Item(split, "statement", ("left", "right"), Text("There are two dogs."), TRUTH, answer=1)
            writer.add_items(split, [item])
    refused = run("programs", tmp_path / "n", "--out", tmp_path / "p.jsonl", *how)
    assert refused.exit_code == 2
    assert "NLVR2 has no scene structure" in refused.stderr
    assert "reads drawn boxes" in refused.stderr


def test_majority_is_of_train(benchmark: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.jsonl"
    assert run("majority", benchmark, "--out", out).exit_code == 0
    assert [line["scores"] for line in lines(out)] == [[pytest.approx(1 / 3), pytest.approx(2 / 3)]] * 2


def test_guessing_is_seeded_and_does_not_depend_on_the_limit(benchmark: Path, tmp_path: Path) -> None:
    every, one, other = (tmp_path / f"{name}.jsonl" for name in "abc")
    assert run("random", benchmark, "--out", every).exit_code == 0
    assert run("random", benchmark, "--out", one, "--limit", 1).exit_code == 0
    assert run("random", benchmark, "--out", other, "--seed", 1).exit_code == 0
    assert lines(every)[:1] == lines(one)
    assert lines(every) != lines(other)


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (("nonsense",), "no solver 'nonsense'"),
        (("programs", "--split", "test"), "no split 'test'"),
        (("programs", "--limit", "0"), "leaves nothing"),
        (("programs", "--from", "smell"), 'Invalid value "smell" for --from'),
        (("programs", "--from", "pixels"), "has no image"),
        (("openai/x", "--layout", "spiral"), 'Invalid value "spiral" for --layout'),
        (("openai/x", "-M", "novalue"), "not NAME=VALUE"),
        (("openai/x", "--wordings", "99"), "wordings"),
    ],
)
def test_what_is_refused(args: tuple[str, ...], problem: str, benchmark: Path, tmp_path: Path) -> None:
    solver, *rest = args
    result = run(solver, benchmark, "--out", tmp_path / "p.jsonl", *rest)
    assert result.exit_code == 2
    assert problem in result.stderr
    assert not list(tmp_path.glob("*p.jsonl*")), "nothing half-written"


def test_a_folder_that_is_no_run(benchmark: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra `models`")
    result = run(tmp_path, benchmark, "--out", tmp_path / "p.jsonl")
    assert result.exit_code == 2


def test_the_old_predictions_stay_when_solving_fails(benchmark: Path, tmp_path: Path) -> None:
    out = tmp_path / "p.jsonl"
    out.write_text("old\n")
    assert run("programs", benchmark, "--out", out, "--from", "pixels").exit_code == 2
    assert out.read_text() == "old\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b", "p.jsonl"]


def test_a_model_and_what_people_see(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai", reason="needs the extra `vlm`")
    pytest.importorskip("openai", reason="needs the extra `vlm`")
    from tests.solvers._vlm_server import brightness, serve

    with BenchmarkWriter(tmp_path / "b", name="NLVR2", task="statement") as writer:
        items, panels = [], []
        for n in range(4):
            picture = io.BytesIO()
            Image.new("RGB", (8, 8), (255 * (n % 2),) * 3).save(picture, "PNG")
            panels.append(Panel(f"p{n}", writer.add_image(picture.getvalue())))
            items.append(Item(f"dev-{n}", "statement", (f"p{n}",), Text(f"Bright {n}."), TRUTH, answer=n % 2))
        writer.add_items("dev", items)
        writer.add_panels(panels)
    with serve(brightness, faults={"Bright 3": "400"}) as site:
        how = ["--model-base-url", site.url, "--wordings", 2, "--orders", 2, "--price", 1, 2, "--json"]
        first = run("openai/tiny", tmp_path / "b", "--out", tmp_path / "p.jsonl", *how)
        assert first.exit_code == 1, "four questions were not answered"
        assert "Run the same command again" in first.stderr
        site.faults.clear()
        second = run("openai/tiny", tmp_path / "b", "--out", tmp_path / "p.jsonl", *how)
        shown = run("openai/tiny", tmp_path / "b", "--out", tmp_path / "p.jsonl", *how[:-1])
    assert second.exit_code == 0
    numbers = json.loads(second.stdout)
    assert (numbers["asked"], numbers["unanswered"], numbers["resumed"]) == (16, 0, 12)
    assert numbers["accuracy"]["value"] == 1.0
    assert numbers["cost"] == pytest.approx(16 * (100 + 2 * 2) / 1e6)
    for words in (
        "Over wordings: mean 100.0%",
        "Position bias",
        "0 of 16 answers could",
    ):
        assert words in shown.stdout + shown.stderr
    assert "12 answers were there already" in second.stderr
