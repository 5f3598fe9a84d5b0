"""The golden record: what the commands do today, so that a change of the code can prove that it changed nothing.

Everything goes through the command line, in a folder of its own; nothing of the package is imported. Each chain of
`CHAINS` makes one benchmark and asks the other verbs about it. `golden.json` keeps, for every command, its exit code,
the JSON it printed and the hashes of the files it wrote.

    python tests/golden/record.py                compare with golden.json; exit code 1 and a list where they differ
    python tests/golden/record.py --write        keep what is found as the new record
    python tests/golden/record.py --keep DIR     leave all files in DIR (a new folder), and what each command said
    python tests/golden/record.py nlvr vcr       only these chains

Left out of the record: seconds, bytes of memory, versions, paths, hashes of benchmarks inside other files (a file that
changed is then reported once, not in everything made from it), and what networks trained on the spot found (`LEARNED`):
processors round differently, and training makes much of it. Floats of JSON are rounded to three decimals and five
digits. Bytes of Parquet and images depend on the versions of pyarrow and Pillow: with other packages, record first.
To see what another processor would give, set ATEN_CPU_CAPABILITY=avx2, MKL_CBWR=AVX2 and OPENBLAS_CORETYPE=Haswell.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
RECORD = Path(__file__).with_name("golden.json")
SECRET = "the secret of the golden record"

ALWAYS = {  # what each verb is given besides
    "audit": "--processes 1 --items 60 --json",
    "build": "--processes 1 --seed 3 --json",
    "check": "--json",
    "evaluate": "--resamples 200 --json",
    "import": "--json",
    "match": "--group video --folds 2 --json",
    "solve": "--json",
    "stats": "--json",
    "tag": "--json",
}
# Chain -> name -> command. The commands of a chain run in order, in one folder; two chains run at a time. A chain ends
# early where a command needs the real {data}, or what is {cut} from it, and it is not here.
CHAINS: dict[str, dict[str, str]] = {
    "vcr": {
        "build": "build vcr --photographs 60 --folds 3 --secret {secret} --out vcr",
        "stats": "stats vcr --hidden",
        "majority": "solve majority vcr --split val --out majority.jsonl",
        "evaluate": "evaluate vcr majority.jsonl",
        "audit": "audit vcr --skip image-only --skip question-only --skip swapped-context --out audit.html",
    },
    "nlvr": {
        "build": "build nlvr --presentations 30 --secret {secret} --out nlvr",
        "check": "check nlvr",
        "stats": "stats nlvr --hidden",
        "programs": "solve programs nlvr --split dev --from pixels --save-weights weights.json --out programs.jsonl",
        "random": "solve random nlvr --split test-u --out random.jsonl",
        "evaluate": "evaluate nlvr programs.jsonl",
        "evaluate hidden": "evaluate nlvr random.jsonl --split test-u",
        "audit": "audit nlvr --out audit.html",
        "real: import": "import nlvr {data}/nlvr/dev/dev.json --out real",
        "real: stats": "stats real",
        "real: programs": "solve programs real --weights weights.json --out real-programs.jsonl",
        "real: random": "solve random real --out real-random.jsonl",
        "real: evaluate": "evaluate real real-programs.jsonl --against real-random.jsonl",
        "real: audit": "audit real --check label --check single-label --check agreement --check human --out real.html",
    },
    "match": {
        "match": "match {cut}/questions.csv --relevance bm25 --similarity tfidf --no-learn --out words",
        "match minilm": "match {cut}/few.csv --method paper --out minilm",
        "stats": "stats words",
        "random": "solve random words --split val --out random.jsonl",
        "evaluate": "evaluate words random.jsonl",
        "audit": "audit words --skip text-only --skip question-only --out audit.html",
    },
    "nlvr2 from COCO": {
        "build": "build nlvr2 --source coco:{data}/coco --sets 3 --split train=2 --split dev=1 --hide dev"
        " --secret {secret} --out coco",
        "stats": "stats coco",
    },
    "nlvr2": {
        "build": "build nlvr2 --encoder thumbnail --sets 4 --secret {secret} --out nlvr2",
        "stats": "stats nlvr2",
        "programs": "solve programs nlvr2 --split dev --out programs.jsonl",
        "evaluate": "evaluate nlvr2 programs.jsonl",
        "audit": "audit nlvr2 --skip text-only --out audit.html",
    },
    "vprom": {
        "build": "build vprom --matrices 9 --schemes neutral,att.held --images 500 --categories 10 --out vprom",
        "stats": "stats vprom --scheme att.held",
        "random": "solve random vprom --scheme neutral --split test --out random.jsonl",
        "evaluate": "evaluate vprom random.jsonl --scheme neutral",
        "audit": "audit vprom --scheme neutral --skip near-image-leak --out audit.html",
    },
    "nlvr2 released": {
        "import": "import nlvr2 {data}/nlvr2/dev.json --out real",
        "stats": "stats real",
        "random": "solve random real --out random.jsonl",
        "evaluate": "evaluate real random.jsonl",
        "audit": "audit real --skip text-only --out audit.html",
        "tag": "tag {cut}/sentences.txt",
    },
}
VOLATILE = {"seconds", "peak_bytes", "veridical"}  # keys of JSON
LEARNED = {"readings"}  # keys of JSON: what readers trained by `match` found
BY_READING = {("vcr", "text-only"), ("vcr", "joint"), ("match", "joint")}  # (chain, check) of audits: such readers, too
NAMES = {"check", "title", "unit", "reference", "reference_name"}  # what is kept of those
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "src"), "VERIDICAL_PROGRESS": "0", "OMP_NUM_THREADS": "1"}
FULL, SHORT, DEPTH = 6000, 160, 3  # characters of JSON that are kept whole; in longer ones those of a value; its levels


def main() -> int:
    """Compare, or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chains", nargs="*", help="only these chains", metavar="CHAIN")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    chains = args.chains or list(CHAINS)
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(2) as pool:
        work = (args.keep or Path(temporary)).resolve()
        cut_inputs(work / "cut")
        found = dict(zip(chains, pool.map(lambda name: run_chain(name, work), chains), strict=True))
    left_out = [(chain, name) for chain in chains for name in CHAINS[chain] if name not in found[chain]]
    for chain, name in left_out:
        print(f"Left out, its data is not in {DATA}: {chain}, {name}")
    recorded = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    if args.write and not left_out:
        RECORD.write_text(json.dumps(recorded | found, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
        return 0
    for chain, name in left_out:
        recorded.get(chain, {}).pop(name, None)
    lines = list(differences({chain: recorded.get(chain) for chain in chains}, found))
    print("\n".join(lines) if lines else "Everything is as recorded.")
    return 1 if lines or args.write else 0


def cut_inputs(folder: Path) -> None:
    """Small files from the real data, where it is here."""
    folder.mkdir(parents=True)
    if (questions := DATA / "qa" / "next_oe_train.csv").exists():
        for name, rows in (("questions.csv", 300), ("few.csv", 120)):
            with questions.open() as lines:
                (folder / name).write_text("".join(islice(lines, rows + 1)))
    if (pairs := DATA / "nlvr2" / "dev.json").exists():
        with pairs.open() as lines:
            sentences = [json.loads(line)["sentence"] + "\n" for line in islice(lines, 0, 1200, 6)]
        (folder / "sentences.txt").write_text("".join(sentences))


def run_chain(chain: str, work: Path) -> dict[str, Any]:
    """Run the commands of a chain; what each of them did."""
    folder = work / chain.replace(" ", "-")
    folder.mkdir(parents=True)
    results: dict[str, Any] = {}
    for name, command in CHAINS[chain].items():
        words = [w.format(data=DATA, cut=work / "cut", secret=SECRET) for w in command.split()]
        if not all(Path(w.removeprefix("coco:")).exists() for w in words if str(work) in w or str(DATA) in w):
            break
        results[name], said = run([*words, *ALWAYS[words[0]].split()], folder)
        (folder / f"{name}.out").write_text(said)  # for --keep
    return results


def run(words: list[str], folder: Path) -> tuple[dict[str, Any], str]:
    """Run one command: its exit code, its JSON and the files it wrote; and all it said."""
    before = set(folder.rglob("*"))
    environment = ENVIRONMENT | {"VERIDICAL_CACHE": str(folder / "cache")}
    call = [sys.executable, "-m", "veridical", *words]
    done = subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True)
    result: dict[str, Any] = {"exit": done.returncode}
    if done.returncode == 2 or "Traceback" in done.stderr:
        result["error"] = plain(done.stderr, folder)
    try:
        printed = json.loads(done.stdout or "{}")
        if words[0] == "audit":
            printed = {}  # it lies beside the page, too
        if words[0] == "match":
            printed.pop("stages", None)  # seconds of each
        result["json"] = compact(clean(printed, folder))
    except ValueError:
        result["printed"] = plain(done.stdout, folder)
    new = [p for p in sorted(set(folder.rglob("*")) - before) if p.is_file() and p.suffix not in {".html", ".npy"}]
    if files := {str(p.relative_to(folder)): kept(p, folder) for p in new if p.parts[len(folder.parts)] != "cache"}:
        result["files"] = files
    return result, done.stdout + done.stderr


def kept(path: Path, folder: Path) -> Any:
    """What is kept of a file: of a manifest and an audit the JSON, of others the hash."""
    if path.name == "benchmark.json" or path.with_suffix(".html").exists():
        content = json.loads(path.read_text())
        for one in content.get("findings", ()):
            if (folder.name, one["check"]) in BY_READING:
                one.update(dict.fromkeys(one.keys() - NAMES, "learned"))
        return compact(clean({key: v for key, v in content.items() if key != "files"}, folder))
    content = path.read_bytes()
    if path.suffix in {".json", ".jsonl"}:
        lines = [content] if path.suffix == ".json" else content.splitlines()
        content = json.dumps([clean(json.loads(line), folder) for line in lines]).encode()
    elif path.suffix in {".md", ".txt"}:
        content = plain(content.decode(), folder).encode()
    return hashlib.sha256(content).hexdigest()[:16]


def plain(text: str, folder: Path) -> str:
    """Text without paths, hashes and the version."""
    text = text.replace(str(folder), ".").replace(str(folder.parent), "..").replace(str(DATA), "DATA")
    text = re.sub(r"\b[0-9a-f]{64}\b", "HASH", text)
    return re.sub(r"\b(veridical) \d+\.\d+\S*", r"\1 VERSION", text)


def clean(value: Any, folder: Path) -> Any:
    """JSON without what is volatile, floats rounded."""
    if isinstance(value, dict):
        return {plain(key, folder): clean(v, folder) for key, v in value.items() if key not in VOLATILE | LEARNED}
    if isinstance(value, list):
        return [clean(v, folder) for v in value]
    if isinstance(value, float):
        return float(f"{round(value, 3):.5g}") + 0.0  # no -0.0
    return plain(value, folder) if isinstance(value, str) else value


def compact(value: Any) -> Any:
    """JSON as it is where it is small; otherwise hashes of its larger parts."""
    return value if len(json.dumps(value)) <= FULL else _hashed(value, DEPTH)


def _hashed(value: Any, depth: int) -> Any:
    text = json.dumps(value, sort_keys=True)
    if len(text) <= SHORT:
        return value
    if depth and isinstance(value, dict) and len(value) < 60:
        return {key: _hashed(v, depth - 1) for key, v in value.items()}
    if depth and isinstance(value, list):
        if len(value) < 60:
            return [_hashed(v, depth - 1) for v in value]
        return {f"{i} to {i + 9}": _hashed(value[i : i + 10], 0) for i in range(0, len(value), 10)}
    return f"{len(text)} characters, {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """One line for each leaf that differs: where, what it was, what it is."""
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        old, new = dict(enumerate(old)), dict(enumerate(new))
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from differences(
                old.get(key, "(absent)"), new.get(key, "(absent)"), f"{path} > {key}" if path else key
            )
    elif old != new:
        was, now = (json.dumps(value, ensure_ascii=False)[:400] for value in (old, new))
        yield f"{path}:\n    was {was}\n    is  {now}"


if __name__ == "__main__":
    sys.exit(main())
