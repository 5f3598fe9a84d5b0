"""Thumbnails are kept within their bound, the last ones asked for longest."""

from __future__ import annotations

from pathlib import Path

from veridical.benchmark import Benchmark
from veridical.web.explore.pictures import Thumbnails, picture_name


def test_memory_is_bounded(nlvr: Path) -> None:
    benchmark = Benchmark(nlvr)
    names = [picture_name(view.image, None, 360) for item in benchmark.items("dev") for view in item.views]
    all_bytes = Thumbnails(benchmark)
    sizes = [len(all_bytes.get(name).data) for name in names]
    bounded = Thumbnails(benchmark, kept=3 * max(sizes))
    for name in names:
        bounded.get(name)
        assert bounded.bytes <= 3 * max(sizes)
    assert bounded.get(names[-1]) is bounded.get(names[-1])


def test_a_region_is_cut_out(vprom: Path) -> None:
    benchmark = Benchmark(vprom)
    panel = next(p for p in benchmark.panels.values() if p.image)
    whole = Thumbnails(benchmark).get(picture_name(panel.image, None, 120))
    part = Thumbnails(benchmark).get(picture_name(panel.image, (-5.0, 0.0, 20.5, 30.0), 120))
    assert part.mime == "image/webp"
    assert part.data != whole.data
