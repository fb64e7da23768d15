# genba's chores. `make` alone prints the verbs. Settings: GENBA_SID (folder of a Debian sid with CPython 3.14 and 3.15),
# GENBA_PYTHONS (interpreters to test with, separated by colons), FUZZ_SECONDS.

.DEFAULT_GOAL := help
.PHONY: help build demo test check bench fuzz golden readme prepare test-rust test-web test-python

TOOLS := $(CURDIR)/build/tools
FUZZ_SECONDS ?= 60
GENBA := $(CURDIR)/target/release/genba

help: ## print these verbs
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | sort -u | column -t -s '|'

# `build`: the agent, then the command that carries it, at target/release/genba.
include make/build.mk

prepare: ## set this machine up: tools, packages (as root), Debian sid (as root)
	@make/prepare.sh tools packages sid

demo: build ## build, profile casebook/bytes-slice and show where its time goes
	@make/demo.sh

test: prepare build test-rust test-web fuzz test-python ## every test, on every CPython that can be had

test-rust:
	cargo test --workspace --quiet --no-fail-fast

test-web: web/node_modules
	npm --prefix web test

# Tests that measure shares run alone; the others may run side by side.
test-python: build wheel
	@make/prepare.sh tools
	@failed=0; \
	$(TOOLS)/bin/pytest -n 2 -m 'not measures' tests benches || failed=1; \
	$(TOOLS)/bin/pytest -m measures tests || failed=1; \
	exit $$failed

check: web/node_modules ## formatting, lints, house rules, edges, generated code, the handler's symbols
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	cargo xtask tidy
	cargo xtask edges
	cargo xtask proto --check
	cargo xtask handler
	npm --prefix web run check

fuzz: ## feed the reader damaged recordings for FUZZ_SECONDS (60), from a fixed seed
	cargo run --quiet --release --package genba-fuzz -- --seconds $(FUZZ_SECONDS) --seed 1

golden: ## write the newest format's golden recording to build/ and compare; earlier ones stay as they are for good
	cargo run --quiet --package genba-format --features read --example golden -- build/golden.genba
	@newest=$$(ls testdata/golden/v*.genba | sort -V | tail -n 1); cmp build/golden.genba "$$newest" && echo "same as $$newest"

readme: build ## put the real first screen of casebook/bytes-slice into README.md
	@make/prepare.sh tools
	$(TOOLS)/bin/python make/readme.py $(GENBA) $$(ls $$HOME/.pyenv/versions/3.13.*/bin/python3 | tail -n 1)

bench: build ## what genba costs: alone, with an empty handler, with genba, interleaved
	@make/prepare.sh tools
	$(TOOLS)/bin/python benches/cost.py

web/node_modules: web/package-lock.json
	npm --prefix web ci --silent
	@touch $@
