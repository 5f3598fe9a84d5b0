"""Matched questions as items of a benchmark, as choices for blind readers, or as rows of a table.

The four choices stand in an order drawn from the seed (of hidden questions, from the secret too): neither the right
one's place nor the round in which a wrong one was found shows, and over a split every place is right equally often. A
question with a rationale is one answer item and four
rationale items, one for each answer assumed, as in `formats.vcr`.

A borrowed response that tags two people and a cup can stand beside a photograph with two people and a cup: its tags
then point at those. Which ones is chosen so that nothing gives the borrowed response away: an object that its own
question names becomes one that the new question names, and the first person stays a first person where that one is
free. Otherwise "which answer tags whom the question tags" would find the right one.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from veridical.benchmark.splits import secret_words
from veridical.common.arrays import Bools, Ints
from veridical.common.files import atomic
from veridical.language.english import PEOPLE
from veridical.matching.blind_readers import Choices
from veridical.matching.questions import AnsweredQuestion, split_of
from veridical.records import Item, Panel, Ref, Text

TABLES = (".csv", ".jsonl", ".parquet")
UNFIT = "its tags fit too few photographs"  # why a question was left out
GENDERS = {
    "she": ("woman", "girl", "lady"),
    "he": ("man", "boy", "guy"),
}
_SHE, _HE = {"she", "her", "hers", "herself"}, {"he", "him", "his", "himself"}
NOWHERE = "(unknown)"  # the class of a tag that points at nothing: no photograph has it


@dataclass(frozen=True)
class Laid:
    """The choices of each row in the order in which they are shown."""

    order: Ints  # (N, C) the row whose right response stands at each place
    answer: Ints  # (N,) the place of the right one
    texts: list[tuple[Text, ...]]


def lay_out(
    wrong: Ints, rows: Sequence[AnsweredQuestion], stage: str, seed: int, secret: str = "", hidden: Bools | None = None
) -> Laid:
    """Mix right and wrong responses; `stage` is answer or rationale.

    What happens to `hidden` rows is drawn from a stream of its own that needs the `secret`: whoever knows the seed
    alone can shuffle every other row again, but not these.
    """
    size, choices = len(rows), len(wrong) + 1
    secretly = np.zeros(size, bool) if hidden is None else np.asarray(hidden, bool)
    key = [seed, 4, 0 if stage == "answer" else 1]
    streams = (np.random.default_rng(key), np.random.default_rng([*key, 1, *secret_words(secret)]))
    splits = np.array([split_of(row) for row in rows], dtype=object)
    answer, order = np.zeros(size, np.int64), np.zeros((size, choices), np.int64)
    for rng, mine in zip(streams, (~secretly, secretly), strict=True):
        for split in sorted(set(splits[mine])):
            here = np.flatnonzero(mine & (splits == split))
            places = rng.permutation(choices)[np.arange(len(here)) % choices]  # each as often, within one
            answer[here] = rng.permutation(places)
            order[here[:, None], np.arange(1, choices)] = rng.permuted(wrong[:, here].T, axis=1)
            order[here, 0] = here
    own = np.arange(size)
    order[own, 0] = order[own, answer]  # what stood at the right one's place changes places with it
    order[own, answer] = own
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
    """A response as the target shows it; all are spelt in one way, since a release's own would mark the right one."""
    text = response(source, stage)
    if source is target or source.panel is None or target.panel is None:
        return spelt(text.tokens) if text.tokens else text
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
            tags=row.tags,
        )
        # Whose right responses the wrong ones are; hidden with the answer where that is hidden. Of rationales it would
        # say which answer is right, if only one of four said it.
        borrowed = (("borrowed", f"{k}:{rows[j].id}") for k, j in enumerate(answers.order[i].tolist()) if j != i)
        yield replace(item, tags=(*row.tags, *borrowed))
        if rationales is None:
            continue
        for given in range(len(item.candidates)):
            yield replace(
                item,
                id=f"{row.id}:r{given}",
                candidates=rationales.texts[i],
                answer=int(rationales.answer[i]) if given == item.answer else None,
                parent=row.id,
                given=given,
            )


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


# --- tags ------------------------------------------------------------------------------------------------------------


def tag_class(category: str) -> str:
    """The class that decides whether a tag may be re-pointed: people to people.

    >>> tag_class("Woman"), tag_class("dining table")
    ('person', 'dining table')
    """
    name = category.strip().lower()
    return "person" if name in PEOPLE else name


def gender_of(category: str) -> str:
    """The pronoun of a class whose people are all of one gender; "" where the class does not say.

    >>> gender_of("Girl"), gender_of("person")
    ('she', '')
    """
    name = category.strip().lower()
    return next((pronoun for pronoun, names in GENDERS.items() if name in names), "")


def _pronouns(text: Text) -> set[str]:
    """The pronouns of gender that a text uses."""
    words = {token.lower() for token in text.tokens if isinstance(token, str)}
    return {pronoun for pronoun, forms in (("she", _SHE), ("he", _HE)) if words & forms}


def tagged(text: Text) -> list[str]:
    """The objects that a text tags, each once, in the order of their first mention."""
    found = [name for token in text.tokens if isinstance(token, Ref) for name in token.objects]
    return list(dict.fromkeys(found))


def plain(text: Text, panel: Panel | None) -> str:
    """The text with tags replaced by the names of their classes: what models read, and what makes two texts the same.

    >>> from veridical.records import SceneObject
    >>> panel = Panel("p", objects=(SceneObject("0", "person"), SceneObject("1", "Woman")))
    >>> plain(Text("", (Ref(("0", "1")), "are", "sad", ".")), panel)
    'person and person are sad .'
    """
    if not text.tokens:
        return text.raw
    known = {one.id: tag_class(one.category) for one in (panel.objects if panel else ())}
    return " ".join(
        # in the order of the alphabet: re-pointing may change the order of a list
        token if isinstance(token, str) else " and ".join(sorted(known.get(o, o) for o in token.objects))
        for token in text.tokens
    )


def needs_and_have(
    texts: Sequence[Text], panels: Sequence[Panel]
) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int16], tuple[str, ...]]:
    """What each response needs and each photograph has, in objects per class: (N, C), (N, C), names of the classes.

    Row i of the texts belongs to row i of the panels. Response j may stand beside photograph i where
    `(needs[j] <= have[i]).all()`. Only classes that some response tags are counted. A response that says "her" and tags
    a woman needs a woman, where classes tell (VCR's people are all of the class person).
    """
    wanted = [
        Counter(_classes(tagged(text), panel)) + Counter(_gendered(text, panel).values())
        for text, panel in zip(texts, panels, strict=True)
    ]
    names = tuple(sorted({name for one in wanted for name in one}))
    place = {name: k for k, name in enumerate(names)}
    needs = np.zeros((len(texts), len(names)), np.int16)
    have = np.zeros((len(texts), len(names)), np.int16)
    held: dict[int, npt.NDArray[np.int16]] = {}  # one panel has many questions
    for row, (one, panel) in enumerate(zip(wanted, panels, strict=True)):
        for name, count in one.items():
            needs[row, place[name]] = count
        if id(panel) not in held:
            held[id(panel)] = np.zeros(len(names), np.int16)
            for item in panel.objects:
                for name in (tag_class(item.category), gender_of(item.category)):
                    if (k := place.get(name)) is not None:
                        held[id(panel)][k] += 1
        have[row] = held[id(panel)]
    return needs, have, names


def repoint(
    text: Text,
    source: Panel,
    target: Panel,
    rng: np.random.Generator,
    *,
    asked: Text | None = None,
    asks: Text | None = None,
) -> Text:
    """A response of the photograph `source` with its tags pointed at objects of `target`: same class, one to one.

    `asked` is the response's own question and `asks` the one it is borrowed for: what the response shares with the
    first it shares with the second, as far as that names objects of the class. A response that does not fit is a
    `ValueError`: `needs_and_have` says beforehand which do.
    """
    objects = tagged(text)
    if not objects:
        return spelt(text.tokens) if text.tokens else text
    shared = set(tagged(asked) if asked else ()), set(tagged(asks) if asks else ())
    new = _assign(objects, source, target, *shared, _gendered(text, source), rng)
    old_place, new_place = ({one.id: k for k, one in enumerate(panel.objects)} for panel in (source, target))
    tokens: list[str | Ref] = []
    for token in text.tokens:
        if isinstance(token, str):
            tokens.append(token)
            continue
        moved = [new[name] for name in token.objects]
        places = [old_place[name] for name in token.objects]
        if places == sorted(places):  # people list tags in the order of objects; a borrowed list should not differ
            moved.sort(key=new_place.__getitem__)
        tokens.append(Ref(tuple(moved)))
    return spelt(tokens)


def spelt(tokens: Sequence[str | Ref]) -> Text:
    """Tokens as the official files write them: tags are lists of numbers."""
    listed = [t if isinstance(t, str) else [_number(name) for name in t.objects] for t in tokens]
    return Text(json.dumps(listed, ensure_ascii=False), tuple(tokens))


def _number(name: str) -> int | str:
    return int(name) if name.isascii() and name.isdigit() and str(int(name)) == name else name


def _assign(
    objects: Sequence[str],
    source: Panel,
    target: Panel,
    asked: set[str],
    asks: set[str],
    gendered: Mapping[str, str],
    rng: np.random.Generator,
) -> dict[str, str]:
    """A new object for each old one; `gendered` ones become objects of their gender."""
    classes = dict(zip(objects, _classes(objects, source), strict=True))
    old_rank, _ = _ranks(source)
    new_rank, by_class = _ranks(target)
    genders = {one.id: gender_of(one.category) for one in target.objects}
    out: dict[str, str] = {}
    grouped: dict[str, list[str]] = defaultdict(list)
    for name in objects:
        grouped[classes[name]].append(name)
    for wanted, own in grouped.items():
        free = list(by_class.get(wanted, ()))
        if len(free) < len(own):
            raise ValueError(f"{target.id} has {len(free)} objects of class {wanted!r}; the response tags {len(own)}")
        # Objects shared with the question choose first, since few objects are named by the new question. Those that
        # are not leave its objects alone, where they can. Before them come those whose gender is spoken of.
        for name in sorted(own, key=lambda o: (o not in gendered, o not in asked, old_rank[o])):
            fit = [o for o in free if name not in gendered or genders[o] == gendered[name]] or free
            liked = [o for o in fit if (o in asks) == (name in asked)] or fit
            same = [o for o in liked if new_rank[o] == old_rank[name]]
            chosen = same[0] if same else liked[int(rng.integers(len(liked)))]
            free.remove(chosen)
            out[name] = chosen
    return out


def _classes(objects: Sequence[str], panel: Panel) -> list[str]:
    known = {one.id: tag_class(one.category) for one in panel.objects}
    return [known.get(name, NOWHERE) for name in objects]


def _gendered(text: Text, panel: Panel) -> dict[str, str]:
    """The tagged people of a text whose gender it speaks of, and the pronoun of each."""
    said = _pronouns(text)
    known = {one.id: gender_of(one.category) for one in panel.objects} if said else {}
    return {name: known[name] for name in tagged(text) if known.get(name) in said}


def _ranks(panel: Panel) -> tuple[dict[str, int], dict[str, list[str]]]:
    """How manieth of its class each object is, and the objects of each class."""
    by_class: dict[str, list[str]] = defaultdict(list)
    rank: dict[str, int] = {}
    for one in panel.objects:
        one_class = tag_class(one.category)
        rank[one.id] = len(by_class[one_class])
        by_class[one_class].append(one.id)
    return rank, by_class
