"""Benchmarks on disk: reading, writing, splitting, checking.

    store         `Benchmark`: open a folder, read its items, panels, images, judgements
    manifest      the shape of benchmark.json, which a stranger may have written
    item          an item that knows its benchmark: its pictures and words; `frame` is many of them for pandas
    pictures      panels, decoded
    manifest      what `benchmark.json` must look like
    writer        `BenchmarkWriter`: write one; it appears whole or not at all
    tables        the columns of every file, and records from and to them
    place         where a folder is put, and what it may replace; DIR.hidden beside DIR
    shown         items as whoever answers sees them: pictures cut out, joined or drawn on, texts with names
    splits        splits that cannot leak, and the secret of hidden ones
    check         `veridical check`: hashes, counts, images, nothing hidden in what is public
    check_items   what `check` says about items: references, answers, origins in two splits

From outside, use `Benchmark` and `BenchmarkWriter`; builders also use `splits`, and who asks `shown`.
"""

from veridical.benchmark.store import Benchmark
from veridical.benchmark.writer import BenchmarkWriter

__all__ = ["Benchmark", "BenchmarkWriter"]
