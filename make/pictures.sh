#!/bin/sh
# `make pictures`: pictures of a real page, light and dark, into docs/pictures. argv: the command; the folder of the interpreter.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p docs/pictures
PATH="$2:$PATH" "$1" run --quiet -o "$folder/slow.genba" -- python3 casebook/bytes-slice/slow.py > "$folder/printed"
"$1" html -o "$folder/slow.html" "$folder/slow.genba"
node tests/web/picture.mjs "$folder/slow.html" docs/pictures
