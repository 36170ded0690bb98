PYTHON ?= python3
VENV   ?= .venv
TORCH  ?=
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow test-hf check renew figures docs hooks format clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP)  ## Make the virtual environment .venv with the `lra` command; TORCH=cpu or TORCH=cuda chooses the build
ifneq ($(TORCH),)
	@grep -qx -- "$(TORCH)" $(STAMP) || { echo "$(VENV) has another build of torch; type: make clean setup TORCH=$(TORCH)"; exit 1; }
endif

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if (3, 11) <= sys.version_info[:2] <= (3, 13) else "Python %d.%d found; 3.11 to 3.13 is needed: make PYTHON=python3.12 ..." % sys.version_info[:2])'
	@$(PYTHON) -m venv $(VENV) || { echo "No virtual environment could be made; on Debian and Ubuntu: apt install python3-venv"; exit 1; }
	@$(BIN)/python install_torch.py $(TORCH) > $(VENV)/.torch
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m pip install --disable-pip-version-check --quiet -e '.[dev]'
	@mv $(VENV)/.torch $(STAMP)

demo: setup  ## Make data, train a small Nyströmformer on short ListOps, test it (under 5 minutes on 2 cores)
	$(BIN)/lra train experiment=demo
	@echo "So that this shell finds lra: source $(BIN)/activate"

test: setup  ## Run the tests (under 4 minutes on 2 cores); the house rules are a part of check
	$(BIN)/python -m pytest -n 2 --dist worksteal --ignore=tests/house

test-slow: setup  ## Run the other tests: hours of speed ratios, planted bugs, kills, whole commands
	$(BIN)/python -m pytest -m slow

test-hf: setup  ## Install the extra hf, and run the tests that compare with the package transformers
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m pip install --disable-pip-version-check --quiet -e '.[hf]'
	$(BIN)/python -m pytest tests/tools/interop

check: setup  ## Lint, format, types, the house rules, and what is stale
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/house

renew: setup  ## Write anew what is made from code and records; ONLY="errors golden" a part of it
	$(BIN)/python -m tests.renew $(ONLY)

figures: setup  ## Draw every figure of the documents into figures/, for a paper: PNG (300 dpi), PDF and SVG
	$(BIN)/python -m docs.blocks.figures figures

docs: setup  ## Build the docs site in docs/_build; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -q -c docs . docs/_build

hooks: setup  ## Lint and compare the format before each commit, by pre-commit
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(BIN)/python -m pip install --disable-pip-version-check --quiet pre-commit
	$(BIN)/pre-commit install

format: setup  ## Rewrite the files in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## Remove the virtual environment and the caches (never data or runs)
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache dist build docs/_build
