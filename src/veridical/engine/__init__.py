"""Running a function over batches of work, and showing how far it is."""
