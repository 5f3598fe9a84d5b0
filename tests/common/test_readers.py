"""Every reader of files that people give: what is not UTF-8, cut off, empty or of another shape is a `UserError`.

A reader is one line of `READERS`: a file that it takes (its name, and content that decodes), and a call. No other
exception may leave a reader; what is damaged it must refuse, and nothing in an empty file it may take for nothing.
"""

from __future__ import annotations

import contextlib
import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from veridical.errors import UserError

Read = Callable[[Path], Any]
NOTHING: dict[str, Any] = {}


def _lines(*records: object) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


@dataclass(frozen=True)
class Reader:
    """One reader, with a file that it decodes."""

    file: str
    content: bytes
    read: Read
    text: bool = False  # plain text, of which a part is text, too

    def bad_files(self) -> Iterator[tuple[str, bytes]]:
        middle = len(self.content) // 2
        yield "not UTF-8", self.content[:middle] + b"\xff\xfe" + self.content[middle:]
        yield "Latin-1", self.content.replace(b"x", b"\xe9") if b"x" in self.content else b"caf\xe9"
        yield "empty", b""
        if not self.text:
            yield "truncated", self.content[: len(self.content) * 2 // 3].rstrip(b'}]" \n')
            yield "wrong types", b'{"x": [{"y": null}]}\n[1, "x"]\n'
            yield "a number", b"3\n"
            yield "nested", b"[" * 100_000
            yield "binary", bytes(range(256)) * 8


def _called(name: str, *arguments: Any) -> Read:
    """A function `module:name` on the path and other arguments; imported when it is called."""
    from pkgutil import resolve_name

    return lambda path: resolve_name(name)(path, *arguments)


def _imported(format: str) -> Read:
    from veridical.formats.releases import import_release

    return lambda path: import_release(format, path, path.parent / "out", split="dev")


def _source(name: str, folder: bool = True) -> Read:
    from veridical.sources import open_source

    def read(path: Path) -> object:
        return list(open_source(f"{name}:{path.parent if folder else path}").photographs())

    return read


def _lists(path: Path) -> object:
    from veridical.builders.vprom.elements import read_lists

    return read_lists(path.parent)


def _journal(path: Path) -> object:
    from veridical.solvers.vlm.answers import Journal

    if not path.exists():
        raise UserError("A journal begins where there is none.")
    path.write_bytes(path.read_bytes() + b"\n")  # what is behind the last line end was torn by a kill, and is dropped
    with Journal(path, {"a": 1}) as journal:
        return journal.asked


def _folder(name: str) -> Read:
    """A reader of a file in a folder of ours, called with the folder."""
    from pkgutil import resolve_name

    return lambda path: resolve_name(name)(path.parent)


def _reported(path: Path) -> object:
    from veridical.reporting.inputs import read_inputs

    return read_inputs([path if path.name == "audit.json" else path.parent])


def _thesaurus(path: Path) -> object:
    from veridical.builders.nlvr2.queries import read_synsets
    from veridical.language.wordnet import open_thesaurus

    return read_synsets(path, open_thesaurus(None, needed=False))


def _submitted(path: Path) -> object:
    from veridical.benchmark import BenchmarkWriter
    from veridical.evaluation.submission import write_submission
    from veridical.records import TRUTH, Item, Panel

    item = Item("a", "statement", ("p",), candidates=TRUTH, answer=1)
    with BenchmarkWriter(path.parent / "bench", name="b", task="statement", config={}) as writer:
        writer.add_panels([Panel("p", None, None, 1, 1, ())])
        writer.add_items("dev", [item])
    return write_submission(path.parent / "bench", path, path.parent / "out.csv", split="dev")


NLVR_LINE = {"sentence": "x", "identifier": "1-0", "structured_rep": [[], [], []], "label": "true"}
NLVR2_LINE = {"identifier": "dev-1-0-0", "sentence": "x", "left_url": "a", "right_url": "b", "label": "True"}
VCR_LINE = {
    "annot_id": "dev-1",
    "img_id": "dev-1",
    "img_fn": "x.jpg",
    "metadata_fn": "x.json",
    "objects": ["person"],
    "question": ["x"],
    "answer_choices": [["x"]] * 4,
    "rationale_choices": [["x"]] * 4,
    "answer_label": 0,
    "rationale_label": 0,
    "movie": "m",
}
EVALUATION, QUESTIONS = "veridical.evaluation.readers", "veridical.matching.questions"
NLVR2, VPROM, VCR = "veridical.builders.nlvr2", "veridical.builders.vprom", "veridical.builders.vcr"
COLLECTED = "veridical.builders.collected"
PEOPLE, PEOPLE2 = "veridical.builders.nlvr.people", "veridical.builders.nlvr2.people"

READERS: dict[str, Reader] = {
    "predictions, JSON lines": Reader(
        "p.jsonl", _lines({"item": "x", "scores": [0.1, 0.9]}), _called(f"{EVALUATION}:read_predictions")
    ),
    "predictions, true and false": Reader("p.csv", b"x1,true\nx2,false\n", _called(f"{EVALUATION}:read_predictions")),
    "submission": Reader("p.jsonl", _lines({"item": "x", "scores": [0.1, 0.9]}), _submitted),
    "saved solver": Reader(
        "s.json", b'{"format": "x", "version": 1}', _called("veridical.solvers.programs:ProgramSolver.load")
    ),
    "journal of a model": Reader("a.jsonl", _lines({"journal": {"a": 1}}, {"x": 1}), _journal),
    "NLVR, release": Reader("dev.json", _lines(NLVR_LINE, NLVR_LINE), _imported("nlvr")),
    "NLVR2, release": Reader("dev.json", _lines(NLVR2_LINE, NLVR2_LINE), _imported("nlvr2")),
    "VCR, release": Reader("dev.jsonl", _lines(VCR_LINE, VCR_LINE), _imported("vcr")),
    "NLVR2, phenomena": Reader(
        "annotated.txt", b"x\nx\n", _called("veridical.formats.nlvr2:read_phenomena"), text=True
    ),
    "NLVR, presentations": Reader(
        "presentations.jsonl",
        _lines({"presentation": "x", "kind": "tower", "images": []}),
        _called(f"{PEOPLE}:read_presentations"),
    ),
    "NLVR, statements": Reader(
        "s.jsonl",
        _lines({"presentation": "x", "sentence": "x", "writer": "w"}),
        _called(f"{PEOPLE}:read_statements", []),
    ),
    "NLVR, judgements": Reader(
        "j.jsonl", _lines({"item": "x", "worker": "w", "verdict": True}), _called(f"{PEOPLE}:read_judgements", [])
    ),
    "NLVR2, marks": Reader(
        "m.jsonl", _lines({"set": "x", "photograph": "x", "reason": "x"}), _called(f"{PEOPLE2}:read_marks", [])
    ),
    "NLVR2, labels": Reader(
        "l.jsonl", _lines({"photograph": "x", "interesting": True}), _called(f"{PEOPLE2}:read_labels", ["x"])
    ),
    "NLVR2, sentences": Reader(
        "s.jsonl", _lines({"task": "x", "sentence": "x", "writer": "w"}), _called(f"{PEOPLE2}:read_sentences", [])
    ),
    "NLVR2, verdicts": Reader(
        "v.jsonl",
        _lines({"item": "x", "worker": "w", "verdict": "true"}),
        _called(f"{PEOPLE2}:read_verdicts", NOTHING, []),
    ),
    "NLVR2, options": Reader("o.json", b'{"source": "icons"}', _called(f"{NLVR2}.collection:read_config")),
    "NLVR2, options in TOML": Reader("o.toml", b'source = "icons"\n', _called(f"{NLVR2}.collection:read_config")),
    "NLVR2, synsets": Reader("s.txt", b"fox\nx\n", _thesaurus, text=True),
    "NLVR2, synsets in JSON": Reader("s.json", b'[{"synset": "x"}]', _thesaurus),
    "NLVR2, synsets in JSON lines": Reader("s.jsonl", _lines({"synset": "x"}), _thesaurus),
    "NLVR2, saved search": Reader(
        "r.jsonl",
        _lines({"query": "x", "rank": 1, "address": "x", "similar": []}),
        _called(f"{NLVR2}.search:_read_results"),
    ),
    "NLVR2, costs": Reader("c.json", b'{"x": {"cost": 1.0, "workers": 2}}', _called(f"{COLLECTED}:costs", 1, 1)),
    "NLVR2, takedown": Reader("t.txt", b"x\n", _called(f"{NLVR2}.takedown:_names"), text=True),
    "NLVR2, word vectors": Reader("v.txt", b"fox 0.1 0.2\nx 0.3 0.4\n", _called(f"{NLVR2}.word_vectors:open_vectors")),
    "V-PROM, answers": Reader(
        "a.jsonl", _lines({"item": "x", "worker": "w", "verdict": 5}), _called(f"{COLLECTED}:read_answers")
    ),
    "V-PROM, lists": Reader("counts.json", b'{"openers": ["x"]}', _lists),
    "V-PROM, lists of words": Reader("people.txt", b"man\nx\n", _lists, text=True),
    "VCR, interest": Reader(
        "i.jsonl", _lines({"photograph": "x", "interesting": True}), _called(f"{VCR}.photographs:read_interest")
    ),
    "VCR, written": Reader(
        "w.jsonl",
        _lines({"image": "x", "question": "x", "answer": "x", "rationale": "x"}),
        _called(f"{VCR}.written:read_written", NOTHING),
    ),
    "matching, JSON lines": Reader(
        "q.jsonl", _lines({"question": "x", "answer": "x"}), _called(f"{QUESTIONS}:read_table")
    ),
    "matching, CSV": Reader("q.csv", b"question,answer\nx,x\n", _called(f"{QUESTIONS}:read_table")),
    "matching, Parquet": Reader("q.parquet", b"PAR1xxxx", _called(f"{QUESTIONS}:read_table")),
    "matching, people": Reader(
        "p.csv",
        b"lambda,id,choice\n0.1,x,1\n0.1,a-long-name-that-is-cut-in-two,1\n",
        _called(f"{QUESTIONS}:read_people"),
    ),
    "sentences to tag": Reader("s.txt", b"a fox\n", _called("veridical.language.phenomena.tagger:tag_file"), text=True),
    "sentences to profile": Reader(
        "s.txt", b"a fox\n", _called("veridical.statistics.language:read_sentences"), text=True
    ),
    "COCO": Reader("instances_x.json", b'{"images": [], "annotations": [], "categories": []}', _source("coco", False)),
    "Visual Genome": Reader("image_data.json", b'[{"image_id": 1, "url": "x"}]', _source("vg")),
    "labels of a folder": Reader("labels.jsonl", _lines({"file": "x.jpg", "category": "x"}), _source("folder")),
    "audit to report": Reader("audit.json", b'{"checks": [{"check": "x"}]}', _reported),
    "run to report": Reader("run.json", b'{"model": "x"}', _reported),
    "sweep to report": Reader("sweep.json", b'{"benchmark": {"name": "x"}, "points": []}', _reported),
    "benchmark": Reader(
        "benchmark.json", b'{"name": "x", "task": "statement"}', _folder("veridical.benchmark:Benchmark")
    ),
    "trained model": Reader("model.safetensors", b"x" * 90, _folder("veridical.training.trained:load_trained")),
    "vectors": Reader("features-x.arrow", b"ARROW1xx", _called("veridical.encoders.store:open_features")),
}
CASES = [(name, what, content) for name, reader in READERS.items() for what, content in reader.bad_files()]


@pytest.fixture(autouse=True)
def usual_fields() -> Iterator[None]:
    """Matching allows larger fields in CSV files for the whole process; other tests expect the usual ones."""
    before = csv.field_size_limit()
    yield
    csv.field_size_limit(before)


@pytest.mark.parametrize(("name", "what", "content"), CASES, ids=[f"{name}: {what}" for name, what, _ in CASES])
def test_a_bad_file_is_a_user_error(tmp_path: Path, name: str, what: str, content: bytes) -> None:
    reader = READERS[name]
    path = tmp_path / "in" / reader.file
    path.parent.mkdir()
    path.write_bytes(content)
    if what == "empty":
        with contextlib.suppress(UserError):
            reader.read(path)
    else:
        with pytest.raises(UserError):
            reader.read(path)


@pytest.mark.parametrize("name", READERS)
def test_a_file_that_is_missing_is_a_user_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(UserError):
        READERS[name].read(tmp_path / "in" / READERS[name].file)
