#!/bin/sh
# Sets a machine up for genba's chores. Verbs: tools, compiler, prose, packages, servers, sid, debug, standalone, peers, readers, compiled,
# compiled_all, schemathesis, s3, garage. Each one does only what is missing and says what it does.
# Never writes outside of build/, the apt system (as root, only for packages that are missing), Go's caches (verbs prose and standalone), cargo's caches
# (verbs s3 and garage), $GENBA_SID, $GENBA_DEBUG, $GENBA_STANDALONE, $GENBA_S3 and $GENBA_GARAGE.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
tools=$root/build/tools
sid=${GENBA_SID:-$HOME/.cache/genba/sid}
debug=${GENBA_DEBUG:-$HOME/.cache/genba/debug}
standalone=${GENBA_STANDALONE:-$HOME/.cache/genba/standalone}
s3=${GENBA_S3:-$HOME/.cache/genba/s3}
garage=${GENBA_GARAGE:-$HOME/.cache/genba/garage}
libraries=/usr/lib/x86_64-linux-gnu

say() { echo "prepare: $*" >&2; }
# What this machine does without, and why: on the last lines of `make test`, too (make/gate.py).
without() {
    say "$*"
    grep -qxF -- "$*" "$root/build/not-here" 2>/dev/null || echo "$*" >>"$root/build/not-here"
}
# A registry that did not answer may answer now.
try_twice() {
    "$@" && return
    say "failed, once more: $*"
    "$@"
}
fail() {
    echo "error: $1" >&2
    echo "hint: $2" >&2
    exit 1
}

# A CPython that can make the tools' environment: the newest of pyenv's, else the system's.
python_for_tools() {
    for candidate in "$HOME"/.pyenv/versions/3.13.*/bin/python3 "$HOME"/.pyenv/versions/3.12.*/bin/python3 \
        "$HOME"/.pyenv/versions/3.11.*/bin/python3 "$(command -v python3 || true)"; do
        if [ -x "$candidate" ] && "$candidate" -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    fail "no CPython 3.11 or later with ensurepip for the tools" "pyenv install 3.13"
}

prepare_tools() {
    wanted=$(find "$root/make" -name 'requirements*.txt' ! -name '*-peers.txt' ! -name '*-schemathesis.txt' -print0 | LC_ALL=C sort -z | xargs -0 cat | sha256sum)
    if [ -x "$tools/bin/python" ] && [ "$(cat "$tools/wanted" 2>/dev/null)" = "$wanted" ]; then
        return
    fi
    python=$(python_for_tools)
    say "tools of make/requirements.txt into build/tools, with $python"
    rm -rf "$tools"
    "$python" -m venv "$tools"
    try_twice "$tools/bin/python" -m pip install --quiet --requirement "$root/make/requirements.txt"
    # gunicorn is pure Python: one folder serves every interpreter of the tests, through PYTHONPATH.
    try_twice "$tools/bin/python" -m pip install --quiet --target "$tools/site-packages" \
        --requirement "$root/make/requirements-programs.txt"
    echo "$wanted" >"$tools/wanted"
}

# Of COMMAND:PACKAGE those packages whose command is missing.
lacking() {
    for pair in "$@"; do
        command -v "${pair%%:*}" >/dev/null 2>&1 || printf ' %s' "${pair##*:}"
    done
}

# Packages of Debian, each behind a space; none at all is no fault.
install_packages() {
    if [ -z "$1" ]; then
        return
    fi
    if [ "$(id -u)" != 0 ]; then
        without "missing and not installed, because only root can:$1; what needs them is skipped with a message"
        return
    fi
    say "apt-get install$1"
    try_twice apt-get update -qq
    # shellcheck disable=SC2086  # several packages
    DEBIAN_FRONTEND=noninteractive try_twice apt-get install -y -qq --no-install-recommends $1 >/dev/null
}

# What `make build` needs: the gate compiles while the other packages come.
prepare_compiler() {
    missing=$(lacking cc:gcc make:make objdump:binutils)
    [ -e /usr/include/stdio.h ] || missing="$missing libc6-dev"
    install_packages "$missing"
}

# Commands that the chores need and the packages that bring them on Debian.
prepare_packages() {
    missing=$(lacking cc:gcc c++:g++ objdump:binutils chromium:chromium debootstrap:debootstrap make:make zstd:zstd gdb:gdb strace:strace wrk:wrk pkg-config:pkg-config hyperfine:hyperfine valgrind:valgrind musl-gcc:musl-tools man:man-db fish:fish zsh:zsh tmux:tmux)
    [ -e /usr/include/stdio.h ] || missing="$missing libc6-dev"
    # Allocators that programs preload.
    [ -e $libraries/libjemalloc.so.2 ] || missing="$missing libjemalloc2"
    [ -e $libraries/libtcmalloc_minimal.so.4 ] || missing="$missing libtcmalloc-minimal4"
    # A server that loads its Python as a plugin.
    ls /usr/lib/uwsgi/plugins/python3*_plugin.so >/dev/null 2>&1 || missing="$missing uwsgi-core uwsgi-plugin-python3"
    # The link of a case. Its folder is not in everybody's PATH.
    command -v tc >/dev/null 2>&1 || [ -x /usr/sbin/tc ] || missing="$missing iproute2"
    # Not installed: Debian 12 has 1.19, older than what casebook/logger is written in, and than what vale is built with.
    command -v go >/dev/null 2>&1 || without "no go: golang-go of Debian 12 is older than its programs; what needs it is skipped with a message"
    install_packages "$missing"
}

# Servers of others that only tests of `make test-all`, the soak and the bench start.
prepare_servers() {
    missing=
    # It loads its Python as a plugin. Without the service that listens on port 80.
    [ -e /usr/lib/apache2/modules/mod_wsgi.so ] || missing="$missing apache2-bin libapache2-mod-wsgi-py3"
    # The database of several servers; Debian keeps its programs out of PATH.
    ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing="$missing postgresql"
    install_packages "$missing"
}

install_in_sid() {
    DEBIAN_FRONTEND=noninteractive try_twice chroot "$sid" apt-get install -y -qq --no-install-recommends "$@" \
        >/dev/null 2>>"$root/build/debootstrap.log"
}

# What a Python in there needs, also after the machine was started again. What is there already stays.
mount_in_sid() {
    [ "$(id -u)" = 0 ] || return 0
    [ -e "$sid/proc/self" ] || mount -t proc proc "$sid/proc"
    [ -c "$sid/dev/null" ] || mount --bind /dev "$sid/dev"
    mkdir -p -m 1777 "$sid/dev/shm"
    # It moves from day to day, so a log says which one it was.
    # shellcheck disable=SC2016  # dpkg-query's own variables
    say "Debian sid: $(dpkg-query --admindir="$sid/var/lib/dpkg" --show --showformat='${Package} ${Version}, ' python3.14 python3.15 libc6 2>/dev/null)" || true
}

# A folder with a mount in it must not be removed.
remove_half_a_sid() {
    awk -v half="$sid.half/" 'index($2, half) == 1 { print $2 }' /proc/mounts | sort -r | while read -r at; do umount -l "$at"; done
    rm -rf "$sid.half"
}

make_sid() {
    remove_half_a_sid
    mkdir -p "$sid.half"
    debootstrap --variant=minbase sid "$sid.half" "$1" >"$root/build/debootstrap.log" 2>&1
}

# CPython 3.14 and 3.15 as Debian builds them (stripped, PGO, LTO), in a folder of their own.
prepare_sid() {
    if [ -x "$sid/usr/bin/python3.14" ] && [ -x "$sid/usr/bin/python3.15" ] &&
        [ -e "$sid/usr/lib/python3.14/test/test_fork1.py" ] && [ -e "$sid/usr/lib/python3.15/test/test_fork1.py" ] &&
        [ -e "$sid/usr/include/python3.14/Python.h" ] && [ -e "$sid/usr/include/python3.15/Python.h" ] &&
        [ -e "$sid$libraries/libjemalloc.so.2" ] && [ -e "$sid$libraries/libtcmalloc_minimal.so.4" ]; then
        mount_in_sid
        return
    fi
    if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null 2>&1; then
        without "no CPython 3.14 and 3.15 from Debian sid: that needs root and debootstrap; their tests are skipped with a message"
        return
    fi
    if [ ! -x "$sid/usr/bin/apt-get" ]; then
        # The mirror this machine already uses; nothing else is contacted.
        mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sort -u | head -n 1)
        [ -n "$mirror" ] || fail "apt has no Debian mirror configured" "set GENBA_SID to a Debian sid folder with python3.14 and python3.15"
        say "Debian sid into $sid"
        # It has its name when it is whole: one that was broken off is made anew.
        try_twice make_sid "$mirror" || {
            remove_half_a_sid
            without "no CPython 3.14 and 3.15 from Debian sid: debootstrap failed, see build/debootstrap.log; their tests are skipped with a message"
            return 0
        }
        # Debian's packages must not start services in there.
        printf '#!/bin/sh\nexit 101\n' >"$sid.half/usr/sbin/policy-rc.d"
        chmod 755 "$sid.half/usr/sbin/policy-rc.d"
        rmdir "$sid" 2>/dev/null || true
        mv "$sid.half" "$sid"
    fi
    mount_in_sid
    cp /etc/resolv.conf "$sid/etc/resolv.conf" 2>/dev/null || true
    # A mirror may lag behind; signatures are checked all the same.
    chroot "$sid" apt-get -o Acquire::Check-Valid-Until=false update -qq || say "apt-get update failed in $sid"
    for version in 3.14 3.15; do
        if [ ! -x "$sid/usr/bin/python$version" ]; then
            say "python$version into $sid"
            install_in_sid "python$version" "python$version-venv" ||
                without "python$version cannot be had from Debian sid today; its tests are skipped with a message"
        fi
        if [ ! -e "$sid/usr/lib/python$version/test/test_fork1.py" ]; then
            say "CPython's own tests for $version into $sid"
            install_in_sid "libpython$version-testsuite" ||
                without "they cannot be had from Debian sid today; what runs them there is skipped with a message"
        fi
        if [ ! -e "$sid/usr/include/python$version/Python.h" ]; then
            say "headers of CPython $version into $sid"
            install_in_sid "libpython$version-dev" ||
                without "they cannot be had from Debian sid today; what is compiled for it is skipped with a message"
        fi
    done
    for pair in libjemalloc.so.2:libjemalloc2 libtcmalloc_minimal.so.4:libtcmalloc-minimal4t64; do
        [ -e "$sid$libraries/${pair%%:*}" ] && continue
        say "${pair##*:} into $sid"
        install_in_sid "${pair##*:}" ||
            without "it cannot be had from Debian sid today; what preloads it there is skipped with a message"
    done
}

# The debug files of the sid's interpreters and its libc: they judge the names that genba finds without them, so they lie aside.
prepare_debug() {
    [ -x "$sid/usr/bin/python3.14" ] && [ -x "$sid/usr/bin/python3.15" ] || return 0
    packages=
    for package in python3.14 python3.15 libc6; do
        # shellcheck disable=SC2016  # dpkg-query's own variable
        version=$(dpkg-query --admindir="$sid/var/lib/dpkg" --show --showformat='${Version}' "$package" 2>/dev/null) || return 0
        packages="$packages${packages:+ }$package-dbg=$version"
    done
    if [ "$(cat "$debug/packages" 2>/dev/null)" = "$packages" ]; then
        return
    fi
    # A folder that somebody made and named stays what it is.
    if [ -n "${GENBA_DEBUG:-}" ] && [ -e "$debug" ] && [ ! -e "$debug/packages" ]; then
        return
    fi
    if [ "$(id -u)" != 0 ]; then
        without "no debug files in $debug: that needs root; the names of stripped interpreters are not judged, with a message"
        return
    fi
    say "$packages into $debug"
    folder=/tmp/genba-debug
    rm -rf "$sid$folder" "$debug.new"
    mkdir -p "$sid$folder" "$debug.new"
    # A list of packages that is out of date names files that are gone.
    # shellcheck disable=SC2016,SC2086  # expanded inside; several packages
    chroot "$sid" sh -ec 'cd "$1"; shift
        apt-get download -qq "$@" || { apt-get -o Acquire::Check-Valid-Until=false update -qq; apt-get download -qq "$@"; }
        for package in *.deb; do dpkg-deb -x "$package" .; done' sh "$folder" $packages >/dev/null 2>>"$root/build/debootstrap.log" &&
        cp -r "$sid$folder/usr/lib/debug/.build-id" "$debug.new" ||
        without "they cannot be had from Debian sid today; the names of stripped interpreters are not judged, with a message"
    rm -rf "$sid$folder"
    if [ -d "$debug.new/.build-id" ]; then
        echo "$packages" >"$debug.new/packages"
        rm -rf "$debug"
        mv "$debug.new" "$debug"
    else
        rm -rf "$debug.new"
    fi
}

unpack_standalone() (cd "$root/make/standalone" && rm -rf "$standalone/$1.new" && go run -modfile="$1.mod" . "$standalone/$1.new")

# CPython 3.11 and 3.14 of python-build-standalone, which `uv python install` brings: a Go module carries them.
prepare_standalone() {
    for pins in "$root"/make/standalone/3.*.mod; do
        minor=$(basename "$pins" .mod)
        wanted=$(sha256sum <"$pins")
        [ "$(cat "$standalone/$minor/wanted" 2>/dev/null)" = "$wanted" ] && continue
        # A folder that somebody made and named stays what it is.
        if [ -n "${GENBA_STANDALONE:-}" ] && [ -e "$standalone/$minor" ] && [ ! -e "$standalone/$minor/wanted" ]; then
            continue
        fi
        if ! command -v go >/dev/null 2>&1; then
            without "no CPython $minor of python-build-standalone: that needs go; its tests are skipped with a message"
            continue
        fi
        say "CPython $minor of python-build-standalone into $standalone"
        rm -rf "$standalone/$minor" "$standalone/$minor.new"
        mkdir -p "$standalone"
        if try_twice unpack_standalone "$minor" >"$root/build/standalone.log" 2>&1; then
            echo "$wanted" >"$standalone/$minor.new/wanted"
            mv "$standalone/$minor.new" "$standalone/$minor"
        else
            without "CPython $minor of python-build-standalone cannot be had today: $(tail -n 1 "$root/build/standalone.log"); its tests are skipped with a message"
        fi
        rm -rf "$standalone/$minor.new" "$standalone/$minor.new.lock"
    done
}

# Without optimised C: vale carries parsers of programming languages, and reads Markdown only.
build_vale() (cd "$root/make/prose" && CGO_CFLAGS=-O0 GOBIN=$root/build/prose go install github.com/errata-ai/vale/v3/cmd/vale)

# vale, which checks the prose (make/prose.sh), from the Go module that make/prose/go.mod pins.
prepare_prose() {
    wanted=$(cat "$root"/make/prose/go.mod "$root"/make/prose/go.sum | sha256sum)
    if [ -x "$root/build/prose/vale" ] && [ "$(cat "$root/build/prose/wanted" 2>/dev/null)" = "$wanted" ]; then
        return
    fi
    if ! command -v go >/dev/null 2>&1; then
        say "no vale: that needs go; \`make check\` skips the prose, with a message"
        return
    fi
    say "vale of make/prose/go.mod into build/prose"
    rm -rf "$root/build/prose"
    mkdir -p "$root/build/prose"
    try_twice build_vale
    echo "$wanted" >"$root/build/prose/wanted"
}

# Other profilers, which `make bench` measures beside genba: each in an environment of its own, since they disagree about what
# else must be there. One that cannot be had leaves its reason in the file why-not, and the bench prints it.
prepare_peers() {
    prepare_readers
    pins=$root/make/requirements-peers.txt
    wanted=$(sha256sum <"$pins")
    if [ "$(cat "$root/build/peers/wanted" 2>/dev/null)" = "$wanted" ]; then
        return
    fi
    python=$(python_for_tools)
    say "other profilers of make/requirements-peers.txt into build/peers, with $python"
    # Those are up to date already.
    find "$root/build/peers" -mindepth 1 -maxdepth 1 ! -name readers -exec rm -rf {} +
    complete=yes
    for peer in py-spy vmprof scalene pyinstrument yappi viztracer pyperformance; do
        folder=$root/build/peers/$peer
        if ! { "$python" -m venv "$folder" &&
            "$folder/bin/python" -m pip install --quiet --constraint "$pins" "$peer"; } 2>"$root/build/peers/log"; then
            rm -rf "$folder"
            mkdir -p "$folder"
            tail -n 1 "$root/build/peers/log" >"$folder/why-not"
            say "$peer cannot be installed: $(cat "$folder/why-not")"
            complete=no
        fi
    done
    # Pure Python: one folder serves every interpreter, through PYTHONPATH.
    "$python" -m pip install --quiet --constraint "$pins" --target "$root/build/peers/packages" sympy 2>"$root/build/peers/log" ||
        { complete=no && say "sympy cannot be installed: $(tail -n 1 "$root/build/peers/log")"; }
    # Compiled, and what many programs import first: for start-up, beside the interpreter of the tools.
    "$python" -m pip install --quiet --constraint "$pins" --target "$root/build/peers/pandas" pandas 2>"$root/build/peers/log" ||
        { complete=no && say "pandas cannot be installed: $(tail -n 1 "$root/build/peers/log")"; }
    # Read by the program whose heap is measured.
    "$python" -m pip install --quiet --constraint "$pins" --target "$root/build/peers/heaps" guppy3 objgraph pympler 2>"$root/build/peers/log" ||
        { complete=no && say "guppy3, objgraph or pympler cannot be installed: $(tail -n 1 "$root/build/peers/log")"; }
    if [ "$complete" = yes ]; then
        echo "$wanted" >"$root/build/peers/wanted"
    fi
}

# What reads counts, and what watches a program that is counted (tests/counting). Of coverage's C tracer the folder has the one for the tools' CPython only.
prepare_readers() {
    pins=$root/make/requirements-peers.txt
    folder=$root/build/peers/readers
    wanted=$(sha256sum <"$pins")
    if [ "$(cat "$folder/wanted" 2>/dev/null)" = "$wanted" ]; then
        return
    fi
    python=$(python_for_tools)
    say "snakeviz, gprof2dot, tuna and coverage of make/requirements-peers.txt into build/peers/readers, with $python"
    rm -rf "$folder"
    mkdir -p "$folder"
    if try_twice "$python" -m pip install --quiet --constraint "$pins" --target "$folder" snakeviz gprof2dot tuna coverage >"$root/build/readers.log" 2>&1; then
        echo "$wanted" >"$folder/wanted"
    else
        rm -rf "$folder"
        mkdir -p "$folder"
        without "snakeviz, gprof2dot, tuna and coverage cannot be had today: $(tail -n 1 "$root/build/readers.log"); their tests are skipped with a message"
    fi
}

# Compiled packages that the tests profile, a folder for each CPython: build/compiled/3.11 and so on; Cython and PyInstaller for all of them.
prepare_compiled() { install_compiled ""; }
# Also what `make test-all` alone needs.
prepare_compiled_all() { install_compiled "\(all:\)\{0,1\}"; }

# PREFIX: which lines of make/compiled-packages.txt, besides those that have none.
install_compiled() {
    prefix=$1
    own=$("$tools/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    for minor in cython pyinstaller 3.11 3.12 3.13 3.14 3.15; do
        folder=$root/build/compiled/$minor
        packages=$(sed -n "s/^$prefix$minor  *//p" "$root/make/compiled-packages.txt")
        [ -n "$packages" ] || continue
        wanted=$(echo "$packages" | sha256sum)
        # A folder with more than is asked for stays.
        whole=$(sed -n "s/^\(all:\)\{0,1\}$minor  *//p" "$root/make/compiled-packages.txt" | sha256sum)
        case $(cat "$folder/wanted" 2>/dev/null) in "$wanted" | "$whole") continue ;; esac
        say "compiled packages for $minor into build/compiled"
        rm -rf "$folder"
        mkdir -p "$folder"
        if [ "$minor" = cython ] || [ "$minor" = pyinstaller ]; then
            set --
        else
            set -- --only-binary=:all: --no-deps --implementation cp --python-version "$minor"
            for platform in manylinux_2_28 manylinux_2_27 manylinux_2_24 manylinux_2_17 manylinux2014; do
                set -- "$@" --platform "${platform}_x86_64"
            done
            # pip compiles for the CPython that runs it: no other one reads that.
            [ "$minor" = "$own" ] || set -- "$@" --no-compile
        fi
        # In one call: each has a start of its own. A package that several lines name is asked for once.
        # shellcheck disable=SC2046  # several packages
        if "$tools/bin/python" -m pip install --quiet --target "$folder" "$@" $(echo "$packages" | tr ' ' '\n' | sort -u) >/dev/null 2>&1; then
            echo "$wanted" >"$folder/wanted"
            continue
        fi
        # One by one: what cannot be had for a version is missing there, and its tests say so.
        rm -rf "$folder"
        mkdir -p "$folder"
        echo "$packages" | while read -r package; do
            # shellcheck disable=SC2086  # several packages may stand in a line
            try_twice "$tools/bin/python" -m pip install --quiet --target "$folder" "$@" $package >/dev/null 2>&1 ||
                { without "$package cannot be had for CPython $minor; its tests are skipped with a message" && touch "$folder/incomplete"; }
        done
        [ -e "$folder/incomplete" ] || echo "$wanted" >"$folder/wanted"
    done
}

# The tool that tests the server by its OpenAPI file, in an environment of its own: it adds plugins to the pytest beside it.
prepare_schemathesis() {
    pins=$root/make/requirements-schemathesis.txt
    folder=$root/build/schemathesis
    wanted=$(sha256sum <"$pins")
    if [ "$(cat "$folder/wanted" 2>/dev/null)" = "$wanted" ]; then
        return
    fi
    python=$(python_for_tools)
    say "schemathesis of make/requirements-schemathesis.txt into build/schemathesis, with $python"
    rm -rf "$folder"
    "$python" -m venv "$folder"
    try_twice "$folder/bin/python" -m pip install --quiet --requirement "$pins"
    echo "$wanted" >"$folder/wanted"
}

# Programs that only tests need, built once from a crate and kept: FOLDER, CRATE, VERSION, LOST (what is skipped without), cargo's further words.
prepare_crate() {
    folder=$1 crate=$2 version=$3 lost=$4
    shift 4
    wanted="$crate $version $*"
    if [ "$(cat "$folder/wanted" 2>/dev/null)" = "$wanted" ]; then
        return
    fi
    # A folder that somebody made and named stays what it is.
    if [ -e "$folder/bin/$crate" ] && [ ! -e "$folder/wanted" ]; then
        return
    fi
    say "$crate $version into $folder: built once, which takes minutes"
    mkdir -p "$folder"
    # What a build that was broken off has compiled stays.
    find "$folder" -mindepth 1 -maxdepth 1 ! -name target -exec rm -rf {} +
    : >"$root/build/$crate.log"
    if try_twice install_crate "$@"; then
        echo "$wanted" >"$folder/wanted"
        rm -rf "$folder/target"
    else
        say "it cannot be built today, see build/$crate.log: $(grep '^error' "$root/build/$crate.log" | tail -n 1); $lost, in words"
    fi
}

install_crate() {
    CARGO_TARGET_DIR=$folder/target nice cargo install --quiet --locked --root "$folder" --version "=$version" "$crate" "$@" \
        >>"$root/build/$crate.log" 2>&1
}

# A small S3 server. Later versions need a Rust newer than genba does. Tests wait for the disk, not for it: unoptimised is fast enough, and built
# in a tenth of the time.
prepare_s3() {
    prepare_crate "$s3" s3s-fs 0.14.1 "tests of several servers are skipped" --features binary --debug --config profile.dev.debug=0
}

# An S3 server of several machines, for `make cluster` and `make soak`.
prepare_garage() {
    prepare_crate "$garage" garage 2.5.0 "\`make cluster\` does not run"
}

mkdir -p "$root/build"
for verb in "$@"; do
    case $verb in
    tools | compiler | prose | packages | servers | sid | debug | standalone | peers | readers | compiled | compiled_all | schemathesis | s3 | garage) "prepare_$verb" ;;
    *) fail "no verb $verb in make/prepare.sh" "one of tools, compiler, prose, packages, servers, sid, debug, standalone, peers, readers, compiled, compiled_all, schemathesis, s3, garage" ;;
    esac
done
