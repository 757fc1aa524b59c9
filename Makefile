# `make retrain` and `make test` need nothing but Python 3.11 or newer and a package index.
# On Linux the package index's torch comes with several gigabytes of CUDA; to get the CPU build instead, point pip at
# PyTorch's CPU index first: export PIP_EXTRA_INDEX_URL=<the CPU index named on pytorch.org>.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# A file's tests stay in one process, which makes once what they share; in the order of the folders, the slowest begin.
IN_PROCESSES := --numprocesses 2 --dist loadfile --no-loadscope-reorder
SET ?=
NAME ?= retrain
TRAINER ?= $(BIN)/python

.PHONY: setup retrain test test-fast test-deployed lint ui bench gpu-check clean constraints
.DEFAULT_GOAL := help

help:  ## Show this list.
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## Make .venv from the pinned constraints.

$(READY): pyproject.toml constraints/laptop.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is older than 3.11; set PYTHON to a newer one"; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints/laptop.txt --editable '.[dev,dask,server]'
	touch $(READY)

retrain: $(READY)  ## Retrain on this machine, end to end (SET="seed=2 train.max_steps=80" overrides).
	$(BIN)/tucano retrain --profile local $(foreach pair,$(SET),--set $(pair))

test: $(READY)  ## Run every test.
	$(BIN)/python -m pytest $(IN_PROCESSES)

test-fast: $(READY)  ## Run the tests that need no server, child process or whole pipeline.
	$(BIN)/python -m pytest -m "not integration and not e2e and not deployed" $(IN_PROCESSES)

test-deployed: $(READY)  ## Deploy, kill and promote on real servers, also on PostgreSQL where it is installed; some 15 minutes each.
	$(BIN)/python -m pytest -m deployed --timeout=3600 tests/e2e/test_deployment.py

lint: $(READY)  ## Ruff, mypy and import-linter.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

ui: $(READY)  ## Serve Prefect's and MLflow's pages on loopback over the local state.
	$(BIN)/tucano ui

bench: $(READY)  ## Run one benchmark: make bench NAME=retrain.
	@test -f "benchmarks/$(NAME).py" || { echo "NAME is one of: $$(cd benchmarks && ls [a-z]*.py | sed 's/\.py$$//' | tr '\n' ' ')"; exit 2; }
	$(BIN)/python -m benchmarks.$(NAME)

gpu-check: $(READY)  ## Train 20 steps on this machine's GPU (TRAINER=/opt/trainer/bin/python names the trainer's Python).
	$(TRAINER) -m benchmarks.gpu_check

constraints: $(READY)  ## Pin what .venv holds, and resolve the trainer's environment.
	$(BIN)/python -m pip freeze --exclude-editable > constraints/laptop.draft
	sed 's/+cpu$$//' constraints/laptop.draft > constraints/laptop.txt
	rm constraints/laptop.draft
	$(BIN)/uv pip compile --group pyproject.toml:trainer --no-annotate --no-header --python-version 3.11 --python-platform x86_64-manylinux_2_31 --output-file constraints/trainer-linux-cuda.txt

clean:  ## Remove the local state and every cache; .venv stays.
	rm -rf .tucano .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache build *.egg-info
