"""Small official releases of every format, with pictures, written as their authors write them."""

from __future__ import annotations

import io
import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image


def picture(width: int, height: int, seed: int = 0, kind: str = "PNG") -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 255, (height, width, 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, kind)
    return out.getvalue()


def bomb(width: int, height: int) -> bytes:
    """A small PNG that claims many pixels."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def nlvr_line(identifier: str = "12-0", **change: Any) -> dict[str, Any]:
    line = {
        "sentence": "There is a yellow block.",
        "label": "true",
        "identifier": identifier,
        "directory": "0",
        "evals": {"r0": "true", "r3": "nonsense"},
        "structured_rep": [
            [{"y_loc": 80, "type": "square", "color": "Yellow", "x_loc": 40, "size": 20}],
            [{"y_loc": 0, "type": "circle", "color": "#0099ff", "x_loc": 70, "size": 30}],
            [],
        ],
    }
    return without(line | change)


def nlvr2_line(identifier: str = "dev-8-0-1", **change: Any) -> dict[str, Any]:
    pair = identifier.rpartition("-")[0]
    line = {
        "validation": {"61": "False"},
        "sentence": "One dog is black.",
        "left_url": f"https://example.org/{pair}-left.jpg",
        "writer": "61",
        "label": "False",
        "right_url": f"https://example.org/{pair}-right.jpg",
        "synset": "malamute",
        "query": "two malamutes3",
        "identifier": identifier,
        "extra_validations": {"7": "True", "9": "False"},
    }
    return without(line | change)


def vcr_line(number: int = 0, split: str = "val", **change: Any) -> dict[str, Any]:
    line = {
        "movie": "1054_A_film",
        "objects": ["person", "person", "car"],
        "answer_likelihood": "likely",
        "img_fn": f"lsmdc_1054_A_film/{split}-{number // 2}@0.png",
        "metadata_fn": f"lsmdc_1054_A_film/{split}-{number // 2}@0.json",
        "answer_orig": "Yes, 1 does.",
        "question": ["Do", [0, 1], "drive", [2], "?"],
        "answer_match_iter": [2, 0, 1, 3],
        "answer_sources": [5, number, 8, 9],
        "answer_choices": [["No", "."], ["Yes", ",", [0], "does", "."], ["No", [1], "."], ["Maybe", "é", "."]],
        "answer_label": 1,
        "rationale_choices": [[[0], "waits", "."], ["It", "rains", "."], ["A", [2], "is", "red", "."], ["No", "."]],
        "rationale_label": 2,
        "img_id": f"{split}-{number // 2}",
        "question_number": number % 2,
        "annot_id": f"{split}-{number}",
    }
    return without(line | change)


def metadata(**change: Any) -> dict[str, Any]:
    box, outline = [1.5, 2.0, 10.25, 12.0, 0.875], [[[1, 2], [10, 2], [10, 12]]]
    whole = {
        "boxes": [box] * 3,
        "segms": [outline] * 3,
        "names": ["person", "person", "car"],
        "width": 24,
        "height": 16,
    }
    return without(whole | change)


def without(line: dict[str, Any]) -> dict[str, Any]:
    """A field set to ... is left out."""
    return {name: value for name, value in line.items() if value is not ...}


def write_lines(path: Path, *lines: dict[str, Any] | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    encoded = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"\n".join(encoded) + b"\n")
    return path


def nlvr(folder: Path) -> None:
    write_lines(folder / "train.json", nlvr_line("12-0"), nlvr_line("12-3", label="false"))
    write_lines(folder / "dev" / "dev.json", nlvr_line("7-1"))
    for split, name, views in (("train-images", "train-12-3", [2, 4]), ("dev/images", "dev-7-1", range(6))):
        place = folder / split / "0"
        place.mkdir(parents=True)
        for view in views:
            (place / f"{name}-{view}.png").write_bytes(picture(400, 100, view))


def nlvr2(folder: Path) -> None:
    lines = [nlvr2_line("dev-8-0-1"), nlvr2_line("dev-8-0-0", label="True"), nlvr2_line("dev-8-2-0")]
    write_lines(folder / "dev.json", *lines)
    write_lines(folder / "balanced" / "balanced_dev.json", *lines[:2])
    (folder / "dev_hashes.json").write_text(json.dumps({"dev-8-0-img0.png": "00ff", "dev-8-2-img1.png": "1234"}))
    (folder / "annotated_dev_examples.txt").write_text("One dog is black.\n* hard cardinality\n* coordination\n")
    place = folder / "images" / "dev"
    place.mkdir(parents=True)
    (place / "dev-8-0-img0.png").write_bytes(picture(8, 6, 1, "JPEG"))  # the real ones are not all PNG files either
    (place / "dev-8-0-img1.png").write_bytes(picture(9, 5, 2))
    write_lines(folder / "train.json", nlvr2_line("train-1-0-0", extra_validations=..., directory=12))
    place = folder / "images" / "train" / "12"
    place.mkdir(parents=True)
    (place / "train-1-0-img1.png").write_bytes(picture(4, 4, 3))


def vcr(folder: Path) -> None:
    write_lines(folder / "val.jsonl", *(vcr_line(n) for n in range(3)))
    hidden = dict.fromkeys(
        ("answer_label", "rationale_label", "answer_orig", "answer_match_iter", "answer_sources"), ...
    )
    write_lines(folder / "test.jsonl", vcr_line(0, "test", **hidden))
    place = folder / "vcr1images" / "lsmdc_1054_A_film"
    place.mkdir(parents=True)
    (place / "val-0@0.png").write_bytes(picture(24, 16, 4))
    (place / "val-0@0.json").write_text(json.dumps(metadata()))


RELEASES: dict[str, Callable[[Path], None]] = {"nlvr": nlvr, "nlvr2": nlvr2, "vcr": vcr}


def files(folder: Path) -> dict[str, bytes]:
    """Every file under a folder."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
