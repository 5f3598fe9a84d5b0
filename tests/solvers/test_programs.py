"""The program solver end to end: learns readings from labels, answers with a program, keeps working without one."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.formats.releases import import_release
from veridical.language.programs.execution import execute
from veridical.records import Panel, SceneObject
from veridical.solvers.learned import FallbackConfig
from veridical.solvers.programs import (
    SHIPPED,
    JudgedSentence,
    ProgramSolver,
    SolverConfig,
    compressed,
    examples,
    fingerprint,
    predict,
)

COLORS = ("black", "blue", "yellow")
QUICK = SolverConfig(fallback=FallbackConfig(steps=5))


def tower(*colors: str) -> Panel:
    objects = (
        SceneObject(str(k), "square", (("color", c), ("size", "medium")), (40, 80 - 21 * k, 60, 100 - 21 * k))
        for k, c in enumerate(colors)
    )
    return Panel("box", width=100, height=100, objects=tuple(objects))


def scene(number: int, color: str) -> tuple[Panel, ...]:
    """An image with exactly so many blocks of a colour."""
    other = COLORS[COLORS.index(color) - 1]
    filled = [color] * number + [other] * (9 - number)
    return tuple(tower(*filled[k : k + 3]) for k in (0, 3, 6))


def lesson(exact: bool) -> list[JudgedSentence]:
    """Presentations by people to whom `2 blocks` means exactly two, or at least two."""
    out = []
    for group, (color, wanted) in enumerate(itertools.product(COLORS, (2, 3, 4))):
        for number in range(wanted - 1, wanted + 3):
            label = number == wanted if exact else number >= wanted
            out.append(JudgedSentence(f"There are {wanted} {color} blocks", scene(number, color), label, str(group)))
    return out


@pytest.mark.parametrize("exact", [True, False])
def test_the_reading_of_a_number_is_learned_from_labels(exact: bool) -> None:
    solver = ProgramSolver(QUICK).fit(e for e in lesson(exact) if "blue" not in e.sentence)
    blue = [e for e in lesson(exact) if "blue" in e.sentence]
    assert [solver.solve(e.sentence, e.panels).truth for e in blue] == [e.label for e in blue]
    program = solver.programs("There are five blue blocks")[0][0]
    assert str(program) == f"(count ({'exactly' if exact else 'at-least'} 5) (keep (is color blue) things))"


def test_one_wrong_label_does_not_rule_a_reading_out() -> None:
    known = lesson(exact=True)
    known[5] = JudgedSentence(known[5].sentence, known[5].panels, not known[5].label, known[5].group)
    solver = ProgramSolver(QUICK).fit(known)
    assert "exactly" in str(solver.programs("There are 3 black blocks")[0][0])


def test_an_answer_comes_with_the_program_and_the_reason() -> None:
    solver = ProgramSolver(QUICK).fit(lesson(exact=True))
    answer = solver.solve("there are 2 bleu blocks", scene(2, "blue"))
    assert answer.parsed
    assert answer.truth
    assert answer.program is not None
    assert execute(answer.program, answer.panels)
    assert answer.explanation is not None
    assert answer.explanation.answer
    assert answer.explanation.objects == ((0, "0"), (0, "1"))
    assert sum(answer.scores) == pytest.approx(1)


def test_the_program_shown_gives_the_answer_shown() -> None:
    solver = ProgramSolver(QUICK)  # nothing learned: every reading has the same share
    for number in range(5):
        answer = solver.solve("There are 2 blue blocks", scene(number, "blue"))
        assert answer.program is not None
        assert execute(answer.program, answer.panels) is answer.truth


def test_sentences_without_a_program_are_left_to_the_fallback() -> None:
    told = [JudgedSentence("wibble wobble", scene(n, "blue"), n > 0, str(n)) for n in (0, 1, 2, 3) for _ in range(3)]
    solver = ProgramSolver().fit(told)
    answer = solver.solve("wibble wobble", scene(2, "blue"))
    assert (answer.parsed, answer.program, answer.explanation) == (False, None, None)
    assert answer.truth


ANY_TEXT = st.one_of(
    st.text(max_size=60),
    st.text("0123456789²٣ ", max_size=60),
    st.lists(st.sampled_from(["there are", "9" * 5000, "²", "at least", "blue", "boxes", "4th"]), max_size=9).map(
        " ".join
    ),
)


@settings(deadline=None, max_examples=60)
@given(ANY_TEXT)
@example("9" * 5000)
@example(f"there are {'9' * 5000} blue blocks")
@example("a" * 10000)
def test_no_text_crashes_the_solver(text: str) -> None:
    answer = ProgramSolver(QUICK).solve(text, scene(2, "blue"))
    assert 0 <= answer.scores[1] <= 1


def test_the_order_of_boxes_never_changes_the_answer() -> None:
    solver = ProgramSolver(QUICK).fit(lesson(exact=True))
    for sentence in ("There is a tower with 2 blue blocks", "wibble blue wobble 2", "one box has only black blocks"):
        answers = {solver.solve(sentence, order).scores for order in itertools.permutations(scene(2, "blue"))}
        assert len(answers) == 1, sentence


def test_a_saved_solver_answers_as_before(tmp_path: Path) -> None:
    known = lesson(exact=True)
    solver = ProgramSolver(QUICK).fit(known)
    solver.save(tmp_path / "solver.json")
    again = ProgramSolver.load(tmp_path / "solver.json")
    assert again.config == solver.config
    assert again.trained_on_ == fingerprint(reversed(known)) == solver.trained_on_
    for sentence in ("There are 2 blue blocks", "wibble blue wobble"):
        one, other = solver.solve(sentence, scene(3, "blue")), again.solve(sentence, scene(3, "blue"))
        assert one.scores == pytest.approx(other.scores, abs=1e-4)
        assert one.program is other.program
    assert not list(tmp_path.glob("*.partial"))


def test_training_is_deterministic() -> None:
    assert ProgramSolver(QUICK).fit(lesson(True)).weights_ == ProgramSolver(QUICK).fit(lesson(True)).weights_
    assert fingerprint(lesson(True)) != fingerprint(lesson(False))


@pytest.mark.parametrize(
    ("text", "found"),
    [("not json", "is not a saved program solver"), ('{"format": 3}', "is not a saved"), ("", "is not a saved")],
)
def test_a_damaged_file_is_refused_with_a_reason(tmp_path: Path, text: str, found: str) -> None:
    path = tmp_path / "solver.json"
    path.write_text(text)
    with pytest.raises(UserError, match=found):
        ProgramSolver.load(path)
    with pytest.raises(UserError, match="No such file"):
        ProgramSolver.load(tmp_path / "absent.json")


def test_a_file_that_is_no_text_or_no_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "solver.json"
    ProgramSolver(QUICK).save(path)
    path.write_bytes(path.read_bytes().replace(b"veridical", b"veri\xff\xfecal"))
    with pytest.raises(UserError, match="is not a saved program solver"):
        ProgramSolver.load(path)
    with pytest.raises(UserError, match="cannot be read: Is a directory"):
        ProgramSolver.load(tmp_path)


@pytest.mark.parametrize(
    ("buckets", "weights"), [([1 << 15], [0.5]), ([-1], [0.5]), ([1, 2], [0.5]), ([1], [0.5, 0.5]), ([10**18], [1.0])]
)
def test_weights_that_fit_nowhere_are_refused(tmp_path: Path, buckets: list[int], weights: list[float]) -> None:
    path = tmp_path / "solver.json"
    ProgramSolver(QUICK).save(path)
    state = json.loads(path.read_text())
    path.write_text(json.dumps(state | {"fallback": {"buckets": buckets, "weights": weights}}))
    with pytest.raises(UserError, match=r"weights for .* buckets"):
        ProgramSolver.load(path)


@pytest.mark.parametrize(("name", "problem"), [("file/solver.json", "cannot be written"), ("folder", "is a folder")])
def test_a_solver_that_cannot_be_saved_says_so(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=problem):
        ProgramSolver(QUICK).save(tmp_path / name)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "solver.json"
    ProgramSolver(QUICK).save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 99}))
    with pytest.raises(UserError, match="version 99"):
        ProgramSolver.load(path)


def test_a_compressed_solver_is_the_same_solver(tmp_path: Path) -> None:
    solver = ProgramSolver(QUICK).fit(lesson(exact=True))
    for name in ("a.json", "a.json.gz", "b.json.gz"):
        solver.save(tmp_path / name)
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()  # no name, no time inside
    assert gzip.decompress((tmp_path / "a.json.gz").read_bytes()) == (tmp_path / "a.json").read_bytes()
    assert ProgramSolver.load(tmp_path / "a.json.gz").digest == ProgramSolver.load(tmp_path / "a.json").digest
    whole = (tmp_path / "a.json.gz").read_bytes()
    for broken in (whole[:200], whole[:50] + b"x" + whole[51:]):
        (tmp_path / "broken.json.gz").write_bytes(broken)
        with pytest.raises(UserError, match="is not a saved program solver"):
            ProgramSolver.load(tmp_path / "broken.json.gz")


def test_what_ships_is_what_the_docs_say() -> None:
    shipped, data = ProgramSolver.load(SHIPPED), SHIPPED.read_bytes()
    assert compressed(shipped.state()) == data
    assert len(data) < 300_000
    root = Path(__file__).resolve().parents[2]
    log = (root / "docs" / "nlvr-dev-log.md").read_text()
    for told in (shipped.digest, hashlib.sha256(data).hexdigest(), str(shipped.trained_on_)):
        assert told in log
    assert shipped.digest[:12] in (root / "README.md").read_text()


def test_the_shipped_weights_read_real_sentences(shared: Path, tmp_path: Path) -> None:
    lines = (shared / "nlvr" / "dev" / "dev.json").read_text().splitlines(keepends=True)
    (tmp_path / "dev.json").write_text("".join(lines[:240]))
    dev = Benchmark(import_release("nlvr", tmp_path / "dev.json", tmp_path / "out", split="dev").benchmark)
    labels = {item.id: bool(item.answer) for item in dev.items("dev", answers=True)}
    right = [a.truth == labels[p.item] for p, a in predict(ProgramSolver.load(SHIPPED), dev, "dev")]
    assert sum(right) / len(right) > 0.93


def test_forgetting_sentences_changes_nothing() -> None:
    solver = ProgramSolver(SolverConfig(remember=2))
    for n in range(2, 9):
        assert solver.solve(f"There are {n} blue blocks", scene(2, "blue")).truth is (n == 2), n
    assert len(solver._read) <= 2


def imported(shared: Path, folder: Path, keep: Callable[[str], bool]) -> Benchmark:
    """The part of NLVR's training split whose identifiers are kept, with its images where they are here."""
    lines = (shared / "nlvr" / "train.json").read_text().splitlines(keepends=True)
    (folder / "train.json").write_text("".join(x for x in lines if keep(x.split('"identifier":"')[1].split('"')[0])))
    images = shared / "nlvr" / "train-images"
    made = import_release("nlvr", folder / "train.json", folder / "out", split="train", images=images)
    return Benchmark(made.benchmark)


def presentation(name: str) -> int:
    return int(name.rpartition("/")[2].split("-")[0])


def test_real_sentences_that_were_never_seen(shared: Path, tmp_path: Path) -> None:
    known = list(examples(imported(shared, tmp_path, lambda name: presentation(name) % 6 == 0), "train"))
    learn = [e for e in known if presentation(e.group) % 5]
    sentences = {e.sentence for e in learn}
    held = [e for e in known if presentation(e.group) % 5 == 0 and e.sentence not in sentences]
    assert len(held) > 200
    solver = ProgramSolver(QUICK).fit(learn)
    right = [solver.solve(e.sentence, e.panels).truth == e.label for e in held]
    assert sum(right) / len(right) > 0.83  # about 8% of the labels of the training split are themselves wrong


def test_pixels_and_structure_give_the_same_answers(shared: Path, tmp_path: Path) -> None:
    drawn = {p.stem.removeprefix("train-").rpartition("-")[0] for p in (shared / "nlvr/train-images").rglob("*.png")}
    real = imported(shared, tmp_path, lambda name: name in drawn and presentation(name) % 10 == 0)
    solver = ProgramSolver(QUICK).fit(lesson(exact=True))
    structure = {p.item: p.scores for p, _ in predict(solver, real, "train", every_view=True)}
    pixels = {p.item: p.scores for p, _ in predict(solver, real, "train", "pixels", every_view=True)}
    assert len(pixels) > 20
    assert any("#" in item for item in pixels)
    for item, scores in pixels.items():
        assert scores == structure[item] == structure[item.partition("#")[0]]


def test_an_item_without_an_image_cannot_be_seen(shared: Path, tmp_path: Path) -> None:
    drawn = {p.stem.removeprefix("train-").rpartition("-")[0] for p in (shared / "nlvr/train-images").rglob("*.png")}
    real = imported(shared, tmp_path, lambda name: name not in drawn and presentation(name) < 40)
    with pytest.raises(UserError, match="has no image"):
        list(predict(ProgramSolver(QUICK), real, "train", "pixels"))
