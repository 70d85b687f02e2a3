# The one entry point. `make help` lists what there is.

SHELL := /bin/bash
CARGO ?= cargo
FYRIS := $(or $(CARGO_TARGET_DIR),target)/release/fyris
QUICK_FYRIS := $(or $(CARGO_TARGET_DIR),target)/quick/fyris
DUMP := data/otp25-exports.ets
PREFIX ?= /usr/local

PAPERS_LIBRARY := $(or $(CARGO_TARGET_DIR),target)/release/unordered_map.so
PAPERS := $(or $(CARGO_TARGET_DIR),target)/release/fyris-bench papers $(if $(QUICK),--quick) $(if $(FULL),--full) --compare $(or $(CARGO_TARGET_DIR),bench/target)/release/fyris-compare --library $(PAPERS_LIBRARY)

.PHONY: help run test test-long check bench bench-query compare compare-query compare-segment compare-locks bench-dthreads papers papers-erlang erlang erlang-otp bench-erlang wheel dist trial-dist install install-capi golden sanitize sanitize-erlang arm64 mutants fuzz loom soak mnesia

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /  make \1\t/' | expand -t 20

run: ## open the shell on the dump that ships (with no terminal: a short tour)
	$(CARGO) build --profile quick --locked -p fyris-cli
	@if [ -t 0 ]; then $(QUICK_FYRIS) shell $(DUMP); else $(QUICK_FYRIS) shell --script data/tour.fyris $(DUMP); fi

test: ## what shows that Fyris is right, 20 to 40 minutes; installs what it needs (QUICK=1: six minutes, the Rust crates only)
	ci/test.sh $(if $(QUICK),quick)

test-long: ## beyond `make test`, half an hour: tiny constants, models, fuzzing
	ci/test-long.sh

check: ## format, lints, documentation without warnings
	ci/check.sh

bench: ## measure Fyris alone (the suite `core`); `make compare` for peers beside it
	$(CARGO) run --release --locked -p fyris-harness -- core

bench-query: ## queries, beside the real ets where Erlang is installed
	$(CARGO) run --release --locked -p fyris-harness -- query

compare: ## measure Fyris and the peers interleaved in one process
	cd bench && $(CARGO) run --release --locked -- core --check

compare-query: ## queries against the real ets, judged
	cd bench && $(CARGO) run --release --locked -- query --check

compare-segment: ## segments between two processes, and arrays against one lock and an STM
	cd bench && $(CARGO) run --release --locked -- segment --check
	cd bench && $(CARGO) run --release --locked -- array_mix --check

compare-locks: ## reader-writer locks beside those of parking_lot, crossbeam and POSIX threads, judged
	cd bench && $(CARGO) run --release --locked -- rwlock --check

bench-dthreads: ## deterministic threads beside plain ones: ratios of wall-clock times
	crates/dthreads/bench.sh

papers: ## the experiments of the papers as a page, docs/experiments/index.html: an hour (QUICK=1: ten minutes, of small tables; FULL=1: up to 54 million keys); goes on where it stopped
	$(CARGO) build --release --locked -p fyris-harness
	cd bench && $(CARGO) build --release --locked
	c++ -std=c++17 -O2 -shared -fPIC -I crates/capi/include -o $(PAPERS_LIBRARY) crates/capi/examples/index/unordered_map.cc
	$(PAPERS)

papers-erlang: ## the phases of the papers on ETS inside of BEAM, `ets` and `fyris`, for the same page: 20 minutes (QUICK=1: two; OTP="27 29": on these releases too; as root)
	$(MAKE) -C erlang papers $(if $(QUICK),QUICK=1)
	for release in $(OTP); do erlang/otp.sh $$release make papers $(if $(QUICK),QUICK=1) || exit; done
	$(CARGO) build --release --locked -p fyris-harness
	$(PAPERS) --page

erlang: ## build the OTP application: erlang/ebin and erlang/priv (needs erlc)
	$(MAKE) -C erlang

erlang-otp: ## the Erlang tests on OTP 27 and 29 (OTP=27: on one), in roots of Debian's packages; as root
	for release in $(or $(OTP),27 29); do erlang/otp.sh $$release || exit; done

bench-erlang: ## Fyris beside the real ets, in one emulator (N=100000 for a quick look, ONLY=large for one group)
	$(MAKE) -C erlang bench $(if $(N),N=$(N)) $(if $(ONLY),ONLY="$(ONLY)")

mnesia: erlang ## OTP's own suites of Mnesia with their tables in Fyris; an hour (ONLY=evil_backup: some of them); needs Debian's erlang
	ONLY="$(ONLY)" erlang/mnesia/run.sh

wheel: ## build the Python wheel: dist/fyris-*.whl
	python/test.sh --wheel

dist: ## what a release needs, into dist/: archives, packages, checksums, a manifest (FYRIS_URL=https://...: the project's address)
	ci/dist.sh

trial-dist: ## install dist/ into clean roots of Debian and run each first program (SUITES="bookworm trixie"); as root
	ci/trial-dist.sh $(SUITES)

install: ## the program, its manual pages, the library and the header of `fyris dthreads`, under PREFIX (/usr/local); heeds DESTDIR
	$(CARGO) build --release --locked -p fyris-cli -p fyris-dthreads-preload
	install -d "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(PREFIX)/lib" "$(DESTDIR)$(PREFIX)/include" "$(DESTDIR)$(PREFIX)/share/man/man1"
	install -m 644 crates/dthreads/include/fyris_dthreads.h "$(DESTDIR)$(PREFIX)/include"
	strip -o "$(DESTDIR)$(PREFIX)/bin/fyris" $(FYRIS)
	strip --strip-unneeded -o "$(DESTDIR)$(PREFIX)/lib/libfyris_dthreads.so" $(dir $(FYRIS))libfyris_dthreads.so
	$(CARGO) run --locked --quiet -p fyris-cli --example man -- "$(DESTDIR)$(PREFIX)/share/man/man1"

install-capi: ## fyris.h, libfyris and fyris.pc under PREFIX (/usr/local)
	crates/capi/install.sh $(PREFIX)

golden: ## remake the golden files with the Erlang installed here
	ci/golden.sh

sanitize: ## the concurrent tests under AddressSanitizer and ThreadSanitizer
	ci/sanitize.sh

sanitize-erlang: ## the NIF under AddressSanitizer, in the emulator
	ci/sanitize-erlang.sh

arm64: ## the tests of sync, term, index, query, store and segment on AArch64 (qemu), in a root of Debian's packages; as root
	ci/arm64/root.sh ci/arm64/tests.sh

mutants: ## seeded bugs: each must make its test fail
	ci/mutants.sh
	ci/mutants-erlang.sh

loom: ## model checking (loom, shuttle): publication, unlinking, splits and joins, moves
	ci/loom.sh

fuzz: ## run every fuzz target, a minute each
	ci/fuzz.sh 60

soak: ## random work for half an hour each on the store, segments and a node; then properties and fuzzing (SECONDS=60: a minute)
	ci/soak.sh $(SECONDS)
