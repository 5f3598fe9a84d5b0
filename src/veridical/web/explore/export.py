"""A sample of a benchmark as files: pages, pictures, and a little JavaScript that filters what lies in the first page.

Any web server can show them, or none. The pages are the explorer's own; hidden answers are never in them. What a filter
keeps is shown by the same cards as the pages have: they lie beside the pages as scripts, a page's cards in each, since
a page that was opened as a file may load scripts but no data.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
from markupsafe import Markup

from veridical.benchmark.place import outside, staging
from veridical.common.result import Result, Table
from veridical.errors import UserError
from veridical.pages.cards import ItemCard
from veridical.records import Box
from veridical.web import look
from veridical.web.explore.cards import PageMaker, grid_cards
from veridical.web.explore.catalogue import Catalogue
from veridical.web.explore.explorer import Explorer
from veridical.web.explore.facets import Facet
from veridical.web.explore.filters import ItemFilter
from veridical.web.explore.pictures import Thumbnails, picture_name

PER_PAGE = 24
MOST_VALUES = 60  # of a facet
SCRIPTS = ("app.css", "explore.css", "explore.js", "site.js")
_SUFFIXES = {"image/webp": "webp", "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif"}
_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})  # so that a text cannot end the script


@dataclass(frozen=True)
class Exported(Result):
    """A site that was written."""

    out: Path
    items: int
    pages: int
    pictures: int

    def parts(self) -> Iterator[Table | str]:
        rows = [("items", f"{self.items:,}"), ("pages", f"{self.pages:,}"), ("pictures", f"{self.pictures:,}")]
        yield Table(str(self.out), ("what", "count"), rows)
        yield f"Open {self.out / 'index.html'}, or put the folder on a web server."


@dataclass
class SiteAddresses:
    """Where things are in a site, from a page in its folder (`up` is empty) or one below."""

    folder: Path
    thumbnails: Thumbnails
    first: str  # the page of the scheme that its cards begin on
    names: dict[str, str]  # item -> the name of its page
    up: str = ""
    written: set[str] = field(default_factory=set)  # pictures
    values: dict[tuple[str, str], int] = field(default_factory=dict)  # facet, value -> its number for `site.js`

    def grid(self, wanted: ItemFilter, **more: object) -> str:
        return f"{self.up}{self.first}"

    def filtered(self, facet: str, value: str) -> str:
        """Where the items of a value are; empty where they cannot be filtered by it."""
        number = self.values.get((facet, value))
        return "" if number is None else f"{self.up}{self.first}#v={number}"

    def item(self, name: str, wanted: ItemFilter) -> str:
        return f"{self.up}items/{self.names[name]}.html"

    def picture(self, address: str, region: Box | None, side: int) -> str:
        name = picture_name(address, region, side)
        found = self.thumbnails.get(name)
        if found is None:
            return ""
        file = f"{name}.{_SUFFIXES[found.mime]}"
        if file not in self.written:
            (self.folder / "pictures" / file).write_bytes(found.data)
            self.written.add(file)
        return f"{self.up}pictures/{file}"


def export(explorer: Explorer, out: Path | str, sample: int) -> Exported:
    """Write a site of so many items of each scheme, evenly spread over it."""
    if explorer.hidden:
        raise UserError("A site that others can read holds no hidden answers.", "Leave out --hidden or --export.")
    if sample < 1:
        raise UserError(f"A sample of {sample} items shows nothing.", "Give --sample a number of 1 or more.")
    folder = outside(out, explorer.benchmark.directory)
    with staging(folder) as work:
        made = _write(explorer, work / "site", sample)
        (work / "site").replace(folder)
    return Exported(folder, *made)


def _write(explorer: Explorer, folder: Path, sample: int) -> tuple[int, int, int]:
    for name in ("items", "pictures", "static", "cards"):
        (folder / name).mkdir(parents=True)
    for name in SCRIPTS:
        shutil.copyfile(look.STATIC / name, folder / "static" / name)
    (folder / "static" / "pages.css").write_text(look.shared_style(), encoding="utf-8")
    others = [name for name in explorer.benchmark.schemes if name != explorer.scheme]
    firsts = {explorer.scheme: "index.html"} | {name: f"scheme-{k}.html" for k, name in enumerate(others, 2)}
    thumbnails, pictures = Thumbnails(explorer.benchmark), set[str]()
    items = pages = 0
    for scheme, first in firsts.items():
        catalogue = explorer.catalogue(scheme)
        numbers = catalogue.sample(catalogue.everything, sample)
        site = _Scheme(explorer, catalogue, SiteAddresses(folder, thumbnails, first, {}, "", pictures), firsts, numbers)
        pages += site.write(items + 1)
        items += len(numbers)
    return items, pages, len(pictures)


@dataclass(frozen=True)
class _Scheme:
    """The pages of one scheme."""

    explorer: Explorer
    catalogue: Catalogue
    addresses: SiteAddresses
    firsts: dict[str, str]  # every scheme -> its first page
    numbers: Sequence[int]  # of the items that are shown

    def write(self, number: int) -> int:
        """Write all of them, items from a number on; how many there are."""
        catalogue = self.catalogue
        places = catalogue.places(self.numbers)
        items = catalogue.items(places.values())
        ids = [items[places[n].split, places[n].row].id for n in self.numbers]
        self.addresses.names.update({name: f"{place:05}" for place, name in enumerate(ids, number)})
        pages = self._grids()
        below = replace(self.addresses, up="../")
        own = [below.names[name] for name in ids]
        for at, place in enumerate(places[n] for n in self.numbers):
            made = PageMaker(self.explorer, catalogue, place, below).page()
            around = {
                "before": f"{own[at - 1]}.html" if at else None,
                "after": f"{own[at + 1]}.html" if at + 1 < len(ids) else None,
            }
            values = {"made": made, "scheme": catalogue.scheme, "tags": _tags(catalogue, made.item.tags)} | around
            title = f"{made.item.id} · {self.explorer.benchmark.name}"
            text = _page(self.explorer, "site_item.html", title, "../", **values, wanted=catalogue.everything,
                         addresses=below, position=at + 1, count=len(ids), page=1,
                         everything=catalogue.everything)  # fmt: skip
            (below.folder / "items" / f"{own[at]}.html").write_text(text, encoding="utf-8")
        return pages + len(ids)

    def _grids(self) -> int:
        """The pages of cards; the first holds what filters need."""
        catalogue, first = self.catalogue, self.addresses.first
        cards = grid_cards(self.explorer, catalogue, self.numbers, catalogue.everything, self.addresses)
        pages = max(1, -(-len(cards) // PER_PAGE))
        stem = "" if first == "index.html" else f"{first.removesuffix('.html')}-"
        names = [first, *(f"{stem}page-{number}.html" for number in range(2, pages + 1))]
        scripts = [f"cards/{name.removesuffix('.html')}.js" for name in names]
        own = catalogue.values_of(self.numbers)
        facets = _numbered(catalogue, own)
        for facet, numbers in facets:
            self.addresses.values.update({(facet.name, facet.values[place]): n for place, n in numbers.items()})
        data = _filterable(facets, [own[number] for number in self.numbers], cards, scripts)
        for place, (name, script) in enumerate(zip(names, scripts, strict=True)):
            shown = cards[PER_PAGE * place : PER_PAGE * (place + 1)]
            drawn = msgspec.json.encode([str(Markup(card)) for card in shown]).decode()
            (self.addresses.folder / script).write_text(f"takeCards({place}, {drawn});\n", encoding="utf-8")
            title = f"{self.explorer.benchmark.name}: {len(cards):,} items"
            text = _page(self.explorer, "site_grid.html", title, "", cards=shown, page=place + 1, names=names,
                         total=catalogue.count(catalogue.everything).items, count=len(cards), firsts=self.firsts,
                         scheme=catalogue.scheme, data=data if place == 0 else None)  # fmt: skip
            (self.addresses.folder / name).write_text(text, encoding="utf-8")
        return pages


def _tags(catalogue: Catalogue, tags: Sequence[tuple[str, str]]) -> list[tuple[str, str, str]]:
    return [(tag, value, catalogue.facets.tag_facet(tag)) for tag, value in dict.fromkeys(tags)]


Numbered = list[tuple[Facet, dict[int, int]]]  # facets, and the number of each place among their values


def _numbered(catalogue: Catalogue, own: Mapping[int, Mapping[str, Sequence[int]]]) -> Numbered:
    """The facets that tell the items of a sample apart; each value that can be chosen has a number of its own."""
    used = {(name, code) for values in own.values() for name, codes in values.items() for code in codes}
    numbers = count()
    out: Numbered = []
    for facet in catalogue.facets:
        places = [place for place in range(len(facet.values)) if (facet.name, place) in used]
        if 1 < len(places) <= MOST_VALUES:
            out.append((facet, {place: next(numbers) for place in places}))
    return out


def _filterable(
    facets: Numbered, own: Sequence[Mapping[str, Sequence[int]]], cards: Sequence[ItemCard], scripts: Sequence[str]
) -> Markup:
    """Facets and items as JSON for a page: what `site.js` filters, and where the cards are that it shows."""
    known = {
        "facets": [
            {"title": facet.title, "values": [(number, facet.values[place]) for place, number in numbers.items()]}
            for facet, numbers in facets
        ],
        "items": [
            {
                "words": " ".join([card.id, *(Markup(text).striptags() for text in _texts(card))]).lower(),
                "values": [numbers[code] for facet, numbers in facets for code in values[facet.name]],
            }
            for card, values in zip(cards, own, strict=True)
        ],
        "cards": scripts,
        "per_page": PER_PAGE,
    }
    return Markup(msgspec.json.encode(known).decode().translate(_ESCAPES))


def _texts(card: ItemCard) -> list[str]:
    """What is searched, as markup."""
    return [*([] if card.query is None else [card.query]), *(one.text for one in card.candidates)]


def _page(explorer: Explorer, template: str, title: str, root: str, **values: Any) -> str:
    shared = {"explorer": explorer, "benchmark": explorer.benchmark, "root": root, "home": f"{root}index.html"}
    made = look.environment().get_template(f"explore/{template}")
    return made.render(brand="Veridical", title=title, **shared, **values)
