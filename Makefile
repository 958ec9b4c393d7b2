# Two commands matter: `make demo` shows what the package does, `make test` checks it.
# Python >= 3.11 is taken from python3, or from PYTHON=... ; tests run in two processes, or in JOBS=... (0: in one).

PYTHON ?= python3
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
FRAMEWORKS := .venv-frameworks
PEERS := .venv-peers
CELLS ?=
ORDERS ?= 20
INSTALL = $(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt --editable
INTERPRETED = -m "not slow and not compiled" tests/policies tests/problems tests/theory
# import-linter says nothing while all layers hold
LAYERS = { said=$$($(BIN)/lint-imports --no-logo --no-cache 2>&1) || { echo "$$said"; exit 1; }; }
CHECKS = $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(LAYERS)
# Types are checked beside the tests: without mypy's cache they take half a minute of one core.
BESIDE_TYPES = $(BIN)/mypy --no-error-summary & types=$$!; $(1); code=$$?; \
	wait $$types || { echo "mypy has found errors: see above." >&2; code=1; }; exit $$code

.PHONY: help demo test test-all test-frameworks test-peers test-interpreted test-mutations texts test-orders test-matrix coverage bench docs release clean
.DEFAULT_GOAL := help

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.installed  ## six models share one budget, then the paper's two problems: tables, figures, reports
	@$(BIN)/risingbandits demo

test: $(VENV)/.installed-dev  ## style, types, then all tests but the slow ones
	@$(CHECKS)
	@$(call BESIDE_TYPES,$(BIN)/pytest -q -n $(JOBS) --dist loadfile -m "not slow")

test-all: $(VENV)/.installed-dev  ## the same with the slow tests, in plain Python and with mistakes made on purpose
	@$(CHECKS)
	@$(call BESIDE_TYPES,$(BIN)/pytest -q -n $(JOBS) --dist loadfile)
	@$(MAKE) --no-print-directory test-interpreted test-mutations

test-frameworks: $(FRAMEWORKS)/.installed  ## what needs PyTorch, Keras, XGBoost and other frameworks, in an environment of its own
	@OMP_NUM_THREADS=1 $(FRAMEWORKS)/bin/pytest -c tests/frameworks/pytest.ini -q -n $(JOBS) --dist loadfile -m "not slow" \
		tests/frameworks src/risingbandits/integrations/frameworks

test-peers: $(PEERS)/.installed  ## decisions beside those of SMPyBandits and MABWiser, in an environment of its own
	@NUMBA_DISABLE_JIT=1 PYTHONPATH=tests $(PEERS)/bin/python -m pytest -c tests/peers/pytest.ini -q tests/peers

test-interpreted: $(VENV)/.installed-dev  ## policies, problems and theory in plain Python, without a compiler
	@NUMBA_DISABLE_JIT=1 $(BIN)/pytest -q -n $(JOBS) --dist loadfile $(INTERPRETED)

test-mutations: $(VENV)/.installed-dev  ## whether the tests notice mistakes that are made on purpose
	@$(BIN)/python tests/mutations/run_mutations.py --jobs $(JOBS)

texts: $(VENV)/.installed-dev  ## write what the package says about wrong input into tests/texts; look at what differs
	@RISINGBANDITS_WRITE_TEXTS=1 $(BIN)/pytest -q -m texts tests/test_texts.py tests/integrations tests/logs

test-orders: $(VENV)/.installed-dev  ## all tests once and the quick ones ORDERS=20 times, each time in another order
	@$(BIN)/python tools/orders.py --jobs $(JOBS) --orders $(ORDERS)

test-matrix:  ## some tests under Python 3.11 to 3.13, with the lowest versions and without extras; CELLS="lowest core"
	@$(PYTHON) tools/matrix.py $(CELLS)

coverage: $(VENV)/.installed-coverage  ## which lines the tests run: kernels in plain Python, then everything as it is
	@$(BIN)/coverage erase
	@NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest -q -n $(JOBS) --dist loadfile $(INTERPRETED)
	@$(BIN)/coverage run -m pytest -q -n $(JOBS) --dist loadfile -m "not slow"
	@$(BIN)/coverage combine -q && $(BIN)/coverage report --skip-covered

bench: $(VENV)/.installed-bench  ## speed beside a C loop and other libraries
	@$(BIN)/python benchmarks/speed.py

docs: $(VENV)/.installed-dev  ## write the generated parts of docs/ and build the site into site/
	@$(BIN)/python docs/generate.py && $(BIN)/python docs/picture.py
	@$(BIN)/sphinx-build -q -W --keep-going -b html docs site
	@echo "Documentation: site/index.html"

release:  ## build dist/, check it, and try the wheel in an empty environment; says how to tag
	@$(PYTHON) tools/release.py

clean:  ## remove what make and the tools have made
	@rm -rf $(VENV) $(FRAMEWORKS) $(PEERS) .venv-matrix .venv-release .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist risingbandits-demo risingbandits-reproduction risingbandits-imdb site docs/gallery docs/policy
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python $(FRAMEWORKS)/bin/python $(PEERS)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) must be Python 3.11 or newer; name another one with make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -m venv $(@:/bin/python=)

$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing into $(VENV) (once)"
	@$(INSTALL) ".[fast,plot,report,sklearn]"
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "Installing what the tests need (once)"
	@$(INSTALL) ".[dev]"
	@touch $@

$(VENV)/.installed-coverage: $(VENV)/.installed-dev
	@$(INSTALL) ".[dev,coverage]"
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed-dev
	@$(INSTALL) ".[dev,bench]"
	@touch $@

# A plain torch would bring gigabytes for graphics cards: the constraints name a version without.
$(FRAMEWORKS)/.installed: pyproject.toml constraints.txt constraints-frameworks.txt | $(FRAMEWORKS)/bin/python
	@echo "Installing the frameworks into $(FRAMEWORKS) (once)"
	@$(FRAMEWORKS)/bin/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt \
		--constraint constraints-frameworks.txt --editable ".[frameworks]"
	@touch $@

# The last release of SMPyBandits imports scipy.special.btdtri: it needs an old SciPy, hence NumPy 1 and Python 3.11 or 3.12.
$(PEERS)/.installed: pyproject.toml constraints-peers.txt | $(PEERS)/bin/python
	@echo "Installing the other libraries into $(PEERS) (once)"
	@$(PEERS)/bin/python -m pip install -qq --disable-pip-version-check --constraint constraints-peers.txt \
		SMPyBandits mabwiser pytest --editable .
	@touch $@
