"""What we read is data: nowhere in the package is a file, or a text of somebody else's, made into a program."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import veridical

PACKAGE = Path(veridical.__file__).parent
# what a process of ours sends to another, never what lay on a disk
IN_MEMORY = {"engine/pool.py", "engine/processes.py", "engine/cluster.py"}
# a call -> the words without which it is refused
FORBIDDEN = {
    "pickle.load": None, "pickle.Unpickler": None, "marshal.load": None, "marshal.loads": None, "shelve.open": None,
    "joblib.load": None, "dill.load": None, "dill.loads": None, "cloudpickle.load": None, "cloudpickle.loads": None,
    "yaml.load": None, "yaml.unsafe_load": None, "pandas.read_pickle": None, "pd.read_pickle": None, "eval": None,
    "exec": None, "compile": None, "os.system": None, "torch.load": "weights_only=True",
}  # fmt: skip
FORBIDDEN_WORDS = ("allow_pickle=True", "trust_remote_code=True", "shell=True", "weights_only=False")


def found(source: str, name: str) -> list[str]:
    """Calls of a module that could run what they read."""
    out = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        called, words = ast.unparse(node.func), [ast.unparse(one) for one in node.keywords]
        needed = FORBIDDEN.get(called, "")
        if needed is None or (needed and needed not in words) or (called == "pickle.loads" and name not in IN_MEMORY):
            out.append(f"{name}:{node.lineno}: {called}")
        out += [f"{name}:{node.lineno}: {called}({one})" for one in words if one in FORBIDDEN_WORDS]
    return out


def test_nothing_that_is_read_is_run() -> None:
    paths = sorted(PACKAGE.rglob("*.py"))
    assert len(paths) > 300
    assert not [one for path in paths for one in found(path.read_text(), path.relative_to(PACKAGE).as_posix())]


@pytest.mark.parametrize(
    "code",
    [
        "pickle.load(file)", "pickle.loads(path.read_bytes())", "torch.load(path)", "torch.load(p, weights_only=False)",
        "np.load(path, allow_pickle=True)", "eval(text)", "AutoModel.from_pretrained(n, trust_remote_code=True)",
    ],
)  # fmt: skip
def test_such_a_call_is_found(code: str) -> None:
    assert found(code, "formats/new.py")


def test_what_is_allowed_is_not_found() -> None:
    assert not found("torch.load(p, weights_only=True); np.load(p); re.compile(t); model.eval()", "x.py")
