"""Visual commonsense reasoning (VCR) written as the official release writes it: `<split>.jsonl`, `vcr1images/`."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from pathlib import Path

import msgspec

from veridical.benchmark import Benchmark
from veridical.errors import UserError
from veridical.formats.images import is_inside
from veridical.formats.releases import items_to_write
from veridical.records import Item, Panel, Text

_ENCODER = msgspec.json.Encoder()
FOLDER = "vcr1images"


def encode(benchmark: Benchmark, split: str, out: Path) -> None:
    """Write one split: a line for each question, and the images and metadata that are not there yet."""
    items = items_to_write(benchmark, split)
    reasons: dict[str, dict[int, Item]] = defaultdict(dict)
    for item in items:
        if item.parent is not None and item.given is not None:
            reasons[item.parent][item.given] = item
    numbers: Counter[str] = Counter()
    with (out / f"{split}.jsonl").open("wb") as file:
        for item in items:
            if item.parent is not None:
                continue
            panel = benchmark.panels[item.panels[0]]
            fields = _fields(item, reasons.get(item.id, {}), panel, numbers[panel.id])
            file.write(_ENCODER.encode(fields) + b"\n")
            if not numbers[panel.id]:
                _write_image(benchmark, panel, out / FOLDER)
            numbers[panel.id] += 1


def image_name(panel: Panel) -> str:
    """The official file name of a panel's image."""
    own = f"{panel.id}.jpg"
    if not is_inside(own):  # a stranger's benchmark
        own = hashlib.sha256(own.encode()).hexdigest()[:32] + ".jpg"
    name = panel.uri if panel.uri is not None and is_inside(panel.uri) else own
    return name if "." in name.rpartition("/")[2] else f"{name}.jpg"


def _metadata_name(panel: Panel) -> str:
    return image_name(panel).rpartition(".")[0] + ".json"


def _fields(item: Item, reasons: dict[int, Item], panel: Panel, number: int) -> dict[str, object]:
    if item.query is None or not all(isinstance(text, Text) for text in item.candidates):
        raise UserError(
            f"Item {item.id} is not a question with answers in words.",
            "The format of visual commonsense reasoning (VCR) holds only such items.",
        )
    index = {o.id: k for k, o in enumerate(panel.objects)}
    name = image_name(panel)
    fields: dict[str, object] = {}
    if movie := next((origin for origin in item.origins if origin not in (name, panel.uri)), None):
        fields["movie"] = movie
    fields |= {"objects": [o.category for o in panel.objects], "img_fn": name, "metadata_fn": _metadata_name(panel)}
    if likelihood := item.tag("likelihood"):
        fields["answer_likelihood"] = likelihood[0]
    fields["question"] = _tokens(item.query, index)
    # the rationale item that assumes the right answer; a question without a rationale stage repeats its answers
    reason = reasons[item.answer] if item.answer in reasons else next(iter(reasons.values()), item)
    for kind, one in (("answer", item), ("rationale", reason)):
        fields[f"{kind}_choices"] = [_tokens(text, index) for text in one.candidates if isinstance(text, Text)]
        if one.answer is not None:
            fields[f"{kind}_label"] = one.answer
    return fields | {"img_id": panel.id, "question_number": number, "annot_id": item.id}


def _tokens(text: Text, index: dict[str, int]) -> msgspec.Raw:
    """The token list of a text: exactly as it was where it is one, otherwise from its tokens."""
    tokens = [token if isinstance(token, str) else [index[o] for o in token.objects] for token in text.tokens]
    try:
        if msgspec.json.decode(text.raw) == tokens:
            return msgspec.Raw(text.raw.encode())
    except msgspec.DecodeError:
        pass  # plain words
    return msgspec.Raw(_ENCODER.encode(tokens or text.raw.split()))


def _write_image(benchmark: Benchmark, panel: Panel, folder: Path) -> None:
    """An image and its metadata."""
    if panel.image is not None:
        path = folder / image_name(panel)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(benchmark.image(panel.image))
    if panel.width is None or panel.height is None or any(o.box is None for o in panel.objects):
        return
    metadata = {
        "boxes": [[*(o.box or ()), *([] if o.score is None else [o.score])] for o in panel.objects],
        "segms": [o.polygons for o in panel.objects],
        "names": [o.category for o in panel.objects],
        "width": panel.width,
        "height": panel.height,
    }
    path = folder / _metadata_name(panel)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_ENCODER.encode(metadata))
