"""Where a verb reads and writes: paths of this disk, or addresses of object stores.

`anywhere` is the one place where that makes a difference. What a verb reads by an address is fetched before it begins;
what it writes to one is written here first, and published when it is whole. (A benchmark opens by its address itself:
workers on other machines do the same.) tests/common/test_every_address.py holds every verb to it.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from veridical.common import result as results
from veridical.errors import UserError
from veridical.options.fields import given, option

Told = ParamSpec("Told")
Result = TypeVar("Result")
# what may name files or runs by their addresses: parameters of verbs, and fields of their options
READ = (
    "predictions", "against", "a", "b", "runs", "solver", "also", "file", "pretrained", "relevance", "similarity",
    "weights", "audit",
)  # fmt: skip
NAMED = ("baseline", "blind", "human")  # the same, by the names of rows
# what is written while a verb works: on this disk alone
HERE = ("export", "save_weights", "logs", "data")


def anywhere(verb: Callable[Told, Result]) -> Callable[Told, Result]:
    """The same verb, which takes addresses for what it reads and for `out`."""
    signature = inspect.signature(verb)

    @functools.wraps(verb)
    def located(*args: Told.args, **kwargs: Told.kwargs) -> Result:
        from veridical.common.addresses import is_address, spelled
        from veridical.common.publishing import check_free, publish, staged

        bound = signature.bind(*args, **kwargs)
        for told in (bound.arguments, bound.arguments.get("fields", {})):
            told.update({name: _located(name, value) for name, value in told.items()})
        out = bound.arguments.get("out")
        if out is None or not is_address(out):
            return verb(*bound.args, **bound.kwargs)
        address = spelled(out)
        check_free(address, bool(bound.arguments.get("replace")))
        place = staged(address)
        place.parent.mkdir(parents=True, exist_ok=True)
        bound.arguments["out"] = place
        result = verb(*bound.args, **bound.kwargs)
        if os.environ.get("RANK", "0") != "0":  # one of a team that trains: the first publishes
            return result
        publish(place, address)
        results.remark(f"Published: {address}")
        hidden = place.with_name(f"{place.name}.hidden")
        if hidden.is_dir():
            results.remark(
                f"Not published: the hidden answers, which stay in {hidden}. Where only you can read, "
                f"`veridical copy {hidden} --out ADDRESS.hidden` keeps them."
            )
        return result

    return located


def _located(name: str, value: Any) -> Any:
    """What a verb is told, with paths of this disk where addresses are read; also within options."""
    from veridical.common.addresses import is_address

    if name in READ:
        return _fetched(value)
    if name in NAMED and isinstance(value, Mapping):
        return {row: _fetched(one) for row, one in value.items()}
    if name in HERE and is_address(value):
        raise UserError(f"{option(name)} is written on this disk, and {value} is an address.", "Give it a path.")
    if is_dataclass(value) and not isinstance(value, type):
        held = {one.name: getattr(value, one.name) for one in fields(value)}
        found = {one: _located(one, was) for one, was in held.items()}
        changed = {one: now for one, now in found.items() if now is not held[one]}
        return given(value, changed) if changed else value
    return value


def _fetched(value: Any) -> Any:
    """A value whose addresses are paths in the cache, the same value where it has none; `NAME=ADDRESS` keeps a name."""
    from veridical.common.addresses import is_address, local

    if isinstance(value, str | Path):
        name, equals, rest = str(value).partition("=")
        if equals and is_address(rest):
            return f"{name}={local(rest)}"
        return type(value)(local(value)) if is_address(value) else value
    if not isinstance(value, list | tuple):
        return value
    found = [_fetched(one) for one in value]
    return value if all(now is was for now, was in zip(found, value, strict=True)) else found


@dataclass(frozen=True)
class Copied(results.Result):
    """What was copied, and where to."""

    source: str
    out: str
    files: int  # that had to be sent

    def to_json(self) -> dict[str, object]:
        return {"source": self.source, "out": self.out, "files": self.files}

    def parts(self) -> Iterator[results.Table | str]:
        yield f"{self.source} is at {self.out}; {self.files:,} files were sent."


def copied(source: Path | str, out: Path | str, replace: bool = False) -> Copied:
    """Copy a benchmark, a hidden folder, a run or a file from one place to another."""
    from veridical.common.addresses import FILES, HIDDEN, is_address, local, spelled
    from veridical.common.publishing import check_free, publish
    from veridical.common.workplaces import beside, copy_files

    path = local(source)
    if is_address(out):
        address = spelled(out)
        check_free(address, replace)
        return Copied(str(source), address, publish(path, address))
    target = Path(out).absolute()
    if not path.exists():
        raise UserError(f"{path} does not exist.", "Check the path.")
    if target.exists() and (target.is_file() or any(target.iterdir())):
        raise UserError(f"{target} exists.", "Choose another --out.")
    if Path(os.path.realpath(target)).is_relative_to(os.path.realpath(path)):
        raise UserError(f"{target} is within {path}, of which it would be a copy.", "Choose another --out.")
    with beside(target) as folder:
        whole = folder / target.name
        copy_files(path, whole)
        if whole.is_dir():
            (whole / FILES).unlink(missing_ok=True)
        for manifest in list(whole.rglob(HIDDEN)):  # it may lie further down
            for one in (*manifest.parent.rglob("*"), manifest.parent):
                one.chmod(0o700 if one.is_dir() else 0o600)
        whole.replace(target)
    files = 1 if target.is_file() else sum(one.is_file() for one in target.rglob("*"))
    return Copied(str(source), str(target), files)
