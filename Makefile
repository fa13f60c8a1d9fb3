# `make demo` and `make test` each work as the first command on a fresh machine.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
USER := .venvs/user
# what a developer has installed serves a user too
DEMO := $(if $(wildcard $(STAMP)),.venv,$(USER))
COMPILED := .venv/.kernels
KERNELS := $(shell grep -rlE --include='*.py' 'numba|compiled' src/covey)
# tests/conftest.py says which tests go to one worker; three workers on two cores, because some tests wait.
WORKERS ?= 3
# what Python compiles is kept, whatever the environment says: every test that starts a process needs it
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist loadscope
PYTEST_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help install kernels user demo dist test test-thorough test-slow fuzz lint format bench bench-before house lock clean

help:  ## list these targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' Makefile | while IFS='|' read -r name about; do printf '  make %-14s %s\n' "$$name" "$$about"; done

install: $(STAMP)  ## make .venv with Covey and all that its developers use

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q src
	@touch $@

user: $(USER)/.installed  ## make .venvs/user with Covey and what its users need

$(USER)/.installed: requirements-user.lock pyproject.toml
	$(PYTHON) -m venv $(USER)
	$(USER)/bin/python -m pip install --quiet --require-hashes -r requirements-user.lock
	$(USER)/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .
	$(USER)/bin/python -m compileall -q src
	@touch $@

kernels: $(COMPILED)  ## compile the numba kernels once, ahead of the tests

# numba does not notice an edit in a function that a kernel calls from another file: all are compiled anew.
$(COMPILED): $(STAMP) $(KERNELS)
	find src -name '*.nb[ci]' -delete
	$(BIN)/python scripts/warm.py
	@touch $@

demo: $(DEMO)/.installed  ## three hospitals on this machine: a release and a report for each, in demo-out
	$(DEMO)/bin/covey demo --protocol peel --out demo-out

dist: install  ## a wheel and an sdist in dist/, each tried in an empty environment with the demo
	rm -rf dist
	$(BIN)/python -m hatchling build
	$(PYTHON) scripts/try_dist.py dist

test: install kernels  ## the main path of every behaviour, in minutes
	$(PYTEST) -m "not slow and not thorough" $(PYTEST_ARGS)

test-thorough: install kernels  ## the same and more seeds, faults, pages and peers, as .ci/run does
	COVEY_THOROUGH=1 $(PYTEST) -m "not slow" $(PYTEST_ARGS)

test-slow: install kernels  ## the rest: every kill and storm, whole tables; some hours
	COVEY_THOROUGH=1 $(PYTEST) -n 0 -m slow $(PYTEST_ARGS)

fuzz: install  ## mutated files of every kind, five minutes each (FUZZ_ARGS="--seconds 60")
	$(BIN)/python -m tests.hostile.fuzz_files $(FUZZ_ARGS)

lint: install  ## ruff, and mypy in strict mode: the package, tests, benchmarks and scripts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: install  ## mend what ruff can mend
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: install  ## our own measuring: speed, memory, utility, traffic
	$(BIN)/python -m benchmarks

BEFORE ?= ../covey-0.2.0
bench-before: install  ## peel of 0.2.0, in a tree and an environment of its own, beside this one: Adult, k = 10 and 50
	test -d $(BEFORE) || git worktree add --detach $(BEFORE) 71f1b6fe
	$(MAKE) -C $(BEFORE) install
	COVEY_BENCH_BEFORE=$(BEFORE) $(BIN)/python -m benchmarks peel 10:2:0 50:2:0

house: install  ## the rooms with their lines, who imports whom, and the way of a row in three walks
	@$(BIN)/python -m scripts.house

# Needs uv; the result names no index and no host.
LOCK := uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --quiet
lock:  ## resolve the dependencies anew
	$(LOCK) --group dev --extra polars --extra postgres --extra files --extra evaluate --extra papers --extra ui --upgrade -o requirements.lock
	$(LOCK) --group build --extra ui -c requirements.lock -o requirements-user.lock

clean:  ## remove .venv, compiled kernels and the demo
	rm -rf .venv .venvs/user demo-out dist
	find src -name '*.nb[ci]' -delete
