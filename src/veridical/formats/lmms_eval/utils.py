"""How lmms-eval asks and scores the items beside this file; written by `veridical export lmms-eval`.

As exported, it needs nothing but the standard library. `python utils.py` points the tasks at their data again, after
the folder was moved.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from veridical.common.replies import read

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

Doc = Mapping[str, Any]  # an item: a row of the data


def doc_to_visual(doc: Doc) -> list[Any]:
    """The pictures of an item."""
    return [picture.convert("RGB") for picture in doc["images"]]


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: Mapping[str, str] | None = None) -> str:
    """The words of an item; a task's own `pre_prompt` and `post_prompt` stand around them."""
    around = lmms_eval_specific_kwargs or {}
    if doc["task"] == "statement":
        lines = [f"Statement: {doc['question']}", "Is the statement true or false of what the pictures show?"]
        ending = "Answer with true or false only, and nothing else."
    else:
        lines = [str(doc["question"]), *(f"{a}. {text}" for a, text in zip(LETTERS, doc["choices"], strict=False))]
        ending = "Answer with the letter of the right choice only, and nothing else."
    return around.get("pre_prompt", "") + "\n".join(lines) + around.get("post_prompt", f"\n{ending}")


def doc_to_target(doc: Doc) -> str:
    """The right answer as it should be written; empty where it is hidden."""
    if doc["answer"] is None:
        return ""
    return str(doc["choices"][doc["answer"]]) if doc["task"] == "statement" else LETTERS[doc["answer"]]


def read_answer(doc: Doc, reply: str) -> int | None:
    """Which choice a reply means; None where it cannot be read."""
    if doc["task"] == "statement":
        return read(reply, ("false", "true")).label
    return read(reply, LETTERS[: len(doc["choices"])], [str(choice) for choice in doc["choices"]]).label


def process_results(doc: Doc, results: Sequence[str]) -> dict[str, Any]:
    """What a reply is worth, for each metric; where the answer is hidden, only whether it can be read."""
    chosen = read_answer(doc, results[0])
    scores = [] if chosen is None else [float(k == chosen) for k in range(len(doc["choices"]))]
    found: dict[str, Any] = {"answered": {"of": doc["of"], "item": doc["id"], "scores": scores, "raw": results[0]}}
    if doc["answer"] is not None:
        right = float(chosen == doc["answer"])
        found["accuracy"] = right
        if doc["group"] is not None:
            found["consistency"] = {"group": doc["group"], "right": right}
    return found


def aggregate_accuracy(results: Sequence[float]) -> float:
    """The share of right answers."""
    return sum(results) / max(len(results), 1)


def aggregate_consistency(results: Sequence[Mapping[str, Any]]) -> float:
    """The share of groups of which every item is right."""
    groups: dict[str, float] = {}
    for one in results:
        groups[one["group"]] = min(groups.get(one["group"], 1.0), one["right"])
    return sum(groups.values()) / max(len(groups), 1)


def aggregate_answered(results: Sequence[Mapping[str, Any]], args: Any = None) -> float:
    """The share of answers that could be read; all go to a file that `veridical evaluate` takes."""
    where = getattr(args, "output_path", None)
    if where and results:
        folder = Path(where) / "submissions"
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{results[0]['of']}.jsonl").open("w") as file:
            for one in results:
                file.write(json.dumps({key: one[key] for key in ("item", "scores", "raw")}) + "\n")
    return sum(bool(one["scores"]) for one in results) / max(len(results), 1)


def point_at_data(folder: Path) -> int:
    """Write the full paths of the data into the tasks of a folder; gives how many there are."""
    count = 0
    for path in sorted(folder.glob("*.yaml")):
        data = folder.resolve() / "data" / f"{path.stem}.parquet"
        if data.is_file():
            start = "dataset_kwargs: "
            told = start + json.dumps({"data_files": {"test": str(data)}})
            lines = path.read_text().split("\n")
            path.write_text("\n".join(told if line.startswith(start) else line for line in lines))
            count += 1
    return count


if __name__ == "__main__":
    print(f"{point_at_data(Path(__file__).parent)} tasks point at their data.")
