"""From a name to what it stands for: a room's plain dict of `"module:attribute"`, then entry points of other packages.

A room (encoders, sources, builders, zoo, solvers ...) lists its own in a dict. A plug-in package adds to it by an entry
point of the group `veridical.<room>`, in its pyproject.toml:

    [project.entry-points."veridical.sources"]
    openimages = "my_package.openimages:OpenImages"

Nothing is imported before it is asked for by name, and a plug-in cannot take a name that a room has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from pkgutil import resolve_name
from typing import Any

from veridical.errors import UserError


def resolve(known: Mapping[str, str], name: str, noun: str, room: str) -> Any:
    """What a name stands for in a room; a name that is not known is an error that lists those that are."""
    place = known.get(name) or plugins(room).get(name)
    if place is None:
        raise unknown(name, noun, names(known, room))
    try:
        return resolve_name(place)
    except (ImportError, AttributeError) as error:
        if name in known:
            raise
        raise UserError(
            f"The plug-in {noun} {name!r} ({place}) does not load: {error}.", "Mend its package."
        ) from error


def names(known: Mapping[str, str], room: str) -> tuple[str, ...]:
    """All names of a room: its own, then those of plug-ins."""
    return tuple({**known, **plugins(room)})


def unknown(name: str, noun: str, known: Iterable[str]) -> UserError:
    """The error for a name that is not there, with the nearest one that is.

    >>> print(unknown("vrc", "builder", ["nlvr", "vcr"]))
    There is no builder 'vrc'. Did you mean 'vcr'?
      Choose one of: nlvr, vcr.
    """
    listed = list(known)
    near = get_close_matches(name, listed, 1)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    return UserError(f"There is no {noun} {name!r}.{meant}", f"Choose one of: {', '.join(listed)}.")


@cache
def plugins(room: str) -> dict[str, str]:
    """What installed packages add to a room: name -> "module:attribute"."""
    from importlib.metadata import entry_points  # reads the metadata of every package: only where it is needed

    return {point.name: point.value for point in entry_points(group=f"veridical.{room}")}
