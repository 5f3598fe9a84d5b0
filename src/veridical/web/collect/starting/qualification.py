"""What workers are asked before they begin: texts from `texts/`, pictures from the icon world, whose truth is known.

NLVR2 (section 3.5 of the draft): six tutorial questions, nineteen sentences over two sets of four pairs to be judged by
the guidelines, one writing task that a person reviews; validators get eight sentences with pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

import msgspec
import numpy as np

from veridical.builders.nlvr2 import pairs
from veridical.builders.nlvr2.work import ImageSet
from veridical.builders.vcr.questions import tell
from veridical.language.english import a, icon_nouns, plural
from veridical.language.writing.pairs.statements import execute_pair, write
from veridical.options.running import Workers
from veridical.records import Text, object_names
from veridical.sources.icons.stories import FOUR, IconStories, detected
from veridical.sources.icons.worlds import PICTURES as IN_SERIES
from veridical.sources.icons.worlds import IconSeries
from veridical.web.collect import kinds
from veridical.web.collect.kinds import plain
from veridical.web.collect.records import Kind, Picture, Tagged, Task
from veridical.web.collect.starting.folder import ProjectFolder

GUIDELINES, EXAMPLES = 19, 8
OTHER = 5077  # series of qualification are drawn from another seed than those of a project
WRITER, VALIDATOR = "writer", "validator"


class TutorialText(msgspec.Struct, frozen=True):
    """A question about the task."""

    question: str
    options: tuple[str, ...]
    right: int
    explanation: str


class Texts(msgspec.Struct, frozen=True):
    """The words of one benchmark's collection."""

    title: str
    consent: str
    tutorial: tuple[TutorialText, ...]
    breaking: tuple[str, ...] = ()  # sentences that break a guideline


def texts(benchmark: str) -> Texts:
    data = (files("veridical.web.collect.starting") / "texts" / f"{benchmark}.json").read_bytes()
    return msgspec.json.decode(data, type=Texts)


def tutorial(benchmark: str, role: str) -> list[Task]:
    """Questions that are asked until they are answered rightly."""
    return [
        asked(
            role, number, "tutorial", kinds.Tutorial(one.question, one.options, one.explanation), {"choice": one.right}
        )
        for number, one in enumerate(texts(benchmark).tutorial)
    ]


def asked(role: str, step: int, kind: Kind, shown: object, expected: dict[str, object] | None) -> Task:
    """A task of a qualification."""
    return Task(
        f"qualify:{role}:{step:02}", kind, plain(shown), 0, "qualification", expected, step=step, role=role
    )  # fmt: skip


@dataclass(frozen=True)
class PairSet:
    """Four pairs of icon pictures, and sentences whose truth is known."""

    noun: str
    pairs: tuple[tuple[Picture, Picture], ...]
    sentences: tuple[tuple[str, tuple[int, ...], tuple[bool, ...]], ...]  # sentence, meant for, true of


def icon_pairs(made: ProjectFolder, count: int, each: int, seed: int) -> list[PairSet]:
    """Sets of four pairs with `each` generated sentences."""
    series = IconSeries(series=4 * count + 4, seed=seed + OTHER)
    out: list[PairSet] = []
    for number in range(series.series):
        if len(out) == count:
            break
        rng = np.random.default_rng([seed, OTHER, number])
        shown = [series.at(number * IN_SERIES + k) for k in range(8)]
        panels = {one.panel.id: one.panel for one in shown}
        noun = series.mains[number % len(series.mains)]
        (task, _) = pairs.make_tasks(ImageSet(str(number), noun, noun, tuple(panels)), rng)
        two = [(panels[left], panels[right]) for left, right in task.pairs]
        said: list[tuple[str, tuple[int, ...], tuple[bool, ...]]] = []
        for _ in range(3 * each):
            selected = pairs.CHOICES[int(rng.integers(len(pairs.CHOICES)))]
            truth = [i in selected for i in range(len(two))]
            found = write(rng, two, truth, nouns=icon_nouns(), synset=noun, avoid=[one[0] for one in said])
            if found is not None and len(said) < each and not pairs.check_sentence(found.sentence):
                true_of = tuple(execute_pair(found.program, *pair) for pair in two)
                said.append((found.sentence, selected, true_of))
        if len(said) < each:
            continue
        drawn = {one.panel.id: made.add(f"q-{one.panel.id}", series.picture(one)) for one in shown}
        out.append(PairSet(noun, tuple((drawn[x.id], drawn[y.id]) for x, y in two), tuple(said)))
    return out


def nlvr2(made: ProjectFolder, seed: int) -> list[Task]:
    """The qualification of NLVR2's writers and validators."""
    words = texts("nlvr2")
    first, second, third = icon_pairs(made, 3, 5, seed)
    out = tutorial("nlvr2", WRITER)
    following = [(one, said, True) for one in (first, second) for said in one.sentences]
    breaking = []
    for number, form in enumerate(words.breaking):
        one = (first, second)[number % 2]
        sentence = form.format(noun=one.noun, a_noun=a(one.noun), plural=plural(one.noun))
        breaking.append((one, (sentence[0].upper() + sentence[1:], (0, 1), ()), False))
    order = np.random.default_rng([seed, OTHER]).permutation(GUIDELINES)
    judged = [*following, *breaking][:GUIDELINES]
    for place in order.tolist():
        one, (sentence, selected, _), follows = judged[place]
        shown = kinds.Guideline(sentence, one.pairs, selected)
        out.append(asked(WRITER, len(out), "guideline", shown, {"follows": follows}))
    out.append(asked(WRITER, len(out), "contrast", kinds.Pairs(third.noun, third.pairs, third.noun), None))
    examples = [(one, said, place) for one in (third,) for said in one.sentences for place in range(2)][:EXAMPLES]
    for number, (one, (sentence, _, true_of), place) in enumerate(examples):
        pair = (place + number) % len(one.pairs)
        shown_pair = kinds.Validate(sentence, one.pairs[pair])
        out.append(asked(VALIDATOR, number, "validate", shown_pair, {"verdict": true_of[pair]}))
    return out


def icon_gold(made: ProjectFolder, count: int, seed: int) -> list[Task]:
    """Gold for projects whose own pictures are icons."""
    out: list[Task] = []
    for number, one in enumerate(icon_pairs(made, -(-count // 8), 2, seed + 1)):
        for which, (sentence, _, true_of) in enumerate(one.sentences):
            for place, truth in enumerate(true_of):
                shown = plain(kinds.Validate(sentence, one.pairs[place]))
                name = f"gold:icons-{number}-{which}-{place}"
                out.append(Task(name, "validate", shown, 0, "gold", {"verdict": truth}))
    return out[:count]


# --- visual commonsense reasoning ------------------------------------------------------------------------------------


def tokens(text: Text) -> kinds.Tokens:
    """A text as tasks show it; tags are places of objects."""
    return tuple(one if isinstance(one, str) else tuple(int(o) for o in one.objects) for one in text.tokens)


def vcr(made: ProjectFolder, seed: int) -> list[Task]:
    """The qualification of VCR's writers and of those who check them: stories of the icon world, of which the answers
    of some are exchanged."""
    out = tutorial("vcr", WRITER)
    stories = tell(IconStories(3 * FOUR, seed + OTHER), 1, workers=Workers(1), work=None)
    shown = []
    for one in stories:
        panel = detected(one.photograph.panel)
        names = object_names([panel])
        objects = tuple(Tagged(names[o.id], o.box or (0, 0, 0, 0)) for o in panel.objects)
        shown.append((made.add(f"q-{panel.id}", one.picture), objects, one.written[0]))
    picture, objects, _ = shown[-1]
    out.append(asked(WRITER, len(out), "questions", kinds.Asking(picture, objects), None))
    rng = np.random.default_rng([seed, OTHER])
    wrong = set(rng.permutation(EXAMPLES)[: EXAMPLES // 2].tolist())
    for number in range(EXAMPLES):
        picture, objects, written = shown[number]
        other = shown[number ^ 1][2] if number in wrong else written
        parts = [_fitting(tokens(t), len(objects)) for t in (written.question, other.answer, other.rationale)]
        made_of = kinds.Accept(picture, objects, parts[0], parts[1], parts[2])
        out.append(asked(VALIDATOR, number, "accept", made_of, {"verdict": number not in wrong}))
    return out


def _fitting(said: kinds.Tokens, objects: int) -> kinds.Tokens:
    """Tokens without tags of objects that a picture has not."""
    return tuple(t for t in said if isinstance(t, str) or max(t) < objects)
