# Every target sets up what it needs, builds what changed, and does its job. CONTRIBUTING.md says more.
SHELL := /bin/sh
JOBS  ?= $(shell nproc)
SETUP := scripts/setup.sh
CTEST := ctest --output-on-failure --no-tests=error -j $(JOBS)

.PHONY: help demo build test e2e stress bench lint format clang asan tsan fuzz bare clean

help:            ## this list
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' Makefile

demo: build      ## an OpenCL program with and without larder, a guest's one file, one maker for many threads
	@$(SETUP) demo
	@scripts/demo.sh build/release
	@build/release/examples/quickstart

build:           ## build the library and the examples
	@$(SETUP) build test
	@scripts/build.sh release

test: build      ## unit and integration tests, at most five minutes
	@$(CTEST) --test-dir build/release -LE 'stress|e2e'

e2e: build       ## end-to-end tests on real programs
	@$(SETUP) e2e
	@$(CTEST) --test-dir build/release -L e2e

stress: build    ## long races and random kills
	@$(CTEST) --test-dir build/release -L stress

bench:           ## benchmarks side by side with their peers
	@$(SETUP) build test bench
	@scripts/build.sh bench
	@bench/run.sh

lint:            ## layout, floors, clang-tidy, shell scripts
	@$(SETUP) build test lint
	@scripts/lint.sh

format:          ## lay the sources out
	@$(SETUP) lint
	@git ls-files -z '*.cpp' '*.hpp' '*.h' '*.c' | xargs -0 clang-format-14 -i

clang:           ## build with clang and thread-safety analysis, then the unit tests
	@$(SETUP) build test lint
	@scripts/build.sh clang
	@$(CTEST) --test-dir build/clang -L unit

asan:            ## unit tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@$(SETUP) build test
	@scripts/build.sh asan
	@$(CTEST) --test-dir build/asan -L unit

tsan:            ## unit tests under ThreadSanitizer
	@$(SETUP) build test
	@scripts/build.sh tsan
	@$(CTEST) --test-dir build/tsan -L unit

fuzz:            ## every fuzz target for FUZZ_SECONDS (default 10) seconds
	@$(SETUP) build fuzz
	@scripts/build.sh fuzz fuzz/all
	@scripts/fuzz.sh build/fuzz "$${FUZZ_SECONDS:-10}"

bare:            ## make demo and make test in a bare Debian 12 root (needs root)
	@$(SETUP) bare
	@scripts/check_bare.sh

clean:           ## remove everything that was built
	rm -rf build
