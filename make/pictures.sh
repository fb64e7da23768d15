#!/bin/sh
# `make pictures`: pictures of a real page, light and dark, into docs/pictures, and of the cases into their folders. argv: the command; the folder of the interpreter.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p docs/pictures
PATH="$2:$PATH" "$1" run --quiet -o "$folder/slow.genba" -- python3 casebook/bytes-slice/slow.py > "$folder/printed"
"$1" html -o "$folder/slow.html" "$folder/slow.genba"
node tests/page/picture.mjs "$folder/slow.html" docs/pictures

PATH="$2:$PATH" "$1" bench -N -r 30 -n slow.py -n fixed.py --export-html "$folder/bench.html" 'python3 casebook/bytes-slice/slow.py' 'python3 casebook/bytes-slice/fixed.py' > "$folder/printed"
node tests/page/bench-picture.mjs "$folder/bench.html" docs/pictures

# A case that cannot run here (2) keeps the picture that it has.
for page in $(grep -l '^<!-- picture: ' casebook/*/README.md); do
    python3 make/case.py --genba "$1" --python "$2/python3" --picture "$(basename "$(dirname "$page")")" || [ $? -eq 2 ]
done

# The server's list, of programs that it was sent.
"$1" serve --data "$folder/data" --listen 127.0.0.1:0 >"$folder/address" &
server=$!
trap 'kill "$server"; rm -rf "$folder"' EXIT
until [ -s "$folder/address" ]; do sleep 0.1; done
command=$(realpath "$1")
address=$(cat "$folder/address")
programs=$(realpath tests/first_screen)
for run in "json_indent 40" "linear_search 9000" "held_lock 40" "cache_misses 40" "pool_of_threads 400" "json_indent 60"; do
    name=${run% *}
    cp "$programs/$name.py" "$folder/"
    (cd "$folder" && PATH="$2:$PATH" "$command" run --quiet --tag branch=main --push "$address" -- python3 "$name.py" "${run#* }") >"$folder/printed" 2>&1
done
node tests/page/server-picture.mjs "$address" docs/pictures

# What the pictures show by now; a test fails when it is something else.
python3 make/picture_sources.py docs/pictures/sources.json
