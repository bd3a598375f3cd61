# Everything from a fresh clone: each target makes its virtual environment and builds what is missing.
#   make demo        builds, then runs the examples
#   make test        builds, then runs all tests and doctests
#   make test-smoke  the quick set
#   make test-all    the tests under every supported Python that is found
#   make bench       the tables of small calls, of derivatives and of vmap beside NumPy (and PyTorch and JAX, where they are installed); the cost of the import
#   make sanitize    the tests on a build with AddressSanitizer and UBSan (gcc; three minutes and more)
#   make clean       removes all that these made

PYTHON ?= python3
VENV ?= .venv
# Whose needs the environment gets; the tests of a library that is not there are skipped.
EXTRAS ?= test ecosystem typing
RUN = $(VENV)/bin/python
BUILT = $(VENV)/.built
SOURCES = $(shell find fastops -name "*.pyx" -o -name "*.pxd" -o -name "*.h")
# The needs stand once, in pyproject.toml; this prints those to build with and those to test with: the libraries that take
# foreign arrays and the type checkers too. Whatever is not there is skipped, with the reason.
NEEDS = import tomllib; project = tomllib.load(open("pyproject.toml", "rb")); extras = project["project"]["optional-dependencies"]; \
    print(*project["build-system"]["requires"], *[need for extra in "$(EXTRAS)".split() for need in extras[extra]], sep="\n")

.PHONY: demo test test-smoke test-all bench sanitize clean

# Other flags or directives may stand in setup.py now: what was built with the old ones goes.
$(VENV)/.made: pyproject.toml setup.py
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Python 3.11 or newer is needed: make PYTHON=python3.12 ...')"
	$(PYTHON) -m venv $(VENV)
	$(RUN) -c '$(NEEDS)' > $(VENV)/needs.txt
	$(RUN) -m pip install --quiet --disable-pip-version-check -r $(VENV)/needs.txt
	rm -rf build
	touch $@

$(BUILT): $(VENV)/.made $(SOURCES)
	$(RUN) -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	touch $@

$(VENV)/.examples: $(VENV)/.made | $(BUILT)
	$(RUN) -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[examples]"
	touch $@

demo: $(VENV)/.examples
	$(RUN) examples/digits.py
	$(RUN) examples/fit_heat.py
	$(RUN) examples/newton.py
	$(RUN) examples/ensemble.py

test: $(BUILT)
	$(RUN) -m pytest -q -n 2

test-smoke: $(BUILT)
	$(RUN) -m pytest -q -m smoke $$(grep -l mark.smoke tests/*.py)

test-all:
	@tests/every_python.sh

bench: $(BUILT)
	@mkdir -p benchmarks/results
	$(RUN) benchmarks/calls.py --json benchmarks/results/calls.json
	$(RUN) benchmarks/derivatives.py --json benchmarks/results/derivatives.json
	$(RUN) benchmarks/mapped.py --json benchmarks/results/mapped.json
	$(RUN) benchmarks/scaling.py
	$(RUN) benchmarks/import_time.py

sanitize: $(BUILT)
	tests/sanitize.sh

clean:
	rm -rf build .venv .venv-* *.egg-info
	find fastops -name "*.so" -delete
