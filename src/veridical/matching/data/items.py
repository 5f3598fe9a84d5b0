"""Matched questions as items of a benchmark, as choices for machines, or as rows of a table.

The four choices stand in an order drawn from the seed (of hidden questions, from the secret too): neither the right
one's place nor the round in which a wrong one was found shows. Borrowed responses have their tags re-pointed to the new
photograph. A question with a rationale is one answer item and four rationale items, one for each answer assumed, as in
`formats.vcr`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from veridical.benchmark.hidden import secret_words
from veridical.matching.blind_readers import Choices
from veridical.matching.data.table import Asked
from veridical.matching.data.tags import plain, repoint
from veridical.records import Item, Text

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Laid:
    """The choices of each row in the order in which they are shown."""

    order: Ints  # (N, C) the row whose right response stands at each place
    answer: Ints  # (N,) the place of the right one
    texts: list[tuple[Text, ...]]


def lay_out(
    wrong: Ints,
    rows: Sequence[Asked],
    stage: str,
    seed: int,
    secret: str = "",
    hidden: npt.NDArray[np.bool_] | None = None,
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


def response(row: Asked, stage: str) -> Text:
    if stage == "answer":
        return row.answer
    if row.rationale is None:
        raise ValueError(f"{row.id} has no rationale")
    return row.rationale


def query(row: Asked, stage: str) -> Text:
    """What a response is relevant to: the question; for rationales the question and its right answer."""
    if stage == "answer":
        return row.question
    both = [row.question, row.answer]
    if any(text.tokens for text in both):
        tokens = tuple(token for text in both for token in (text.tokens or tuple(text.raw.split())))
        return Text("", tokens)
    return Text(f"{row.question.raw} {row.answer.raw}")


def _borrowed(source: Asked, target: Asked, stage: str, rng: np.random.Generator) -> Text:
    text = response(source, stage)
    if source is target or source.panel is None or target.panel is None:
        return text
    return repoint(text, source.panel, target.panel, rng, asked=query(source, stage), asks=query(target, stage))


def items_of(rows: Sequence[Asked], answers: Laid, rationales: Laid | None) -> Iterator[Item]:
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


def _provenance(rows: Sequence[Asked], laid: Laid, i: int) -> tuple[tuple[str, str], ...]:
    """Whose right responses the wrong ones are; hidden with the answer where that is hidden."""
    return tuple(("borrowed", f"{place}:{rows[j].id}") for place, j in enumerate(laid.order[i].tolist()) if j != i)


def choices_of(rows: Sequence[Asked], laid: Laid, stage: str = "answer") -> Choices:
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
    rows: Sequence[Asked], splits: Sequence[str], answers: Laid, rationales: Laid | None
) -> list[dict[str, Any]]:
    """A row per question: the choices, and the place of the right one."""
    out = []
    for i, (row, split) in enumerate(zip(rows, splits, strict=True)):
        made: dict[str, Any] = {"id": row.id, "split": split, "fold": row.fold or "", "group": "; ".join(row.origins)}
        made["question"] = plain(row.question, row.panel)
        for name, laid in (("answer", answers), ("rationale", rationales)):
            if laid is not None:
                made |= {f"{name}_{k}": plain(text, row.panel) for k, text in enumerate(laid.texts[i])}
                made[f"{name}_label"] = int(laid.answer[i])
        out.append(made)
    return out
