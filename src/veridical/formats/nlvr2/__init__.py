"""NLVR2 as its authors released it, both ways: `reading`, its `rows`, and `writing`."""
