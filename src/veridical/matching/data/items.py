"""Matched questions as items of a benchmark, as choices for blind readers, or as rows of a table; written to disk.

The four choices stand in an order drawn from the seed (of hidden questions, from the secret too): neither the right
one's place nor the round in which a wrong one was found shows. Borrowed responses have their tags re-pointed to the new
photograph. A question with a rationale is one answer item and four rationale items, one for each answer assumed, as in
`formats.vcr`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veridical.benchmark import Benchmark, BenchmarkWriter
from veridical.benchmark.splits import SECRET, secret_words
from veridical.common.arrays import Bools, Ints
from veridical.common.files import atomic
from veridical.formats.card import describe
from veridical.matching.blind_readers import Choices
from veridical.matching.data.questions import AnsweredQuestion
from veridical.matching.data.tags import plain, repoint
from veridical.matching.stages import UNFIT
from veridical.records import Item, Pruned, Text

TABLES = (".csv", ".jsonl", ".parquet")


@dataclass(frozen=True)
class Laid:
    """The choices of each row in the order in which they are shown."""

    order: Ints  # (N, C) the row whose right response stands at each place
    answer: Ints  # (N,) the place of the right one
    texts: list[tuple[Text, ...]]


def lay_out(
    wrong: Ints,
    rows: Sequence[AnsweredQuestion],
    stage: str,
    seed: int,
    secret: str = "",
    hidden: Bools | None = None,
) -> Laid:
    """Mix right and wrong responses; `stage` is answer or rationale.

    What happens to `hidden` rows is drawn from a stream of its own that needs the `secret`: whoever knows the seed
    alone can shuffle every other row again, but not these.
    """
    size = len(rows)
    secretly = np.zeros(size, bool) if hidden is None else np.asarray(hidden, bool)
    key = [seed, 4, 0 if stage == "answer" else 1]
    streams = (np.random.default_rng(key), np.random.default_rng([*key, 1, *secret_words(secret)]))
    order = np.concatenate([np.arange(size)[None], wrong]).T  # (N, C), the right one first
    shown = np.tile(np.arange(order.shape[1]), (size, 1))
    for rng, mine in zip(streams, (~secretly, secretly), strict=True):
        shown[mine] = rng.permuted(shown[mine], axis=1)
    order = np.take_along_axis(order, shown, axis=1)
    answer = np.argmin(shown, axis=1)
    texts = [
        tuple(_borrowed(rows[j], rows[i], stage, streams[int(secretly[i])]) for j in order[i]) for i in range(size)
    ]
    return Laid(order, answer, texts)


def response(row: AnsweredQuestion, stage: str) -> Text:
    if stage == "answer":
        return row.answer
    if row.rationale is None:
        raise ValueError(f"{row.id} has no rationale")
    return row.rationale


def query(row: AnsweredQuestion, stage: str) -> Text:
    """What a response is relevant to: the question; for rationales the question and its right answer."""
    if stage == "answer":
        return row.question
    both = [row.question, row.answer]
    if any(text.tokens for text in both):
        tokens = tuple(token for text in both for token in (text.tokens or tuple(text.raw.split())))
        return Text("", tokens)
    return Text(f"{row.question.raw} {row.answer.raw}")


def _borrowed(source: AnsweredQuestion, target: AnsweredQuestion, stage: str, rng: np.random.Generator) -> Text:
    text = response(source, stage)
    if source is target or source.panel is None or target.panel is None:
        return text
    return repoint(text, source.panel, target.panel, rng, asked=query(source, stage), asks=query(target, stage))


def items_of(rows: Sequence[AnsweredQuestion], answers: Laid, rationales: Laid | None) -> Iterator[Item]:
    """The answer item of each question, followed by its rationale items."""
    for i, row in enumerate(rows):
        item = Item(
            id=row.id,
            task="choice",
            panels=row.panels,
            query=row.question,
            candidates=answers.texts[i],
            answer=int(answers.answer[i]),
            group=row.id,
            origins=row.origins,
            writer=row.writer,
            tags=(*row.tags, *_provenance(rows, answers, i)),
        )
        yield item
        if rationales is None:
            continue
        for given in range(len(item.candidates)):
            right = given == item.answer
            yield Item(
                id=f"{row.id}:r{given}",
                task="choice",
                panels=row.panels,
                query=row.question,
                candidates=rationales.texts[i],
                answer=int(rationales.answer[i]) if right else None,
                group=row.id,
                origins=row.origins,
                parent=row.id,
                given=given,
                writer=row.writer,
                # where the rationales come from would say which answer is right, if only one of four said it
                tags=row.tags,
            )


def _provenance(rows: Sequence[AnsweredQuestion], laid: Laid, i: int) -> tuple[tuple[str, str], ...]:
    """Whose right responses the wrong ones are; hidden with the answer where that is hidden."""
    return tuple(("borrowed", f"{place}:{rows[j].id}") for place, j in enumerate(laid.order[i].tolist()) if j != i)


def choices_of(rows: Sequence[AnsweredQuestion], laid: Laid, stage: str = "answer") -> Choices:
    """The same for machines: tags are read as the names of their classes."""
    return Choices(
        [row.id for row in rows],
        [plain(query(row, stage), row.panel) for row in rows],
        [tuple(plain(text, row.panel) for text in texts) for row, texts in zip(rows, laid.texts, strict=True)],
        laid.answer,
        [row.origins[0] if row.origins else row.id for row in rows],
        [row.fold or "" for row in rows],
    )


def table_rows(
    rows: Sequence[AnsweredQuestion], splits: Sequence[str], answers: Laid, rationales: Laid | None
) -> list[dict[str, str | int]]:
    """A row per question: the choices, and the place of the right one."""
    out = []
    for i, (row, split) in enumerate(zip(rows, splits, strict=True)):
        fold, group = row.fold or "", "; ".join(row.origins)
        made: dict[str, str | int] = {"id": row.id, "split": split, "fold": fold, "group": group}
        made["question"] = plain(row.question, row.panel)
        for name, laid in (("answer", answers), ("rationale", rationales)):
            if laid is not None:
                made |= {f"{name}_{k}": plain(text, row.panel) for k, text in enumerate(laid.texts[i])}
                made[f"{name}_label"] = int(laid.answer[i])
        out.append(made)
    return out


@dataclass(frozen=True)
class BenchmarkLabel:
    """What a benchmark says of itself."""

    name: str
    licence: str
    seed: int
    config: Mapping[str, Any]
    hidden: tuple[str, ...] = ()
    secret: bytes = b""  # kept in the hidden folder
    pruned: tuple[str, ...] = ()  # questions that were left out


def write_benchmark(
    out: Path,
    rows: Sequence[AnsweredQuestion],
    splits: Sequence[str],
    laid: Mapping[str, Laid],
    label: BenchmarkLabel,
    old: Benchmark | None = None,
) -> None:
    """Write items of both stages; photographs and names come from the `old` benchmark where one is matched anew."""
    with BenchmarkWriter(
        out,
        name=label.name,
        task="choice",
        config=dict(label.config) | ({"format": old.manifest["config"].get("format")} if old else {}),
        seed=label.seed,
        licence=label.licence,
        hidden=label.hidden,
        describe=describe,
    ) as writer:
        if label.secret:
            writer.add_hidden_file(SECRET, label.secret)
        if old is not None:
            for table in old.image_tables:
                for data in table["data"]:
                    writer.add_image(data.as_py())
        items = list(items_of(rows, laid["answer"], laid.get("rationale")))
        of_question = dict(zip((row.id for row in rows), splits, strict=True))
        for split in sorted(set(splits)):
            writer.add_items(split, [item for item in items if of_question[item.parent or item.id] == split])
        if old is not None:
            writer.add_panels(old.panels_table())
        if label.pruned:
            writer.add_pruned(Pruned(one, UNFIT, "matching") for one in label.pruned)


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as CSV, JSON lines or Parquet; the file appears whole or not at all."""
    with atomic(path) as file:
        if path.suffix.lower() == ".parquet":
            import pyarrow as pa
            import pyarrow.parquet as pq

            pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), file)
        elif path.suffix.lower() == ".jsonl":
            file.writelines(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
        else:
            text = io.StringIO(newline="")
            writer = csv.DictWriter(text, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
            file.write(text.getvalue().encode())
