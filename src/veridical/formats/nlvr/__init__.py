"""NLVR as its authors released it, both ways: `reading` and `writing`."""
