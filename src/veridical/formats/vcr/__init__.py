"""Visual commonsense reasoning (VCR) as its authors released it, both ways: `reading` and `writing`."""
