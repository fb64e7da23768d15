# genba's chores. `make` alone prints the verbs. Settings: GENBA_SID (folder of a Debian sid with CPython 3.14 and 3.15),
# GENBA_STANDALONE (folder of python-build-standalone), GENBA_S3 and GENBA_GARAGE (folders with bin/s3s-fs and bin/garage), GENBA_PYTHONS (interpreters to test with, separated by colons), FUZZ_SECONDS.

.DEFAULT_GOAL := help
.PHONY: help build demo test test-all check check-quick check-clippy prose bench bench-handler fuzz golden golden-page screens pictures case casebook untuned steady prepare soak test-rust test-web test-python test-cases cluster laboratory

TOOLS := $(CURDIR)/build/tools
FUZZ_SECONDS ?= 60
FUZZ ?= --seconds $(FUZZ_SECONDS)
GENBA := $(CURDIR)/target/release/genba

help: ## print these verbs
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | sort -u | column -t -s '|'

# `build`: the agent, then the command that carries it, at target/release/genba.
include make/build.mk

prepare: ## set this machine up: tools, packages, Debian sid and its debug files (as root), python-build-standalone
	@make/prepare.sh tools packages servers prose sid debug standalone compiled_all readers schemathesis s3

demo: build ## build, profile casebook/bytes-slice and show where its time goes
	@make/demo.sh

# Sets the machine up, builds, and runs every part before the verdict (make/gate.py has the parts). GENBA_ALL lifts the table of tests/workshop/runs_on.py.
test: ## the tests, each on the CPythons that it asks for, without the longest; what failed runs once more at the end
	@python3 make/gate.py test

test-all: ## every test on all seven CPythons
	@GENBA_ALL=1 python3 make/gate.py test

# The parts; `python3 make/gate.py rust` runs one with what it needs.
NEXTEST := $(TOOLS)/bin/cargo-nextest
# The libraries that the command carries, as `make build` left them: clippy and the tests do not compile them again.
LIBRARIES := GENBA_AGENT_LIBRARIES=$(CURDIR)/build/libraries

# One test more at a time than there are processors, because some wait: for a server, a process, a terminal.
test-rust:
	@rm -f target/nextest/default/junit.xml
	$(LIBRARIES) $(NEXTEST) nextest run --workspace --no-fail-fast --test-threads $$(($$(nproc) + 1))

# As many files at a time as there are processors (web/package.json), because a page waits for a browser and a program; node takes one less.
# The pages are those of `build`: without scripts npm leaves `pretest` out, which makes them anew.
test-web: web/node_modules web-dist
	npm --prefix web test --ignore-scripts

# A file a worker; three, because tests wait much of their time. The log ends with the longest ones.
test-python:
	$(TOOLS)/bin/pytest --durations 60 --durations-min 2 -n 3 --dist loadfile --ignore tests/cases tests benches

# One after the other: their pages measure.
test-cases:
	$(TOOLS)/bin/pytest --durations 20 --durations-min 2 tests/cases

# Hours; it may be stopped, and goes on where it stopped as long as the sources stay the same (build/soak.jsonl; tests/soaking/sittings.py). Run nothing
# beside what measures. PART="tests/harmless tests/sampling/test_bias.py" and VERSIONS="3.13 3.14-standalone" choose a piece; GENBA_SOAK_SECONDS
# changes the ten minutes of the web server. The test of `make cluster` is one of these: a run of its own would write a plan without the others, and
# the page of figures would take that for the whole. Without PART the laboratory of `genba diff` runs, too.
soak: build wheel twin ## the measuring and the harmless tests in their long form, in sittings; PART, VERSIONS choose
	@make/prepare.sh tools packages servers compiled_all readers schemathesis s3 garage
	@trap : INT; failed=0; export GENBA_SOAK=1 GENBA_FIGURES=$(CURDIR)/build/soak.jsonl PART='$(PART)' VERSIONS='$(VERSIONS)'; \
	$(TOOLS)/bin/pytest --timeout 0 -o 'python_files=test_*.py cluster.py' tests || failed=1; \
	$(LIBRARIES) $(NEXTEST) nextest run --workspace -E 'package(genba-fuzz) | (package(genba-names) & test(damage::)) | (package(genba-signal) & test(stale::))' || failed=1; \
	[ -n '$(PART)' ] || $(MAKE) laboratory UPDATE=1 || failed=1; \
	$(TOOLS)/bin/python make/measured.py build/soak.jsonl || failed=1; \
	exit $$failed

# Each of its cells with 400 pairs. It counts, and needs no idle machine. With UPDATE=1 what it prints becomes the tables of docs/reading/diff.md.
laboratory: ## programs whose truth is known, compared by genba diff; UPDATE=1
	@mkdir -p build
	@GENBA_PAIRS=400 cargo test --release --locked -p genba-profile laboratory -- --nocapture > build/laboratory.log; \
	status=$$?; cat build/laboratory.log; exit $$status
	$(if $(UPDATE),python3 make/laboratory.py build/laboratory.log)

# With UPDATE=1 what it measures becomes rows of docs/measured.md.
cluster: build ## two servers, PostgreSQL and three nodes of Garage, while some are killed; builds Garage once; UPDATE=1
	@make/prepare.sh tools packages servers garage
	$(if $(UPDATE),: > build/cluster.jsonl)
	$(if $(UPDATE),GENBA_FIGURES=$(CURDIR)/build/cluster.jsonl )$(TOOLS)/bin/pytest --timeout 1800 tests/serve/cluster.py
	$(if $(UPDATE),$(TOOLS)/bin/python make/measured.py build/cluster.jsonl)

check: build check-quick check-clippy prose ## formatting, lints, house rules, edges, generated code, the handler's symbols, prose

check-clippy:
	$(LIBRARIES) cargo clippy --workspace --all-targets --quiet -- -D warnings

check-quick: web/node_modules
	cargo fmt --all --check
	$(XTASK) tidy
	$(XTASK) edges
	$(XTASK) proto --check
	$(XTASK) handler
	npm --prefix web run check
	$(TOOLS)/bin/python -c 'import ast, pathlib, sys; [ast.parse(file.read_bytes(), str(file)) for folder in sys.argv[1:] for file in pathlib.Path(folder).rglob("*.py")]' benches make python

prose: ## English of README, CHANGELOG and docs, by vale with the style in styles/genba
	@make/prose.sh

fuzz: ## feed the reader damaged recordings for FUZZ_SECONDS (60), from a fixed seed
	cargo build --quiet --locked --workspace --bin genba-fuzz
	target/debug/genba-fuzz $(FUZZ) --seed 1

golden: ## write the newest format's golden recording to build/ and compare; earlier ones stay as they are for good
	cargo run --quiet --package genba-format --features read --example golden -- build/golden.genba
	@newest=$$(ls testdata/golden/v*.genba | sort -V | tail -n 1); cmp build/golden.genba "$$newest" && echo "same as $$newest"

# Tests of Rust write them, and those of web/ read them, so that no number of the viewer is another one than the terminal's.
golden-page: ## write testdata/page anew, but for figures.json and accounting.json, which are written by hand
	UPDATE_EXPECT=1 cargo test --quiet --package genba-profile --test profiles as_the_viewer

screens: build ## put real screens into README.md, docs and docs/verdicts; PAGES chooses, TRIES (3) how often each program may run
	@make/prepare.sh tools compiled
	$(TOOLS)/bin/python make/screens.py $(GENBA) $$(ls $$HOME/.pyenv/versions/3.13.*/bin/python3 | tail -n 1) $(PAGES)

# make/case.py takes the newest of pyenv's 3.13 or its own interpreter, unless PYTHON names another one. UPDATE=1 puts what comes out into the page.
CASE_OPTIONS = --genba $(GENBA) $(if $(PYTHON),--python $(PYTHON)) $(if $(UPDATE),--update)

case: build ## a case of the casebook, as it happens on this machine: make case NAME=bytes-slice; PYTHON, UPDATE=1
	@python3 make/case.py $(CASE_OPTIONS) $(NAME)

casebook: build ## all cases, one after the other, and what each took
	@python3 make/case.py $(CASE_OPTIONS) $$(ls casebook/*/README.md | xargs -n 1 dirname | xargs -n 1 basename)

pictures: build web/node_modules ## put pictures of real pages into docs/pictures and the casebook
	@make/pictures.sh $(GENBA) $$(ls -d $$HOME/.pyenv/versions/3.13.*/bin | tail -n 1)

# With UPDATE=1 the counts become rows of docs/measured.md, also where one is below the bound.
steady: build ## how often each of some 45 slow programs gets the same verdict; RUNS (20), ONLY; UPDATE=1
	@make/prepare.sh tools compiled_all
	$(if $(UPDATE),: > build/steady.jsonl)
	@failed=0; $(if $(UPDATE),GENBA_FIGURES=$(CURDIR)/build/steady.jsonl )python3 benches/judged/steady.py $(GENBA) \
	$$(for minor in 3.13 3.11; do ls $$HOME/.pyenv/versions/$$minor.*/bin/python3 | tail -n 1; done) || failed=1; \
	$(if $(UPDATE),$(TOOLS)/bin/python make/measured.py build/steady.jsonl || failed=1;) exit $$failed

untuned: build ## the first screens of ten slow programs that no rule was tuned for, as a table; SCREENS=1 prints them whole
	@python3 benches/judged/untuned.py $(GENBA) $$(for minor in 3.13 3.11; do ls $$HOME/.pyenv/versions/$$minor.*/bin/python3 | tail -n 1; done)

# With UPDATE=1 what is measured becomes rows of docs/measured.md. A part that fails ends the run: the rows of those before it are in
# build/bench.jsonl, and `python make/measured.py build/bench.jsonl` puts them into the page.
bench: build ## what genba costs, beside an empty handler and other profilers; ROUNDS, WORKS, WAYS, PARTS, BEFORE, PYTHON choose; UPDATE=1
	@make/prepare.sh tools packages servers peers
	$(if $(UPDATE),: > build/bench.jsonl)
	$(if $(UPDATE),GENBA_FIGURES=$(CURDIR)/build/bench.jsonl )$(TOOLS)/bin/python benches/bench.py
	$(if $(UPDATE),$(TOOLS)/bin/python make/measured.py build/bench.jsonl)

bench-handler: ## the signal handler measured from inside on CPython 3.15, beside framehop; HANDLER_RUNS (100000)
	PARTS=handler $(TOOLS)/bin/python benches/bench.py

web/node_modules: web/package-lock.json
	npm --prefix web ci --silent --no-audit --no-fund
	@touch $@
