"""The layout of DESIGN.md, enforced: imports point up the list, heavy packages load only when used."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

import pytest

import veridical
from veridical import api

SOURCE = Path(veridical.__file__).parent
# Top to bottom: a module may import from its own folder and from those above it.
ORDER = [
    "errors", "records", "options", "common", "engine", "benchmark", "formats", "encoders", "sources", "language",
    "pages", "statistics", "matching", "builders", "evaluation", "zoo", "training", "solvers", "experiments",
    "auditing", "reporting", "web", "api", "cli",
]  # fmt: skip
EVERYWHERE = {"veridical"}  # the package itself: its version and its verbs
TORCH_ALLOWED = {"encoders", "zoo", "training", "solvers", "experiments", "auditing"}
HEAVY = {"torch", "transformers", "numba", "sklearn", "scipy", "spacy", "datasets", "mlcroissant", "matplotlib"}
HEAVY_ALLOWED_AT_TOP = {"zoo", "training"}


def files() -> list[Path]:
    return sorted(p for p in SOURCE.rglob("*.py") if p.relative_to(SOURCE).parts[0] != "__init__.py")


def imports(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, "imports are absolute"
            inside = child.module == "veridical"
            yield from [f"veridical.{a.name}" for a in child.names] if inside else [child.module or ""]


def folder(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_up(path: Path) -> None:
    own = folder(path)
    if own == "__main__":
        return
    assert own in ORDER, f"{own} is not in the layout of DESIGN.md"
    tree = ast.parse(path.read_text())
    for name in imports(tree):
        parts = name.split(".")
        if parts[0] != "veridical":
            if parts[0] == "torch":
                assert own in TORCH_ALLOWED, f"{own} may not import torch"
            continue
        if name in EVERYWHERE or (len(parts) == 2 and parts[1] not in ORDER):
            continue  # the version, a verb
        assert ORDER.index(parts[1]) <= ORDER.index(own), f"{own} imports {name}, which lies below it"


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_heavy_packages_are_imported_where_they_are_used(path: Path) -> None:
    if folder(path) in HEAVY_ALLOWED_AT_TOP:
        return
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            assert not {n.split(".")[0] for n in imports(node)} & HEAVY


def test_records_and_errors_need_only_the_standard_library() -> None:
    for path in (SOURCE / "records.py", SOURCE / "errors.py", *(SOURCE / "options").glob("*.py")):
        used = {
            n
            for n in imports(ast.parse(path.read_text()))
            if not n.startswith(("veridical.errors", "veridical.options"))
        }
        assert {n.split(".")[0] for n in used} <= sys.stdlib_module_names


@pytest.mark.parametrize("verb", api.__all__)
def test_every_verb_is_a_public_function(verb: str) -> None:
    found = getattr(veridical, verb)
    assert found is getattr(veridical, verb) is getattr(api, verb)
    assert isinstance(found, FunctionType)
    assert found.__doc__


def test_help_loads_no_library() -> None:
    code = "import sys; from veridical.cli import run; run(['--help']); print(*{n.split('.')[0] for n in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not set(loaded) & (HEAVY | {"pyarrow", "numpy", "PIL", "msgspec", "httpx"})


def test_every_package_that_is_pinned_runs_on_the_oldest_python_that_is_promised() -> None:
    """Debian 12 has 3.11.2: a pin that asks for 3.11.5 ends its `make demo` before it began."""
    from importlib.metadata import distributions

    from packaging.specifiers import SpecifierSet

    wants = {one.name: one.metadata.get("Requires-Python") for one in distributions()}
    assert [name for name, python in wants.items() if python and "3.11.0" not in SpecifierSet(python)] == []
