"""Benchmarks to audit, built once."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from veridical.auditing.data import AuditData


def _module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit_benchmarks", Path(__file__).with_name("_benchmarks.py"))
    if spec is None or spec.loader is None:
        raise ImportError("_benchmarks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def benchmarks() -> ModuleType:
    """The functions that write benchmarks: `statements`, `questions`, `matrices`."""
    return _module()


@pytest.fixture(scope="session")
def clean_statements(benchmarks: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = benchmarks.statements(tmp_path_factory.mktemp("audit") / "statements")
    return path


@pytest.fixture(scope="session")
def clean_questions(benchmarks: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = benchmarks.questions(tmp_path_factory.mktemp("audit") / "questions")
    return path


@pytest.fixture(scope="session")
def clean_matrices(benchmarks: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = benchmarks.matrices(tmp_path_factory.mktemp("audit") / "matrices")
    return path


@pytest.fixture(scope="session")
def nlvr(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real NLVR, imported."""
    from veridical.formats.releases import import_release

    out = tmp_path_factory.mktemp("audit") / "nlvr"
    import_release("nlvr", shared / "nlvr", out)
    return out


@pytest.fixture(scope="session")
def nlvr_data(nlvr: Path) -> AuditData:
    return AuditData(nlvr)
