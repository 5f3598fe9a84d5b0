"""What is matched and what comes out: question files, folds, tags, items, tables."""
