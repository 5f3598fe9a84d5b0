"""`veridical get`: download an official release, check it, and import it.

The release lies in `OUT.release`, under the names its importer knows, and stays there: running `get` again asks only
for what is missing. NLVR2's photographs come from the addresses in its files and are checked as its authors did,
against the published average hashes; one that is no longer the same photograph is kept apart and not imported. Files
whose content we know by its SHA-256 (pins.json) must have it, wherever they come from.
"""

from __future__ import annotations

import functools
import io
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

import msgspec

from veridical.benchmark.writer import file_hash
from veridical.common import files
from veridical.common.average_hash import average_hash
from veridical.common.files import DECODING_ERRORS, BadLine, Json, each_line, in_words, only_one, write_whole
from veridical.common.result import Result, Table
from veridical.errors import UserError
from veridical.formats.fetch import CHANGED, Check, Manners, Outcome, WantedFile, fetch
from veridical.formats.images import BadImage, image_size
from veridical.formats.lines import LeftOut
from veridical.formats.releases import import_release, imported

# Where the releases are published: the authors' repository. `--base-url` names a mirror of it.
BASE_URL = "https://raw.githubusercontent.com/lil-lab/nlvr/master"
MAX_TEXT_BYTES = 1 << 30
MAX_PHOTO_BYTES = 64 << 20
MAX_DRAWING_BYTES = 1 << 20
OTHER = "its content is not what was published when this version was made"
NOT_PINNED = "Do not trust it; or, where the authors have published it anew, say --unpinned."
_TAIL_BYTES = 1 << 20  # a line is far shorter
_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")


@dataclass(frozen=True)
class ReleaseFiles:
    """What a release consists of."""

    main: tuple[str, str]  # each split's file: its name in the folder, its path at the base address
    extras: tuple[tuple[str, str, tuple[str, ...]], ...]  # the same for files it may lack, and which splits have them
    splits: tuple[str, ...]  # what comes unless splits are named
    others: tuple[str, ...]  # what comes only if it is named
    images: Callable[[Path, str, str], list[WantedFile]]  # folder, split, base address -> its images
    noun: str  # what its images are called


@dataclass(frozen=True)
class Fetched(Result):
    """What `get` did: which files came, which did not, which are not what was published."""

    release: str
    folder: Path
    outcomes: tuple[Outcome, ...]
    benchmark: Path | None = None
    counts: Json = field(default_factory=dict)  # of the imported benchmark
    left_out: tuple[LeftOut, ...] = ()  # what `keep_going` did not import

    def table(self) -> list[tuple[str, int, int, int, int]]:
        """Rows of noun, fetched, had from before, missing, changed."""
        tally: dict[str, Counter[str]] = {}
        for outcome in self.outcomes:
            tally.setdefault(outcome.wanted.noun, Counter())[outcome.status] += 1
        return [(noun, n["fetched"], n["had"], n["missing"], n["changed"]) for noun, n in tally.items()]

    def parts(self) -> Iterator[Table | str]:
        yield Table("", ("what", "fetched", "had", "missing", "changed"), self.table())
        yield f"Files: {self.folder} (details in .get/report.json)."
        yield from imported(self.benchmark, self.left_out)

    def to_json(self) -> dict[str, object]:
        """The report for scripts."""
        count = Counter(outcome.status for outcome in self.outcomes)
        listed: Json = {
            status: [
                {"name": o.wanted.name, "url": o.wanted.url, "reason": o.reason}
                for o in self.outcomes
                if o.status == status
            ]
            for status in ("missing", "changed")
        }
        return {
            "release": self.release,
            "folder": str(self.folder),
            "benchmark": None if self.benchmark is None else str(self.benchmark),
            "fetched": count["fetched"],
            "had": count["had"],
            "bytes": sum(outcome.bytes for outcome in self.outcomes),
            "counts": self.counts,
            "left_out": [asdict(left) for left in self.left_out],
            **listed,
        }


def get(
    release: Literal["nlvr", "nlvr2"] | str,
    out: Path | str,
    *,
    base_url: str | None = None,
    split: Sequence[str] = (),
    images: bool = False,
    keep_going: bool = False,
    unpinned: bool = False,
    manners: Manners = Manners(),
    on_fetched: Callable[[Fetched], None] | None = None,
) -> Fetched:
    """Download a release into `OUT.release`, then import it as the benchmark `OUT`.

    Without `images` only the texts come: NLVR's scenes are described in them, NLVR2's photographs are addresses. Every
    file that is there is not asked for again, so a run that was stopped or killed continues. `keep_going` imports
    everything but the lines and images that are wrong; `unpinned` takes files that are not the ones we know;
    `on_fetched` is told what came before that is imported.
    """
    if release not in SOURCES:
        raise UserError(f"{release!r} cannot be downloaded.", f"Choose one of: {', '.join(SOURCES)}.")
    source = SOURCES[release]
    known = source.splits + source.others
    if unknown := [name for name in split if name not in known]:
        raise UserError(f"{release} has no split {unknown[0]!r}.", f"Choose from: {', '.join(known)}.")
    base = (base_url or BASE_URL).rstrip("/")
    target = Path(os.path.abspath(out))
    folder = target.with_name(target.name + ".release")
    (folder / ".get").mkdir(parents=True, exist_ok=True)
    busy = f"Another `veridical get` is filling {folder}."  # two downloads would write the same files
    with only_one(folder / ".get" / "lock", busy, "Wait for it, or stop it."):
        chosen = tuple(split) or source.splits
        texts = _texts(source, chosen, base, {} if unpinned else _pins()[release])
        _set_apart(folder, texts)
        outcomes = fetch(texts, folder, f"{release} files", manners)
        _need(outcomes, source, chosen)
        if images:
            wanted = [one for name in chosen for one in source.images(folder, name, base)]
            outcomes += fetch(wanted, folder, f"{release} {source.noun}", manners)
        result = Fetched(release, folder, tuple(outcomes))
        text = json.dumps(result.to_json(), indent=1, ensure_ascii=False)
        write_whole(folder / ".get" / "report.json", text + "\n")
        if on_fetched is not None:
            on_fetched(result)
        made = import_release(release, folder, target, keep_going=keep_going)
        return replace(result, benchmark=made.benchmark, counts=dict(made.counts), left_out=made.left_out)


@functools.cache
def _pins() -> dict[str, dict[str, str]]:
    """Release -> file -> SHA-256 of its content."""
    return msgspec.json.decode(Path(__file__).with_name("pins.json").read_bytes(), type=dict[str, dict[str, str]])


def _texts(source: ReleaseFiles, splits: Sequence[str], base: str, pins: Mapping[str, str]) -> list[WantedFile]:
    files = [(*source.main, source.splits + source.others), *source.extras]
    out = []
    for split in splits:
        for name, path, having in files:
            if split in having:
                hashes = name.endswith("_hashes.json")
                check: Check = _check_text if name.endswith(".txt") else _check_hashes if hashes else _check_lines
                url, own = f"{base}/{path.format(split=split)}", name.format(split=split)
                check = functools.partial(_check_pinned, pinned=pins[own], check=check) if own in pins else check
                out.append(WantedFile(own, url, MAX_TEXT_BYTES, check, "files"))
    return out


def _set_apart(folder: Path, texts: Sequence[WantedFile]) -> None:
    """Files of an earlier run that would be refused today, or cannot be read, are asked for again."""
    for one in texts:
        path, apart = folder / one.name, folder / CHANGED / one.name
        if path.is_file() and ((one.check and one.check(path)) or _has_bad_line(path)):
            apart.parent.mkdir(parents=True, exist_ok=True)
            path.replace(apart)


def _has_bad_line(path: Path) -> bool:
    if path.suffix != ".json" or path.name.endswith("_hashes.json"):
        return False
    text = path.read_bytes().decode("utf-8", "replace")
    return any(isinstance(found, BadLine) for _, found in each_line(text, Json))


def _need(outcomes: Sequence[Outcome], source: ReleaseFiles, splits: Sequence[str]) -> None:
    """A release without its main files is no release."""
    required = {source.main[0].format(split=split) for split in splits}
    for outcome in outcomes:
        if outcome.wanted.name in required and outcome.status in ("missing", "changed"):
            raise UserError(
                f"{outcome.wanted.url} could not be fetched: {outcome.reason}.",
                NOT_PINNED
                if outcome.reason == OTHER
                else "Check the connection (or --base-url), and run it again: what was received is kept.",
            )


def _check_pinned(path: Path, pinned: str, check: Check) -> str:
    return check(path) or ("" if file_hash(path) == pinned else OTHER)


def _check_text(path: Path) -> str:
    """A login page instead of a release is a frequent accident."""
    if path.stat().st_size == 0:
        return "the file is empty"
    with path.open("rb") as file:
        start = file.read(64).lstrip()
    return "a web page came instead of the file" if start[:1] == b"<" else ""


def _check_lines(path: Path) -> str:
    """Whether the first and the last line are JSON objects: a page of another kind, or a file that was cut, is not."""
    if problem := _check_text(path):
        return problem
    with path.open("rb") as file:
        first = file.readline()
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        lines = file.read().split(b"\n")
    last = next((line for line in reversed(lines) if line.strip()), b"")
    for which, line in (("first", first), ("last", last)):
        try:
            msgspec.json.decode(line, type=Json)
        except DECODING_ERRORS as error:
            return f"its {which} line is not one of the release: {in_words(error).rstrip('.')}"
    return ""


def _check_hashes(path: Path) -> str:
    if problem := _check_text(path):
        return problem
    try:
        msgspec.json.decode(path.read_bytes(), type=dict[str, str])
    except DECODING_ERRORS as error:
        return f"it is not a list of hashes: {in_words(error).rstrip('.')}"
    return ""


def _lines(folder: Path, name: str) -> Iterator[tuple[int, Json]]:
    yield from files.numbered_lines(folder / name, Json, "Delete the file and run it again.")


def _drawings(folder: Path, split: str, base: str) -> list[WantedFile]:
    """NLVR: six drawings of each example, in numbered folders."""
    out = []
    name, noun = f"{split}/{split}.json", f"{split} drawings"
    for number, record in _lines(folder, name):
        parts = (str(record.get("directory")), str(record.get("identifier")))
        if not all(_NAME.fullmatch(part) for part in parts):
            raise UserError(f"{name}, line {number}: {parts} cannot name an image.", "Check --base-url.")
        for k in range(6):
            path = f"{split}/images/{parts[0]}/{split}-{parts[1]}-{k}.png"
            url = f"{base}/nlvr/{path}"
            out.append(WantedFile(path, url, MAX_DRAWING_BYTES, _check_image, noun))
    return out


def _photographs(folder: Path, split: str, base: str) -> list[WantedFile]:
    """NLVR2: the photographs at the addresses of each pair, each under the name its authors gave it."""
    del base
    path = folder / f"{split}_hashes.json"
    again = "Delete it and run it again."
    hashes = files.read_json(path, dict[str, str], "a list of hashes", again) if path.exists() else {}
    out: dict[str, WantedFile] = {}
    for number, record in _lines(folder, f"{split}.json"):
        pair = str(record.get("identifier")).rpartition("-")[0]
        if not _NAME.fullmatch(pair):
            raise UserError(f"{split}.json, line {number}: it has no identifier.", "Check --base-url.")
        for side, key in enumerate(("left_url", "right_url")):
            name = f"{pair}-img{side}.png"
            check = functools.partial(check_photograph, published=hashes.get(name))
            url = str(record.get(key) or "")
            noun = f"{split} photographs" + ("" if name in hashes else " without a published hash")
            out[name] = WantedFile(f"images/{split}/{name}", url, MAX_PHOTO_BYTES, check, noun)
    return list(out.values())


def _check_image(path: Path) -> str:
    try:
        image_size(path.read_bytes())
    except BadImage as error:
        return str(error).rstrip(".")
    return ""


def check_photograph(path: Path, published: str | None) -> str:
    """What is wrong with a photograph: no image, or not the one whose average hash was published."""
    from PIL import Image

    data = path.read_bytes()
    try:
        image_size(data)  # refuses decompression bombs
        with Image.open(io.BytesIO(data)) as image:
            found = average_hash(image)
    except BadImage as error:
        return str(error).rstrip(".")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        return f"the image cannot be decoded: {error}"
    if published is None or found == published:
        return ""
    return f"its hash is {found}; published was {published}"


SOURCES: dict[str, ReleaseFiles] = {
    "nlvr": ReleaseFiles(
        main=("{split}/{split}.json", "nlvr/{split}/{split}.json"),
        extras=(),
        splits=("train", "dev", "test"),
        others=(),
        images=_drawings,
        noun="drawings",
    ),
    "nlvr2": ReleaseFiles(
        main=("{split}.json", "nlvr2/data/{split}.json"),
        extras=(
            ("{split}_hashes.json", "nlvr2/util/hashes/{split}_hashes.json", ("train", "dev", "test1", "test2")),
            ("balanced_{split}.json", "nlvr2/data/balanced/balanced_{split}.json", ("dev", "test1", "test2")),
            ("unbalanced_{split}.json", "nlvr2/data/unbalanced/unbalanced_{split}.json", ("dev", "test1", "test2")),
            ("annotated_{split}_examples.txt", "nlvr2/util/annotated_{split}_examples.txt", ("dev",)),
        ),
        splits=("train", "dev", "test1"),
        others=("test2",),
        images=_photographs,
        noun="photographs",
    ),
}
