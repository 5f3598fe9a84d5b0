"""`veridical get` against a loopback server: what comes, what is missing, what changed, and kill -9 in the middle."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import imagehash
import numpy as np
import pytest
from PIL import Image

import veridical
from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.formats.download import BASE_URL, check_photograph, get
from veridical.formats.fetch import Manners

from . import _server as server
from ._server import Site

ROOT = Path(__file__).resolve().parents[2]
QUICK = Manners(connections=4, retries=2, first_wait=0.01, longest_wait=0.05, silence=2, seconds=10)


def photograph(seed: int, size: int = 64) -> bytes:
    """A JPEG of coloured noise under a gradient; each seed gives another hash."""
    rng = np.random.default_rng(seed)
    coarse = Image.fromarray(rng.integers(0, 256, (6, 6, 3), dtype=np.uint8)).resize((size, size))
    out = io.BytesIO()
    coarse.save(out, "JPEG", quality=90)
    return out.getvalue()


def hash_of(data: bytes) -> str:
    return str(imagehash.average_hash(Image.open(io.BytesIO(data))))


def bomb() -> bytes:
    """A PNG of a few bytes that claims 100,000 x 100,000 pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"x")) + chunk(b"IEND", b"")


@pytest.fixture
def site() -> Iterator[Site]:
    """A small NLVR2: four sets of four pairs, 32 photographs."""
    with server.serving() as site:
        lines, hashes = [], {}
        for number in range(4):
            for pair in range(4):
                names = [f"dev-{number}-{pair}-img{side}.png" for side in range(2)]
                for name in names:
                    data = photograph(len(hashes))
                    hashes[name] = hash_of(data)
                    site.files[f"/photos/{name}"] = data
                lines.append(
                    {
                        "validation": {"61": "True"},
                        "sentence": f"There are {number} dogs.",
                        "left_url": f"{site.url}/photos/{names[0]}",
                        "writer": "61",
                        "label": "True" if pair % 2 else "False",
                        "right_url": f"{site.url}/photos/{names[1]}",
                        "synset": "dog",
                        "query": f"dogs{number}",
                        "identifier": f"dev-{number}-{pair}-0",
                        "extra_validations": {"1": "True"},
                    }
                )
        site.files["/nlvr2/data/dev.json"] = "".join(json.dumps(line) + "\n" for line in lines).encode()
        site.files["/nlvr2/util/hashes/dev_hashes.json"] = json.dumps(hashes).encode()
        yield site


def fetch_dev(site: Site, out: Path, images: bool = True):  # type: ignore[no-untyped-def]
    return get("nlvr2", out, base_url=site.url, split=["dev"], images=images, unpinned=True, manners=QUICK)


def test_texts_only(site: Site, tmp_path: Path) -> None:
    result = fetch_dev(site, tmp_path / "b", images=False)
    assert not any(path.startswith("/photos") for path, _ in site.log)
    assert Benchmark(result.benchmark).manifest["counts"]["items"] == {"main": {"dev": 16}}
    assert Benchmark(result.benchmark).manifest["counts"]["images"] == 0


def test_everything_comes(site: Site, tmp_path: Path) -> None:
    result = fetch_dev(site, tmp_path / "b")
    assert result.table()[1] == ("dev photographs", 32, 0, 0, 0)
    benchmark = Benchmark(result.benchmark)
    assert benchmark.manifest["counts"]["images"] == 32
    panel = benchmark.panels["dev-2-1-img0"]
    assert panel.image is not None
    assert bytes(benchmark.image(panel.image)) == site.files["/photos/dev-2-1-img0.png"]  # the original bytes
    before = len(site.log)
    again = fetch_dev(site, tmp_path / "b")
    assert again.table()[1] == ("dev photographs", 0, 32, 0, 0)
    assert not [path for path, _ in site.log[before:] if path.startswith("/photos")]


def test_fetched_missing_and_changed_are_told_apart(site: Site, tmp_path: Path) -> None:
    names = [f"/photos/dev-0-{pair}-img{side}.png" for pair in range(4) for side in range(2)]
    site.acts[names[0]] = [server.status(404)]
    site.acts[names[1]] = [server.lie(photograph(999))]  # another photograph
    site.acts[names[2]] = [server.lie(b"<html>please log in</html>")]
    site.acts[names[3]] = [server.lie(bomb())]
    site.acts[names[4]] = [server.lie(site.files[names[4]][:-200])]  # cut off, but with the length to match
    site.acts[names[5]] = [server.status(429, Retry_After="0"), server.drop(300)]
    site.acts[names[6]] = [server.redirect("/elsewhere.png")]
    site.files["/elsewhere.png"] = site.files[names[6]]
    result = fetch_dev(site, tmp_path / "b")
    report = result.to_json()
    files = [name for name in report["missing"] if not name["name"].startswith("images/")]
    assert [f["name"] for f in files] == ["balanced_dev.json", "unbalanced_dev.json", "annotated_dev_examples.txt"]
    assert result.table()[1] == ("dev photographs", 27, 0, 1, 4)
    changed = {Path(one["name"]).name: one["reason"] for one in report["changed"]}
    assert changed["dev-0-0-img1.png"] == (
        f"its hash is {hash_of(photograph(999))}; published was {hash_of(site.files[names[1]])}"
    )
    assert "not an image" in changed["dev-0-1-img0.png"]
    assert "100,000 x 100,000" in changed["dev-0-1-img1.png"]
    assert "cut off" in changed["dev-0-2-img0.png"]
    assert Benchmark(result.benchmark).manifest["counts"]["images"] == 27
    assert json.loads((result.folder / ".get/report.json").read_text())["missing"] == report["missing"]
    again = fetch_dev(site, tmp_path / "b")  # the server is well again: what was missing or changed is asked for
    assert again.table()[1] == ("dev photographs", 5, 27, 0, 0)
    assert not [path for path in (again.folder / ".get" / "changed").rglob("*") if path.is_file()]
    assert Benchmark(again.benchmark).manifest["counts"]["images"] == 32


def texture(bits: np.ndarray) -> np.ndarray:
    """How often exactly half the bits are set, and how often neighbours agree, sideways and downwards."""
    grid = bits.reshape(-1, 8, 8)
    sides, down = grid[:, :, 1:] == grid[:, :, :-1], grid[:, 1:] == grid[:, :-1]
    return np.array([(grid.sum((1, 2)) == 32).mean(), sides.mean(), down.mean()])


def test_the_published_hashes_look_like_average_hashes(shared: Path) -> None:
    """Their photographs are not here; of all hashes in imagehash, on other photographs, only this one is like them."""
    values = json.loads((shared / "nlvr2" / "dev_hashes.json").read_bytes()).values()
    published = texture(np.array([[int(bit) for bit in f"{int(value, 16):064b}"] for value in values]))
    photographs = [Image.open(path).convert("RGB") for path in sorted((shared / "coco/images").glob("*.jpg"))[:64]]
    far = {
        name: np.abs(texture(np.array([getattr(imagehash, name)(one).hash for one in photographs])) - published).max()
        for name in ("average_hash", "phash", "phash_simple", "dhash", "dhash_vertical", "whash")
    }
    assert min(far, key=lambda name: far[name]) == "average_hash"
    assert far.pop("average_hash") < 0.1 < min(far.values())


def test_an_image_that_was_only_saved_again_is_the_same_photograph(tmp_path: Path) -> None:
    data = photograph(3, 256)
    again = io.BytesIO()
    Image.open(io.BytesIO(data)).save(again, "PNG")
    (tmp_path / "x").write_bytes(again.getvalue())
    assert check_photograph(tmp_path / "x", hash_of(data)) == ""
    assert check_photograph(tmp_path / "x", None) == ""
    assert "published" in check_photograph(tmp_path / "x", "0" * 16)


def test_photographs_that_could_not_be_checked_are_counted_apart(site: Site, tmp_path: Path) -> None:
    del site.files["/nlvr2/util/hashes/dev_hashes.json"]
    result = fetch_dev(site, tmp_path / "b")
    assert result.table()[1] == ("dev photographs without a published hash", 32, 0, 0, 0)


def test_nlvr_with_its_drawings(site: Site, tmp_path: Path, shared: Path) -> None:
    lines = (shared / "nlvr/dev/dev.json").read_bytes().splitlines(keepends=True)[:3]
    site.files["/nlvr/dev/dev.json"] = b"".join(lines)
    for line in lines:
        record = json.loads(line)
        for k in range(6):
            name = f"{record['directory']}/dev-{record['identifier']}-{k}.png"
            site.files[f"/nlvr/dev/images/{name}"] = (shared / "nlvr/dev/images" / name).read_bytes()
    result = get(
        "nlvr", tmp_path / "b", base_url=site.url + "/", split=["dev"], images=True, unpinned=True, manners=QUICK
    )
    assert result.table() == [("files", 1, 0, 0, 0), ("dev drawings", 18, 0, 0, 0)]
    assert result.counts["missing_images"] == 0
    assert Benchmark(result.benchmark).manifest["counts"]["items"] == {"main": {"dev": 3}}


@pytest.mark.parametrize("line", [b'{"identifier": "../../x-0", "directory": "0"}', b'{"identifier": 3}'])
def test_names_in_a_bad_release_cannot_leave_the_folder(site: Site, tmp_path: Path, line: bytes) -> None:
    site.files["/nlvr/dev/dev.json"] = line + b"\n"
    with pytest.raises(UserError, match=r"dev\.json, line 1"):
        get("nlvr", tmp_path / "b", base_url=site.url, split=["dev"], images=True, unpinned=True, manners=QUICK)
    assert not (tmp_path / "b").exists()


def test_a_release_that_is_not_there(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError, match=r"test1\.json could not be fetched: status 404"):
        get("nlvr2", tmp_path / "b", base_url=site.url, split=["test1"], manners=QUICK)
    told = capsys.readouterr().err
    assert "nlvr2 files: 0/" in told
    assert told.endswith(" failed\n"), "nothing came, so nothing is done"
    site.files["/nlvr2/data/dev.json"] = b"<!doctype html><p>Sign in"
    with pytest.raises(UserError, match="a web page came"):
        fetch_dev(site, tmp_path / "c", images=False)


def test_a_line_nested_too_deeply(site: Site, tmp_path: Path) -> None:
    good = b'{"identifier": "1-0", "directory": "0"}\n'
    site.files["/nlvr/dev/dev.json"] = good + b'{"a":' * 9999 + b"\n" + good
    with pytest.raises(UserError, match=r"dev\.json, line 2: lists or objects are nested too deeply"):
        get("nlvr", tmp_path / "b", base_url=site.url, split=["dev"], images=True, unpinned=True, manners=QUICK)


PAGE = b"<html>please log in</html>"


@pytest.mark.parametrize(
    "bad", [PAGE, b'{"error": "not found"', b"[]", b"{}\n" + b"[" * 9999, b'{"identifier": "dev-0-0-0"}\n{"iden']
)
def test_what_is_not_the_release_is_set_apart_and_not_imported(site: Site, tmp_path: Path, bad: bytes) -> None:
    site.files["/nlvr2/data/balanced/balanced_dev.json"] = bad
    site.files["/nlvr2/util/hashes/dev_hashes.json"] = bad
    seen = []
    result = get(
        "nlvr2", tmp_path / "b", base_url=site.url, split=["dev"], unpinned=True, manners=QUICK, on_fetched=seen.append
    )
    changed = {outcome.wanted.name for outcome in result.outcomes if outcome.status == "changed"}
    assert changed == {"balanced_dev.json", "dev_hashes.json"}
    assert (result.folder / ".get" / "changed" / "balanced_dev.json").read_bytes() == bad
    assert not list(result.folder.glob("*balanced_dev.json"))
    assert Benchmark(tmp_path / "b").manifest["counts"]["items"]["main"] == {"dev": 16}
    assert [one.benchmark for one in seen] == [None]


def test_a_bad_line_is_told_after_the_table_and_can_be_left_out(site: Site, tmp_path: Path) -> None:
    lines = site.files["/nlvr2/data/dev.json"].splitlines()
    site.files["/nlvr2/data/dev.json"] = b"\n".join([lines[0], b"{oops", *lines[1:]])
    run = [sys.executable, "-m", "veridical", "get", "nlvr2", "--out", str(tmp_path / "b"), "--split", "dev"]
    run += ["--base-url", site.url, "--unpinned", "--json"]
    out = subprocess.run(run, capture_output=True, text=True)
    assert out.returncode == 2
    came = re.search(r"^files: [1-9] fetched, 0 had, \d missing, 0 changed\.$", out.stderr, re.MULTILINE)
    assert came is not None, out.stderr
    assert came.start() < out.stderr.index("dev.json, line 2: this is not valid JSON")
    assert "--keep-going" in out.stderr
    out = subprocess.run([*run, "--keep-going"], capture_output=True, text=True, check=True)
    report = json.loads(out.stdout)
    assert [(left["file"], left["line"]) for left in report["left_out"]] == [("dev.json", 2)]
    assert report["counts"]["items"]["main"] == {"dev": 16}


def test_content_is_pinned_wherever_it_comes_from(site: Site, tmp_path: Path, shared: Path) -> None:
    arguments = {"base_url": site.url, "split": ["dev"], "manners": QUICK}
    with pytest.raises(UserError, match=r"(?s)not what was published.*--unpinned"):
        get("nlvr2", tmp_path / "b", **arguments)
    for name, path in (("dev", "dev"), ("balanced_dev", "balanced/balanced_dev")):
        site.files[f"/nlvr2/data/{path}.json"] = (shared / "nlvr2" / f"{name}.json").read_bytes()
    site.files["/nlvr2/util/hashes/dev_hashes.json"] = (shared / "nlvr2" / "dev_hashes.json").read_bytes()
    result = get("nlvr2", tmp_path / "b", **arguments)
    assert result.table() == [("files", 3, 0, 2, 0)]
    (result.folder / "dev.json").write_bytes((result.folder / "dev.json").read_bytes().replace(b"True", b"False", 1))
    assert get("nlvr2", tmp_path / "b", **arguments).table() == [("files", 1, 2, 2, 0)], "what was changed comes again"


def test_a_bad_file_does_not_stand_in_the_way_of_a_good_one(site: Site, tmp_path: Path) -> None:
    good = site.files["/nlvr2/data/dev.json"]
    lines = good.splitlines()
    site.files["/nlvr2/data/dev.json"] = b"\n".join([lines[0], b"{oops", *lines[1:]])
    with pytest.raises(UserError, match="line 2"):
        fetch_dev(site, tmp_path / "b", images=False)
    site.files["/nlvr2/data/dev.json"] = good
    assert fetch_dev(site, tmp_path / "b", images=False).counts["items"] == {"main": {"dev": 16}}


def test_bad_arguments(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="'vcr' cannot be downloaded"):
        get("vcr", tmp_path / "b")
    with pytest.raises(UserError, match="no split 'tset'"):
        get("nlvr", tmp_path / "b", split=["tset"])
    with pytest.raises(UserError, match="0 connections"):
        veridical.get("nlvr", tmp_path / "b", max_connections=0)
    assert BASE_URL.startswith("https://")


def command(site: Site, out: Path) -> subprocess.Popen[str]:
    code = "from veridical.cli import main; main()"
    options = ["get", "nlvr2", "--out", str(out), "--base-url", site.url, "--split", "dev", "--images", "--json"]
    return subprocess.Popen(
        [sys.executable, "-c", code, *options, "--unpinned", "--max-connections", "2"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "VERIDICAL_PROGRESS": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_killed_in_the_middle_it_continues(site: Site, tmp_path: Path) -> None:
    out = tmp_path / "b"
    photos = sorted(path for path in site.files if path.startswith("/photos"))
    for path in photos[10:12]:
        site.acts[path] = [server.slow(200, 0.5)]  # these will be half received when the process dies
    first = command(site, out)
    parts = tmp_path / "b.release" / ".get" / "partial"
    end = time.monotonic() + 30
    while time.monotonic() < end:
        started = [path for path in photos[10:12] if site.asked(path)]
        if len(started) == 2 and sum(part.stat().st_size > 0 for part in parts.glob("*.part")) == 2:
            break
        time.sleep(0.01)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    assert not out.exists()
    done = {path.name for path in (tmp_path / "b.release" / "images" / "dev").iterdir()}
    assert len(done) >= 8
    before = len(site.log)
    second = command(site, out)
    printed, errors = second.communicate(timeout=60)
    assert second.returncode == 0, errors
    asked = dict(site.log[before:])
    assert not [path for path in asked if path.rpartition("/")[2] in done]  # nothing finished was asked for again
    for path in photos[10:12]:
        assert asked[path] is not None  # half received: asked for the rest
        assert asked[path].startswith("bytes=")
    assert json.loads(printed)["fetched"] == 32 - len(done)
    folder = tmp_path / "b.release" / "images" / "dev"
    assert {f"/photos/{p.name}": p.read_bytes() for p in folder.iterdir()} == {p: site.files[p] for p in photos}
    assert Benchmark(out).manifest["counts"]["images"] == 32
    assert "dev photographs" in errors  # the table, for people


def test_two_at_once_are_refused(site: Site, tmp_path: Path) -> None:
    site.acts["/nlvr2/data/dev.json"] = [server.slow(100, 0.3)]
    first = command(site, tmp_path / "b")
    try:
        end = time.monotonic() + 30
        while not site.log and time.monotonic() < end:
            time.sleep(0.01)
        with pytest.raises(UserError, match="Another `veridical get`"):
            fetch_dev(site, tmp_path / "b")
    finally:
        first.kill()
        first.communicate()
