# `make demo` and `make test` each work as the first command on a fresh machine.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed
PYTEST_ARGS ?=

.PHONY: install demo test test-slow lint format bench lock clean

install: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

demo: install
	$(BIN)/covey demo --out demo-out

test: install
	$(BIN)/python -m pytest -m "not slow" $(PYTEST_ARGS)

test-slow: install
	$(BIN)/python -m pytest -m slow $(PYTEST_ARGS)

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: install
	$(BIN)/python -m benchmarks

# Needs uv; the result names no index and no host.
lock:
	uv pip compile pyproject.toml --group dev --extra polars --extra postgres --universal --python-version 3.11 \
	  --generate-hashes --no-annotate --no-header --quiet --upgrade -o requirements.lock

clean:
	rm -rf .venv demo-out
