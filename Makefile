# make run   sets up what is missing and starts the app, which then fetches a small real model
# make test  the same with the test tools and a browser, then runs the tests
PYTHON ?= python3
PORT ?= 8501
REAL_MODEL ?= 1
BIN := .venv/bin
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
UV := build/uv/bin/uv
LOCKED := --universal --python-version 3.11 --generate-hashes --no-emit-package torch

.PHONY: help install run check test test-all test-touched tools train measure-real heal-real demo-model real-model screenshots handout site lint format lock clean
.DEFAULT_GOAL := help

help:  ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 13

install: .venv/ready  ## install what the app needs, for a server: see deploy/README.md

run: .venv/ready  ## start the app, http://localhost:8501 (PORT=... for another; REAL_MODEL=0)
	@echo "Starting MLA Explorer on http://localhost:$(PORT)"
	@MLA_REAL_MODEL=$(REAL_MODEL) $(BIN)/streamlit run app.py --server.port $(PORT)

check: .venv/ready-to-test lint  ## lint, and the tests that find most in under 3 minutes
	@$(PYTEST) $$($(BIN)/python -m tests.tiers check)

test: tools .venv/ready-to-test  ## run the tests, two workers, under 16 minutes on 2 cores
	@$(PYTEST) $$($(BIN)/python -m tests.tiers test)
	@$(BIN)/python -m tests.tiers left-out

test-all: tools .venv/ready-to-test-all  ## run all of them (PART=browser: a part alone; OPTIONS=--record)
	@$(BIN)/python -m tests.whole $(PART) $(OPTIONS)

test-touched: .venv/ready-to-test  ## run the parts of test-all whose area changed, 15 minutes at most
	@parts=$$($(BIN)/python -m tests.whole --touched) && \
	  if [ -n "$$parts" ]; then $(MAKE) --no-print-directory test-all PART="$$parts"; fi

tools:
	@tests/find_tools.sh

demo-model: .venv/ready  ## build a small checkpoint with random weights in models/demo
	@$(BIN)/python -m mla_engine.checkpoints.demo

real-model: .venv/ready  ## fetch SmolLM2-135M into models/ (93 MB; on disk 271, and 75 with MLA), alone and again
	@$(BIN)/python -m mla_engine.checkpoints.real_model && $(BIN)/python -m mla_engine.checkpoints.real_mla

heal-real: .venv/ready  ## make MLA of that model, teach it, and measure it (OPTIONS='--pieces 8')
	@OMP_NUM_THREADS=1 $(BIN)/python -m training.heal $(OPTIONS)

screenshots: tools .venv/ready-to-test real-model  ## take the README's pictures, one a page
	@$(BIN)/python benchmarks/screenshots.py

train: .venv/ready  ## train the small models and measure them (OPTIONS='--only mla-0')
	@OMP_NUM_THREADS=1 $(BIN)/python -m training $(OPTIONS)

measure-real: .venv/ready  ## measure what the real model still says with a smaller cache
	@OMP_NUM_THREADS=1 $(BIN)/python -m training.real $(OPTIONS)

handout: tools .venv/ready-to-test  ## print the story into build/ (OPTIONS='--lang zh --url https://...')
	@$(BIN)/python -m ui.handout $(OPTIONS)

site: tools .venv/ready-to-test  ## make a static copy in build/site (OPTIONS='--url https://... --app https://...')
	@$(BIN)/python -m ui.site $(OPTIONS)

lint: .venv/ready-to-test  ## check style and import rules
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/lint-imports --no-cache

format: .venv/ready-to-test  ## put the code into the house format
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

lock: $(UV)  ## renew requirements.lock: what requirements.txt needs, with hashes
	@$(UV) --no-config pip compile -q requirements.txt --excludes requirements-cuda.txt $(LOCKED) \
	  --custom-compile-command "make lock" --default-index https://pypi.org/simple \
	  --output-file requirements.lock >/dev/null

$(UV): requirements-uv.txt
	@$(PYTHON) -m venv build/uv
	@build/uv/bin/python -m pip install -qq --disable-pip-version-check \
	  --require-hashes -r requirements-uv.txt
	@touch $@

clean:  ## remove the environment and what tests left behind
	@rm -rf .venv .pytest_cache .ruff_cache .hypothesis build kvcount/build *.egg-info kvcount/*.egg-info

.venv/ready: requirements.txt requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or later is needed, $(PYTHON) is $$($(PYTHON) -V 2>&1): try make PYTHON=python3.12"; exit 1; }
	@echo "Making .venv"
	@$(PYTHON) -m venv .venv || { echo "Installing the venv module" \
	  && apt-get update -qq && apt-get install -y -qq python3-venv && $(PYTHON) -m venv .venv; } \
	  || { echo "Install the venv module first: sudo apt-get install python3-venv"; rm -rf .venv; exit 1; }
	@echo "Installing the packages of requirements.lock"
	@$(PIP) --require-hashes --only-binary :all: -r requirements.lock
	@echo "Installing PyTorch (the largest part, some minutes)"
	@$(PIP) $$(grep '^torch==' requirements.txt)
	@$(PIP) --no-deps --no-build-isolation --editable kvcount --editable .  # .venv/bin/kvcount
	@touch $@

.venv/ready-to-test: .venv/ready requirements-dev.txt
	@echo "Installing the test tools"
	@$(PIP) -r requirements-dev.txt
	@touch $@

.venv/ready-to-test-all: .venv/ready-to-test requirements-ray.txt requirements-gpu.txt requirements-browsers.txt
	@echo "Installing Ray, Triton and Selenium"
	@tests/find_tools.sh nginx redis
	@tests/find_tools.sh firefox webkit xvfb || true  # not everywhere: part browsers says what it lacks
	@$(PIP) -r requirements-ray.txt -r requirements-gpu.txt -r requirements-browsers.txt
	@touch $@
