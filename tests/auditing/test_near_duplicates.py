"""Near-duplicates: copies look alike and slips are found, other drawings and sentences are not taken for one."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from veridical.auditing import leaks
from veridical.auditing.data import AuditData
from veridical.auditing.near_duplicates import LEAST, MOST_BITS, is_slip, near_texts, shingles, text_control
from veridical.benchmark import BenchmarkWriter
from veridical.encoders.hashes import difference_hash, distance, look_alike, thumbnail
from veridical.formats.card import describe
from veridical.options.running import AuditOptions
from veridical.records import TRUTH, Item, Text

WORDS = ["tower", "block", "yellow", "black", "square", "touching", "corner", "exactly", "three", "items"]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_buckets_miss_hardly_any_pair_that_a_comparison_of_all_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    texts = [" ".join(rng.choice(WORDS, 10)) for _ in range(12)]
    texts += [t[:k] + t[k + 1 :] for t, k in zip(texts, rng.integers(0, 30, 12).tolist(), strict=True)]
    split = np.array([0] * 12 + [1] * 12)
    found = {(p.one, p.other) for p in near_texts(texts, split)}
    sets = [shingles(t) for t in texts]
    like = {(a, b): len(sets[a] & sets[b]) / len(sets[a] | sets[b]) for a in range(12) for b in range(12, 24)}
    wanted = {pair for pair, index in like.items() if index >= LEAST or is_slip(texts[pair[0]], texts[pair[1]])}
    assert found <= wanted
    assert len(wanted - found) <= 1
    assert {(k, 12 + k) for k in range(12)} - found == set()


def test_only_wanted_kinds_are_compared() -> None:
    text = "there is exactly one black tower that touches the right wall of its box"
    texts = [text, text.replace("tower", "towr"), text.replace("black", "blak")]
    assert {p[:2] for p in near_texts(texts, np.array([0, 0, 1]))} == {(0, 2), (1, 2)}
    assert {p[:2] for p in near_texts(texts, np.array([0, 0, 1]), inside=0)} == {(0, 1), (0, 2), (1, 2)}
    assert near_texts(texts, np.array([0, 0, 0])) == []
    assert near_texts([], np.array([], int)) == []


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("why is he smiling", "why is he smilng", True),
        ("why is he smiling", "why is she smiling", True),
        ("why is he smiling", "why is he crying", False),
        ("there are 3 boxes", "there are 4 boxes", False),
        ("a", "b", True),
    ],
)
def test_a_slip_is_a_letter_and_never_a_number(one: str, other: str, same: bool) -> None:
    assert is_slip(one, other) == same


def test_the_control_finds_its_copies() -> None:
    rng = np.random.default_rng(0)
    texts = sorted({" ".join(rng.choice(WORDS, 8)) for _ in range(300)})
    assert text_control(texts, 0).ok
    assert not text_control(["", "1 2"], 0).ok


def leaking(out: Path, leaked: int) -> AuditData:
    """Sentences of random words; some of the dev ones are train sentences with a slip and the same label."""
    rng = np.random.default_rng(4)
    with BenchmarkWriter(out, name="b", task="statement", describe=describe) as writer:
        train = [(" ".join(rng.choice(WORDS, 9)), int(rng.integers(2))) for _ in range(400)]
        dev = [(t[:5] + t[6:], y) for t, y in train[:leaked]]
        dev += [(" ".join(rng.choice(WORDS, 9)), int(rng.integers(2))) for _ in range(200 - leaked)]
        for split, sentences in (("train", train), ("dev", dev)):
            names = [f"{split}{k}" for k in range(len(sentences))]
            writer.add_items(
                split,
                [
                    Item(n, "statement", (), Text(t), TRUTH, y, n, (n,))
                    for n, (t, y) in zip(names, sentences, strict=True)
                ],
            )
    return AuditData(out)


def test_a_leak_of_texts_with_slips_is_found(tmp_path: Path) -> None:
    clean = leaks.near_text_check("near-text-leak", leaking(tmp_path / "clean", 0), AuditOptions())
    assert clean.verdict == "pass"
    assert clean.power is not None
    assert clean.power.ok
    found = leaks.near_text_check("near-text-leak", leaking(tmp_path / "b", 40), AuditOptions())
    assert found.verdict == "fail"
    assert found.number is not None
    assert found.number >= 0.2
    assert found.examples[0].id.endswith("% alike")
    assert leaks.text_check("text-leak", leaking(tmp_path / "c", 40), AuditOptions()).verdict == "pass"


def test_photographs_that_are_used_again_are_no_coincidence(benchmarks: ModuleType, tmp_path: Path) -> None:
    """Items that share photographs on purpose must not hide a leak of the same photographs."""
    from veridical.records import Panel

    with BenchmarkWriter(tmp_path / "b", name="b", task="statement", describe=describe) as writer:
        for split in ("train", "dev"):
            names = [f"{split}{k}" for k in range(40)]
            writer.add_panels([Panel(f"p-{n}", None, None, 9, 9, (), uri=f"photo{k % 4}") for k, n in enumerate(names)])
            writer.add_items(
                split,
                [
                    Item(n, "statement", (f"p-{n}",), Text(f"sentence {n}"), TRUTH, k % 2, n, (f"{split}{k % 4}",))
                    for k, n in enumerate(names)
                ],
            )
    found = leaks.image_check("image-leak", AuditData(tmp_path / "b"), AuditOptions())
    assert found.verdict == "fail"


def test_distance_counts_bits() -> None:
    assert distance(np.array([0, 3], np.uint64), np.array([2**63, 0], np.uint64)).tolist() == [1, 2]


def drawing(*places: int) -> Image.Image:
    image = Image.new("RGB", (400, 100), (211, 211, 211))
    for x in places:
        ImageDraw.Draw(image).rectangle((x, 40, x + 10, 50), fill=(0, 0, 0))
    return image


def test_a_compressed_copy_looks_alike_and_another_drawing_does_not() -> None:
    file = BytesIO()
    drawing(20, 180, 330).resize((300, 75)).save(file, "JPEG", quality=80)
    copy = Image.open(file)
    assert look_alike(thumbnail(drawing(20, 180, 330)), thumbnail(copy))
    assert not look_alike(thumbnail(drawing(20, 180, 330)), thumbnail(drawing(20, 180)))
    assert not look_alike(thumbnail(drawing(20, 180, 330)), thumbnail(drawing(20, 180, 350)))


def test_difference_hash_survives_compression(benchmarks: ModuleType) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        image = benchmarks.picture(rng)
        again = Image.open(BytesIO(benchmarks.encoded(image, "JPEG")))
        assert (difference_hash(image) ^ difference_hash(again)).bit_count() <= MOST_BITS
