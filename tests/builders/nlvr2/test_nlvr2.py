"""Building NLVR2 from icons: balance, labels, splits, steps that can be redone, takedowns, exports."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from tests.commands import invoke

from veridical.benchmark import Benchmark
from veridical.benchmark.check import check
from veridical.builders import BuildReport
from veridical.builders.nlvr2 import build_nlvr2
from veridical.builders.nlvr2.collection import hidden_splits, read_config
from veridical.builders.nlvr2.pairs import pair_up
from veridical.builders.nlvr2.takedown import takedown
from veridical.common.average_hash import average_hash
from veridical.engine.processes import INSIDE
from veridical.errors import UserError
from veridical.formats.releases import export, export_official, import_release
from veridical.language.writing.pairs.statements import execute_pair
from veridical.records import Item
from veridical.statistics import stats

CATEGORIES = ("dog", "car", "apple", "chair", "guitar", "hammer", "rocket")
Build = Callable[..., BuildReport]
CODE = """
import sys
from veridical.builders.nlvr2 import build_nlvr2
from veridical.sources.icons.worlds import IconSeries
source = IconSeries(7, seed=3, width=240, height=180, categories=tuple(sys.argv[2].split()))
split = {"train": 3, "dev": 1, "test-u": 1}
options = {"sets": 6, "vectors": "none", "split": split, "licence": "CC-BY-4.0", "processes": 1}
build_nlvr2(sys.argv[1], source=source, **options)
"""


def looked_at(small: Path, work: Path) -> Path:
    """A work folder in which the photographs have been looked at."""
    work.mkdir()
    for name in ("photographs.jsonl", "vectors.npy", "stages.json"):
        (work / name).write_bytes((small.with_name("icons.work") / name).read_bytes())
    return work


def items(folder: Path) -> list[Item]:
    opened = Benchmark(folder)
    return [item for split in opened.splits for item in opened.items(split, answers=True)]


def test_it_is_whole_and_every_program_gives_its_label(small: Path) -> None:
    report = check(small)
    assert report.ok, report
    panels = Benchmark(small).whole_panels
    found = items(small)
    assert len(found) == 48
    for item in found:
        left, right = (panels[name] for name in item.panels)
        assert execute_pair(item.program or "", left, right) is bool(item.answer)


def test_no_sentence_and_no_pair_of_photographs_tells_the_label(small: Path) -> None:
    sentences, pairs = defaultdict(list), defaultdict(list)
    for item in items(small):
        sentences[item.group].append(int(item.answer or 0))
        pairs[item.panels].append(int(item.answer or 0))
        assert item.tag("balance") == ("balanced",)
    assert {tuple(sorted(labels)) for labels in sentences.values()} == {(0, 0, 1, 1)}
    assert {tuple(sorted(labels)) for labels in pairs.values()} == {(0, 1)}


def test_splits_share_no_photograph_and_photographs_say_where_they_are_from(small: Path) -> None:
    opened = Benchmark(small)
    owners = defaultdict(set)
    for split in opened.splits:
        for item in opened.items(split):
            for name in item.panels:
                owners[name].add(split)
    assert len(owners) == 48
    assert all(len(splits) == 1 for splits in owners.values())
    known = opened.photographs_table().to_pylist()
    assert {row["id"] for row in known} == owners.keys()
    assert all(row["source"] == "icons" and "CC-BY-4.0" in row["licence"] for row in known)


def test_hashes_are_average_hashes_and_published_as_such(small: Path, tmp_path: Path) -> None:
    opened = Benchmark(small)
    for panel in opened.panels.values():
        assert panel.image is not None
        assert panel.phash == average_hash(Image.open(BytesIO(bytes(opened.image(panel.image)))))
    export_official(small, tmp_path / "out")
    published = json.loads((tmp_path / "out" / "dev_hashes.json").read_text())
    assert published
    for name, hashed in published.items():
        assert hashed == average_hash(Image.open(tmp_path / "out" / "images" / "dev" / name))


def test_every_count_of_the_collection_is_in_its_statistics(small: Path) -> None:
    found = stats(small, hidden=True).to_json()
    counts = found["collection"]
    assert counts["photographs"] == 70
    assert counts["found_sets"] >= counts["pruned_sets"] >= counts["sets"] >= 6
    assert counts["items"] == found["items"] == 48
    assert counts["unique_sentences"] == found["groups"] == 12
    assert counts["items_per_sentence"] == 4
    assert counts["images"] == 48
    about = Benchmark(small).manifest["config"]
    assert about["interesting"]["by"] == about["pruning"]["by"] == "annotations"


def test_contact_sheets(small: Path) -> None:
    folder = small.with_name("icons.work") / "sheets"
    assert {path.name for path in folder.iterdir()} >= {"sets-0.png", "tasks-0.png"}


def test_the_same_config_gives_the_same_bytes(small: Path, tmp_path: Path, build_small: Build) -> None:
    build_small(tmp_path / "again", processes=2, licence="CC-BY-4.0")
    assert Benchmark(tmp_path / "again").hash == Benchmark(small).hash


def test_a_build_that_stopped_continues(small: Path, tmp_path: Path, build_small: Build) -> None:
    looked_at(small, tmp_path / "out.work")
    build_small(tmp_path / "out", until="tasks")
    (tmp_path / "out.work" / ".tasks.jsonl.4194305.part").write_text("half a line")
    (tmp_path / "out.work" / "sets.jsonl").unlink()  # made again, the same
    build_small(tmp_path / "out", licence="CC-BY-4.0")
    assert Benchmark(tmp_path / "out").hash == Benchmark(small).hash


def test_a_step_can_be_redone_by_people(small: Path, tmp_path: Path, build_small: Build) -> None:
    looked_at(small, tmp_path / "out.work")
    report = build_small(tmp_path / "out", until="sets")
    assert not (tmp_path / "out").exists()
    assert report.counts["sets"] == 6
    path = tmp_path / "out.work" / "sets.jsonl"
    lines = path.read_text().splitlines()
    kept = [line for line in lines if not json.loads(line)["discarded"]]
    path.write_text("\n".join(kept[:5]) + "\n")
    build_small(tmp_path / "out")
    opened = Benchmark(tmp_path / "out")
    assert len({item.origins[0] for item in items(tmp_path / "out")}) == 5
    assert opened.manifest["config"]["redone_by_people"] == ["sets.jsonl"]
    assert check(tmp_path / "out").ok
    with pytest.raises(UserError, match="changed by hand"):
        build_small(tmp_path / "out", least_similarity=0.9)
    path.write_text("{}\n")
    with pytest.raises(UserError, match="line 1"):
        build_small(tmp_path / "out")
    one = json.loads(kept[0])
    for wrong, problem in (
        ([one | {"photographs": one["photographs"][:7]}], "has 7 photographs"),
        ([one | {"photographs": [*one["photographs"][:7], "elsewhere"]}], "'elsewhere'"),
        ([one, one], "2 times"),
        ([one | {"synset": "unicorn"}], "unicorn"),
        ([one | {"set": "a b"}], "cannot name"),
    ):
        path.write_text("".join(json.dumps(row) + "\n" for row in wrong))
        with pytest.raises(UserError, match=problem):
            build_small(tmp_path / "out")


def test_tasks_can_be_left_out_or_wrong(small: Path, tmp_path: Path, build_small: Build) -> None:
    looked_at(small, tmp_path / "out.work")
    build_small(tmp_path / "out", until="tasks")
    path = tmp_path / "out.work" / "tasks.jsonl"
    tasks = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(task) + "\n" for task in tasks[1:]))
    build_small(tmp_path / "out")
    assert len(items(tmp_path / "out")) == 44
    for wrong, problem in (
        (tasks[0] | {"task": "elsewhere-0"}, "Name it"),
        (tasks[0] | {"pairs": tasks[0]["pairs"][:3]}, "four pairs"),
        (tasks[0] | {"pairs": [tasks[0]["pairs"][0]] * 4}, "four pairs"),
        (tasks[0] | {"task": tasks[0]["task"][:-1] + "2"}, "has 3 tasks"),
    ):
        path.write_text("".join(json.dumps(task) + "\n" for task in [wrong, *tasks[:2]][: 3 if "3" in problem else 1]))
        with pytest.raises(UserError, match=problem):
            build_small(tmp_path / "out")


@pytest.mark.soak
def test_a_build_that_is_killed_continues(small: Path, tmp_path: Path) -> None:
    looked_at(small, tmp_path / "out.work")
    arguments = [sys.executable, "-c", CODE, str(tmp_path / "out"), " ".join(CATEGORIES)]
    process = subprocess.Popen(arguments, start_new_session=True, stderr=subprocess.DEVNULL)
    marker = tmp_path / "out.work" / "tasks.jsonl"
    while not marker.exists() and process.poll() is None:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "out").exists()
    subprocess.run(arguments, check=True, capture_output=True)
    assert Benchmark(tmp_path / "out").hash == Benchmark(small).hash


def test_a_secret_changes_what_is_hidden_and_is_kept(small: Path, tmp_path: Path, build_small: Build) -> None:
    looked_at(small, tmp_path / "out.work")
    report = build_small(tmp_path / "out", secret="random")
    secret = (tmp_path / "out.hidden" / "secret.txt").read_text().strip()
    assert any("random secret" in note for note in report.notes)
    before = {item.id: item.query for item in items(small)}
    after = {item.id: item.query for item in items(tmp_path / "out")}
    # the pictures are others, and so may be the sets that can be made of them
    assert sum(before[name] == after[name] for name in before.keys() & after.keys()) < 24
    build_small(tmp_path / "again", secret=secret, work=tmp_path / "out.work")
    assert Benchmark(tmp_path / "again").hash == Benchmark(tmp_path / "out").hash


def test_a_takedown_removes_a_photograph_and_every_item_that_shows_it(small: Path, tmp_path: Path) -> None:
    before = items(small)
    victim = next(item for item in before if item.tag("synset"))
    other = next(item for item in before if not set(item.panels) & set(victim.panels))
    address = Benchmark(small).panels[other.panels[1]].image
    path = tmp_path / "list.txt"
    path.write_text(f"{victim.panels[0]}\n{address}\nhttps://example.org/unknown.jpg\n")
    report = takedown(small, path, tmp_path / "less")
    gone = {victim.panels[0], other.panels[1]}
    assert (report.photographs, report.unknown) == (2, ("https://example.org/unknown.jpg",))
    after = items(tmp_path / "less")
    assert {item.id for item in after} == {item.id for item in before if not gone & set(item.panels)}
    assert report.items_removed == len(before) - len(after) == 4  # each pair has two sentences
    assert sum(report.items.values()) == len(after)
    assert not gone & Benchmark(tmp_path / "less").panels.keys()
    assert report.images == 46
    found = check(tmp_path / "less")
    assert found.ok, found
    reasons = Counter(row["reason"] for row in Benchmark(tmp_path / "less").pruned_table().to_pylist())
    assert reasons == {"photograph taken down": 4}
    with pytest.raises(UserError, match="none of these"):
        takedown(small, ["nothing"], tmp_path / "x")


def test_a_takedown_is_remembered_even_where_it_cannot_be_done(small: Path, tmp_path: Path) -> None:
    """Whatever stops it, no later build shows these photographs."""
    everything = list(Benchmark(small).panels)
    with pytest.raises(UserError, match="would be left"):
        takedown(small, everything, tmp_path / "none")
    assert not (tmp_path / "none").exists()
    assert (tmp_path / "none.work" / "takedown.txt").read_text().splitlines() == everything


def test_it_is_exported_as_the_official_release_and_read_again(small: Path, tmp_path: Path) -> None:
    export("official", small, tmp_path / "official")
    import_release("nlvr2", tmp_path / "official", tmp_path / "again")
    back = {item.id: item for item in items(tmp_path / "again")}
    shown = {item.id for split in ("train", "dev") for item in Benchmark(small).items(split)}
    assert back.keys() == shown  # what is hidden is not exported
    for item in (item for item in items(small) if item.id in shown):
        assert (back[item.id].query, back[item.id].answer, back[item.id].group) == (item.query, item.answer, item.group)
        assert back[item.id].tag("synset") == item.tag("synset")


def test_random_pairs_use_every_photograph_once() -> None:
    import numpy as np

    pairs = pair_up(tuple("abcdefgh"), np.random.default_rng(0))
    assert sorted(name for pair in pairs for name in pair) == list("abcdefgh")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"sets": 0}, "sets is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"source": "flickr"}, "no source"),
        ({"source": "none"}, "neither a source"),
        ({"search": "found.jsonl"}, "the icon world draws its own"),
        ({"sets": "many"}, "Expected"),
        ({"split": {"dev": 1}, "hide": ("test-u",)}, "to hide"),
        ({"until": "baking", "source": "icons"}, "no step"),
        ({"dull": "a", "labels": "b"}, "one of them"),
    ],
)
def test_what_cannot_be_built_is_refused_at_once(tmp_path: Path, options: dict[str, object], problem: str) -> None:
    with pytest.raises(UserError, match=problem) as caught:
        build_nlvr2(tmp_path / "out", **options)  # type: ignore[arg-type]
    assert problem in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_an_option_that_is_not_there_is_a_mistake_in_the_call(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="no option 'color'"):
        build_nlvr2(tmp_path / "out", color="red")
    assert not (tmp_path / "out").exists()


def test_a_config_file(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('source = "icons"\nsets = 5\n[splits]\ntrain = 1\n')
    assert read_config(tmp_path / "c.toml").sets == 5
    assert hidden_splits(read_config(tmp_path / "c.toml")) == ()
    (tmp_path / "c.json").write_text('{"sets": "five"}')
    with pytest.raises(UserError, match=r"c\.json"):
        read_config(tmp_path / "c.json")


def test_coco_photographs_make_a_benchmark(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(INSIDE, "1")  # no other process: starting them costs most of the time
    report = build_nlvr2(
        tmp_path / "coco", source=f"coco:{shared / 'coco'}", encoder="thumbnail", vectors="none", processes=1
    )
    assert any("may miss objects" in note for note in report.notes)
    found = items(tmp_path / "coco")
    assert len(found) >= 32
    assert check(tmp_path / "coco").ok
    panels = Benchmark(tmp_path / "coco").whole_panels
    for item in found:
        assert execute_pair(item.program or "", *(panels[name] for name in item.panels)) is bool(item.answer)
        assert not any(o.attribute("crowd") == "true" for name in item.panels for o in panels[name].objects)
    known = Benchmark(tmp_path / "coco").photographs_table().to_pylist()
    assert all(row["uri"] and row["licence"] for row in known)


def test_the_command_line_takes_photographs_down_in_place(small: Path, tmp_path: Path) -> None:
    for name in ("icons", "icons.hidden"):
        shutil.copytree(small.with_name(name), tmp_path / name)
    victim = items(small)[0].panels[0]
    (tmp_path / "list.txt").write_text(f"{victim}\n")
    command = ["nlvr2", "--out", str(tmp_path / "icons"), "--takedown", str(tmp_path / "list.txt"), "--json"]
    done = invoke("build", *command)
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["items_removed"] == 2
    assert victim not in Benchmark(tmp_path / "icons").panels
    assert check(tmp_path / "icons").ok


def test_the_command_line_stops_after_a_step(small: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"vectors": "none", "synsets": str(tmp_path / "synsets.txt")}))
    (tmp_path / "synsets.txt").write_text("beagle\n")
    command = ["nlvr2", "--out", str(tmp_path / "out"), "--config", str(tmp_path / "config.json")]
    command += ["--source", "none", "--search", str(tmp_path / "search.jsonl"), "--until", "queries", "--json"]
    (tmp_path / "search.jsonl").write_text('{"query": "two beagles", "rank": 1, "address": "a"}\n')
    done = invoke("build", *command)
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["counts"]["queries"] == 16
    texts = [json.loads(line)["text"] for line in (tmp_path / "out.work" / "queries.jsonl").read_text().splitlines()]
    assert "packs of beagles" in texts


def test_the_best_synsets_are_half_animals(small: Path, tmp_path: Path, build_small: Build) -> None:
    looked_at(small, tmp_path / "out.work")
    build_small(tmp_path / "out", until="queries", best=2)
    lines = (tmp_path / "out.work" / "queries.jsonl").read_text().splitlines()
    names = {json.loads(line)["synset"] for line in lines}
    assert len(names) == 2
    assert "dog" in names  # the only animal


def test_a_classifier_trained_on_labels_is_named_with_its_f1(small: Path, tmp_path: Path, build_small: Build) -> None:
    looked_at(small, tmp_path / "out.work")
    seen = [json.loads(line) for line in (tmp_path / "out.work" / "photographs.jsonl").read_text().splitlines()]
    labels = [{"photograph": one["id"], "interesting": sum(one["objects"].values()) > 5} for one in seen[:60]]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(label) + "\n" for label in labels))
    build_small(tmp_path / "out", labels=tmp_path / "labels.jsonl")
    about = Benchmark(tmp_path / "out").manifest["config"]
    assert about["interesting"]["by"] == "classifier"
    assert about["interesting"]["labels"] == 60
    assert about["interesting"]["f1"] > 0.8
    assert set(about["collection"]["interesting_images"]) == {"classifier"}


def test_icons_need_no_wordnet(
    small: Path, tmp_path: Path, build_small: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at(small, tmp_path / "out.work")
    monkeypatch.setattr("veridical.language.wordnet.find_spec", lambda name: None)
    build_small(tmp_path / "out", until="found")
    lines = (tmp_path / "out.work" / "queries.jsonl").read_text().splitlines()
    assert {"dogs eating", "two cars"} <= {json.loads(line)["text"] for line in lines}
    assert (tmp_path / "out.work" / "found.jsonl").stat().st_size > 0
