"""Building NLVR from a seed: labels, drawings, splits, what is hidden, determinism, and the official format."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from veridical.benchmark import Benchmark
from veridical.benchmark.check import check
from veridical.builders import BuildReport
from veridical.builders.nlvr import build as nlvr
from veridical.builders.nlvr import build_nlvr
from veridical.builders.nlvr.scenes import Sampling, pack, present_batch, unpack
from veridical.errors import UserError
from veridical.formats.releases import export, import_release
from veridical.language.programs.execution import execute
from veridical.language.programs.terms import parse
from veridical.language.writing.boxes.statements import PAPER
from veridical.records import Item
from veridical.sources.boxes.drawings import draw_png, see

COUNT = 48
SEED = 3
SECRET = "open sesame, and let me in"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuildReport:
    out = tmp_path_factory.mktemp("nlvr") / "bench"
    return build_nlvr(out, presentations=COUNT, seed=SEED, secret=SECRET, processes=2)


@pytest.fixture(scope="module")
def items(built: BuildReport) -> dict[str, list[Item]]:
    benchmark = Benchmark(built.out)
    return {split: list(benchmark.items(split, answers=True)) for split in benchmark.splits}


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_it_is_whole(built: BuildReport) -> None:
    report = check(built.out)
    assert report.ok, report.problems
    assert not report.problems
    assert report.items == 4 * COUNT
    assert built.counts["panels"] == 12 * COUNT
    assert set(built.phenomena) == set(PAPER)
    assert set(built.seconds) == {"statements", "judgements", "drawing and storing"}
    assert not list(built.out.parent.glob(".*")), "work is cleaned up"


def test_the_program_of_an_item_gives_its_label_in_every_order_of_boxes(
    built: BuildReport, items: dict[str, list[Item]]
) -> None:
    panels = Benchmark(built.out).panels
    for item in itertools.chain.from_iterable(items.values()):
        program = parse(item.program or "")
        for view in item.views:
            assert execute(program, [panels[item.panels[k]] for k in view.order]) == bool(item.answer)


def test_every_sentence_is_true_of_two_images_and_false_of_two(items: dict[str, list[Item]]) -> None:
    for split in items.values():
        labels: dict[str | None, Counter[int | None]] = {}
        for item in split:
            labels.setdefault(item.group, Counter())[item.answer] += 1
        assert all(found == {0: 2, 1: 2} for found in labels.values())
        assert all(len({i.query for i in split if i.group == group}) == 1 for group in labels)


def test_an_id_says_nothing_about_the_label(items: dict[str, list[Item]]) -> None:
    everything = list(itertools.chain.from_iterable(items.values()))
    for place in range(4):
        labels = [item.answer for item in everything if item.id.endswith(f"-{place}")]
        assert 0.25 < sum(map(int, labels)) / COUNT < 0.75  # type: ignore[arg-type]
    assert [item.id for item in items["train"]] == sorted((i.id for i in items["train"]), key=_number)


def _number(name: str) -> tuple[int, ...]:
    return tuple(map(int, name.split("-")))


def test_views_are_the_drawings_of_their_orders(built: BuildReport, items: dict[str, list[Item]]) -> None:
    benchmark = Benchmark(built.out)
    for item in items["dev"]:
        scene = [benchmark.panels[panel] for panel in item.panels]
        assert [view.order for view in item.views] == list(itertools.permutations(range(3)))
        for view in item.views:
            data = benchmark.image(view.image or "").to_pybytes()
            assert data == draw_png(scene, view.order)
        seen = see(benchmark.image(item.views[0].image or "").to_pybytes())
        assert [panel.objects for panel in seen] == [panel.objects for panel in scene]
        assert {panel.image for panel in scene} == {item.views[0].image}


def test_splits_are_by_presentation_in_the_papers_proportions(items: dict[str, list[Item]]) -> None:
    groups = {split: {item.group for item in rows} for split, rows in items.items()}
    assert {split: len(rows) for split, rows in groups.items()} == {"train": 38, "dev": 3, "test-p": 4, "test-u": 3}
    assert sum(map(len, groups.values())) == len(set().union(*groups.values())) == COUNT
    kinds = Counter(item.tag("scene")[0] for item in items["train"])
    assert abs(kinds["scatter"] - kinds["tower"]) <= 4


def test_test_u_is_hidden(built: BuildReport, items: dict[str, list[Item]]) -> None:
    benchmark = Benchmark(built.out)
    public = list(benchmark.items("test-u"))
    assert {(item.answer, item.program) for item in public} == {(None, None)}
    assert all(item.answer is not None and item.program for item in items["test-u"])
    judged = {j.item for j in benchmark.judgements()}
    assert judged.isdisjoint(item.id for item in public)
    assert {j.item for j in benchmark.judgements(hidden=True)} >= {item.id for item in public}


def test_the_same_seed_gives_the_same_bytes_on_any_number_of_processes(built: BuildReport, tmp_path: Path) -> None:
    again = build_nlvr(tmp_path / "bench", presentations=COUNT, seed=SEED, secret=SECRET, processes=1)
    assert contents(again.out) == contents(built.out)
    hidden = [Benchmark(report.out).hidden_directory for report in (again, built)]
    assert contents(hidden[0]) == contents(hidden[1])


def test_the_manifest_carries_the_config(built: BuildReport) -> None:
    manifest = Benchmark(built.out).manifest
    assert manifest["seed"] == SEED
    assert manifest["config"]["presentations"] == COUNT
    assert manifest["config"]["phenomena"] == PAPER
    assert manifest["config"]["splits"] == nlvr.SPLITS
    assert manifest["hidden"] == ["test-u"]
    assert not manifest["official"]
    assert {"README.md", "croissant.json"} <= set(manifest["files"])


def test_the_official_format_gives_back_the_same_records(
    built: BuildReport, items: dict[str, list[Item]], tmp_path: Path
) -> None:
    export("official", built.out, tmp_path / "official")
    import_release("nlvr", tmp_path / "official", tmp_path / "public")
    import_release("nlvr", tmp_path / "official.hidden", tmp_path / "secret", hide=("test-u",))
    public, secret, benchmark = Benchmark(tmp_path / "public"), Benchmark(tmp_path / "secret"), Benchmark(built.out)
    for split, ours in items.items():
        back = secret if split == "test-u" else public
        theirs = list(back.items(split, answers=True))
        plain = [
            replace(i, program=None, writer=None, tags=i.tags[:1]) for i in ours
        ]  # the format has no place for them
        assert theirs == plain
    assert public.panels | secret.panels == benchmark.panels
    judged = [*public.judgements(), *secret.judgements(hidden=True)]
    assert {(j.item, j.verdict) for j in judged} == {(j.item, j.verdict) for j in benchmark.judgements(hidden=True)}


def test_a_secret_is_drawn_and_only_its_owner_can_build_the_same_again(tmp_path: Path) -> None:
    options: dict[str, Any] = {"presentations": 5, "seed": SEED, "processes": 1}
    drawn = build_nlvr(tmp_path / "drawn", secret="random", **options)
    guessed = build_nlvr(tmp_path / "guessed", **options)
    mine, theirs = Benchmark(drawn.out), Benchmark(guessed.out)
    assert list(mine.items("train")) == list(theirs.items("train"))
    assert list(mine.items("test-u")) != list(theirs.items("test-u")), "the public seed and config are not enough"
    assert "--secret random" in guessed.notes[0], "without a secret they are, and the builder is told"
    assert not (theirs.hidden_directory / nlvr.SECRET).exists()
    path = mine.hidden_directory / nlvr.SECRET
    assert str(path) in drawn.notes[0]
    secret = path.read_text().strip()
    assert mine.manifest["config"]["secret"] is True
    assert not any(secret.encode() in data for data in contents(drawn.out).values())
    again = build_nlvr(tmp_path / "again", secret=secret, **options)
    assert not again.notes
    assert contents(again.out) == contents(drawn.out)
    assert contents(Benchmark(again.out).hidden_directory) == contents(mine.hidden_directory)
    assert check(drawn.out).ok


def test_where_nothing_is_hidden_the_seed_is_enough(tmp_path: Path) -> None:
    made = [build_nlvr(tmp_path / name, presentations=2, split={"train": 1}, processes=1) for name in ("a", "b")]
    assert contents(made[0].out) == contents(made[1].out)
    assert not made[0].notes
    assert Benchmark(made[0].out).manifest["config"]["secret"] is False
    assert not Benchmark(made[0].out).hidden_directory.exists()


def test_phenomena_and_splits_can_be_chosen(tmp_path: Path) -> None:
    report = build_nlvr(
        tmp_path / "bench",
        presentations=12,
        phenomenon={"negation": 1.0},
        split={"train": 1, "test": 1},
        hide=("test",),
        licence="CC0-1.0",
        processes=1,
    )
    assert report.phenomena["negation"] == 1.0
    assert report.counts["items"]["main"] == {"train": 24, "test": 24}
    assert Benchmark(report.out).is_hidden("test")
    assert Benchmark(report.out).manifest["licence"] == "CC0-1.0"


def test_a_build_that_fails_late_keeps_its_statements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space left on device")

    out = tmp_path / "bench"
    with monkeypatch.context() as broken:
        broken.setattr(nlvr.people, "settle", fail)
        with pytest.raises(OSError, match="no space"):
            build_nlvr(out, presentations=8, processes=1, secret="random")
    kept = list((tmp_path / ".bench.statements").rglob("*.result"))
    assert kept
    assert not out.exists()
    written = [path.stat().st_mtime_ns for path in kept]
    with monkeypatch.context() as broken:
        broken.setattr(nlvr, "shutil", _NoRemoval)
        build_nlvr(out, presentations=8, processes=1, secret="random")
    assert [path.stat().st_mtime_ns for path in kept] == written, "nothing was written again"
    found = list((tmp_path / ".bench.statements").rglob("*.result"))
    assert sorted(found) == sorted(kept), "it continued with the secret that was drawn"
    drawn = tmp_path / ".bench.statements" / nlvr.SECRET
    assert drawn.stat().st_mode & 0o077 == 0
    assert (tmp_path / "bench.hidden" / nlvr.SECRET).read_text().strip() == drawn.read_text()


class _NoRemoval:
    """In place of `shutil`: leaves the work where it is, to look at."""

    @staticmethod
    def rmtree(*_: object, **__: object) -> None:
        return


@pytest.mark.parametrize("count", [4, 9])
def test_small_builds_fill_every_split(tmp_path: Path, count: int) -> None:
    report = build_nlvr(tmp_path / "bench", presentations=count, processes=1)
    assert set(report.counts["items"]["main"]) == set(nlvr.SPLITS)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"presentations": 0}, "0 presentations"),
        ({"presentations": 3}, r"^3 presentations cannot fill 4 splits \(train, dev, test-p, test-u\)"),
        ({"presentations": 1}, "^1 presentation cannot fill 4 splits"),
        ({"seed": -1}, "seed is -1"),
        ({"hide": ("val",)}, "no split 'val'"),
        ({"until": "half"}, "no step 'half'"),
        ({"statements": "x.jsonl"}, "three files"),
        ({"phenomenon": {"irony": 0.1}}, "irony"),
        ({"split": {"train": 0}, "hide": ()}, "positive"),
        ({"split": {"train": math.nan, "dev": 1}}, "share of train is nan"),
        ({"split": {"train": 1, "dev": math.inf}}, "share of dev is inf"),
        ({"phenomenon": {"negation": math.nan}}, "share of negation is nan"),
        ({"split": {"train": 1, "a/b": 1}}, "cannot name"),
        ({"split": {"train": 1, "..": 1}, "until": "presentations"}, "cannot name"),
    ],
)
def test_bad_options_are_refused_before_any_work(tmp_path: Path, options: dict[str, object], said: str) -> None:
    with pytest.raises(UserError, match=said):
        build_nlvr(tmp_path / "bench", **options)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_no_benchmark_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "thesis.txt").write_text("mine")
    with pytest.raises(UserError, match="not a benchmark"):
        build_nlvr(tmp_path / "bench", presentations=4, processes=1)
    assert contents(tmp_path / "bench") == {"thesis.txt": b"mine"}


def test_scenes_survive_packing() -> None:
    for example in present_batch(Sampling(5), [(n, False) for n in range(20)]):
        for packed in example.scenes:
            assert pack(unpack(packed)) == packed
