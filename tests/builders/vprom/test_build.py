"""The builder on the icon world and on COCO: a whole benchmark on disk, its truth read back from the panels."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest
from tests.commands import Ran, invoke

from veridical.benchmark import Benchmark
from veridical.benchmark.check import check
from veridical.builders.vprom import build as room
from veridical.builders.vprom import build_vprom
from veridical.builders.vprom.elements import CROWD, NOT_LABELS
from veridical.builders.vprom.mining import Mining
from veridical.errors import UserError
from veridical.records import Panel
from veridical.statistics import human_performance

from ._painted import COLORS
from ._plain import COUNTS, Labels, simplest
from .conftest import ICONS, SMALL

# label -> the words of painted photographs that it stands for
SAYS = {f"in {color}": {color} for color in COLORS} | {
    "plain": {"solid"}, "checkered": {"checked"}, "in plain": {"solid"}, "in stripes": {"striped"},
    "in dots": {"dotted"}, "in checks": {"checked"}, "in outline": {"outlined"},
}  # fmt: skip


def run(*arguments: str) -> Ran:
    result = invoke(*arguments)
    assert result.exit_code == 0, result.stderr
    return result


def digest(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.iterdir())}


def labels(panel: Panel, exact: bool) -> Labels:
    """What a stored panel's objects say, word by word: no list of the builder is read."""
    out: Labels = {}
    for thing in panel.objects:
        for name, value in (("category", thing.category), *thing.attributes):
            if name not in NOT_LABELS:
                out.setdefault(name, set()).add(value)
    crowd = {thing.category for thing in panel.objects if CROWD in thing.attributes}
    numbers = set(Counter(thing.category for thing in panel.objects if thing.category not in crowd).values())
    numbers |= {len(panel.objects)} if exact else set()
    return out | {COUNTS: {n for n in numbers if n <= 10}}


def assert_unambiguous(opened: Benchmark, exact: bool) -> None:
    """By the oracle, over everything that the stored panels are labelled with."""
    found = {name: labels(panel, exact) for name, panel in opened.panels.items()}
    names = {name for own in found.values() for name in own}
    full = {panel: {name: own.get(name, set()) for name in names} for panel, own in found.items()}
    for scheme in opened.schemes:
        for split in opened.splits_of(scheme):
            for item in opened.items(split, scheme):
                relation, completing = simplest([full[p] for p in item.panels], [full[c] for c in item.candidates])
                assert (relation,) == item.tag("relation")
                assert completing == {item.answer}
                assert len({*item.panels, *item.candidates}) == 16
                assert len(set(item.origins)) == 16


def test_check_finds_nothing(small: Path) -> None:
    assert check(small).problems == ()
    opened = Benchmark(small)
    assert opened.schemes == ("interpolation", "neutral")
    sizes = {split: len(list(opened.items(split, "neutral"))) for split in opened.splits_of("neutral")}
    assert sizes == {"test": 30, "train": 60}


@pytest.mark.parametrize("source", ["small", "icons"])
def test_stored_panels_make_every_matrix_unambiguous(source: str, request: pytest.FixtureRequest) -> None:
    assert_unambiguous(Benchmark(request.getfixturevalue(source)), exact=True)


def test_the_answer_shows_its_label(small: Path) -> None:
    opened = Benchmark(small)
    for item in opened.items("train", "neutral"):
        own = labels(opened.panels[item.candidates[item.answer]], exact=True)
        (kind,), (group,), (label,) = item.tag("kind"), item.tag("property"), item.tag("label")
        names = {"texture": "pattern", "clothing style": "pattern", "clothing color": "color"}
        if kind == "object count":
            assert own[COUNTS] == {int(label)}
        else:
            assert own["category" if kind == "object category" else names.get(group, group)] & SAYS.get(label, {label})
        assert item.tag("held") == ("no",)


def test_tags_say_what_a_scheme_binds(small: Path) -> None:
    for item in Benchmark(small).items("test", "interpolation"):
        assert (item.tag("held") == ("yes",)) == (item.tag("element") == ("count",))


def test_same_bytes_with_other_processes_and_after_a_kill(icons: Path, tmp_path: Path) -> None:
    out = tmp_path / "again"
    path = written(tmp_path / "answers.jsonl", [{"item": "neutral-test-000000", "worker": "w", "verdict": 1}])
    with pytest.raises(UserError, match="no such item"):  # the work of a build that ended is kept for the next
        build_vprom(out, processes=2, judgements=path, **ICONS)
    work = tmp_path / ".again.panels"
    assert any(work.iterdir())
    build_vprom(out, processes=2, **ICONS)
    assert check(out).problems == ()
    assert digest(out) == digest(icons)
    assert not work.exists()


def test_many_photographs_are_mined_by_other_processes_to_the_same_bytes(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "FEW", 500)
    assert digest(build_vprom(tmp_path / "made", processes=2, **SMALL).out) == digest(small)


def test_hidden_answers_and_people_who_skip(tmp_path: Path, small: Path) -> None:
    """Three answers right, one wrong, one skipped, over two workers; nothing of it is public."""
    items = list(Benchmark(small).items("test", "neutral"))
    said = [items[0].answer, items[1].answer, (items[2].answer + 1) % 8, "skip", items[4].answer]
    rows = [{"item": items[n].id, "worker": f"w{n % 2}", "verdict": verdict} for n, verdict in enumerate(said)]
    path = written(tmp_path / "answers.jsonl", rows)
    options = {**SMALL, "schemes": ["neutral"], "hide": ["test"], "judgements": path}
    out = build_vprom(tmp_path / "made", **options).out
    assert check(out).ok
    opened = Benchmark(out)
    assert all(item.answer is None and not item.tags for item in opened.items("test", "neutral"))
    shown = {c for item in opened.items("test", "neutral") for c in item.candidates}
    assert not any(opened.panels[c].objects for c in shown)
    assert [i.answer for i in opened.items("test", "neutral", answers=True)] == [i.answer for i in items]
    assert human_performance(opened, "test", scheme="neutral") is None
    people = human_performance(opened, "test", scheme="neutral", hidden=True)
    assert (people.mean, people.skip_rate, people.skips_wrong) == (pytest.approx(3 / 4), pytest.approx(1 / 5), 3 / 5)
    guesses = [{"item": i.id, "scores": [float(k == 0) for k in range(8)]} for i in items]
    files = [str(out), str(written(tmp_path / "guesses.jsonl", guesses))]
    human = json.loads(run("evaluate", *files, "--split", "test", "--scheme", "neutral", "--json").stdout)["baselines"][
        "human"
    ]
    assert (human["accuracy"]["value"], human["skip_rate"], human["skips_wrong"]) == (0.75, 0.2, 0.6)
    assert "with skips as wrong" in run("evaluate", *files, "--split", "test", "--scheme", "neutral").stdout


def written(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"item": "neutral-test-000000", "worker": "w", "verdict": 8}', "no candidate"),
        ('{"item": "neutral-test-000000", "worker": "w", "verdict": "yes"}', "line 1"),
        ('{"item": "neutral-test-000000", "worker": "w", "verdict": 1}\n' * 2, "answered neutral-test-000000 before"),
    ],
)
def test_bad_answers_of_people(tmp_path: Path, line: str, problem: str) -> None:
    from veridical.builders.collected import read_answers

    path = tmp_path / "answers.jsonl"
    path.write_text(line)
    with pytest.raises(UserError, match=problem):
        read_answers(path)


def test_stats_show_table_one(small: Path) -> None:
    found = json.loads(run("stats", str(small), "--json").stdout)
    assert found["scheme"] == "neutral"
    kinds = found["mined"]["kinds"]
    assert set(kinds) == {"object attribute", "human attribute", "object category", "object count"}
    assert kinds["object count"]["elements"] == 10
    assert sum(kind["matrices"] for kind in kinds.values()) == 180
    assert set(found["mined"]["removed"]) >= {"richness", "purity", "quality", "relatedness", "independence"}
    assert "removed: richness" in run("stats", str(small)).stdout


def test_people_of_the_icon_world_are_called_by_age_and_gender(icons: Path) -> None:
    """Were all of them "person", that would explain every matrix of people."""
    names = {thing.category for panel in Benchmark(icons).panels.values() for thing in panel.objects}
    assert "person" not in names
    assert names >= {"man", "woman", "boy", "girl", "old man", "old woman"}


def test_coco_crops(shared: Path, tmp_path: Path) -> None:
    """Categories and counts of real photographs: crops of one stored image each, at least 100 pixels."""
    options = {"matrices": 120, "schemes": ["neutral", "att.held"], "mining": Mining(least_images=3, most_others=30)}
    report = build_vprom(tmp_path / "made", source=f"coco:{shared / 'coco'}", **options)
    assert list(report.counts["items"]) == ["neutral"]  # COCO has no attributes to hold out
    assert any("att.held" in note for note in report.notes)
    assert check(report.out).problems == ()
    opened = Benchmark(report.out)
    items = [i for split in ("train", "test") for i in opened.items(split, "neutral")]
    assert {i.tag("element") for i in items} <= {("object",), ("count",)}
    assert len(items) >= 100
    assert_unambiguous(opened, exact=False)  # rare objects explain a matrix as well as common ones do
    for split in ("train", "test"):  # an answer that is right far too often is told about, and no other
        for element, kind in (("object", "object category"), ("count", "object count")):
            answers = Counter(
                i.tag("label")[0] for i in opened.items(split, "neutral") if i.tag("element") == (element,)
            )
            (label, number), total = answers.most_common(1)[0], answers.total()
            text = f"neutral {split}: {label} is the answer of {number} of {total} matrices about {kind}"
            told = [
                note
                for note in report.notes
                if f"matrices about {kind}" in note and note.startswith(f"neutral {split}")
            ]
            assert [note.startswith(text) for note in told] == [True] * (total >= 12 and number > 0.3 * total)
    assert any("is the answer of" in note for note in report.notes)  # 42 photographs are few for a test
    for item in items:
        for name in (*item.panels, *item.candidates):
            panel = opened.panels[name]
            assert min(panel.width, panel.height) >= 100
            assert all(0 <= v <= max(panel.width, panel.height) for t in panel.objects for v in t.box)
    assert opened.manifest["counts"]["images"] <= 128


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"schemes": ["main"]}, "no scheme"),
        ({"matrices": 2}, "two to one"),
        ({"seed": -1}, "seed"),
        ({"hide": ["dev"]}, "to hide"),
        ({"source": "coco:/nowhere", "images": 5}, "number of images"),
        ({"lists": "/nowhere"}, "no folder"),
        ({"images": 20}, "No matrix could be made"),
    ],
)
def test_bad_options(tmp_path: Path, options: dict[str, object], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        build_vprom(tmp_path / "made", processes=1, **{"matrices": 30, **options})
    assert not (tmp_path / "made").exists()


def test_command(shared: Path, tmp_path: Path) -> None:
    arguments = ["--out", str(tmp_path / "made"), "--matrices", "12", "--source", f"coco:{shared / 'coco'}"]
    strict = ["--least-images", "3", "--most-others", "30", "--schemes", "neutral,obj.held"]
    result = invoke("build", "vprom", *arguments, *strict, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["counts"]["items"]["neutral"]["train"] > 0
