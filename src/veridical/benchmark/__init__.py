"""Benchmarks on disk: reading, writing, splitting, checking."""

from veridical.benchmark.store import Benchmark
from veridical.benchmark.writer import BenchmarkWriter

__all__ = ["Benchmark", "BenchmarkWriter"]
