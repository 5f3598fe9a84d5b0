"""The public part of hosted items, where the host lets people see it: what the public folder holds, and no more."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from veridical.pages.shown import item_card
from veridical.web.board.pages import about
from veridical.web.board.site import TheSite, TheVisitor, nothing
from veridical.web.visitors import page

router = APIRouter(include_in_schema=False)
AT_ONCE = 6  # cards of a page, which pictures make heavy


@router.get("/boards/{board}/items")
def show_items(request: Request, site: TheSite, visitor: TheVisitor, board: str, start: int = 0) -> Response:
    """Some items of a board, as cards."""
    with site.database.read() as session:
        site.board(session, board, visitor)
    one = site.boards[board]
    if not 0 <= start < one.items:
        raise nothing()
    ids = one.benchmark.items_table(one.split, one.scheme, ["id"])["id"].slice(start, AT_ONCE).to_pylist()
    cards = [item_card(one.benchmark[name]) for name in ids]
    shown = {
        **about(site), "hosted": one, "board": board, "cards": cards, "start": start, "at_once": AT_ONCE,
    }  # fmt: skip
    return page(request, visitor, "board/items.html", shown)
