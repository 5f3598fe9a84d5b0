"""What is in `evaluators` runs in other environments, where other evaluators are installed."""

collect_ignore = ["evaluators"]
