"""Benchmarks to audit, clean and with one planted bias each; the items are otherwise the same."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from veridical.benchmark import BenchmarkWriter
from veridical.formats.card import describe
from veridical.records import TRUTH, Item, Panel, SceneObject, Text, pairs

COLOURS = ("yellow", "blue", "black", "red", "green", "white")
SHAPES = ("circle", "square", "triangle", "star")
NOUNS = [
    f"{a}{b}" for a in ("ta", "ko", "mi", "ru", "se", "vo", "la", "pe") for b in ("dar", "lin", "mon", "nek", "pol")
]
VERBS = [f"{a}{b}" for a in ("bra", "cle", "dri", "fo") for b in ("sts", "ndles", "gs", "mps")]


def picture(rng: np.random.Generator, side: int = 64) -> Image.Image:
    """A picture of coarse coloured noise: no two look alike."""
    coarse = rng.integers(0, 256, (4, 4, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((side, side), Image.Resampling.BICUBIC)


def encoded(image: Image.Image, kind: str = "PNG") -> bytes:
    out = BytesIO()
    image.save(out, kind, **({"quality": 85} if kind == "JPEG" else {}))
    return out.getvalue()


def statements(
    out: Path, groups: int = 520, *, colour_word: float = 0.0, leaked: float = 0.0, near: bool = False, seed: int = 0
) -> Path:
    """True/false items in groups of four: a sentence about four pictures, true of two.

    With `colour_word`, that share of the sentences with "yellow" are true of three pictures, and of those with "blue"
    of one. With `leaked`,
    that share of the dev items shows pictures of train items (as other files that look the same, with `near`).
    """
    rng = np.random.default_rng(seed)
    with BenchmarkWriter(out, name="statements", task="statement", seed=seed, describe=describe) as writer:
        shown: list[Image.Image] = []
        for split, first, last in (("train", 0, groups * 2 // 3), ("dev", groups * 2 // 3, groups)):
            items, panels = [], []
            for g in range(first, last):
                colour = str(rng.choice(COLOURS))
                sentence = (
                    f"{rng.choice(NOUNS)} {g} {rng.choice(VERBS)} the {colour} {rng.choice(SHAPES)} {rng.choice(NOUNS)}"
                )
                true = {"yellow": 3, "blue": 1}.get(colour, 2) if colour_word and rng.random() < colour_word else 2
                labels = rng.permutation([1] * true + [0] * (4 - true)).tolist()
                for k, label in enumerate(labels):
                    image = picture(rng)
                    if split == "dev" and rng.random() < leaked:
                        image = shown[int(rng.integers(len(shown)))]
                    elif split == "train":
                        shown.append(image)
                    address = writer.add_image(encoded(image, "JPEG" if near and split == "dev" else "PNG"))
                    thing = SceneObject("0", str(rng.choice(SHAPES)), pairs(color=str(rng.choice(COLOURS))))
                    panels.append(Panel(f"{g}-{k}", address, None, 64, 64, (thing,)))
                    items.append(
                        Item(
                            f"{g}-{k}", "statement", (f"{g}-{k}",), Text(sentence), TRUTH, label, str(g), (f"set-{g}",)
                        )
                    )
            writer.add_items(split, items)
            writer.add_panels(panels)
    return out


def questions(
    out: Path,
    number: int = 1500,
    *,
    longer: float = 0.0,
    first: float = 0.0,
    repeating: float = 0.0,
    popular: float = 0.0,
    seed: int = 0,
) -> Path:
    """Questions with four answers; each answer is right once and wrong three times, within its split.

    With `longer`, in that share of the items five words are added to the right answer; with `first`, it stands first;
    with `repeating`, it repeats the question; with `popular`, it is one of three answers.
    """
    rng = np.random.default_rng(seed)

    def phrase(words: int) -> str:
        return " ".join(
            [str(rng.choice(NOUNS)), str(rng.choice(VERBS)), *(str(rng.choice(NOUNS)) for _ in range(words))]
        )

    with BenchmarkWriter(out, name="questions", task="choice", seed=seed, describe=describe) as writer:
        for split, start, end in (("train", 0, number * 2 // 3), ("val", number * 2 // 3, number)):
            n = end - start
            names = rng.permutation(n).tolist()  # makes answers unique, and has nothing to do with the question
            answers = [f"{phrase(int(rng.integers(1, 6)))} {split}{name}" for name in names]
            items = []
            shifts = rng.choice(np.arange(1, n), 3, replace=False)
            for i in range(n):
                query = f"why {phrase(2)} number {start + i} ?"
                right = answers[i]
                right += " " + phrase(3) if rng.random() < longer else ""
                right += " " + query if rng.random() < repeating else ""
                right = f"popular {rng.integers(3)}" if rng.random() < popular else right
                place = 0 if rng.random() < first else int(rng.integers(4))
                texts = [answers[(i + s) % n] for s in shifts]
                texts.insert(place, right)
                name = f"{split}-{i}"
                candidates = tuple(Text(t) for t in texts)
                items.append(
                    Item(name, "choice", (), Text(query), candidates, place, name, (f"movie-{split}-{i // 4}",))
                )
            writer.add_items(split, items)
    return out


PLACES = (
    ("doctor", "in a hospital"), ("teacher", "at a school"), ("farmer", "among crops and cattle"),
    ("sailor", "on a ship"), ("judge", "in a courtroom"), ("baker", "near an oven full of bread"),
    ("pilot", "in a cockpit"), ("librarian", "between shelves of books"), ("miner", "deep underground in a tunnel"),
    ("barber", "in a salon cutting hair"), ("priest", "in a church"), ("waiter", "in a restaurant"),
    ("astronaut", "aboard a space station"), ("soldier", "in military barracks"), ("lifeguard", "at a swimming pool"),
    ("jockey", "on a racecourse with horses"), ("banker", "in a vault of money"), ("actor", "on a theatre stage"),
    ("chemist", "in a laboratory"), ("gardener", "among flower beds"), ("mechanic", "in a garage with cars"),
    ("fisherman", "by a river with a net"), ("dentist", "in a clinic for teeth"), ("lumberjack", "in a forest"),
)  # fmt: skip


def matched(
    out: Path, number: int = 480, *, fitting: float = 0.0, stages: bool = False, apart: bool = False, seed: int = 0
) -> Path:
    """Questions in fours that share their four answers, each right once.

    With `fitting`, in that share of the fours a question asks for its answer's work; otherwise the four answers are
    dealt at random. With `stages`, each question has a rationale item, and fitting are all rationales instead.
    With `apart`, the two splits have no work and no place in common.
    """
    rng = np.random.default_rng(seed)
    with BenchmarkWriter(out, name="matched", task="choice", seed=seed, describe=describe) as writer:
        for split, start, end in (("train", 0, number * 2 // 3), ("val", number * 2 // 3, number)):
            items = []
            for block in range(start // 4, end // 4):
                known = PLACES[split == "val" :: 2] if apart else PLACES
                some = [known[k] for k in rng.choice(len(known), 4, replace=False)]
                right = np.arange(4) if rng.random() < fitting else rng.permutation(4)
                words = [f"{place} {rng.choice(NOUNS)} {block}" for _, place in some]
                for k in range(4):
                    order = rng.permutation(4)
                    name, question = (
                        f"{block}-{k}",
                        Text(f"Where is the {some[k][0]} of {rng.choice(NOUNS)} number {k}?"),
                    )
                    shown = tuple(Text(words[j]) for j in order)
                    place = int(np.flatnonzero(order == right[k])[0])
                    origins = (f"movie-{block}",)
                    items.append(Item(name, "choice", (), question, shown, place, name, origins))
                    if stages:
                        place = int(np.flatnonzero(order == k)[0])
                        reason = Item(
                            f"{name}-r", "choice", (), question, shown, place, name, origins, parent=name, given=0
                        )
                        items.append(reason)
            writer.add_items(split, items)
    return out


KINDS = {"how many": ("one", "two", "three", "four"), "what colour are": ("blue", "green", "pink", "grey")}


def kinds(out: Path, number: int = 600, *, mixed: bool = True, seed: int = 0) -> Path:
    """A handful of questions, asked again and again; where `mixed`, wrong answers are of another kind of question."""
    rng = np.random.default_rng(seed)
    with BenchmarkWriter(out, name="kinds", task="choice", seed=seed, describe=describe) as writer:
        for split, start, end in (("train", 0, number * 2 // 3), ("val", number * 2 // 3, number)):
            items = []
            for i in range(start, end):
                asked, other = (list(KINDS)[k] for k in rng.permutation(2))
                right, *rest = (str(x) for x in rng.permutation(KINDS[asked]))
                wrong = [str(x) for x in rng.permutation(KINDS[other])[:3]] if mixed else rest
                place = int(rng.integers(4))
                texts = [*wrong[:place], right, *wrong[place:]]
                question = f"{asked} the {rng.choice(SHAPES)}s?"
                candidates = tuple(Text(f"they are {t}") for t in texts)
                items.append(Item(f"{i}", "choice", (), Text(question), candidates, place, f"{i}", (f"photo-{i}",)))
            writer.add_items(split, items)
    return out


def complements(out: Path, groups: int = 40, *, opposite: float = 0.5, seed: int = 0) -> Path:
    """Groups of four statements about two pairs of pictures with the same objects, two true.

    In that share of the groups the labels of each pair are opposite.
    """
    rng = np.random.default_rng(seed)
    with BenchmarkWriter(out, name="complements", task="statement", seed=seed, describe=describe) as writer:
        items, panels = [], []
        for g in range(groups):
            labels = [0, 1, 0, 1] if rng.random() < opposite else [0, 0, 1, 1]
            shapes = [SHAPES[k] for k in rng.choice(len(SHAPES), 2, replace=False)]
            for k, label in enumerate(labels):
                thing = SceneObject("0", shapes[k // 2], pairs(color="red"), box=(float(k), 0.0, float(k) + 1, 1.0))
                panels.append(Panel(f"{g}-{k}", None, None, 10, 10, (thing,)))
                items.append(Item(f"{g}-{k}", "statement", (f"{g}-{k}",), Text(f"text {g}"), TRUTH, label, str(g)))
        writer.add_items("dev", items)
        writer.add_panels(panels)
    return out


def matrices(out: Path, number: int = 750, *, odd: float = 0.0, seed: int = 0) -> Path:
    """Eight candidate pictures each; with `odd`, in that share of the items the right one has five stars more."""
    rng = np.random.default_rng(seed)
    with BenchmarkWriter(out, name="matrices", task="matrix", seed=seed, describe=describe) as writer:
        for split, start, end in (("train", 0, number * 2 // 3), ("test", number * 2 // 3, number)):
            items, panels = [], []
            for i in range(start, end):
                right = int(rng.integers(8))
                given = rng.random() < odd
                for k in range(16):
                    kinds = [str(rng.choice(SHAPES)) for _ in range(int(rng.integers(1, 4)))]
                    kinds += ["star"] * (5 if given and k == 8 + right else 0)
                    things = tuple(SceneObject(str(j), kind) for j, kind in enumerate(kinds))
                    panels.append(Panel(f"{i}-{k}", None, None, 10, 10, things))
                names = tuple(f"{i}-{k}" for k in range(16))
                items.append(Item(f"m{i}", "matrix", names[:8], None, names[8:], right, None, (f"photo-{i}",)))
            writer.add_items(split, items)
            writer.add_panels(panels)
    return out
