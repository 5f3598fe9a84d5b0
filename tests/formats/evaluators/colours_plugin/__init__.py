"""A model for lmms-eval that looks at the first picture, and chooses what has its colour."""
