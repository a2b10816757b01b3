# maxmargin: `make` lists what there is to do. Set-up is done by the first target that needs it.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
SOURCES := pyproject.toml CMakeLists.txt $(shell find core bindings -name '*.cpp' -o -name '*.hpp')

.DEFAULT_GOAL := help
.PHONY: help demo test tsan lint format bench clean

help:            ## this list
	@grep -hE '^[a-z-]+: .*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 18

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Editable, so Python changes need no rebuild; C++ changes rebuild because the stamp depends on them.
$(VENV)/.installed: $(SOURCES) | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	$(BIN)/python -m benchmarks.install
	@touch $@

demo: $(VENV)/.installed            ## train on bundled real data and show the result
	$(BIN)/maxmargin demo

test: $(VENV)/.installed            ## build and run the whole test suite
	$(BIN)/python -m pytest --numprocesses auto

tsan: | $(BIN)/python                ## stress the threads of the core under ThreadSanitizer
	$(BIN)/python -m pip install --quiet --disable-pip-version-check cmake ninja
	$(BIN)/cmake -S . -B build/tsan -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja) -DMAXMARGIN_TSAN=ON
	$(BIN)/cmake --build build/tsan --target stress_threads
	TSAN_OPTIONS=halt_on_error=1 build/tsan/stress_threads

lint: $(VENV)/.installed-dev        ## ruff, mypy and clang-format, changing nothing
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $$(find core bindings -name '*.cpp' -o -name '*.hpp')

format: $(VENV)/.installed-dev      ## let the formatters settle taste
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .
	$(BIN)/clang-format -i $$(find core bindings -name '*.cpp' -o -name '*.hpp')

bench: $(VENV)/.installed-bench     ## time to a given precision beside the peers on PyPI
	$(BIN)/python -m benchmarks.run

clean:           ## remove the environment and build products
	rm -rf $(VENV) build dist
