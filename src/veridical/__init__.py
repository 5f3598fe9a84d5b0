"""Veridical: build, audit and run visual-reasoning benchmarks."""

__version__ = "0.1.0"
