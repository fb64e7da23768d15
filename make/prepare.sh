#!/bin/sh
# Sets a machine up for genba's chores. Verbs: tools, packages, sid. Each one does only what is missing and says what it does.
# Never writes outside of build/, the apt system (as root, only for packages that are missing) and $GENBA_SID.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
tools=$root/build/tools
sid=${GENBA_SID:-$HOME/.cache/genba/sid}

say() { echo "prepare: $*" >&2; }
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
    wanted=$(cat "$root"/make/requirements*.txt | sha256sum)
    if [ -x "$tools/bin/python" ] && [ "$(cat "$tools/wanted" 2>/dev/null)" = "$wanted" ]; then
        return
    fi
    python=$(python_for_tools)
    say "tools of make/requirements.txt into build/tools, with $python"
    rm -rf "$tools"
    "$python" -m venv "$tools"
    "$tools/bin/python" -m pip install --quiet --requirement "$root/make/requirements.txt"
    # gunicorn is pure Python: one folder serves every interpreter of the tests, through PYTHONPATH.
    "$tools/bin/python" -m pip install --quiet --target "$tools/site-packages" \
        --requirement "$root/make/requirements-programs.txt"
    echo "$wanted" >"$tools/wanted"
}

# Commands that the chores need and the packages that bring them on Debian.
prepare_packages() {
    missing=
    for pair in cc:gcc objdump:binutils chromium:chromium debootstrap:debootstrap make:make; do
        command -v "${pair%%:*}" >/dev/null 2>&1 || missing="$missing ${pair##*:}"
    done
    [ -e /usr/include/stdio.h ] || missing="$missing libc6-dev"
    if [ -z "$missing" ]; then
        return
    fi
    if [ "$(id -u)" != 0 ]; then
        say "missing and not installed, because only root can:$missing; what needs them is skipped, in words"
        return
    fi
    say "apt-get install$missing"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

# CPython 3.14 and 3.15 as Debian builds them (stripped, PGO, LTO), in a folder of their own.
prepare_sid() {
    if [ -x "$sid/usr/bin/python3.14" ] && [ -x "$sid/usr/bin/python3.15" ]; then
        return
    fi
    if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null 2>&1; then
        say "no CPython 3.14 and 3.15 from Debian sid: that needs root and debootstrap; their tests are skipped, in words"
        return
    fi
    if [ ! -x "$sid/usr/bin/apt-get" ]; then
        # The mirror this machine already uses; nothing else is contacted.
        mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | sort -u | head -n 1)
        [ -n "$mirror" ] || fail "apt has no Debian mirror configured" "set GENBA_SID to a Debian sid folder with python3.14 and python3.15"
        say "Debian sid into $sid"
        mkdir -p "$sid"
        debootstrap --variant=minbase sid "$sid" "$mirror" >"$root/build/debootstrap.log" 2>&1 ||
            fail "debootstrap failed, see build/debootstrap.log" "rm -rf $sid, then try again"
        # Debian's packages must not start services in there.
        printf '#!/bin/sh\nexit 101\n' >"$sid/usr/sbin/policy-rc.d"
        chmod 755 "$sid/usr/sbin/policy-rc.d"
    fi
    cp /etc/resolv.conf "$sid/etc/resolv.conf" 2>/dev/null || true
    # A mirror may lag behind; signatures are checked all the same.
    chroot "$sid" apt-get -o Acquire::Check-Valid-Until=false update -qq || say "apt-get update failed in $sid"
    for version in 3.14 3.15; do
        [ -x "$sid/usr/bin/python$version" ] && continue
        say "python$version into $sid"
        DEBIAN_FRONTEND=noninteractive chroot "$sid" apt-get install -y -qq --no-install-recommends \
            "python$version" "python$version-venv" >/dev/null 2>>"$root/build/debootstrap.log" ||
            say "python$version cannot be had from Debian sid today; its tests are skipped, in words"
    done
}

mkdir -p "$root/build"
for verb in "$@"; do
    case $verb in
    tools | packages | sid) "prepare_$verb" ;;
    *) fail "no verb $verb in make/prepare.sh" "one of tools, packages, sid" ;;
    esac
done
