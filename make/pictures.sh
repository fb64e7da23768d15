#!/bin/sh
# `make pictures`: pictures of a real page, light and dark, into docs/pictures, and of four cases into their folders. argv: the command; the folder of the interpreter.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p docs/pictures
PATH="$2:$PATH" "$1" run --quiet -o "$folder/slow.genba" -- python3 casebook/bytes-slice/slow.py > "$folder/printed"
"$1" html -o "$folder/slow.html" "$folder/slow.genba"
node tests/page/picture.mjs "$folder/slow.html" docs/pictures

# The cases where the call tree tells most, each with its argument.
for run in bytes-slice two-callers mask "json-ascii False"; do
    name=${run% *}
    argument=${run#"$name"}
    # shellcheck disable=SC2086 # Without an argument there is none.
    PATH="$2:$PATH" "$1" run --quiet -o "$folder/$name.genba" -- python3 "casebook/$name/slow.py" $argument >"$folder/printed"
    "$1" html -o "$folder/$name.html" "$folder/$name.genba"
    node tests/page/flame-picture.mjs "$folder/$name.html" "casebook/$name/flame.png"
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
