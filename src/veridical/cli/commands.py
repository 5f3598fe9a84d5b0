"""A verb becomes a command: its signature with the option dataclasses flattened, its docstrings as help.

Required parameters are arguments, except `out`; everything else is an option. Only what was given reaches the verb, as
keywords, so that its defaults stand in one place.
"""

from __future__ import annotations

import inspect
import math
import os
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, fields, is_dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import Annotated, Any, get_args, get_origin

from cyclopts import Parameter, Token

from veridical.common.result import QUIET, Result
from veridical.errors import UserError
from veridical.options import Spelled, option

MANY = (Sequence, Mapping)


@dataclass(frozen=True)
class Told:
    """One thing that a command can be told."""

    name: str  # of the keyword
    hint: Any  # its type in Python
    default: Any
    help: str

    @property
    def spelled(self) -> Spelled:
        return next((one for one in get_args(self.hint)[1:] if isinstance(one, Spelled)), Spelled())

    @property
    def is_argument(self) -> bool:
        needed = self.default is inspect.Parameter.empty and self.name != "out"
        return needed or self.spelled.arguments

    @property
    def is_several(self) -> bool:
        """Whether it is all the arguments that are left."""
        return self.is_argument and get_origin(self.type) is list

    @property
    def names(self) -> tuple[str, ...]:
        return self.spelled.names or (option(self.name),)

    @property
    def type(self) -> Any:
        """Its type on the command line: of several, the one that words can say."""
        hint = get_args(self.hint)[0] if get_origin(self.hint) is Annotated else self.hint
        parts = get_args(hint) if get_origin(hint) in (typing.Union, UnionType) else (hint,)
        parts = tuple(part for part in parts if part is not NoneType)
        many = [part for part in parts if get_origin(part) in MANY]
        if many:
            inner = get_args(many[0])[0]
            return Mapping if get_origin(many[0]) is Mapping else list[_one(get_args(inner) or (inner,))]  # type: ignore[misc]
        return _one(parts)

    def parameter(self) -> inspect.Parameter:
        """As cyclopts reads it."""
        type_ = self.type
        text = type_ is Mapping or self.spelled.commas
        hint = list[str] if text else get_args(type_)[0] if self.is_several else type_
        optional = hint if self.default is not None else hint | None
        metavar = "NAME=VALUE" if type_ is Mapping else "A,B" if text else None
        names = None if self.is_argument else self.names
        negative = () if self.default is False and not self.spelled.negative else None  # --no-learn, but no --no-json
        about = Parameter(
            name=names,
            help=self.help,
            negative=negative,
            negative_iterable=(),
            metavar=metavar,
            required=not self.spelled.arguments if self.is_several else None,
            converter=_whole_number if int in (hint, *get_args(hint)) else None,
            show_default=bool(self.default) if text else _says_something(self.default),
        )
        where: Any = inspect.Parameter.POSITIONAL_ONLY if self.is_argument else inspect.Parameter.KEYWORD_ONLY
        if self.is_several:  # a positional-only list would end at the first option
            where = inspect.Parameter.VAR_POSITIONAL
        shown = self.default
        if text and self.default is not None:  # of its type: where pydantic is loaded, cyclopts checks defaults too
            shown = ",".join(map(str, self.default)) or []
        if self.spelled.arguments:  # Python has no default for them: none are an empty list
            shown = inspect.Parameter.empty
        annotation: Any = Annotated.__class_getitem__((optional, about))  # type: ignore[attr-defined]
        return inspect.Parameter(self.name, where, default=shown, annotation=annotation)

    def read(self, value: Any) -> Any:
        """What the verb is given for what the command line said."""
        type_ = self.type
        if value == "":  # as of a variable of the shell that is not set
            raise UserError(f"{self.names[0]} is empty.", "Give it a value, or leave it out.")
        if self.spelled.commas:
            words = [word.strip() for text in value for word in text.split(",") if word.strip()]
            return _numbers(words, self.names[0], value) if type_ == list[float] else words
        if type_ is not Mapping:
            return value
        shares = "float" in str(self.hint)
        return _shares(value, self.names[0]) if shares else _settings(value, self.names[-1], self.spelled.json)


def told(verb: Callable[..., Any]) -> list[Told]:
    """Everything that a verb can be told, its option dataclasses flattened."""
    parameters = [p for p in inspect.signature(verb).parameters.values() if p.kind is not p.VAR_KEYWORD]
    annotations = SimpleNamespace(__annotations__={p.name: p.annotation for p in parameters})
    hints = typing.get_type_hints(annotations, inspect.unwrap(verb).__globals__, include_extras=True)
    help = _helps(verb)
    out = []
    for one in parameters:
        if is_dataclass(one.default) and not isinstance(one.default, type):
            group = type(one.default)
            types, about = typing.get_type_hints(group, include_extras=True), _helps(group)
            out += [
                Told(f.name, types[f.name], getattr(one.default, f.name), about.get(f.name, "")) for f in fields(group)
            ]
        else:
            out.append(Told(one.name, hints[one.name], one.default, help.get(one.name, "")))
    return out


def command(verb: Callable[..., Any]) -> Callable[..., int]:
    """The function that cyclopts calls: it runs the verb and shows its result; what it gives is the exit code."""
    known = told(verb)
    arguments = [one.name for one in known if one.is_argument]
    several = any(one.is_several for one in known)  # the last argument
    by_name = {one.name: one for one in known}

    def run(*args: Any, json: bool = False, quiet: bool = False, **given: Any) -> int:
        if several:
            args = (*args[: len(arguments) - 1], list(args[len(arguments) - 1 :]))
        given |= dict(zip(arguments, args, strict=True))
        with _silence() if quiet else nullcontext():
            result: Result = verb(**{name: by_name[name].read(value) for name, value in given.items()})
            result.show(json=json)
        return result.exit_code

    everywhere = [
        Told("json", bool, False, "Print the result as JSON, and nothing else, to stdout."),
        Told("quiet", bool, False, "Show no progress and no remarks but warnings."),
    ]
    made = [one.parameter() for one in (*known, *everywhere)]
    signature = inspect.Signature(sorted(made, key=lambda p: p.kind))
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in made}
    run.__doc__ = description(verb)
    return run


@contextmanager
def _silence() -> Iterator[None]:
    """No progress and no remarks, of worker processes either."""
    ours = {QUIET: "1", "VERIDICAL_PROGRESS": "0"}
    before = {name: os.environ.get(name) for name in ours}
    os.environ |= ours
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def description(verb: Callable[..., Any]) -> str:
    """A verb's docstring without its parameters."""
    text = inspect.cleandoc(verb.__doc__ or "").partition("\nArgs:")[0].strip()
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _says_something(default: Any) -> bool:
    """Whether help shows a default; where it is a list, the words of the help say it."""
    return default is not False and default not in (None, "") and not isinstance(default, tuple)


def _one(parts: tuple[Any, ...]) -> Any:
    if Path in parts:
        return Path
    if Any in parts:
        return bool if bool in parts else str
    return reduce(or_, parts)


def _helps(thing: Any) -> dict[str, str]:
    """What docstrings say of each parameter of a function, or of each field of a dataclass, but to Python alone."""
    from docstring_parser import parse_from_object

    found = parse_from_object(thing).params
    return {one.arg_name: " ".join((one.description or "").split()).partition(" Python: ")[0] for one in found}


def _whole_number(hint: Any, tokens: Sequence[Token]) -> int | str:
    """A whole number, which cyclopts would make of any number; or a text, where that will do."""
    text = tokens[0].value
    try:
        return int(text)
    except ValueError:
        if str in get_args(hint):
            return text
        fix = "Give a whole number, such as 100."
        raise UserError(f"{tokens[0].keyword} is {text!r}.", fix) from None


def _numbers(words: Sequence[str], name: str, given: Sequence[str]) -> list[float]:
    try:
        return [float(word) for word in words]
    except ValueError:
        raise UserError(
            f"{name} {','.join(given)!r} is not a list of numbers.", f"Write, for example, {name} 0.1,0.5,1."
        ) from None


def _shares(texts: Sequence[str], name: str) -> dict[str, float]:
    """NAME=SHARE as a mapping."""
    out: dict[str, float] = {}
    for text in texts:
        key, _, share = (part.strip() for part in text.partition("="))
        try:
            number = float(share)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or not key:
            raise UserError(f"{text!r} is not a name and its share.", f"Write, for example, {name} dev=0.3.")
        if key in out:
            raise UserError(f"{key!r} is given two shares.", f"Give it one: {name} {key}={number:g}.")
        out[key] = number
    return out


def _settings(texts: Sequence[str], name: str, json: bool) -> dict[str, Any]:
    """NAME=VALUE as a mapping; with `json`, values that are JSON (numbers, true, false) are taken as such.

    >>> _settings(["device=cpu", "batch_size=4"], "-M", True)
    {'device': 'cpu', 'batch_size': 4}
    """
    import msgspec

    out: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UserError(f"{name} {text!r} is not NAME=VALUE.", f"Write, for example, {name} epochs=20.")
        try:
            out[key] = msgspec.json.decode(value) if json else value
        except msgspec.DecodeError:
            out[key] = value
    return out
