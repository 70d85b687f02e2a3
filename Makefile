# The one entry point. `make help` lists what there is.

SHELL := /bin/bash
CARGO ?= cargo
FYRIS := $(or $(CARGO_TARGET_DIR),target)/release/fyris
DUMP := data/otp25-exports.ets
PREFIX ?= /usr/local

.PHONY: help run test check bench bench-query compare compare-query compare-segment erlang erlang-otp bench-erlang wheel install-capi golden sanitize sanitize-erlang mutants fuzz loom soak

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

run: $(FYRIS) ## open the shell on the dump that ships (with no terminal: a short tour)
	@if [ -t 0 ]; then $(FYRIS) shell $(DUMP); else $(FYRIS) shell --script data/tour.fyris $(DUMP); fi

$(FYRIS): FORCE
	$(CARGO) build --release --locked -p fyris-cli

FORCE:

test: ## everything that proves Fyris right; installs what it needs
	ci/test.sh

check: ## format, lints, documentation without warnings
	ci/check.sh

bench: $(FYRIS) ## measure Fyris alone (the suite `core`); `make compare` for peers beside it
	$(FYRIS) bench core

bench-query: $(FYRIS) ## queries, beside the real ets where Erlang is installed
	$(FYRIS) bench query

compare: ## measure Fyris and the peers interleaved in one process
	cd bench && $(CARGO) run --release --locked -- core --check

compare-query: ## queries against the real ets, judged
	cd bench && $(CARGO) run --release --locked -- query --check

compare-segment: ## segments between two processes, and arrays against one lock and an STM
	cd bench && $(CARGO) run --release --locked -- segment --check
	cd bench && $(CARGO) run --release --locked -- array_mix --check

erlang: ## build the OTP application: erlang/ebin and erlang/priv (needs erlc)
	$(MAKE) -C erlang

erlang-otp: ## the Erlang tests on OTP 27 and 29 (OTP=27: on one), in roots of Debian's packages; as root
	for release in $(or $(OTP),27 29); do erlang/otp.sh $$release || exit; done

bench-erlang: ## Fyris beside the real ets, in one emulator (N=100000 for a quick look, ONLY=large for one group)
	$(MAKE) -C erlang bench $(if $(N),N=$(N)) $(if $(ONLY),ONLY="$(ONLY)")

wheel: ## build the Python wheel: dist/fyris-*.whl
	python/test.sh --wheel

install-capi: ## fyris.h, libfyris and fyris.pc under PREFIX (/usr/local)
	crates/capi/install.sh $(PREFIX)

golden: ## remake the golden files with the Erlang installed here
	ci/golden.sh

sanitize: ## the concurrent tests under AddressSanitizer and ThreadSanitizer
	ci/sanitize.sh

sanitize-erlang: ## the NIF under AddressSanitizer, in the emulator
	ci/sanitize-erlang.sh

mutants: ## seeded bugs: each must make its test fail
	ci/mutants.sh

loom: ## model checking of the publication and unlink edges
	ci/loom.sh

fuzz: ## run every fuzz target, a minute each
	ci/fuzz.sh 60

soak: ## the long runs: more property cases, longer fuzzing
	PROPTEST_CASES=20000 $(CARGO) test --release --locked --workspace
	cargo test --locked -p fyris-segment --test processes -- --ignored
	FYRIS_ORACLE_CASES=200000 $(CARGO) test --locked -p fyris-query --test oracle
	FYRIS_ORACLE_PAIRS=200000 $(CARGO) test --locked -p fyris --test query_oracle
	ci/fuzz.sh 600
