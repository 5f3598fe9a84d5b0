"""NLVR2 from a folder of photographs: their pictures, those that do not load, and detectors without labels."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.commands import invoke

from veridical.benchmark import Benchmark
from veridical.benchmark.check import check
from veridical.builders import BuildReport
from veridical.builders.nlvr2 import build_nlvr2
from veridical.engine.processes import INSIDE
from veridical.errors import UserError

Build = Callable[..., BuildReport]


@pytest.fixture(scope="module")
def yolos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A detector, tiny and untrained."""
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("yolos")
    names = {0: "dog", 1: "cat", 2: "bird"}
    config = transformers.YolosConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        image_size=[32, 48],
        patch_size=8,
        num_detection_tokens=6,
        id2label=names,
        label2id={name: number for number, name in names.items()},
    )
    transformers.YolosForObjectDetection(config).save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(
        '{"image_processor_type": "YolosImageProcessor", "size": {"shortest_edge": 32, "longest_edge": 48}, '
        '"do_pad": true, "do_resize": true, "do_rescale": true, "do_normalize": true, "image_mean": [0.5, 0.5, 0.5], '
        '"image_std": [0.25, 0.25, 0.25], "format": "coco_detection"}'
    )
    return folder


def unlabelled(drawn: Path, folder: Path) -> Path:
    folder.mkdir()
    for number, path in enumerate(sorted(drawn.glob("*.png"))):
        shutil.copyfile(path, folder / f"{number}.png")
    return folder


def test_an_address_that_is_the_file_name_is_no_reason_to_leave_the_picture_out(
    drawn: Path, tmp_path: Path, build_folder: Build
) -> None:
    build_folder(drawn, tmp_path / "out")
    opened = Benchmark(tmp_path / "out")
    assert check(tmp_path / "out").ok
    assert all(panel.uri == panel.id and panel.image for panel in opened.panels.values())
    assert opened.manifest["counts"]["images"] == len(opened.panels) > 0


def test_items_with_a_picture_that_does_not_load_go(drawn: Path, tmp_path: Path, build_folder: Build) -> None:
    folder = shutil.copytree(drawn, tmp_path / "photos")
    (folder / "dog-0.png").write_bytes(b"no picture")
    build_folder(folder, tmp_path / "out", until="tasks")
    path = tmp_path / "out.work" / "tasks.jsonl"
    tasks = [json.loads(line) for line in path.read_text().splitlines()]
    assert not any("dog-0.png" in pair for task in tasks for pair in task["pairs"])
    for task in tasks:
        if task["synset"] == "dog":
            task["pairs"][0][0] = "dog-0.png"  # people may
    path.write_text("".join(json.dumps(task) + "\n" for task in tasks))
    report = build_folder(folder, tmp_path / "out")
    assert report.removed == {"does not load": 2}
    assert check(tmp_path / "out").ok
    assert "dog-0.png" not in Benchmark(tmp_path / "out").panels


def test_a_source_without_any_picture_is_refused(drawn: Path, tmp_path: Path, build_folder: Build) -> None:
    folder = shutil.copytree(drawn, tmp_path / "photos")
    for path in folder.glob("*.png"):
        path.write_bytes(b"no picture")
    with pytest.raises(UserError, match="No photograph can be used"):
        build_folder(folder, tmp_path / "out", encoder="annotations")
    assert not (tmp_path / "out").exists()


def test_photographs_of_which_nothing_is_known_are_refused(drawn: Path, tmp_path: Path, build_folder: Build) -> None:
    folder = unlabelled(drawn, tmp_path / "photos")
    with pytest.raises(UserError, match="no category with 8") as caught:
        build_folder(folder, tmp_path / "out")
    assert "--detector" in str(caught.value)
    (tmp_path / "synsets.txt").write_text("dog\ncar\n")
    with pytest.raises(UserError, match="Nothing is known of what 30") as caught:
        build_folder(folder, tmp_path / "out", synsets=tmp_path / "synsets.txt")
    assert "--detector" in str(caught.value)
    (tmp_path / "synsets.txt").write_text("unicorn\n")
    with pytest.raises(UserError, match="None of 30 photographs matches"):
        build_folder(drawn, tmp_path / "other", synsets=tmp_path / "synsets.txt")


def test_of_labels_that_may_be_incomplete_nothing_is_said(drawn: Path, tmp_path: Path, build_folder: Build) -> None:
    with pytest.raises(UserError, match="nothing says that all there is") as caught:
        build_folder(drawn, tmp_path / "out", exhaustive=None)
    assert "--exhaustive" in str(caught.value)
    build_folder(drawn, tmp_path / "out", exhaustive=["dog"], split={"train": 1})
    sentences = [json.loads(line)["sentence"] for line in (tmp_path / "out.work" / "sentences.jsonl").open()]
    assert any("dog" in one for one in sentences)
    assert not any(" car" in one or " cup" in one for one in sentences)


def test_a_detector_finds_what_nobody_labelled(
    drawn: Path, tmp_path: Path, yolos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(INSIDE, "1")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = unlabelled(drawn, tmp_path / "photos")
    (tmp_path / "config.json").write_text(json.dumps({"vectors": "none", "least_similarity": -1, "distance": 0}))
    command = ["nlvr2", "--out", str(tmp_path / "out"), "--source", f"folder:{folder}", "--encoder", "thumbnail"]
    command += ["--detector", str(yolos), "--config", str(tmp_path / "config.json"), "--until", "found", "--json"]
    done = invoke("build", *[*command, "--threshold", "0.1"])
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["counts"]["found_sets"] > 0
    work = tmp_path / "out.work"
    seen = [json.loads(line) for line in (work / "photographs.jsonl").read_text().splitlines()]
    assert {name for one in seen for name in one["objects"]} <= {"dog", "cat", "bird"}
    assert all(one["objects"] for one in seen)
    assert (work / "detections.jsonl").stat().st_size > 0
    done = invoke("build", *[*command, "--threshold", "0.99"])  # nothing is so certain
    assert done.exit_code == 2
    assert "no category" in done.stderr


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"detector": "x", "source": "icons"}, "nothing to find"),
        ({"detector": "x", "source": "folder:x", "threshold": 1.5}, "threshold is 1.5"),
        ({"threshold": 0.7}, "without --detector has no use for --threshold"),
    ],
)
def test_detectors_that_cannot_be_used(tmp_path: Path, options: dict[str, object], problem: str) -> None:
    with pytest.raises(UserError, match=problem):
        build_nlvr2(tmp_path / "out", **options)  # type: ignore[arg-type]


def test_the_card_says_what_was_generated_how_sure_labels_are_and_whose_the_pictures_are(
    small: Path, drawn: Path, tmp_path: Path, build_folder: Build
) -> None:
    exact = (small / "README.md").read_text()
    assert "were generated, not written by people" in exact
    assert "Kinds of programs: " in exact
    assert "exact annotations" in exact
    assert "may miss objects" not in exact
    assert "Font Awesome Free" in exact
    folder = shutil.copytree(drawn, tmp_path / "photos")
    build_folder(folder, tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text()
    assert "may miss objects" in card
    assert Benchmark(tmp_path / "out").manifest["licence"] == "CC-BY-4.0"
    assert "license: cc-by-4.0" in card
    (folder / "labels.csv").write_text((folder / "labels.csv").read_text().replace("CC-BY-4.0", "mine", 40))
    build_folder(folder, tmp_path / "out")
    assert "own licence" in Benchmark(tmp_path / "out").manifest["licence"]
    assert "CC-BY-4.0; mine" in (tmp_path / "out" / "README.md").read_text()


def test_icons_have_the_licence_of_their_pictures(small: Path, tmp_path: Path, build_small: Build) -> None:
    shutil.copytree(small.with_name("icons.work"), tmp_path / "out.work")
    build_small(tmp_path / "out")
    assert Benchmark(tmp_path / "out").manifest["licence"] == "CC-BY-4.0"
