"""Cross-encoders over the shortlist: cross-fitted, calibrated, and a tiny real checkpoint trained end to end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import veridical
from veridical.benchmark import Benchmark
from veridical.encoders.crossencoders import CrossEncoder, FineTuning
from veridical.errors import UserError
from veridical.matching.scores.crossencoder import Overridden, rerank, shortlist
from veridical.matching.scores.models import Calibration, SparseScores, word_vectors
from veridical.matching.stages import StageOptions, fit_models, match_stage, responses_of
from veridical.options import Workers
from veridical.records import Text

QUESTIONS = [f"what is near the {k} gate" for k in range(24)]
ANSWERS = [f"thing {k} of gate {k % 5}" for k in range(24)]


class Remembers:
    """A reranker that knows exactly the pairs it was taught, to see what it is taught."""

    name = "remembers"

    def __init__(self, known: frozenset[tuple[str, str]] = frozenset()) -> None:
        self.known = known

    def score(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        assert not self.known & set(pairs), "a pair is scored by a model that saw it"
        return np.array([float(len(set(a.split()) & set(b.split()))) for a, b in pairs], np.float32)

    def trained(self, pairs: Sequence[tuple[str, str]], labels: Sequence[int], seed: int) -> Remembers:
        own = {pair for pair, label in zip(pairs, labels, strict=True) if label}
        assert own <= set(zip(QUESTIONS, ANSWERS, strict=True))
        return Remembers(frozenset(own))


def rows_of(folds: int):
    texts = [Text(q) for q in QUESTIONS], [Text(a) for a in ANSWERS]
    return responses_of(*texts, [None] * 24, [str(k % folds) for k in range(24)])


def test_no_pair_is_scored_by_a_model_that_saw_it() -> None:
    rows = rows_of(3)
    options = StageOptions("tfidf", "tfidf", shortlist=4, reranker=Remembers(), similarity_reranker=Remembers())
    models = fit_models(rows, options)
    found = rerank(rows, models, options)
    for fold in ("0", "1", "2"):
        here = rows.rows(fold)
        for triple in (found.take(here).related, found.take(here).similar):
            assert triple is not None
            left, right, values = triple
            assert len(left) == len(right) == len(values) == 4 * len(here)
            assert (values <= 0).all()
            assert (left != right).all()
    matched = match_stage(rows, models, options)
    assert (np.sort(matched.wrong, axis=1) == np.arange(24)).all()
    assert (matched.wrong != np.arange(24)).all()


class Counts(Remembers):
    """Counts how often a model is trained."""

    trainings = 0

    def trained(self, pairs: Sequence[tuple[str, str]], labels: Sequence[int], seed: int) -> Remembers:
        Counts.trainings += 1
        return super().trained(pairs, labels, seed)


def test_models_are_trained_once_for_all_lambdas_and_the_manifest_tells_of_them(tmp_path: Path) -> None:
    lines = [f"{q},{a},{k % 3}" for k, (q, a) in enumerate(zip(QUESTIONS, ANSWERS, strict=True))]
    (tmp_path / "qa.csv").write_text("question,answer,fold\n" + "\n".join(lines) + "\n")
    options = {"relevance": "tfidf", "similarity": "tfidf", "shortlist": 4}
    Counts.trainings = 0
    report = veridical.match(tmp_path / "qa.csv", tmp_path / "out", rerank=Counts(), **options)
    once = Counts.trainings
    assert once > 0
    veridical.match(tmp_path / "qa.csv", tmp_path / "swept", rerank=Counts(), sweep=[0.1, 0.3, 1.0], **options)
    assert Counts.trainings == 2 * once
    config = Benchmark(tmp_path / "out").manifest["config"]
    assert config["method"] == report.method == "fours"
    said = config["calibration"]["answer"]["rerank"]
    assert list(said) == ["relevance"]
    assert said["relevance"]["model"] == "remembers"
    assert len(said["relevance"]["calibration"]) == once


def test_the_report_says_how_well_a_judge_of_similarity_knows_rewordings(tmp_path: Path) -> None:
    lines = [f"{q},{a},{k % 3}" for k, (q, a) in enumerate(zip(QUESTIONS, ANSWERS, strict=True))]
    (tmp_path / "qa.csv").write_text("question,answer,fold\n" + "\n".join(lines) + "\n")
    how = {"relevance": "tfidf", "similarity": "tfidf", "shortlist": 4, "integrity": False}
    report = veridical.match(tmp_path / "qa.csv", tmp_path / "out", rerank_similarity=Remembers(), **how)
    about = Benchmark(tmp_path / "out").manifest["config"]["calibration"]["answer"]["rerank"]["similarity"]
    first, *_ = report.parts()
    said = f"AUC {about['calibration']['auc']:.3f}, calibration error {about['calibration']['error']:.3f}"
    assert ("answers, similarity of the shortlist (remembers)", said) in first.rows


def test_what_was_said_of_pairs_follows_the_rows_that_are_kept() -> None:
    rows = rows_of(3)
    options = StageOptions("tfidf", "tfidf", shortlist=4, similarity_reranker=Remembers())
    found = fit_models(rows, options).reranked
    assert found is not None
    kept = np.flatnonzero(np.arange(24) % 5 != 0)
    some = found.take(kept)
    assert some.related is None
    assert some.similar is not None
    whole = {(i, j): v for i, j, v in zip(*found.similar or (), strict=True)}
    told = {(kept[i], kept[j]): v for i, j, v in zip(*some.similar, strict=True)}
    assert told == {pair: v for pair, v in whole.items() if set(pair) <= set(kept.tolist())}
    assert 0 < len(told) < len(whole)


def test_overridden_pairs_replace_those_of_the_base() -> None:
    left, right = word_vectors(QUESTIONS, ANSWERS, "tfidf")
    base = SparseScores(left, right, Calibration(1.0, 0.0), True)
    rows, columns = np.array([3, 0, 3]), np.array([1, 2, 0])
    scores = Overridden(base, rows, columns, np.array([-9.0, -8.0, -7.0], np.float32))
    expected = base.block(0, 24)
    expected[rows, columns] = [-9, -8, -7]
    np.testing.assert_array_equal(np.concatenate([scores.block(0, 2), scores.block(2, 24)]), expected)
    i, j = np.divmod(np.arange(24 * 24), 24)
    np.testing.assert_allclose(scores.pairs(i, j), expected.ravel(), atol=1e-6)


def test_a_shortlist_holds_the_best_and_never_the_own_text() -> None:
    left, right = word_vectors(QUESTIONS, ANSWERS, "tfidf")
    base = SparseScores(left, right, Calibration(1.0, 0.0), True)
    texts = np.arange(24) % 12
    rows, columns = shortlist(base, texts, 5)
    assert (texts[rows] != texts[columns]).all()
    block = base.block(0, 24)
    for i in range(24):
        allowed = np.sort(block[i][texts != texts[i]])[::-1]
        np.testing.assert_allclose(np.sort(block[i][columns[rows == i]])[::-1], allowed[:5], atol=1e-6)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT with a word for every word used here."""
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("torch").set_num_threads(1)  # two threads of a tiny model wait for each other
    folder = tmp_path_factory.mktemp("bert")
    words = sorted({w for t in (*QUESTIONS, *ANSWERS) for w in t.split()})
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]))
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    config = transformers.BertConfig(
        vocab_size=len(words) + 5, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64, num_labels=3, id2label={0: "contradiction", 1: "neutral", 2: "entailment"},
        label2id={"contradiction": 0, "neutral": 1, "entailment": 2},
    )  # fmt: skip
    transformers.set_seed(0)
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("engine", ["processes", pytest.param("ray", marks=pytest.mark.soak)])
def test_workers_score_what_one_process_scores(checkpoint: Path, engine: str) -> None:
    """Also one that was trained here: its weights go along."""
    if engine == "ray":
        pytest.importorskip("ray")
    pairs = [(q, a) for q in QUESTIONS[:8] for a in ("thing near gate", "0 of 1")]
    config, workers = FineTuning(epochs=2, batch=16, rate=3e-3), Workers(2, engine)
    alone, spread = (CrossEncoder(str(checkpoint), training=config, batch=4, workers=w) for w in (Workers(), workers))
    np.testing.assert_array_equal(spread.score(pairs), alone.score(pairs))
    taught = [model.trained(pairs, [1, 0] * 8, seed=1) for model in (alone, spread)]
    np.testing.assert_array_equal(taught[1].score(pairs), taught[0].score(pairs))
    assert (taught[0].score(pairs) != alone.score(pairs)).any()


def test_a_checkpoint_is_trained_and_scores_the_same_whatever_the_batch(checkpoint: Path) -> None:
    pairs = [(q, a) for q in QUESTIONS[:8] for a in ("thing near gate", "0 of 1")]
    labels = [1, 0] * 8
    config = FineTuning(epochs=40, batch=16, rate=3e-3)
    model = CrossEncoder(str(checkpoint), training=config)
    before = model.score(pairs)
    taught = model.trained(pairs, labels, seed=1)
    after = taught.score(pairs)
    assert after[::2].min() > after[1::2].max()
    np.testing.assert_array_equal(model.score(pairs), before)  # the original is untouched
    np.testing.assert_allclose(taught.score(pairs[3:4]), after[3:4], atol=1e-4)
    np.testing.assert_array_equal(model.trained(pairs, labels, seed=1).score(pairs), after)


def test_classes_that_say_nothing_are_refused(checkpoint: Path, tmp_path: Path) -> None:
    import json
    import shutil

    folder = shutil.copytree(checkpoint, tmp_path / "odd")
    config = json.loads((folder / "config.json").read_text())
    config["id2label"] = {"0": "cat", "1": "dog", "2": "cow"}
    config["label2id"] = {"cat": 0, "dog": 1, "cow": 2}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="cat, dog, cow"):
        CrossEncoder(str(folder)).score([("a", "b")])
