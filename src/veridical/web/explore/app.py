"""The explorer's routes: a grid of items, an item, two solvers beside each other, pictures. All of them only read.

A request must name this machine as its host, so that no page of a stranger can read the explorer through a name of its
own that leads here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from veridical.errors import UserError
from veridical.pages.shown import SHOWN_TAGS
from veridical.records import Box
from veridical.web import look
from veridical.web.explore.cards import PageMaker, grid_cards
from veridical.web.explore.catalogue import Catalogue, Counted
from veridical.web.explore.diff import difference, shared_parts
from veridical.web.explore.explorer import Explorer
from veridical.web.explore.facets import SOLVER, Facet
from veridical.web.explore.filters import ITEM, PAGE, WHOLE, ItemFilter
from veridical.web.explore.pictures import Thumbnails, picture_name

HOSTS = ("127.0.0.1", "localhost")
PER_PAGE = 24
SHOWN_VALUES, MOST_VALUES = 10, 400  # of a facet: at first, and when all are asked for
FOR_EVER = "public, max-age=31536000, immutable"


class ServerAddresses:
    """Where a server's pages are: the filter is the query of every address."""

    def grid(self, wanted: ItemFilter, **more: object) -> str:
        return f"/?{wanted.query(**more)}"

    def item(self, name: str, wanted: ItemFilter) -> str:
        return f"/item?{wanted.query(**{ITEM: name})}"

    def diff(self, one: str, other: str, scheme: str, split: str | None = None) -> str:
        pairs = {"a": one, "b": other, "scheme": scheme} | ({"split": split} if split else {})
        return f"/diff?{urlencode(pairs)}"

    def picture(self, address: str, region: Box | None, side: int) -> str:
        return f"/picture/{picture_name(address, region, side)}"


@dataclass(frozen=True)
class FacetValue:
    """A value that can be chosen."""

    value: str
    count: int
    chosen: bool
    address: str  # of the page with it chosen, or without it where it is


@dataclass(frozen=True)
class ShownFacet:
    """A facet as a page shows it."""

    title: str
    values: tuple[FacetValue, ...]
    open: bool
    more: str  # the address of a page with all values, where some are left out
    left_out: int


def app(explorer: Explorer, frames: Iterable[str] = (), hosts: Sequence[str] = HOSTS) -> Starlette:
    """The ASGI app; `frames` are pages that may hold it in a frame."""
    pages = _Pages(explorer)
    routes = [
        Route("/", pages.grid),
        Route("/item", pages.item),
        Route("/diff", pages.diff),
        Route("/picture/{name:str}", pages.picture),
        *look.static(),
    ]
    middleware = [
        Middleware(look.Guarded, frames=tuple(frames)),
        Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False),
    ]
    handlers = {UserError: pages.refused, 404: pages.missing}
    return Starlette(routes=routes, middleware=middleware, exception_handlers=handlers)  # type: ignore[arg-type]


class _Pages:
    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self.addresses = ServerAddresses()
        self.thumbnails = Thumbnails(explorer.benchmark)

    def wanted(self, request: Request) -> ItemFilter:
        schemes = self.explorer.benchmark.schemes
        return ItemFilter.of(request.query_params.multi_items(), schemes, self.explorer.scheme)

    def show(self, template: str, title: str, status: int = 200, **values: object) -> Response:
        """A page, with what every page of the explorer needs."""
        shared = {"explorer": self.explorer, "benchmark": self.explorer.benchmark, "addresses": self.addresses}
        about = {"root": "/", "home": "/", "brand": "Veridical", "title": title}
        return look.page(f"explore/{template}", status, **shared, **about, **values)

    # --- pages -------------------------------------------------------------------------------------------------------

    def grid(self, request: Request) -> Response:
        wanted = self.wanted(request)
        catalogue = self.explorer.catalogue(wanted.scheme)
        counted = catalogue.count(wanted)
        pages = max(1, -(-counted.items // PER_PAGE))
        page = min(_whole(request.query_params.get(PAGE), 1), pages)
        numbers = catalogue.numbers(wanted, PER_PAGE, PER_PAGE * (page - 1))
        return self.show(
            "grid.html",
            f"{self.explorer.benchmark.name}: {counted.items:,} items",
            wanted=wanted,
            total=catalogue.count(catalogue.everything).items,
            counted=counted,
            page=page,
            pages=pages,
            cards=grid_cards(self.explorer, catalogue, numbers, wanted, self.addresses),
            facets=shown_facets(catalogue, counted, wanted, request.query_params.get(WHOLE), self.addresses),
            asked=[one for one in self.explorer.solvers if any(part[0] == wanted.scheme for part in one.files)],
        )

    def item(self, request: Request) -> Response:
        wanted = self.wanted(request)
        catalogue = self.explorer.catalogue(wanted.scheme)
        name = request.query_params.get(ITEM, "")
        place = catalogue.place(name)
        if place is None:
            return self.missing(request, None)
        made = PageMaker(self.explorer, catalogue, place, self.addresses).page()
        if made.item.id != name:  # a rationale, which is shown with its question
            return RedirectResponse(self.addresses.item(made.item.id, wanted))
        before, after, earlier = catalogue.beside(wanted, place.number)
        return self.show(
            "item.html",
            f"{made.item.id} · {self.explorer.benchmark.name}",
            wanted=wanted,
            everything=catalogue.everything,
            made=made,
            scheme=wanted.scheme,
            tags=[(tag, value, catalogue.facets.tag_facet(tag)) for tag, value in dict.fromkeys(made.item.tags)],
            before=None if before is None else self.addresses.item(before, wanted),
            after=None if after is None else self.addresses.item(after, wanted),
            position=earlier + 1,
            count=catalogue.count(wanted).items,
            page=earlier // PER_PAGE + 1,
        )

    def diff(self, request: Request) -> Response:
        query = request.query_params
        one, other = (self.explorer.solver(query.get(key, "")) for key in ("a", "b"))
        scheme = self.wanted(request).scheme
        if one is None or other is None:
            pairs = [
                (a, b)
                for a in self.explorer.solvers
                for b in self.explorer.solvers
                if shared_parts(a, b) and a is not b
            ]
            if not pairs:
                return self.show("nothing.html", "No two solvers", 404, problem="There are no two solvers to compare.")
            one, other = pairs[0]
        parts = shared_parts(one, other)
        chosen = [part for part in parts if part == (scheme, query.get("split"))] or [
            p for p in parts if p[0] == scheme
        ]
        if not parts or one is other:
            problem = f"{one.name} and {other.name} have no part in common."
            return self.show("nothing.html", "Nothing to compare", 404, problem=problem)
        found = difference(self.explorer, one, other, (chosen or list(parts))[0])
        return self.show("diff.html", f"{one.name} and {other.name}", found=found, solver_facet=SOLVER)

    def picture(self, request: Request) -> Response:
        name = request.path_params["name"]
        found = self.thumbnails.get(name)
        if found is None:
            return Response("There is no such picture.", 404, media_type="text/plain")
        tag = f'"{hashlib.sha256(name.encode()).hexdigest()[:32]}"'
        headers = {"etag": tag, "cache-control": FOR_EVER}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(found.data, media_type=found.mime, headers=headers)

    # --- what goes wrong ---------------------------------------------------------------------------------------------

    def missing(self, request: Request, error: Exception | None) -> Response:
        return self.show("nothing.html", "Not found", 404, problem="There is no such page or item here.")

    def refused(self, request: Request, error: UserError) -> Response:
        return self.show("nothing.html", "It cannot be read", 500, problem=f"{error.problem} {error.fix}")


def shown_facets(
    catalogue: Catalogue, counted: Counted, wanted: ItemFilter, whole: str | None, addresses: ServerAddresses
) -> list[ShownFacet]:
    """The facets that tell items apart, the values with most items first."""
    out: list[ShownFacet] = []
    for facet in catalogue.facets:
        found = _values(facet, counted, wanted)
        telling = len(found) > 1 or any(count != counted.items for _, count in found)
        if not telling and facet.name not in wanted.facets:
            continue
        most = MOST_VALUES if whole == facet.name else SHOWN_VALUES
        kept = [one for place, one in enumerate(found) if place < most or wanted.has(facet.name, one[0])]
        values = tuple(
            FacetValue(value, count, wanted.has(facet.name, value), addresses.grid(wanted.toggled(facet.name, value)))
            for value, count in kept
        )
        left = len(found) - len(kept)
        more = addresses.grid(wanted, **{WHOLE: facet.name}) if left and whole != facet.name else ""
        opened = facet.name in wanted.facets or whole == facet.name or len(facet.values) <= SHOWN_VALUES
        opened = opened or facet.tag in SHOWN_TAGS
        out.append(ShownFacet(facet.title, values, opened, more, left))
    return out


def _values(facet: Facet, counted: Counted, wanted: ItemFilter) -> list[tuple[str, int]]:
    counts = [(value, counted.values[facet.name].get(place, 0)) for place, value in enumerate(facet.values)]
    known = [(value, count) for value, count in counts if count or wanted.has(facet.name, value)]
    return sorted(known, key=lambda one: -one[1]) if len(known) > SHOWN_VALUES else known


def _whole(text: str | None, usual: int) -> int:
    """A number of an address, at least 1."""
    return max(1, int(text)) if text and text.isdecimal() and text.isascii() and len(text) < 9 else usual
