#!/bin/sh
# `make demo`: profiles the first case of the casebook and shows the answer, then writes it as a page.
# Uses the newest CPython that genba supports on this machine; $GENBA_DEMO_PYTHON names another one.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
genba=$root/target/release/genba
folder=$root/build/demo

python=${GENBA_DEMO_PYTHON:-}
for candidate in "$HOME"/.pyenv/versions/3.13.*/bin/python3 "$HOME"/.pyenv/versions/3.12.*/bin/python3 \
    "$HOME"/.pyenv/versions/3.11.*/bin/python3 "$(command -v python3 || true)"; do
    [ -n "$python" ] && break
    [ -x "$candidate" ] && python=$candidate
done
if [ -z "$python" ]; then
    echo "error: no CPython 3.11 to 3.15 found for the demo" >&2
    echo "hint: pyenv install 3.13, or set GENBA_DEMO_PYTHON" >&2
    exit 1
fi

mkdir -p "$folder"
echo "\$ genba run --python $python casebook/bytes-slice/slow.py"
"$genba" run --quiet --force -o "$folder/bytes-slice.genba" --python "$python" "$root/casebook/bytes-slice/slow.py"
echo
echo "\$ genba report bytes-slice.genba"
"$genba" report "$folder/bytes-slice.genba"
echo
"$genba" html "$folder/bytes-slice.genba" -o "$folder/bytes-slice.html"
