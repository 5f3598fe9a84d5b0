"""One item for a notebook: the card of reports, with a style that reaches nothing else on the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from veridical.benchmark.item import BenchmarkItem
from veridical.pages.cards import CandidateLine, ItemCard, ItemPictures, SystemAnswer, referenced, tagged_text
from veridical.pages.markup import element, join, style
from veridical.records import LETTERS, Item, Text, object_names

LOOK = "max-width: 640px; color: var(--ink); background: var(--ground); border-radius: 8px"
# What says that a page is dark: JupyterLab, VS Code, Colab, Sphinx, our own site. The system's colours do not.
THEMES = {"data-jp-theme-light": "false", "theme": "dark", "data-theme": "dark", "data-md-color-scheme": "slate"}
DARK = ":is(.vscode-dark, " + ", ".join(f'[{name}="{value}"]' for name, value in THEMES.items()) + ") .veridical-item"
SHOWN_TAGS = ("phenomenon", "inference", "synset", "relation", "element", "scene", "family")


def item_html(item: BenchmarkItem) -> str:
    """An item as a card with the style of our pages, which holds inside the card only; dark where the notebook is."""
    light = Markup("\n").join([style("plot.css"), style("sheet.css")])
    scoped = ((".veridical-item", light), (DARK, style("dark.css")))
    sheets = [
        Markup("@scope ({}) {{\n{}\n}}").format(Markup(where), text.replace(":root", ":scope"))
        for where, text in scoped
    ]
    return join([element("style", join(sheets)), element("div", item_card(item), class_="veridical-item", style=LOOK)])


Chosen = tuple[tuple[str, str], Sequence[int]]  # a system's name and colour, and the candidates it chose


def item_card(
    item: BenchmarkItem,
    pictures: ItemPictures | None = None,
    *,
    answers: Sequence[SystemAnswer] = (),
    chosen: Sequence[Chosen] = (),
    link: str = "",
    people: str | None = None,
) -> ItemCard:
    """The pictures with boxes, the sentence or question, what is right, what people said, and what systems did.

    `pictures` have loaded it; what people said is looked up unless it is given.
    """
    if pictures is None:
        pictures = ItemPictures(item.benchmark)
        pictures.load([item])
    names = object_names(pictures.panels(item))
    tagged = referenced([item]) if item.task == "choice" else ()
    return ItemCard(
        id=item.id,
        picture=pictures.item(item, None, tagged),
        query=None if item.query is None else tagged_text(item.query, names, tagged),
        candidates=candidate_lines(item, names, tagged, chosen) if item.task == "choice" else (),
        label=label_of(item),
        answers=tuple(answers),
        people=people_in_words(item) if people is None else people,
        tags=tuple(value for name in SHOWN_TAGS for value in item.tag(name))[:6],
        link=link,
    )


def candidate_lines(
    item: Item, names: Mapping[str, str], tagged: Sequence[str], chosen: Sequence[Chosen] = ()
) -> tuple[CandidateLine, ...]:
    """The candidates that are texts, each with the systems that chose it."""
    return tuple(
        CandidateLine(
            LETTERS[k], tagged_text(one, names, tagged), k == item.answer, tuple(who for who, own in chosen if k in own)
        )
        for k, one in enumerate(item.candidates)
        if isinstance(one, Text)
    )


def label_of(item: BenchmarkItem) -> str:
    """The right answer in a word: true, false, a letter, a text; or that it is hidden."""
    if item.answer is None:
        return "hidden"
    return LETTERS[item.answer] if item.task == "matrix" else item.label or ""


def people_in_words(item: BenchmarkItem) -> str:
    """What people said about an item: how many chose each candidate, or found it senseless."""
    said = Counter(one.verdict for one in item.judgements() if one.worker != "program")
    each = [f"{count} × {_candidate(item, verdict)}" for verdict, count in said.most_common()]
    return f"people: {', '.join(each)}" if each else ""


def _candidate(item: Item, verdict: int | str) -> str:
    if isinstance(verdict, str):
        return verdict
    chosen = item.candidates[verdict]
    return chosen.raw if item.task == "statement" and isinstance(chosen, Text) else LETTERS[verdict]
