"""Experiments: many models on many splits with many features, trained, solved and scored run by run."""
