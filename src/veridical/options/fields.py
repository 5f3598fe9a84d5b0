"""How keywords reach the fields of options, how the command line spells them, and what nobody would use is refused."""

from __future__ import annotations

import os
import typing
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from types import UnionType
from typing import Annotated, Any, Literal, Protocol, TypeVar

from veridical.errors import UserError


@dataclass(frozen=True)
class Spelled:
    """How the command line spells an option, where that is not `--its-name` and a value of its type."""

    names: tuple[str, ...] = ()  # instead of --its-name
    commas: bool = False  # a list is written with commas
    json: bool = False  # values of NAME=VALUE that are JSON are taken as such
    negative: bool = False  # a flag has its --no-flag, although it is off anyway
    argument: bool = False  # it is all the arguments that are left, of which there may be none


NEGATIVE = Spelled(negative=True)
ARGUMENT = Spelled(argument=True)
COMMAS = Spelled(commas=True)
LAMBDA = Spelled(("--lambda",))
FROM = Spelled(("--from",))
MODEL_ARG = Spelled(("--model-arg", "-M"), json=True)


class NamedAnswers(Protocol):
    """Predictions in memory: a dict from ids to answers or scores, or a table or a column of pandas."""

    def items(self) -> Any: ...


Given = TypeVar("Given")
# what keywords were called once
RENAMED = {
    "checks": "check", "config": "set", "hidden": "hide", "learned": "learn", "splits": "split", "stage": "until",
}  # fmt: skip
LARGEST_SEED = 1 << 63
_GIVEN = "_given"  # the attribute of options that keeps the names of what keywords gave


def given(options: Given, values: Mapping[str, Any]) -> Given:
    """Options with some fields set, as keywords give them; a name that is no field is refused.

    >>> given(Spelled(), {"commas": True}).commas
    True
    """
    (made,) = gathered((options,), values)
    return typing.cast(Given, made)


def gathered(groups: tuple[Any, ...], values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Several groups of options with the fields set that keywords give."""
    known = [{f.name for f in fields(group)} for group in groups]
    for name in values:
        if not any(name in names for names in known):
            from difflib import get_close_matches

            close = [RENAMED[name]] if name in RENAMED else get_close_matches(name, set().union(*known), 1)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            if not close and any("set" in names for names in known):
                hint = f"; a model's own is given as set={{{name!r}: ...}}"
            raise TypeError(f"there is no option {name!r}{hint}")
    made = []
    for group, names in zip(groups, known, strict=True):
        hints = typing.get_type_hints(type(group))
        its = {name: _listed(hints[name], value) for name, value in values.items() if name in names}
        made.append(_remembering(replace(group, **its), given_names(group) | its.keys()))
        check_choices(made[-1])
    return tuple(made)


def several(value: Any) -> Any:
    """A list of names, or one name, which is a list of one and not of its letters.

    >>> several("dev"), several(["dev", "test"])
    (('dev',), ['dev', 'test'])
    """
    return (value,) if isinstance(value, str | os.PathLike) else value


def _listed(hint: Any, value: Any) -> Any:
    union = typing.get_origin(hint) in (typing.Union, UnionType)
    parts = typing.get_args(hint) if union else (hint,)
    is_list = any(typing.get_origin(part) is Sequence for part in parts) and str not in parts
    return several(value) if is_list else value


def given_names(options: Any) -> frozenset[str]:
    """The fields that were given: those that keywords set, even to their defaults, and those that differ from them."""
    defaults = {f.name: f.default if f.default_factory is MISSING else f.default_factory() for f in fields(options)}
    differing = {name for name, default in defaults.items() if getattr(options, name) != default}
    return frozenset(differing | vars(options).get(_GIVEN, set()))


def filled(options: Given, values: Mapping[str, Any]) -> Given:
    """Options with those fields set that were not given.

    >>> filled(Spelled(json=True), {"json": False, "commas": True})
    Spelled(names=(), commas=True, json=True, negative=False)
    """
    names = given_names(options)
    made = replace(options, **{name: value for name, value in values.items() if name not in names})  # type: ignore[type-var]
    return typing.cast(Given, _remembering(made, names))


def _remembering(options: Any, names: Collection[str]) -> Any:
    """The same options, which know what was given; they stay equal to others, and no record shows it."""
    object.__setattr__(options, _GIVEN, frozenset(names))
    return options


def check_choices(options: Any) -> None:
    """Refuse a word that is none of a field's choices, and a seed that is none."""
    check_seed(getattr(options, "seed", 0))
    for name, hint in typing.get_type_hints(type(options), include_extras=True).items():
        extras = typing.get_args(hint)[1:] if typing.get_origin(hint) is Annotated else ()
        plain = typing.get_args(hint)[0] if extras else hint
        choices = [c for part in (plain, *typing.get_args(plain)) for c in _choices(part)]
        value = getattr(options, name)
        if choices and isinstance(value, str) and value not in choices:
            raise UserError(f"{option(name, extras)} is {value!r}.", f"Choose one of: {', '.join(choices)}.")


def check_seed(seed: int) -> None:
    """Refuse what torch or a file of 64-bit numbers could not take for a seed."""
    if not 0 <= seed < LARGEST_SEED:
        raise UserError(f"The seed is {seed}.", f"Give a whole number from 0, below {LARGEST_SEED:,}.")


def _choices(hint: Any) -> tuple[str, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) is Literal else ()


def option(name: str, extras: Sequence[Any] = ()) -> str:
    """The first name of an option on the command line."""
    names = next((one.names for one in extras if isinstance(one, Spelled) and one.names), ())
    return names[0] if names else "--" + name.strip("_").replace("_", "-")


def refuse_unused(who: str, used: Collection[str], *groups: Any) -> None:
    """Refuse options that were given although `who` has no use for them: silence would be taken for obedience."""
    for group in groups:
        hints = typing.get_type_hints(type(group), include_extras=True)
        names = given_names(group)
        for one in fields(group):
            if one.name in names and one.name not in used:
                extras = typing.get_args(hints[one.name])[1:]
                raise UserError(f"{who} has no use for {option(one.name, extras)}.", "Leave it out.")
