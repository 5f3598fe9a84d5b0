# The two commands a newcomer needs: `make demo` and `make test`. Each makes .venv and installs what it needs.
.DEFAULT_GOAL := help
SHELL := /bin/bash
BIN := .venv/bin
DATA ?= ../shared/data

.PHONY: help demo test check soak bench docs clean install install-dev

help:  ## what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

install:
	@bash scripts/setup.sh build,models,offline,vlm,notebook,web

install-dev:
	@bash scripts/setup.sh build,models,offline,vlm,notebook,web,docs,dev

demo: install  ## make a benchmark, check it, solve it, evaluate it
	@$(BIN)/veridical demo --out demo

test: install-dev check  ## lint, types and the whole test suite (15 minutes on 2 quiet cores)
	@# A browser that a busy machine starves for 30 s gets one more try; nothing else is tried twice.
	$(BIN)/python -m pytest -n 3 --dist loadfile --reruns 1 --only-rerun 'Timeout [0-9]+ms exceeded'

check: install-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

soak: install-dev  ## kill storms (KILLS=24 a verb), 50,000 fuzzed cases (FUZZ_CASES=, FUZZ_SEED=), long trainings: hours
	$(BIN)/python -m pytest -m soak

bench: install-dev  ## every measurement in benchmarks/, as ratios in one run
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

docs: install-dev  ## write the command reference, the notebook's output and the site (site/index.html)
	$(BIN)/python scripts/command_reference.py > docs/commands.md
	$(BIN)/python scripts/run_notebook.py --write
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean:  ## remove the environment and what the demo wrote
	rm -rf .venv demo site .mypy_cache .pytest_cache .ruff_cache
