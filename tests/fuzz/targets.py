"""What the fuzzer aims at: which files of the world are made wrong, and the commands that then read them."""

from __future__ import annotations

from dataclasses import dataclass

from tests.fuzz.more_world import ALIKE, COUNTED
from tests.fuzz.world import NLVR2, WORDS


@dataclass(frozen=True)
class Target:
    """One kind of file, and who reads it."""

    needs: tuple[str, ...]  # files and folders of the world
    wrong: str  # which of their files are made wrong, a glob; several with spaces
    commands: tuple[str, ...]  # one of them is run
    may_change: tuple[str, ...] = ()  # what a command may change besides `out`
    own_cache: bool = False  # what was fetched before is not known
    slow: bool = False  # seconds a case, or to make what it needs: for `make soak`
    every: int = 1  # it takes its turn in each so many rounds: one whose cases cost ten times as much leaves room
    served: str = ""  # a folder that a web server on this machine offers, at {url}; it does not always behave


def _readers(name: str, split: str, *more: str) -> tuple[str, ...]:
    """The verbs that read a benchmark."""
    return (
        f"check {name}",
        f"stats {name} --hidden",
        f"solve random {name} --split {split} --out out",
        f"solve majority {name} --split {split} --out out",
        f"evaluate {name} {name}.jsonl --resamples 100",
        f"export official {name} --out out",
        f"export hf {name} --out out",
        f"export croissant {name} --out out",
        f"export lmms-eval {name} --out out",
        f"export vlmevalkit {name} --out out",
        f"export submission {name} --split {split} --predictions {name}.jsonl --out out",
        f"report {name}.jsonl --benchmark {name} --resamples 100 --out out/page.html",
        f"show {name} {name}.jsonl --export out --sample 5",
        *more,
    )


SLOW = ("text-only", "question-only", "image-only", "swapped-context", "joint")
AUDIT = f"--items 40 --no-controls --processes 1 --out out/audit.html {' '.join(f'--skip {name}' for name in SLOW)}"
TRAIN = "--out out --set epochs=1"
PEOPLE = "build nlvr --scenes shown --statements statements.jsonl --judgements judged.jsonl --processes 1 --out out"
VCR = f"build vcr --source coco:coco --questions written.jsonl --folds 3 --processes 1 {WORDS} --out out"
MATRICES = "build vprom --matrices 6 --least-images 1 --most-others 30 --schemes neutral --processes 1 --out out"
PHOTOGRAPHS = f"build nlvr2 --source folder:photographs {NLVR2} --out out"
SWEEP = (
    "sweep matrices --models mlp-sum-2 --schemes neutral --features thumbnail --processes 1 --resamples 100 "
    "--no-controls --set epochs=1 --out sweep"
)
MATCH = f"--group video --folds 2 {WORDS} --out out"

TARGETS: dict[str, Target] = {
    "statements": Target(
        ("nlvr", "nlvr.hidden", "nlvr.jsonl"),
        "nlvr/* nlvr.hidden/*",
        _readers(
            "nlvr", "dev", "solve programs nlvr --split dev --out out", f"audit nlvr {AUDIT} --hidden",
            f"train maxent nlvr {TRAIN}", f"train text nlvr {TRAIN}", f"train structure-mlp nlvr {TRAIN}",
            f"train cnn-rnn nlvr {TRAIN}", "evaluate nlvr nlvr.jsonl --official",
            "serve nlvr --data out --port 0",
        ),
    ),
    "pairs": Target(
        ("pairs", "pairs.jsonl"),
        "pairs/*",
        _readers(
            "pairs", "dev", f"audit pairs {AUDIT}", "features thumbnail pairs",
            "features thumbnail pairs --reuse pairs",
        ),
        ("pairs",),
    ),
    "choices": Target(
        ("vcr", "vcr.hidden", "vcr.jsonl", "questions"),
        "vcr/* vcr.hidden/* questions/*",
        _readers(
            "vcr", "val", f"audit vcr {AUDIT}", f"audit questions {AUDIT}", f"train response-only questions {TRAIN}",
            f"train question-only questions {TRAIN}", f"match questions --folds 3 {WORDS} --out out",
            f"match vcr {WORDS} --out out", "features thumbnail vcr",
        ),
        ("vcr",),
        every=4,
    ),
    "matrices": Target(
        ("matrices", "matrices.jsonl"),
        "matrices/*",
        (
            "check matrices", "stats matrices --scheme neutral", f"audit matrices --scheme neutral {AUDIT}",
            "solve random matrices --scheme neutral --split test --out out", "export hf matrices --out out",
            "evaluate matrices matrices.jsonl --scheme neutral --resamples 100",
            f"train mlp-sum-2 matrices --scheme neutral --set images=thumbnail {TRAIN}",
            "features thumbnail matrices --objects", "show matrices matrices.jsonl --export out --sample 5",
            "report matrices.jsonl --benchmark matrices --scheme neutral --resamples 100 --out out/page.html",
        ),
        ("matrices",),
    ),
    "predictions": Target(
        ("nlvr", "nlvr.jsonl", "nlvr.csv", "pairs", "pairs.jsonl", "pairs.csv"),
        "nlvr.jsonl nlvr.csv pairs.jsonl pairs.csv",
        (
            "evaluate nlvr nlvr.jsonl --split dev --resamples 100", "evaluate nlvr nlvr.csv --resamples 100",
            "evaluate pairs pairs.jsonl --resamples 100", "evaluate pairs pairs.csv --resamples 100 --official",
            "evaluate nlvr nlvr.csv --against nlvr.jsonl --resamples 100 --json",
            "evaluate nlvr nlvr.csv nlvr.jsonl --resamples 100", "compare nlvr nlvr.csv nlvr.jsonl --resamples 100",
            "compare pairs pairs.jsonl pairs.csv --resamples 100 --json",
            "report nlvr.jsonl nlvr.csv --benchmark nlvr --split dev --resamples 100 --out out/page.html",
            "export submission nlvr --split dev --predictions nlvr.jsonl --out out",
        ),
    ),
    "predictions of choices": Target(
        ("vcr", "vcr.jsonl", "vcr.csv", "vcr.npy", "vcr.npz"),
        "vcr.jsonl vcr.csv vcr.npy vcr.npz",
        (
            *(f"evaluate vcr {file} --split val --resamples 100" for file in ("vcr.jsonl", "vcr.csv")),
            *(f"evaluate vcr {file} --split val --resamples 100" for file in ("vcr.npy", "vcr.npz")),
            "report vcr.npy vcr.csv --benchmark vcr --split val --resamples 100 --out out/page.html",
            "export submission vcr --split val --predictions vcr.jsonl --out out",
        ),
    ),
    "release of NLVR": Target(
        ("release-nlvr",), "release-nlvr/**/*", (
            "import nlvr release-nlvr --out out", "import nlvr release-nlvr --keep-going --hide dev --out out",
            "import nlvr release-nlvr/train.json --split train --images release-nlvr --out out",
        ),
        ("out.hidden",),
    ),
    "release of NLVR2": Target(
        ("release-nlvr2",), "release-nlvr2/**/*", (
            "import nlvr2 release-nlvr2 --out out", "import nlvr2 release-nlvr2 --keep-going --hide dev --out out",
        ),
        ("out.hidden",),
    ),
    "release of VCR": Target(
        ("release-vcr",), "release-vcr/**/*", (
            "import vcr release-vcr --out out", "import vcr release-vcr --keep-going --hide val --out out",
        ),
        ("out.hidden",),
    ),
    "people's sentences": Target(
        ("shown", "statements.jsonl", "judged.jsonl"),
        "shown/presentations.jsonl statements.jsonl judged.jsonl",
        (PEOPLE, f"{PEOPLE} --secret correct-horse-battery-staple"),
        ("out.hidden",),
    ),
    "a collection": Target(
        ("collected",),
        "collected/*",
        ("build nlvr --from-collection collected --processes 1 --out out",),
        ("out.hidden",),
    ),
    "a project": Target(
        ("project", "served", "labelled.json"),
        "project/* project/source/* labelled.json",
        (
            "collect label-studio project --data served --out out",
            "collect label-studio project --data served --take labelled.json",
            "collect export project --data served --out out", "serve project --data served --port 0",
        ),
        ("served",),
    ),
    "a project's database": Target(
        ("project", "served"),
        "served/*",
        (
            "collect export project --data served --out out", "serve project --data served --port 0",
            "collect label-studio project --data served --out out",
        ),
        ("served",),
    ),
    "projects": Target(
        ("begun-pairs", "begun-asked", "project"),
        "begun-pairs/* begun-pairs/source/**/* begun-asked/* begun-asked/pictures/* project/* project/source/*",
        tuple(f"collect rehearse {name} --workers 3 --out out" for name in ("begun-pairs", "begun-asked", "project")),
        slow=True, every=20,
    ),
    "what projects are made from": Target(
        ("photographs", "coco", "matrices", "questions", "synsets.txt", "searched.jsonl"),
        "photographs/* coco/*.json coco/images/train2017/* matrices/* questions/* synsets.txt searched.jsonl",
        (
            "collect init nlvr2 out --source folder:photographs --sets 2", "collect init vcr out --source coco:coco",
            "collect init nlvr2 out --source folder:photographs --synsets synsets.txt",
            "collect init nlvr2 out --source folder:photographs --search searched.jsonl",
            "collect init vprom out --benchmark matrices --items 4",
            "collect init vcr out --benchmark questions --items 4",
        ),
        every=20,
    ),
    "collections": Target(
        ("collected-pairs", "collected-asked", "coco"),
        "collected-pairs/**/* collected-asked/*",
        (
            f"build nlvr2 --from-collection collected-pairs {ALIKE} --out out",
            "build nlvr2 --from-collection collected-pairs --processes 1 --out out",
            f"build vcr --from-collection collected-asked --processes 1 {WORDS} --out out",
        ),
        ("out.hidden", "out.work"), slow=True, every=4,
    ),
    "people's questions": Target(
        ("coco", "written.jsonl", "passed.jsonl", "interest.jsonl", "chosen.jsonl"),
        "written.jsonl passed.jsonl interest.jsonl chosen.jsonl coco/*.json coco/images/train2017/*",
        (f"{VCR} --hide val", f"{VCR} --judgements passed.jsonl", f"{VCR} --labels interest.jsonl",
         f"{VCR} --answers chosen.jsonl"),
        ("out.hidden",),
        every=3,
    ),
    "annotated photographs": Target(
        ("coco", "vg"),
        "coco/*.json coco/images/train2017/* vg/*.json vg/images/*",
        (
            f"{MATRICES} --source coco:coco", f"{MATRICES} --source vg:vg",
            f"build nlvr2 --source coco:coco --split train=1 {NLVR2} --until tasks --work work --out out",
            f"build nlvr2 --source vg:vg --split train=1 {NLVR2} --until tasks --work work --out out",
            "build vcr --source coco:coco --until sheets --processes 1 --out out",
        ),
        ("out.hidden", "work"),
        every=3,
    ),
    "photographs": Target(
        ("photographs", "work", "nlvr2.json"),
        "photographs/* work/* nlvr2.json",
        (f"{PHOTOGRAPHS} --config nlvr2.json --work work", f"{PHOTOGRAPHS} --split train=2 --split dev=1 --work work"),
        ("out.hidden", "work"),
        every=2,
    ),
    "people's marks": Target(
        ("photographs", "work", "removals.jsonl", "dull.jsonl", "labels.jsonl", "sentences.jsonl", "judgements.jsonl",
         "costs.json", "synsets.txt", "searched.jsonl", "made", "taken.txt"),
        "removals.jsonl dull.jsonl labels.jsonl sentences.jsonl judgements.jsonl costs.json synsets.txt "
        "searched.jsonl taken.txt",
        (
            f"{PHOTOGRAPHS} --work work --removals removals.jsonl", f"{PHOTOGRAPHS} --work work --dull dull.jsonl",
            f"{PHOTOGRAPHS} --work work --labels labels.jsonl", f"{PHOTOGRAPHS} --synsets synsets.txt",
            f"{PHOTOGRAPHS} --work work --sentences sentences.jsonl",
            f"{PHOTOGRAPHS} --work work --sentences sentences.jsonl --judgements judgements.jsonl --costs costs.json",
            "build nlvr2 --source none --search searched.jsonl --synsets synsets.txt --vectors none --until tasks "
            "--out out",
            "build nlvr2 --takedown taken.txt --out made",
        ),
        ("out.hidden", "out.work", "work", "made"),
        every=3,
    ),
    "lists": Target(
        ("coco", "vg", "lists", "answered.jsonl"),
        "lists/* answered.jsonl",
        (
            f"{MATRICES} --source vg:vg --lists lists", f"{MATRICES} --source coco:coco --lists lists",
            f"build vprom {COUNTED} --judgements answered.jsonl --out out",
        ),
        ("out.hidden", ".out.panels"), slow=True,
    ),
    "augmented": Target(
        ("nlvr", "nlvr.hidden"),
        "nlvr/* nlvr.hidden/*",
        ("augment nlvr --items 4 --variants 1 --variant-items 2 --plain 4 --presentations 4 --out out",),
        ("out.hidden",),
    ),
    "copies": Target(
        ("pairs", "run-maxent", "nlvr.hidden", "pairs.jsonl", "store"),
        "pairs/* run-maxent/**/* nlvr.hidden/* pairs.jsonl store/**/*",
        (
            *(f"copy {name} --out {out}{name}" for name in ("pairs", "run-maxent", "nlvr.hidden", "pairs.jsonl")
              for out in ("out/", "file://{box}/out/")),
            *(f"copy file://{{box}}/store/{name} --out out/copy" for name in ("pairs", "run-maxent", "pairs.jsonl")),
            "check file://{box}/store/pairs",
            "evaluate file://{box}/store/pairs file://{box}/store/pairs.jsonl --resamples 50",
            "copy pairs --replace --out file://{box}/store/pairs",
        ),
        ("out.data", "out.cache", "store"), own_cache=True,
    ),
    "tables to match": Target(
        ("table.csv", "table.jsonl", "table.parquet"),
        "table.*",
        (
            *(f"match table.{suffix} {MATCH}" for suffix in ("csv", "jsonl", "parquet")),
            f"match table.csv --keep-going --method paper {MATCH}", f"match table.csv --integrity {MATCH}",
        ),
        ("out.hidden",),
        every=3,
    ),
    "answers to a sweep": Target(
        ("table.csv", "people.csv"), "people.csv", (f"match table.csv {MATCH} --sweep 0.1,1 --people people.csv",),
        ("out.hidden",),
        every=2,
    ),
    "tables of questions": Target(
        ("mmbench.tsv", "asked.json", "asked.jsonl", "asked.csv", "asked.parquet"),
        "mmbench.tsv asked.*",
        (
            "import vlmevalkit mmbench.tsv --out out", "import table asked.json --out out",
            "import table asked.jsonl --keep-going --out out", "import table mmbench.tsv --out out",
            "import table asked.csv --out out", "import table asked.csv --keep-going --hide dev --out out",
            "import table asked.parquet --out out",
        ),
        ("out.hidden",),
    ),
    "folders of datasets": Target(
        ("hub",), "hub/**/*", ("import hf hub --out out", "import hf hub --keep-going --out out"), ("out.hidden",),
    ),
    "saved data sets": Target(
        ("saved",), "saved/**/*",
        ("import hf saved --out out", "import hf saved --keep-going --out out", "import hf saved/train --out out"),
        ("out.hidden",),
    ),
    "runs": Target(
        ("nlvr", "matrices", "run-maxent", "run-text", "run-matrices", "stopped"),
        "run-maxent/**/* run-text/**/* run-matrices/**/* stopped/**/*",
        (
            "solve run-maxent nlvr --split dev --out out", "solve run-text nlvr --split dev --out out",
            "solve run-matrices matrices --scheme neutral --split test --out out",
            "train text nlvr --out stopped --set epochs=2 --set batch=4 --set checkpoint_steps=1",
            "train maxent nlvr --out run-maxent",
            "train text nlvr --out out --pretrained run-text --set epochs=1",
            "report run-maxent run-text --benchmark nlvr --resamples 100 --out out/page.html",
        ),
        ("run-maxent", "run-text", "run-matrices", "stopped"),
    ),
    "sweeps": Target(
        ("matrices", "sweep"),
        "sweep/*.json sweep/runs/**/*",
        (SWEEP, "report sweep --benchmark matrices --resamples 100 --out out/page.html"),
        ("sweep",),
    ),
    "reports": Target(
        ("nlvr", "audit.json", "programs.jsonl", "programs.jsonl.meta.json", "weights.json"),
        "audit.json programs.jsonl* weights.json",
        (
            "report audit.json programs.jsonl --benchmark nlvr --resamples 100 --markdown --latex --out out/page.html",
            "solve programs nlvr --split dev --weights weights.json --out out",
            "show nlvr programs.jsonl --audit audit.json --export out --sample 5",
        ),
    ),
    "plans": Target(("plan.json", "plan.toml"), "plan.*", ("plan plan.json", "plan plan.toml")),
    "downloads": Target(
        ("site",), "site/**/*", (
            "get nlvr --split dev --images --unpinned --base-url {url} --out out",
            "get nlvr2 --split dev --images --unpinned --base-url {url} --out out",
            "get nlvr2 --split dev --images --keep-going --unpinned --base-url {url} --out out",
            "get nlvr2 --split dev --base-url {url} --out out",
        ),
        ("out.hidden", "out.release"), "site",
    ),
    "a board": Target(
        ("board", "nlvr.jsonl"), "board/**/*", (
            "submit {url} nlvr.jsonl --token t", "submit {url}/boards/one nlvr.jsonl --token t",
        ),
        served="board",
    ),
    "rows of the host": Target(
        ("nlvr", "nlvr.hidden", "hosted.jsonl"), "hosted.jsonl",
        tuple(f"serve nlvr --data out --port 0 --{kind} mine=hosted.jsonl" for kind in ("baseline", "blind", "human")),
        every=10,
    ),
    "a board's data": Target(
        ("nlvr", "nlvr.hidden", "data"), "data/*", ("serve nlvr --data data --port 0",), ("data",),
    ),
    "sentences": Target(
        ("sentences.txt", "pairs"),
        "sentences.txt",
        ("tag sentences.txt", "stats pairs --compare sentences.txt",
         f"audit pairs {AUDIT} --check contamination --corpus sentences.txt"),
    ),
}  # fmt: skip
