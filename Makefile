# Everything a newcomer needs: each target sets up its own environment first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# One more than there are cores: some tests wait.
WORKERS = $(shell $(BIN)/python -c 'import os; print((os.cpu_count() or 1) + 1)')
BENCH_READY := $(VENV)/.bench-ready

.PHONY: demo test test-bits test-processors check bench mutants verify verify-sample format clean

demo: $(READY)
	$(BIN)/python examples/demo.py

test: $(READY)
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal tests

# Whether compiled code gives the same bits on a generic processor and on one of the other maker.
test-bits: $(READY)
	for setting in generic other; do \
	    $(BIN)/python tests/processors.py $$setting $(BIN)/python -m pytest -q -n $(WORKERS) tests/test_bits.py || exit 1; \
	done

# The whole suite on this processor, on a generic one without FMA and AVX, and on one of the other maker.
test-processors: $(READY)
	for setting in host generic other; do \
	    $(BIN)/python tests/processors.py $$setting \
	        $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal tests || exit 1; \
	done

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(BENCH_READY)
	$(BIN)/python benchmarks/run.py

# Faults put into the source, each to be caught by the tests of its room; goes on where it was interrupted.
mutants: $(READY)
	$(BIN)/python tests/mutants.py

# Very many runs against their own copies and SciPy: about an hour; goes on where it was interrupted.
verify: $(READY)
	$(BIN)/python verification/run.py
	$(BIN)/python verification/trust.py

# At most three minutes of it.
verify-sample: $(READY)
	$(BIN)/python verification/run.py --sample

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("saltus needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

$(BENCH_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	touch $@

clean:
	rm -rf $(VENV) out build *.egg-info src/*.egg-info
