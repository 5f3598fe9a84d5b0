"""Writing English: statements with programs, about boxes and about pairs of photographs."""
