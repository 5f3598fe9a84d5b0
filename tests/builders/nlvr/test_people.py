"""Building NLVR from people's sentences: what they see, what they write, how judgements make labels and removals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from veridical.benchmark import Benchmark
from veridical.benchmark.check import check
from veridical.benchmark.writer import file_hash
from veridical.builders.nlvr import build_nlvr
from veridical.builders.nlvr.build import PRESENTATIONS, SECRET
from veridical.builders.nlvr.people import NO_JUDGEMENT, read_judgements, read_presentations, read_statements, settle
from veridical.builders.nlvr.scenes import Packed
from veridical.errors import UserError
from veridical.records import Judgement
from veridical.sources.boxes.drawings import see
from veridical.statistics.judgements import MAJORITY_NONSENSE, SMALL_GAP

COUNT = 8
VOTES: list[tuple[list[Any], int | str]] = [
    ([True, True, True, True, True], 1),
    ([False, False, False, False, True], 0),
    ([True, True, "nonsense", "nonsense", "nonsense"], MAJORITY_NONSENSE),
    ([True, True, True, False, False], SMALL_GAP),
]


@pytest.fixture
def collected(tmp_path: Path) -> dict[str, Path]:
    """Presentations, sentences on all but the last, and votes: item k of a presentation gets VOTES[k]."""
    folder = tmp_path / "collection"
    build_nlvr(folder, presentations=COUNT, seed=1, until="presentations", processes=1)
    shown = [json.loads(line) for line in (folder / PRESENTATIONS).read_text().splitlines()]
    lines = [
        {"presentation": one["presentation"], "sentence": f"There is a box, says {n}.", "writer": f"w{n % 3}"}
        for n, one in enumerate(shown[:-1])
    ]
    judged = [
        {"item": f"{one['presentation']}-{place}", "worker": f"v{worker}", "verdict": verdict}
        for one in shown[:-1]
        for place, (votes, _) in enumerate(VOTES)
        for worker, verdict in enumerate(votes)
    ]
    return {
        "scenes": folder,
        "statements": _write(tmp_path / "statements.jsonl", lines),
        "judgements": _write(tmp_path / "judgements.jsonl", judged),
    }


def _write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_what_people_look_at(tmp_path: Path) -> None:
    report = build_nlvr(tmp_path / "shown", presentations=6, seed=2, until="presentations", processes=1)
    assert report.counts == {"presentations": 6, "images": 24}
    lines = [json.loads(line) for line in (report.out / PRESENTATIONS).read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["scatter", "tower"] * 3
    for line in lines:
        assert sorted(image["id"] for image in line["images"]) == [f"{line['presentation']}-{k}" for k in range(4)]
        for image in line["images"]:
            seen = see((report.out / image["file"]).read_bytes())
            assert [len(box.objects) for box in seen] == [len(box) for box in image["boxes"]]
    firsts = {line["images"][0]["id"].rpartition("-")[2] for line in lines}
    assert len(firsts) > 1, "an id says nothing about the letter"
    with pytest.raises(UserError, match="not an empty folder"):
        build_nlvr(tmp_path / "shown", presentations=6, until="presentations", processes=1)


def test_the_secret_of_presentations_is_for_their_owner_alone(tmp_path: Path) -> None:
    build_nlvr(tmp_path / "shown", presentations=2, until="presentations", secret="random", processes=1)
    assert (tmp_path / "shown" / "secret.txt").stat().st_mode & 0o777 == 0o600


def test_labels_and_removals_follow_the_votes(collected: dict[str, Path], tmp_path: Path) -> None:
    report = build_nlvr(tmp_path / "bench", processes=1, **collected)  # type: ignore[arg-type]
    assert report.removed == {MAJORITY_NONSENSE: COUNT - 1, SMALL_GAP: COUNT - 1}
    assert check(report.out).ok
    benchmark = Benchmark(report.out)
    items = [item for split in benchmark.splits for item in benchmark.items(split, answers=True)]
    assert len(items) == 2 * (COUNT - 1)
    for item in items:
        place = int(item.id[-1])
        assert item.answer == VOTES[place][1]
        assert item.program is None
        assert item.writer is not None
        assert item.query is not None
        assert item.query.raw.endswith(f"says {item.group}.")
    gone = dict(zip(*(benchmark.pruned_table()[name].to_pylist() for name in ("item", "reason")), strict=True))
    assert {name[-1]: reason for name, reason in gone.items()} == {"2": MAJORITY_NONSENSE, "3": SMALL_GAP}
    assert benchmark.manifest["config"]["without_statement"] == 1
    inputs = {**collected, "scenes": collected["scenes"] / PRESENTATIONS}
    assert benchmark.manifest["config"]["inputs"] == {name: file_hash(path) for name, path in inputs.items()}
    assert not report.notes


def test_the_writers_selection_is_kept_and_does_not_decide(collected: dict[str, Path], tmp_path: Path) -> None:
    report = build_nlvr(tmp_path / "bench", processes=1, **collected)  # type: ignore[arg-type]
    benchmark = Benchmark(report.out)
    shown = [json.loads(line) for line in (collected["scenes"] / PRESENTATIONS).read_text().splitlines()]
    meant = {image["id"]: int(letter < 2) for one in shown for letter, image in enumerate(one["images"])}
    selected = {j.item: j.verdict for j in benchmark.judgements(hidden=True) if j.kind == "selection"}
    assert selected
    assert all(meant[item] == verdict for item, verdict in selected.items())
    labels = {i.id: i.answer for split in benchmark.splits for i in benchmark.items(split, answers=True)}
    assert any(labels[item] != meant[item] for item in labels), "the vote won over the position"


def test_nothing_about_removed_hidden_items_is_public(collected: dict[str, Path], tmp_path: Path) -> None:
    report = build_nlvr(tmp_path / "bench", processes=1, **collected)  # type: ignore[arg-type]
    benchmark = Benchmark(report.out)
    hidden = {item.group for item in benchmark.items("test-u")}
    assert not [j for j in benchmark.judgements() if j.item.partition("-")[0] in hidden]


def test_settling() -> None:
    def votes(item: str, *verdicts: Any) -> list[Judgement]:
        return [Judgement(item, str(n), verdict, "validation") for n, verdict in enumerate(verdicts)]

    judgements = [
        *votes("one", 1),
        *votes("nonsense", "nonsense"),
        *votes("kept", 1, 1, 1, "nonsense", "nonsense"),
        *votes("skipped", "skip"),
        *votes("close", 0, 0, 1),
    ]
    found = settle(["one", "nonsense", "kept", "skipped", "close", "nobody"], judgements)
    assert found.labels == {"one": 1, "kept": 1}
    assert found.removed == {
        "nonsense": MAJORITY_NONSENSE,
        "skipped": NO_JUDGEMENT,
        "close": SMALL_GAP,
        "nobody": NO_JUDGEMENT,
    }
    assert found.reasons == {SMALL_GAP: 1, MAJORITY_NONSENSE: 1, NO_JUDGEMENT: 2}


@pytest.mark.parametrize(
    ("file", "line", "said"),
    [
        (
            "statements",
            {"presentation": "99", "sentence": "A.", "writer": "w"},
            "line 8: there is no presentation",
        ),
        ("statements", {"presentation": "0", "sentence": "A.", "writer": "w"}, "line 8: a second statement"),
        ("statements", {"presentation": "7", "sentence": " ", "writer": "w"}, "the sentence is empty"),
        ("statements", {"presentation": "7", "sentence": "A."}, "writer"),
        ("statements", {"presentation": "7", "sentence": "A.", "writer": ""}, "the writer is empty"),
        ("judgements", {"item": "0-0", "worker": " ", "verdict": True}, "the worker is empty"),
        ("judgements", {"item": "7-0", "worker": "w", "verdict": True}, "no item '7-0' that has a statement"),
        ("judgements", {"item": "0-0", "worker": "w", "verdict": "perhaps"}, "perhaps|verdict"),
        ("judgements", {"item": "0-0", "worker": "v0", "verdict": True}, "a second judgement"),
        ("scenes", {"presentation": "0", "kind": "tower", "images": []}, "expected the four of"),
    ],
)
def test_wrong_lines_are_named(
    collected: dict[str, Path], tmp_path: Path, file: str, line: dict[str, Any], said: str
) -> None:
    path = collected[file] / PRESENTATIONS if file == "scenes" else collected[file]
    path.write_text(path.read_text() + json.dumps(line) + "\n")
    with pytest.raises(UserError, match=said):
        build_nlvr(tmp_path / "bench", processes=1, **collected)  # type: ignore[arg-type]
    assert not (tmp_path / "bench").exists()


@pytest.mark.parametrize("char", ["\x00", "\t", "\u202e", "\u2067", "\u200f", "\u2028", "\x7f"])
def test_characters_that_cannot_be_seen_are_refused(tmp_path: Path, char: str) -> None:
    seen = [Packed("7", "tower", (), ())]
    line = {"presentation": "7", "sentence": f"A {char}box.", "writer": "w"}
    with pytest.raises(UserError, match=rf"line 1: the sentence has the control character U\+{ord(char):04X}"):
        read_statements(_write(tmp_path / "said.jsonl", [line]), seen)
    fine = {"presentation": "7", "sentence": " Il y a un carr\u00e9 \u2026\n", "writer": "w"}
    assert read_statements(_write(tmp_path / "fine.jsonl", [fine]), seen)[0].sentence == "Il y a un carr\u00e9 \u2026"


@pytest.mark.parametrize("file", ["scenes", "statements", "judgements"])
def test_files_that_are_not_utf8_are_refused(collected: dict[str, Path], tmp_path: Path, file: str) -> None:
    path = collected[file] / PRESENTATIONS if file == "scenes" else collected[file]
    path.write_bytes(
        path.read_bytes() + b'{"presentation":"caf\xe9","item":"caf\xe9","sentence":"caf\xe9","writer":"w"}\n'
    )
    with pytest.raises(UserError, match=r"line \d+: byte 0xe9 is not UTF-8"):
        build_nlvr(tmp_path / "bench", processes=1, **collected)  # type: ignore[arg-type]


def test_a_presentation_cannot_be_named_anything(collected: dict[str, Path], tmp_path: Path) -> None:
    path = collected["scenes"] / PRESENTATIONS
    path.write_text(path.read_text().replace('"7', '"../7'))
    with pytest.raises(UserError, match=r"line 8: '../7' cannot name a presentation"):
        build_nlvr(tmp_path / "bench", processes=1, **collected)  # type: ignore[arg-type]


def test_nobody_validates_his_own_sentence(collected: dict[str, Path], tmp_path: Path) -> None:
    seen = read_presentations(collected["scenes"] / PRESENTATIONS)
    examples = read_statements(collected["statements"], seen)
    before, none = read_judgements(collected["judgements"], examples)
    assert none == 0
    own = [{"item": f"0-{place}", "worker": "w0", "verdict": "nonsense"} for place in range(4)]
    path = collected["judgements"]
    path.write_text(path.read_text() + "".join(json.dumps(line) + "\n" for line in own))
    assert read_judgements(path, examples) == (before, 4)
    report = build_nlvr(tmp_path / "bench", processes=1, **collected)  # type: ignore[arg-type]
    assert report.notes == ("Left out: 4 judgements that writers gave on their own sentences.",)
    assert Benchmark(report.out).manifest["config"]["judgements_on_own_sentences"] == 4


def test_removals_leave_no_split_empty(collected: dict[str, Path], tmp_path: Path) -> None:
    """Presentations are dealt once it is known which of them keep an item."""
    lines = [json.loads(line) for line in collected["judgements"].read_text().splitlines()]
    for line in lines:
        if line["item"].partition("-")[0] in "012":
            line["verdict"] = "nonsense"
    _write(collected["judgements"], lines)
    report = build_nlvr(tmp_path / "bench", processes=1, **collected)  # type: ignore[arg-type]
    assert report.counts["items"]["main"] == {"train": 2, "dev": 2, "test-p": 2, "test-u": 2}
    assert report.notes == ("All items of 3 presentations were removed.",)
    assert check(report.out).ok
    for line in lines:
        line["verdict"] = line["verdict"] if line["item"].startswith("3") else "nonsense"
    _write(collected["judgements"], lines)
    with pytest.raises(UserError, match="1 presentation cannot fill 4 splits"):
        build_nlvr(tmp_path / "none", processes=1, **collected)  # type: ignore[arg-type]


def test_what_people_look_at_cannot_be_made_again_from_the_seed(tmp_path: Path) -> None:
    """Whoever made it again would know what each writer selected."""
    names = ("a", "b")
    options: dict[str, Any] = {"presentations": 2, "until": "presentations", "processes": 1}
    made = [build_nlvr(tmp_path / n, secret="random", **options).out for n in names]
    texts = [(out / PRESENTATIONS).read_bytes() for out in made]
    assert texts[0] != texts[1]
    secret = (made[0] / SECRET).read_text().strip()
    again = build_nlvr(tmp_path / "c", secret=secret, **options)
    assert (again.out / PRESENTATIONS).read_bytes() == texts[0]


def test_scenes_that_cannot_be_drawn_are_refused(collected: dict[str, Path], tmp_path: Path) -> None:
    path = collected["scenes"] / PRESENTATIONS
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["images"][0]["boxes"][0] = [{"x_loc": 95, "y_loc": 0, "size": 10, "type": "circle", "color": "Black"}]
    _write(path, lines)
    with pytest.raises(UserError, match="inside its panel"):
        build_nlvr(tmp_path / "bench", processes=1, **collected)  # type: ignore[arg-type]


def test_all_removed_is_an_error(collected: dict[str, Path], tmp_path: Path) -> None:
    collected["judgements"].write_text("")
    with pytest.raises(UserError, match="All 28 items were removed: 28 for no judgement"):
        build_nlvr(tmp_path / "bench", processes=1, **collected)  # type: ignore[arg-type]
    assert not (tmp_path / "bench").exists()
