"""The golden record: what the commands do today, so that a change of the code can prove that it changed nothing.

Everything goes through the command line, in a folder of its own; nothing of the package is imported. Each chain of
`CHAINS` makes one benchmark and asks the other verbs about it. `golden.json` keeps, for every command, its exit code,
the JSON it printed and the hashes of the files it wrote.

    python tests/golden/record.py                compare with golden.json; exit code 1 and a list where they differ
    python tests/golden/record.py --write        keep what is found as the new record
    python tests/golden/record.py --keep DIR     leave everything in DIR, to look into what differs (a new folder)

Left out of the record: seconds, bytes of memory, versions, paths, and hashes of benchmarks inside other files (a file
that changed is then reported once, not in everything made from it). Floats of JSON are rounded to three digits. Bytes
of Parquet and image files depend on the versions of pyarrow and Pillow, the choices of `match` and the sets of NLVR2 on
vectors of frozen encoders (minilm, efficientnet-lite0): on another machine, or with other packages, record first.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shlex
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

ALWAYS = {  # what each verb is given besides
    "audit": "--processes 1 --items 60",  # its JSON lies beside the page
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
        "build": "build vcr --photographs 90 --folds 3 --relevance tfidf --similarity tfidf --secret s --out vcr",
        "stats": "stats vcr --hidden",
        "majority": "solve majority vcr --split val --out majority.jsonl",
        "evaluate": "evaluate vcr majority.jsonl",
        "audit": "audit vcr --skip image-only --skip question-only --skip swapped-context --out audit.html",
    },
    "nlvr": {
        "build": "build nlvr --presentations 30 --secret s --out nlvr",
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
        "match minilm": "match {cut}/few.csv --kinds 0 --out minilm",
        "stats": "stats words",
        "random": "solve random words --split val --out random.jsonl",
        "evaluate": "evaluate words random.jsonl",
        "audit": "audit words --out audit.html",
    },
    "nlvr2 from COCO": {
        "build": "build nlvr2 --source coco:{data}/coco --sets 3 --split train=2 --split dev=1 --hide dev --secret s"
        " --out coco",
        "stats": "stats coco",
        "random": "solve random coco --split train --out random.jsonl",
        "evaluate": "evaluate coco random.jsonl",
    },
    "nlvr2": {
        "build": "build nlvr2 --encoder thumbnail --sets 4 --secret s --out nlvr2",
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
        "audit": "audit vprom --scheme neutral --out audit.html",
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
ENVIRONMENT = os.environ | {
    "PYTHONPATH": str(ROOT / "src"),
    "VERIDICAL_PROGRESS": "0",
    "OMP_NUM_THREADS": "1",
}
FULL, SHORT, DEPTH = 6000, 160, 3  # characters of JSON that are kept whole; in longer ones those of a value; its levels


def main() -> int:
    """Compare, or write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = (args.keep or Path(temporary)).resolve()
        if DATA.is_dir():
            cut_inputs(work / "cut")
        with ThreadPoolExecutor(2) as pool:
            found = dict(zip(CHAINS, pool.map(lambda name: run_chain(name, work), CHAINS), strict=True))
    left_out = {(chain, name) for chain, names in CHAINS.items() for name in names if name not in found[chain]}
    for chain, name in sorted(left_out):
        print(f"left out, its data is not in {DATA}: {chain}, {name}")
    if args.write:
        if left_out:
            print("Nothing was written: a record needs all data.")
            return 2
        RECORD.write_text(json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
        return 0
    kept = json.loads(RECORD.read_text())
    for chain, name in left_out:
        kept.get(chain, {}).pop(name, None)
    lines = list(differences(kept, json.loads(json.dumps(found))))
    print("\n".join(lines) if lines else "Everything is as recorded.")
    return 1 if lines else 0


def cut_inputs(folder: Path) -> None:
    """Small files from the real data."""
    folder.mkdir(parents=True)
    for name, rows in (("questions.csv", 300), ("few.csv", 120)):
        with (DATA / "qa" / "next_oe_train.csv").open() as lines:
            (folder / name).write_text("".join(islice(lines, rows + 1)))
    with (DATA / "nlvr2" / "dev.json").open() as lines:
        sentences = [json.loads(line)["sentence"] for line in islice(lines, 0, 1200, 6)]
    (folder / "sentences.txt").write_text("\n".join(sentences) + "\n")


def run_chain(chain: str, work: Path) -> dict[str, Any]:
    """Run the commands of a chain; what each of them did."""
    folder = work / chain.replace(" ", "-")
    folder.mkdir(parents=True)
    results: dict[str, Any] = {}
    for name, command in CHAINS[chain].items():
        if "{" in command and not DATA.is_dir():
            break
        results[name] = run(command, folder)
    return results


def run(command: str, folder: Path) -> dict[str, Any]:
    """Run one command; its exit code, its JSON, and what it wrote."""
    verb = command.split()[0]
    before = set(folder.rglob("*"))
    words = [w.format(data=DATA, cut=folder.parent / "cut") for w in shlex.split(f"{command} {ALWAYS[verb]}")]
    environment = ENVIRONMENT | {"VERIDICAL_CACHE": str(folder / "cache")}
    call = [sys.executable, "-m", "veridical", *words]
    done = subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True)
    result: dict[str, Any] = {"exit": done.returncode}
    if done.returncode == 2 or "Traceback" in done.stderr:
        result["error"] = plain(done.stderr, folder)
    if done.stdout:
        printed = json.loads(done.stdout)
        if verb == "match":
            del printed["stages"]  # seconds of each
        result["json"] = compact(clean(printed, folder))
    new = [p for p in sorted(set(folder.rglob("*")) - before) if p.is_file() and p.suffix not in {".html", ".npy"}]
    if files := {str(p.relative_to(folder)): kept(p, folder) for p in new if p.parts[len(folder.parts)] != "cache"}:
        result["files"] = files
    (folder / f"{' '.join(words[:2]).replace('/', '-')}.out").write_text(done.stdout + done.stderr)  # for --keep
    return result


def kept(path: Path, folder: Path) -> Any:
    """What is kept of a file: of a manifest and an audit the JSON, of others the hash."""
    if path.name == "benchmark.json" or path.with_suffix(".html").exists():
        content = json.loads(path.read_text())
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
        return {plain(key, folder): clean(v, folder) for key, v in value.items() if key not in VOLATILE}
    if isinstance(value, list):
        return [clean(v, folder) for v in value]
    if isinstance(value, float):
        return round(value, 3) + 0.0  # no -0.0
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
    if depth and isinstance(value, list) and len(value) < 60:
        return [_hashed(v, depth - 1) for v in value]
    if depth and isinstance(value, list):
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
        yield f"{path}:\n    was {_shown(old)}\n    is  {_shown(new)}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 400 else text[:400] + " ..."


if __name__ == "__main__":
    sys.exit(main())
