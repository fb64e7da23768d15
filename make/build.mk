# How the command is built: the viewer, the agent for an old glibc, the command that carries both.
# crates/cli/build.rs builds the agent with the linker of the cargo that builds the command, so that one call of
# maturin settles the newest glibc symbol of both; `cargo xtask glibc` looks afterwards. pip builds the wheel by the
# same maturin with the same words: what `build` compiled is not compiled again.

GLIBC := 2.17
TRIPLE := x86_64-unknown-linux-gnu
BUILT := target/$(TRIPLE)/release
# The agent that the command built last carries.
CARRIED := ls -t $(BUILT)/build/genba-*/out/genba-agent.so | head -n 1

.PHONY: build wheel twin

# The repository's own checks, built as the tests are, from the same crates with the same features; `cargo xtask` compiles them apart. The gate,
# which has built them before, gives the program alone, and does not wait there until another part has compiled.
XTASK := CARGO_TARGET_DIR=target cargo build --quiet --locked --workspace --bin xtask && target/debug/xtask

build: web-dist ## the command, at target/release/genba
	@make/prepare.sh tools
	PATH="$(TOOLS)/bin:$$PATH" CARGO_TARGET_DIR="$(CURDIR)/target" \
		maturin build --quiet --release --zig --compatibility manylinux_2_17 --interpreter $(TOOLS)/bin/python --out build/built
	$(XTASK) glibc $(BUILT)/genba $(GLIBC)
	$(XTASK) glibc "$$($(CARRIED))" $(GLIBC)
	@mkdir -p target/release
	cp --force $(BUILT)/genba target/release/genba.new
	mv target/release/genba.new target/release/genba
	@# Those that did not change stay as they are, and with them what was compiled beside them.
	@install -C -m 644 -D -t build/libraries "$$(dirname "$$($(CARRIED))")"/genba-*.so

# The twin and the fuzzer are built as the tests are, from the same crates with the same features.
twin: ## the slow twin that tests hold genba against, at target/debug/genba-twin, and the repository's checks beside it
	cargo build --quiet --locked --workspace --bin genba-twin --bin xtask

wheel: ## one wheel for CPython 3.11 to 3.15, in build/wheel
	@make/prepare.sh tools
	rm -rf build/wheel
	PATH="$(TOOLS)/bin:$$PATH" $(TOOLS)/bin/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir build/wheel .
	$(TOOLS)/bin/python -m zipfile --extract build/wheel/genba-*.whl build/wheel/content
	$(XTASK) glibc build/wheel/content/genba-*.data/scripts/genba $(GLIBC)
	$(XTASK) glibc "$$($(CARRIED))" $(GLIBC)

# The viewer's page, which the command carries.
.PHONY: web-dist
web-dist: $(if $(wildcard web/package.json),web/dist/viewer.html)

web/dist/viewer.html: web/node_modules web/package.json $(shell find web -name node_modules -prune -o -name dist -prune -o -type f -print 2>/dev/null)
	npm --prefix web run --silent build
	@touch $@
