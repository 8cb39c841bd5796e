# The project's whole vocabulary. Every target installs what it needs; a second call is quick.

PYTHON ?= python3
BIN := .venv/bin
RUNTIME := .venv/.runtime
INSTALLED := .venv/.installed
WORKERS ?= auto

.DEFAULT_GOAL := help
.PHONY: help install up test check conformance format e2e bench controlplane pins clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(INSTALLED) ## a virtual environment in .venv with the command `penstock`

# What it takes to run; a newcomer should not wait for what only developers need.
$(RUNTIME): pyproject.toml constraints.txt
	@echo "installing into .venv ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --upgrade pip
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	@touch $@

$(INSTALLED): $(RUNTIME)
	@echo "installing the tools of developers ..."
	@$(BIN)/python -m pip install --quiet --constraint constraints.txt --group dev
	@touch $@

up: $(RUNTIME) ## the main job: a cluster kept in the state of a Git repository; the example
	@$(BIN)/penstock up

test: install ## unit, conformance and integration tests; needs Python and git only
	@$(BIN)/python -m tests.secondlook -n $(WORKERS) -- -m 'not real'

check: install ## format, lint, types and import contracts
	@$(BIN)/ruff format --check --quiet . || (echo "run 'make format'" >&2; exit 1)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/lint-imports > .venv/imports.log 2>&1 || (cat .venv/imports.log; exit 1)
	@$(BIN)/basedpyright --level error > .venv/basedpyright.log 2>&1 & pid=$$!; \
	  $(BIN)/mypy --no-error-summary; mypy=$$?; \
	  wait $$pid || { cat .venv/basedpyright.log; exit 1; }; exit $$mypy
	@echo "check: fine"

conformance: install ## kustomize's own cases from a folder: make conformance CASES=DIR
	@test -d "$(CASES)" || { echo "name the folder with the cases: make conformance CASES=DIR" >&2; exit 2; }
	@$(BIN)/python -m tests.kustomize.conformance "$(CASES)"

format: install ## write the code as the formatter wants it
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

e2e: install ## the integration tests on a real control plane (needs Go, or PENSTOCK_E2E_KUBECONFIG)
	@$(BIN)/python -m tests.controlplane.e2e

controlplane: install ## build the real control plane for tests, once; prints where it lies
	@$(BIN)/python -m tests.controlplane.build

bench: install ## every figure the README claims, side by side with its peer
	@$(BIN)/python -m bench

pins: ## choose new versions of all dependencies and write constraints.txt
	@rm -rf .venv/pins && $(PYTHON) -m venv .venv/pins
	@.venv/pins/bin/python -m pip install --quiet --upgrade pip
	@.venv/pins/bin/python -m pip install --quiet --editable . --group dev
	@.venv/pins/bin/python -m pip freeze --all --exclude setuptools --exclude-editable | LC_ALL=C sort -f > constraints.txt
	@rm -rf .venv/pins

clean: ## remove the virtual environment and all caches of the checkout
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis dist
