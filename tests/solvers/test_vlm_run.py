"""Models asked through Inspect over real HTTP: answers, faults, resuming, totals, variance and bias."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

pytest.importorskip("inspect_ai", reason="needs the extra `vlm`")
pytest.importorskip("openai", reason="needs the extra `vlm`")

from inspect_ai.log import list_eval_logs, read_eval_log

from veridical import solve
from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.evaluation import evaluate
from veridical.options.running import Asking, Generating, Sending
from veridical.solvers.solver import Solved
from veridical.solvers.vlm.run import ModelDetails

from ._vlm_server import Site, brightness, serve
from ._vlm_world import write_drawings, write_matrices, write_pairs, write_vcr

MODEL = "openai/tiny"


def ask(directory: Path, out: Path, site: Site, split: str = "dev", **more: Any) -> Solved:
    sending = {"model_base_url": site.url, "max_connections": 3} | more.pop("sending", {})
    return solve(MODEL, directory, split=split, out=out, sending=Sending(**sending), **more)


def details(done: Solved) -> ModelDetails:
    assert isinstance(done.details, ModelDetails)
    return done.details


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_seeing_model_is_right_and_its_predictions_are_tied_to_the_benchmark(tmp_path: Path) -> None:
    out = tmp_path / "p.jsonl"
    with serve(brightness, delay=0.05) as site:
        done = ask(write_pairs(tmp_path / "b"), out, site, sending={"price": (1.0, 10.0)})
    assert details(done).summary.accuracy.value == 1.0
    assert details(done).unanswered == 0
    assert 2 <= site.open_most <= 3, "as many connections as were allowed"
    benchmark = Benchmark(tmp_path / "b")
    assert [set(line) for line in lines(out)] == [{"item", "scores", "raw", "benchmark"}] * 12
    assert lines(out)[1] == {"item": "dev-1", "scores": [0.0, 1.0], "raw": "true", "benchmark": benchmark.hash}
    assert [line["item"] for line in lines(out)] == [f"dev-{n}" for n in range(12)], "in the order of the split"
    meta = json.loads(out.with_name("p.jsonl.meta.json").read_text())
    assert meta["benchmark_hash"] == benchmark.hash
    assert meta["solver"]["settings"]["model"] == MODEL
    assert details(done).summary.tokens == {"input": 1200, "output": 24, "reasoning": 0}
    assert details(done).summary.cost == pytest.approx((1200 * 1 + 24 * 10) / 1e6)
    assert evaluate(tmp_path / "b", out).accuracy.value == 1.0
    body = site.requests[0]["body"]
    assert (body["temperature"], body["max_tokens"], body["logprobs"]) == (0.0, 64, True)


def test_the_pictures_are_in_the_log(tmp_path: Path) -> None:
    directory = write_pairs(tmp_path / "b", 2)
    with serve(brightness) as site:
        ask(directory, tmp_path / "p.jsonl", site)
        ask(directory, tmp_path / "q.jsonl", site, sending={"log_images": False})
    kept = []
    for name in ("p", "q"):
        (info,) = list_eval_logs(str(tmp_path / f"{name}.jsonl.logs"))
        log = read_eval_log(info, resolve_attachments=True)
        assert log.status == "success"
        assert log.samples is not None
        kept.append("data:image/png;base64" in log.samples[0].model_dump_json())
    assert kept == [True, False]


def test_faults_of_a_server(tmp_path: Path) -> None:
    faults = {1: "429", 3: "malformed", 5: "empty", 7: "500", 9: "drop"}
    with serve(brightness, faults=faults) as site:
        done = ask(write_pairs(tmp_path / "b"), tmp_path / "p.jsonl", site)
    assert details(done).unanswered == 0
    assert done.predictions == 12
    assert len(site.words()) == 12, "every item was answered exactly once"
    assert len(set(site.words())) == 12
    assert len(site.requests) == 12 + 4, "an empty reply is a reply; the others were asked again"
    assert details(done).summary.unreadable == 1
    assert details(done).summary.reasons == {"empty": 1}
    assert details(done).summary.accuracy.count == 11
    (empty,) = [line for line in lines(tmp_path / "p.jsonl") if not line["scores"]]
    assert empty["raw"] == ""
    assert evaluate(tmp_path / "b", tmp_path / "p.jsonl").unreadable.count == 1


def test_a_server_that_is_silent_gets_a_bounded_time(tmp_path: Path) -> None:
    with serve(brightness, faults={0: "silence"}) as site:
        done = ask(write_pairs(tmp_path / "b", 2), tmp_path / "p.jsonl", site, sending={"timeout": 1})
    assert details(done).unanswered == 0
    assert len(site.requests) == 3


def test_what_failed_for_good_is_asked_by_the_next_run_and_nothing_else(tmp_path: Path) -> None:
    directory, out = write_pairs(tmp_path / "b"), tmp_path / "p.jsonl"
    with serve(brightness, faults={"number 3 ": "400"}) as site:
        first = ask(directory, out, site)
        assert details(first).unanswered == 1
        assert "too large" in details(first).error
        assert first.predictions == 11
        assert evaluate(directory, out).missing.count == 1
        before = len(site.requests)
        site.faults.clear()
        second = ask(directory, out, site)
        assert (details(second).unanswered, details(second).resumed, second.predictions) == (0, 11, 12)
        assert len(site.requests) == before + 1
        third = ask(directory, out, site)
        assert details(third).resumed == 12
        assert len(site.requests) == before + 1, "there was nothing left to ask"
        assert details(third).summary == details(second).summary


def test_a_limit_can_be_raised_and_wordings_added(tmp_path: Path) -> None:
    directory, out = write_pairs(tmp_path / "b"), tmp_path / "p.jsonl"
    with serve(brightness) as site:
        assert ask(directory, out, site, limit=4).predictions == 4
        assert ask(directory, out, site, limit=6).predictions == 6
        assert len(site.requests) == 6
        done = ask(directory, out, site, limit=6, asking=Asking(wordings=2))
        assert len(site.requests) == 12
    assert details(done).summary.by_wording[1].of == 6
    with pytest.raises(UserError, match="answers to other questions: asking"):
        ask(directory, out, site, limit=6, asking=Asking(blind=True))


def test_a_model_that_hangs_on_wording_and_position_is_found_out(tmp_path: Path) -> None:
    def biased(words: str, pictures: list[Image.Image]) -> str:
        if words.startswith("You are shown"):
            return "hm"  # cannot answer the second wording at all
        return "A"  # and takes the first candidate otherwise

    asking = Asking(answers="letter", wordings=2, orders=2)
    with serve(biased) as site:
        done = ask(write_pairs(tmp_path / "b", 8), tmp_path / "p.jsonl", site, asking=asking)
    s = details(done).summary
    assert s.asked == 32
    assert s.unreadable == 16
    assert s.by_wording[0].value == 0.5
    assert s.by_wording[1].value == 0.0
    numbers = s.to_json()
    assert (numbers["wordings"]["mean"], numbers["wordings"]["std"]) == (0.25, 0.25)
    first = s.positions[0]
    assert (first.place, first.chosen.value, first.right.value, first.accuracy.value) == ("A", 1.0, 0.5, 0.5)
    assert s.flipped is not None
    assert (s.flipped.count, s.flipped.of) == (8, 8)
    assert set(details(done).variants) == {f"wording{w}-order{o}" for w in range(2) for o in range(2)}
    assert evaluate(tmp_path / "b", details(done).variants["wording0-order0"]).accuracy.value == 0.5
    merged = lines(tmp_path / "p.jsonl")[0]
    assert merged["scores"] == [0.5, 0.5]
    assert merged["raw"].split("\n---\n") == ["A", "A", "hm", "hm"]


def test_log_probabilities_become_scores(tmp_path: Path) -> None:
    def unsure(words: str, pictures: list[Image.Image]) -> dict[str, Any]:
        top = [{"token": t, "logprob": math.log(p), "bytes": None} for t, p in (("true", 0.6), ("False", 0.3))]
        content = [{"token": "true", "logprob": math.log(0.6), "bytes": None, "top_logprobs": top}]
        return {"message": {"role": "assistant", "content": "true"}, "logprobs": {"content": content}}

    directory = write_pairs(tmp_path / "b", 2)
    with serve(unsure) as site:
        done = ask(directory, tmp_path / "p.jsonl", site)
        ask(directory, tmp_path / "q.jsonl", site, generating=Generating(logprobs=False))
    assert details(done).summary.probable == 2
    assert lines(tmp_path / "p.jsonl")[0]["scores"] == pytest.approx([1 / 3, 2 / 3])
    assert "logprobs" not in site.requests[-1]["body"]


def reasoned(words: str, pictures: list[Image.Image]) -> str:
    """Answers what the question's number says, and the rationale after the answer that it is given."""
    given = re.search(r"Answer: \[person1\] answer(\d)", words)
    return "ABCD"[(int(given[1]) + 1) % 4 if given else (pictures[0].getpixel((199, 1))[0] - 200) % 4]


def test_vcr_is_asked_in_two_stages(tmp_path: Path) -> None:
    directory, out = write_vcr(tmp_path / "b", 3), tmp_path / "p.jsonl"
    with serve(reasoned) as site:
        done = ask(directory, out, site, split="val")
    assert len(site.requests) == 15, "one answer and four rationales each: the official twenty numbers"
    assert done.predictions == 15
    scores = evaluate(directory, out)
    assert {name: stage.value for name, stage in scores.staged.items()} == {"Q->A": 1.0, "QA->R": 1.0, "Q->AR": 1.0}


def test_vcr_can_be_asked_for_the_predicted_answer_only(tmp_path: Path) -> None:
    directory, out = write_vcr(tmp_path / "b", 3), tmp_path / "p.jsonl"
    with serve(reasoned) as site:
        done = ask(directory, out, site, split="val", asking=Asking(rationales="predicted"))
        assert len(site.requests) == 6
        assert [line["item"] for line in lines(out)] == [
            *("val-0", "val-0:r0", "val-1", "val-1:r1", "val-2", "val-2:r2"),
        ]
        # A run that was stopped between the two stages asks only for the second.
        journal = out.with_name("p.jsonl.journal")
        kept = [line for line in journal.read_text().splitlines() if '"val-1:r1"' not in line]
        journal.write_text("\n".join(kept) + "\n")
        done = ask(directory, out, site, split="val", asking=Asking(rationales="predicted"))
        assert details(done).unanswered == 0
        assert len(site.requests) == 7
    assert "Answer: [person1] answer1" in site.requests[-1]["words"]
    assert evaluate(directory, out).staged["Q->AR"].value == 1.0


def test_a_batch_api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    directory, out = write_pairs(tmp_path / "b"), tmp_path / "p.jsonl"
    with serve(brightness) as site:
        sending = Sending(model_base_url=site.url, batch={"tick": 0.05, "send_delay": 0.5})
        done = solve("openai/gpt-4o", directory, split="dev", out=out, sending=sending)
    assert details(done).summary.accuracy.value == 1.0
    assert {request["path"] for request in site.requests} == {"/v1/batches"}
    assert len(site.requests) == 12
    assert len(site.batches) < 12, "several questions travel in one batch"


def test_matrices_and_views(tmp_path: Path) -> None:
    def looks(words: str, pictures: list[Image.Image]) -> str:
        """Item n's pictures are n brighter than a multiple of ten; its answer is candidate n."""
        wanted = 80 + 10 * (pictures[0].getpixel((1, 1))[0] % 10) + pictures[0].getpixel((1, 1))[0] % 10
        return "ABCDEFGH"[[p.getpixel((1, 1))[0] for p in pictures[8:]].index(wanted)]

    with serve(looks) as site:
        done = ask(write_matrices(tmp_path / "m"), tmp_path / "m.jsonl", site, split="test", asking=Asking(orders=8))
    assert details(done).summary.asked == 16
    assert details(done).summary.accuracy.value == 1.0
    assert details(done).summary.flipped is not None
    assert details(done).summary.flipped.count == 0
    with serve(brightness) as site:
        done = ask(write_drawings(tmp_path / "n"), tmp_path / "n.jsonl", site, asking=Asking(views="all"))
    assert [line["item"] for line in lines(tmp_path / "n.jsonl")] == ["0-0#0", "0-0#1", "1-0#0", "1-0#1"]
    assert evaluate(tmp_path / "n", tmp_path / "n.jsonl").per_view


def test_what_stands_in_the_way_of_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    directory, out = write_pairs(tmp_path / "b", 2), tmp_path / "p.jsonl"
    with pytest.raises(UserError, match="not recognized"):
        solve("nobody/x", directory, split="dev", out=out)
    with pytest.raises(UserError, match="OPENAI_API_KEY"):
        solve("openai/gpt-4o", directory, split="dev", out=out)
    with pytest.raises(UserError, match="leaves nothing"):
        solve(MODEL, directory, split="dev", out=out, limit=0)
    with pytest.raises(UserError, match="no split 'test'"):
        solve(MODEL, directory, split="test", out=out)
    assert [path.name for path in tmp_path.iterdir()] == ["b"], "nothing half-written"
