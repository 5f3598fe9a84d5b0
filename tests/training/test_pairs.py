"""A run as P_rel or P_sim: it learns on other folds than it scores, and does not judge what it was trained on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import veridical
from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.common.result import Caution
from veridical.errors import UserError
from veridical.matching.items import plain
from veridical.matching.questions import read_benchmark
from veridical.matching.scores.crossencoder import rerank
from veridical.matching.stages import StageOptions, fit_models, responses_of
from veridical.options.building import Matching, MatchOptions
from veridical.records import Item, Text
from veridical.training.pairs import RunScorer, judges
from veridical.training.taught import TAUGHT

from ..zoo import _small as small

COLOURS = ("red", "green", "blue", "white")
QUESTIONS = [f"what about the {COLOURS[k % 4]} thing of house {k // 4}" for k in range(64)]
ANSWERS = [f"it is {COLOURS[k % 4]} there {k // 4}" for k in range(64)]


@pytest.fixture(scope="module")
def choices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return small.write_choices(tmp_path_factory.mktemp("pairs") / "choices", candidates=(4, 4))


@pytest.fixture(autouse=True)
def _apart(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERIDICAL_CACHE", str(tmp_path_factory.getbasetemp() / "pair-words"))


@pytest.fixture(scope="module")
def run(choices: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "esim"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VERIDICAL_CACHE", str(tmp_path_factory.getbasetemp() / "pair-words"))
        options = {"words": "hashed-words", "hidden": 16, "dropout": 0.0, "epochs": 12, "rate": 0.01, "batch": 8}
        veridical.train("esim", choices, out, set=options)
    return out


class Watched(RunScorer):
    """A run that remembers what it was taught, and looks that it is never asked about it."""

    taught: frozenset[tuple[str, str]] = frozenset()

    def score(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        assert not self.taught & {*pairs}, "a pair is scored by a model that saw it"
        return super().score(pairs)

    def trained(self, pairs: Sequence[tuple[str, str]], labels: Sequence[int], seed: int) -> RunScorer:
        made = super().trained(pairs, labels, seed)
        copy = Watched(self.run, made._trained)
        copy.taught = frozenset(pair for pair, label in zip(pairs, labels, strict=True) if label)
        return copy


def test_relevance_is_learned_on_other_folds_than_it_scores(run: Path) -> None:
    texts = [Text(q) for q in QUESTIONS], [Text(a) for a in ANSWERS]
    rows = responses_of(*texts, [None] * 64, [str(k // 4 % 4) for k in range(64)])
    options = StageOptions("tfidf", "tfidf", shortlist=15, reranker=Watched(run))
    found = rerank(rows, fit_models(rows, options), options).related
    assert found is not None
    left, right, values = found
    same = left % 4 == right % 4  # the colour of the question is that of the response
    assert values[same].mean() > values[~same].mean() + 0.3  # which other folds taught


def test_a_run_that_is_named_judges_what_the_usual_models_put_forward(run: Path, choices: Path, tmp_path: Path) -> None:
    options, matching = judges(MatchOptions(), Matching(relevance=str(run), similarity=str(run)))
    assert (matching.relevance, matching.similarity) == ("minilm", "minilm")
    assert options.rerank.name == options.rerank_similarity.name == str(run)
    with pytest.raises(UserError, match="are both to judge relevance"):
        judges(MatchOptions(rerank="bert"), Matching(relevance=str(run)))


def asked_and_answered(choices: Path, path: Path) -> Path:
    """A benchmark's questions with their right answers, as a file."""
    known = [row for row in read_benchmark(choices).rows if row.fold == "train"]
    rows = [(row.question.raw, plain(row.answer, row.panel)) for row in known]
    path.write_text("question,answer,fold\n" + "".join(f"{q},{a},{k % 2}\n" for k, (q, a) in enumerate(rows)))
    return path


@pytest.mark.parametrize("as_file", [False, True])
def test_what_a_run_was_taught_it_does_not_judge(run: Path, choices: Path, tmp_path: Path, as_file: bool) -> None:
    """Whether it stands in the benchmark that it was trained on, or the same texts stand in a file."""
    file = asked_and_answered(choices, tmp_path / "qa.csv") if as_file else choices
    with pytest.raises(UserError, match="knows the right responses"):
        veridical.match(file, tmp_path / "out", relevance="tfidf", similarity=str(run), wrong=1)
    assert not (tmp_path / "out").exists()


def test_a_single_known_answer_among_many_is_enough(run: Path, choices: Path, tmp_path: Path) -> None:
    known = asked_and_answered(choices, tmp_path / "known.csv").read_text().splitlines()[1]
    lines = [f"{q},{a},{k // 4 % 2}" for k, (q, a) in enumerate(zip(QUESTIONS[:32], ANSWERS[:32], strict=True))]
    (tmp_path / "qa.csv").write_text("\n".join(["question,answer,fold", *lines, known.upper()]) + "\n")
    with pytest.raises(UserError, match="was trained on 1 of these 33 questions"):
        veridical.match(tmp_path / "qa.csv", tmp_path / "out", relevance="tfidf", similarity=str(run), wrong=1)


def test_who_continues_from_a_run_knows_what_that_knew(run: Path, choices: Path, tmp_path: Path) -> None:
    lines = [f"e{k},{a},{b}" for k, (a, b) in enumerate(zip(QUESTIONS, ANSWERS, strict=True))]
    (tmp_path / "new.csv").write_text("id,question,answer\n" + "\n".join(lines) + "\n")
    veridical.match(tmp_path / "new.csv", tmp_path / "new", relevance="tfidf", similarity="tfidf", integrity=False)
    more = tmp_path / "more"
    veridical.train("esim", tmp_path / "new", more, pretrained=run, set={"epochs": 1})
    with pytest.raises(UserError, match="knows the right responses"):
        veridical.match(choices, tmp_path / "out", relevance="tfidf", similarity=str(more), wrong=1)
    (more / TAUGHT).unlink()
    with pytest.raises(UserError, match="does not say what it was trained on"):
        veridical.match(choices, tmp_path / "out", relevance="tfidf", similarity=str(more), wrong=1)


@pytest.mark.parametrize("data", [b"", b"no numbers", b"\x93NUMPY\x01\x00"])
def test_damaged_memories_are_told(run: Path, choices: Path, tmp_path: Path, data: bytes) -> None:
    broken = tmp_path / "run"
    shutil.copytree(run, broken)
    (broken / TAUGHT).write_bytes(data)
    with pytest.raises(UserError, match="is damaged"):
        veridical.match(choices, tmp_path / "out", relevance="tfidf", similarity=str(broken), wrong=1)


def test_the_verb_takes_a_run(run: Path, tmp_path: Path) -> None:
    lines = [f"{q},{a},{k // 4 % 2}" for k, (q, a) in enumerate(zip(QUESTIONS[:32], ANSWERS[:32], strict=True))]
    (tmp_path / "qa.csv").write_text("question,answer,fold\n" + "\n".join(lines) + "\n")
    veridical.match(tmp_path / "qa.csv", tmp_path / "out", relevance=str(run), similarity="tfidf", integrity=False)
    assert Benchmark(tmp_path / "out").manifest["config"]["rerank"] == str(run)


def test_a_trial_is_no_run(run: Path, tmp_path: Path) -> None:
    (tmp_path / "qa.csv").write_text("question,answer\n")
    with pytest.raises(UserError, match="is a trial of a run") as refused:
        veridical.match(tmp_path / "qa.csv", tmp_path / "out", relevance="tfidf", similarity=f"{run}/trial-0")
    assert refused.value.fix == f"Give the run's own folder: {run}."


def test_the_report_says_what_a_run_knew(run: Path, tmp_path: Path) -> None:
    """One that learned which colour is asked about; and one that cannot learn, and that nobody should go by."""
    lines = [f"{q},{a},{k // 4 % 4}" for k, (q, a) in enumerate(zip(QUESTIONS, ANSWERS, strict=True))]
    (tmp_path / "qa.csv").write_text("question,answer,fold\n" + "\n".join(lines) + "\n")
    idle = tmp_path / "idle"
    shutil.copytree(run, idle)
    about = json.loads((idle / "run.json").read_text())
    about["training"] |= {"rate": 1e-9, "epochs": 1}
    (idle / "run.json").write_text(json.dumps(about))
    warned = {}
    for judge in (run, idle):
        out = tmp_path / f"by-{judge.name}"
        how: dict[str, Any] = {"similarity": "tfidf", "integrity": False, "shortlist": 15}
        report = veridical.match(tmp_path / "qa.csv", out, relevance=str(judge), **how)
        about = Benchmark(out).manifest["config"]["calibration"]["answer"]["rerank"]["relevance"]["calibration"]
        first, *rest = report.parts()
        said = {str(row[0]): str(row[1]) for row in first.rows}  # type: ignore[union-attr]
        each = ", ".join(f"{part['auc']:.3f}" for part in about)
        mean = np.mean([part["auc"] for part in about])
        assert said[f"answers, relevance of the shortlist ({judge})"].startswith(f"AUC {mean:.3f} ({each} by part)")
        assert "answers, mean P_rel of right and wrong choices (minilm)" in said
        warned[judge] = [str(one) for one in rest if isinstance(one, Caution) and str(judge) in str(one)]
    assert warned[run] == []
    (only,) = warned[idle]
    assert "hardly tells which answers belong to which questions" in only
    assert "train a run with more epochs" in only


def test_a_model_that_looks_at_pictures_is_no_judge_of_texts(tmp_path: Path, choices: Path) -> None:
    veridical.train("response-only", choices, tmp_path / "alone", set={"epochs": 1})
    with pytest.raises(UserError, match="does not read question and response alone"):
        RunScorer(tmp_path / "alone")


ENTAILED = {
    "a married couple": "family members", "two poodles": "some dogs", "a red sedan": "one vehicle",
    "three violins": "musical instruments", "an oak": "some tree", "a surgeon": "medical staff",
    "rain and hail": "bad weather", "two novels": "reading matter",
}  # fmt: skip


@pytest.fixture(scope="module")
def entailment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of ESIM that was trained on what follows from what."""
    base = tmp_path_factory.mktemp("entailment")
    rng = np.random.default_rng(0)
    with BenchmarkWriter(base / "pairs", name="entailment", task="choice") as writer:
        items = []
        for k in range(160):
            said = list(ENTAILED)[k % 8]
            others = [general for one, general in ENTAILED.items() if one != said]
            texts = [ENTAILED[said] if k % 3 else said, *rng.permutation(others)[:3].tolist()]
            place = int(rng.integers(4))
            texts[0], texts[place] = texts[place], texts[0]
            choices = tuple(Text(text) for text in texts)
            items.append(Item(f"e{k}", "choice", (), Text(said), choices, place, origins=(f"e{k}",)))
        writer.add_items("train", items)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VERIDICAL_CACHE", str(tmp_path_factory.getbasetemp() / "pair-words"))
        options = {"words": "hashed-words", "hidden": 16, "dropout": 0.0, "epochs": 10, "rate": 0.01, "batch": 8}
        veridical.train("esim", base / "pairs", base / "run", set=options)
    return base / "run"


@pytest.mark.parametrize("method", ["paper", "fours"])
def test_what_the_right_answer_entails_is_no_wrong_choice(entailment: Path, tmp_path: Path, method: str) -> None:
    """A married couple are family members, too; words alone do not tell."""
    answers = [*ENTAILED, *ENTAILED.values()]
    lines = [f"what can be seen in picture {k},{answer},0" for k, answer in enumerate(answers)]
    (tmp_path / "qa.csv").write_text("question,answer,fold\n" + "\n".join(lines) + "\n")
    wrong = {"words": 0, "entailment": 0}
    for seed in range(4):  # one matching by words alone may spare them by luck
        for name, model in (("words", "tfidf"), ("entailment", str(entailment))):
            out = tmp_path / f"{name}-{seed}"
            how: dict[str, Any] = {"method": method, "weight": 3.0, "seed": seed, "integrity": False}
            veridical.match(tmp_path / "qa.csv", out, relevance="tfidf", similarity=model, **how)
            items = [item for split in Benchmark(out).splits for item in Benchmark(out).items(split)]
            assert len(items) == 16
            texts = [[c.raw for c in item.candidates if isinstance(c, Text)] for item in items]
            right = [text[item.answer or 0] for text, item in zip(texts, items, strict=True)]
            wrong[name] += sum(ENTAILED.get(one) in text for one, text in zip(right, texts, strict=True))
    assert wrong["entailment"] == 0 < wrong["words"]
