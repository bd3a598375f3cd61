# Everything from a fresh clone: each target makes its virtual environment and builds what is missing.
#   make demo        builds, then runs the main example
#   make test        builds, then runs all tests and doctests
#   make test-smoke  the quick set
#   make test-all    the tests under every supported Python that is found
#   make bench       the table of small calls beside NumPy (and PyTorch, where it is installed)
#   make memcheck    the machine's tests under valgrind (slow: several minutes)

PYTHON ?= python3
VENV ?= .venv
RUN = $(VENV)/bin/python
BUILT = $(VENV)/.built
SOURCES = setup.py pyproject.toml $(wildcard fastops/*.pyx fastops/*.pxd fastops/*.h)

.PHONY: demo test test-smoke test-all bench memcheck clean

$(VENV)/.made: pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'Python 3.11 or newer is needed: make PYTHON=python3.12 ...')"
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --upgrade pip
	$(RUN) -m pip install --quiet "setuptools>=77" "Cython>=3.3,<3.4" "numpy>=2.0,<3" \
	    "pytest>=8" "hypothesis>=6.100" "pytest-xdist>=3"
	touch $@

$(BUILT): $(VENV)/.made $(SOURCES)
	$(RUN) -m pip install --quiet --no-build-isolation --no-deps --editable .
	touch $@

$(VENV)/.examples: $(VENV)/.made
	$(RUN) -m pip install --quiet "scikit-learn>=1.4"
	touch $@

demo: $(BUILT) $(VENV)/.examples
	$(RUN) examples/digits.py

test: $(BUILT) $(VENV)/.examples
	$(RUN) -m pytest -q -n 2

test-smoke: $(BUILT)
	$(RUN) -m pytest -q -m smoke tests

test-all:
	@tests/every_python.sh

bench: $(BUILT)
	$(RUN) benchmarks/calls.py --json benchmarks/results/calls.json
	$(RUN) benchmarks/import_time.py

memcheck: $(BUILT)
	PYTHONMALLOC=malloc $(RUN) tests/memcheck.py

clean:
	rm -rf build $(VENV) .venv-* *.egg-info fastops/*.so
