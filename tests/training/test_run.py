"""`veridical train`: what it learns, what it leaves behind, and what it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import veridical
from veridical import __version__, train
from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.options.running import TrainOptions
from veridical.training import load_trained
from veridical.training import train as train_here
from veridical.training.trained import load_tensors, save_tensors

from ..zoo import _small as small


def test_maxent_learns_to_count_and_cannot_without_count_features(statements: Path, tmp_path: Path) -> None:
    able = train("maxent", statements, tmp_path / "able", set={"strength": 1.0}, validate="dev")
    unable = train("maxent", statements, tmp_path / "unable", set={"strength": 1.0, "counts": False}, validate="dev")
    assert able.mean >= 0.9
    assert unable.mean <= 0.7


def test_response_only_finds_the_cue_and_the_majority_does_not(choices: Path, tmp_path: Path) -> None:
    found = train("response-only", choices, tmp_path / "r", set={"epochs": 15, "rate": 0.01}, validate="dev")
    assert found.mean >= 0.95
    assert train("majority", choices, tmp_path / "m", validate="dev").mean <= 0.5


def test_a_run_says_how_it_was_made(statements: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    done = train("text", statements, out, set={"epochs": "3", "hidden": 8}, seed=4, trials=2)
    bench = Benchmark(statements)
    settings = json.loads((out / "run.json").read_text())
    assert settings["config"]["hidden"] == 8
    assert settings["training"]["epochs"] == 3
    assert settings["benchmark"]["hash"] == bench.hash
    assert settings["results"]["validation"] == {"mean": done.mean, "std": done.std}
    assert [t["seed"] for t in settings["results"]["trials"]] == [4, 5]
    for number in range(2):
        trial = out / f"trial-{number}"
        about = load_tensors(trial / "model.safetensors")[1]
        assert about["benchmark"]["hash"] == bench.hash
        assert (about["seed"], about["veridical"], about["model"]) == (4 + number, __version__, "text")
        assert about["validation"] == done.trials[number]["best"]
        assert list((trial / "logs").glob("events*"))
        assert not (trial / "checkpoint.safetensors").exists()
        assert len(done.trials[number]["history"]) == done.trials[number]["epochs"] == 3
    curves = (out / "curves.svg").read_text()
    assert curves.startswith("<svg")
    assert curves.count("<polyline") == 6  # train and validation accuracy and the loss, of two trials


def test_tensorboard_reads_the_logs(statements: Path, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    done = train("text", statements, tmp_path / "run", set={"epochs": 2, "hidden": 4})
    events = EventAccumulator(str(tmp_path / "run/trial-0/logs"))
    events.Reload()
    seen = [e.value for e in events.Scalars("accuracy/validation")]
    assert seen == pytest.approx([row["validation"] for row in done.trials[0]["history"]])


def test_validation_shares_no_sentence_and_no_origin_with_training(statements: Path) -> None:
    from veridical.training.config import TrainingConfig
    from veridical.training.run import _examples

    learn, held = _examples(Benchmark(statements), TrainOptions(), TrainingConfig(validation=0.3))
    assert len(learn) + len(held) == 160
    assert 30 <= len(held) <= 66
    for key in (lambda e: e.item.query.raw.lower(), lambda e: e.item.group):
        assert not {key(e) for e in learn} & {key(e) for e in held}


def test_limit_takes_some_of_the_training_items(statements: Path, tmp_path: Path) -> None:
    done = train("majority", statements, tmp_path / "run", set={"limit": 20})
    assert done.trials[0]["training_items"] == 20


def test_run_again_it_does_nothing_and_more_trials_are_added(statements: Path, tmp_path: Path) -> None:
    out, config = tmp_path / "run", {"epochs": 2, "hidden": 4}
    first = train("text", statements, out, set=config)
    before = (out / "trial-0/model.safetensors").stat().st_mtime_ns
    second = train("text", statements, out, set=config, trials=2)
    assert (out / "trial-0/model.safetensors").stat().st_mtime_ns == before
    assert second.trials[0] == first.trials[0]
    assert len(second.trials) == 2


def test_the_best_weights_are_kept_not_the_last(statements: Path, tmp_path: Path) -> None:
    done = train("text", statements, tmp_path / "run", set={"epochs": 12, "rate": 0.02}, validate="dev")
    from veridical.training.batches import examples_of

    bench = Benchmark(statements)
    trained = load_trained(tmp_path / "run/trial-0")
    data = trained.encode(examples_of(bench, bench.items("dev")))
    history = [row["validation"] for row in done.trials[0]["history"]]
    assert trained.accuracy(data) == max(history) == done.mean
    assert history.index(max(history)) + 1 == done.trials[0]["best_epoch"]


def test_what_train_refuses(statements: Path, choices: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(UserError, match="no model 'nothing'"):
        train("nothing", statements, out)
    with pytest.raises(UserError, match="no option 'width'"):
        train("text", statements, out, set={"width": 3})
    with pytest.raises(UserError, match="'many'"):
        train("text", statements, out, set={"hidden": "many"})
    with pytest.raises(UserError, match="option epochs is 0"):
        train("text", statements, out, set={"epochs": 0})
    with pytest.raises(UserError, match="stage is both answer and rationale"):
        train("text", statements, out, stage="answer", set={"stage": "rationale"})
    with pytest.raises(UserError, match="questions has choice items"):
        train("text", choices, out)
    for device in ("abacus", "cuda:99"):
        with pytest.raises(UserError, match=f"device '{device}' cannot be used"):
            train("text", statements, out, device=device)
    with pytest.raises(UserError, match="no split 'nowhere'"):
        train("majority", statements, tmp_path / "other", split="nowhere")
    assert not out.exists()
    train("majority", statements, out)
    with pytest.raises(UserError, match="other settings: seed was 0, not 1"):
        train("majority", statements, out, seed=1)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("x")
    with pytest.raises(UserError, match="is not a run"):
        train("majority", statements, tmp_path / "full")


def test_a_run_that_was_refused_leaves_its_folder_free(statements: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="33"):
        train("cmm", statements, tmp_path / "run", set={"hidden": 33})
    done = train("cmm", statements, tmp_path / "run", set={"hidden": 16, "channels": 4, "epochs": 1})
    assert len(done.trials) == 1
    with pytest.raises(UserError, match=r"other settings: hidden was 16, not 18\."):
        train("cmm", statements, tmp_path / "run", set={"hidden": 18, "channels": 4, "epochs": 1})


def test_a_run_killed_as_it_began_can_begin_again(statements: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/.run.json.4194305.part").write_text("{")  # of no process: Linux counts to 2**22
    assert train("majority", statements, tmp_path / "run").mean > 0
    assert not (tmp_path / "run/.run.json.4194305.part").exists()


def test_two_trainings_in_one_folder_are_refused(statements: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"

    def second(step: int) -> None:
        with pytest.raises(UserError, match="Another process is training in"):
            train("text", statements, out, set={"epochs": 1})

    train_here("text", statements, out, TrainOptions(set={"epochs": 1}), after_step=second)
    assert sorted(p.name for p in out.iterdir()) == ["curves.svg", "run.json", "trial-0"]


@pytest.mark.parametrize("seed", [-1, 1 << 63, 1 << 64])
def test_seeds_out_of_range(statements: Path, tmp_path: Path, seed: int) -> None:
    with pytest.raises(UserError, match="The seed is"):
        train("majority", statements, tmp_path / "run", seed=seed)
    with pytest.raises(UserError, match="The seed is"):
        veridical.build("nlvr", tmp_path / "b", presentations=4, seed=seed)
    assert not list(tmp_path.glob("[rb]*"))


def test_a_damaged_model_is_named(statements: Path, tmp_path: Path) -> None:
    train("majority", statements, tmp_path / "run")
    path = tmp_path / "run/trial-0/model.safetensors"
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(UserError, match=r"model\.safetensors is damaged"):
        load_trained(path.parent)
    path.unlink()
    with pytest.raises(UserError, match=r"model\.safetensors is missing"):
        load_trained(path.parent)


@pytest.mark.parametrize("name", ["inputs.json", "result.json", "model.safetensors"])
def test_a_run_is_checked_where_it_is_opened(statements: Path, tmp_path: Path, name: str) -> None:
    train("text", statements, tmp_path / "run", set={"epochs": 1})
    path = tmp_path / "run" / "trial-0" / name
    if name == "model.safetensors":
        tensors, about = load_tensors(path)
        for changed in (about | {"config": []}, {k: v for k, v in about.items() if k != "model"}):
            save_tensors(path, tensors, changed)
            with pytest.raises(UserError, match="damaged"):
                load_trained(path.parent)
        save_tensors(path, dict(list(tensors.items())[1:]), about)
    else:
        found = json.loads(path.read_text())
        path.write_text(json.dumps({key: [[1]] for key in found}))
    with pytest.raises(UserError, match=f"{name} is"):
        load_trained(path.parent) if name != "result.json" else train(
            "text", statements, tmp_path / "run", set={"epochs": 1}
        )


def test_a_result_that_an_editor_saved_with_a_byte_order_mark_is_read(statements: Path, tmp_path: Path) -> None:
    first = train("text", statements, tmp_path / "run", set={"epochs": 1})
    path = tmp_path / "run" / "trial-0" / "result.json"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert train("text", statements, tmp_path / "run", set={"epochs": 1}).mean == first.mean


def test_hidden_answers_cannot_be_trained_on(tmp_path: Path) -> None:
    folder = small.write_statements(tmp_path / "b", 4)
    shutil.rmtree(tmp_path / "b.hidden", ignore_errors=True)
    from veridical.benchmark import BenchmarkWriter

    bench = Benchmark(folder)
    with BenchmarkWriter(tmp_path / "h", name="boxes", task="statement", hidden=("train",)) as writer:
        writer.add_items("train", bench.items("train"))
        writer.add_panels(bench.panels.values())
    with pytest.raises(UserError, match="has a public answer"):
        train("majority", tmp_path / "h", tmp_path / "run")
