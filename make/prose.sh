#!/bin/sh
# Checks the English of README.md, CHANGELOG.md and docs with vale and the style in styles/genba.
# First it checks the style itself: each line of make/prose/bad.md breaks one rule, and every rule must catch a line.
# Never: uses the network; `make prepare` installs vale.
set -eu
cd "$(dirname "$0")/.."

vale=build/prose/vale
if [ ! -x "$vale" ]; then
    if command -v go >/dev/null 2>&1; then
        echo "error: no vale in build/prose" >&2
        echo "hint: make/prepare.sh prose" >&2
        exit 1
    fi
    echo "prose: not checked: vale needs go (make prepare)" >&2
    exit 0
fi

caught=$("$vale" --output=line make/prose/bad.md || true)
for rule in styles/genba/*.yml; do
    name=genba.$(basename "$rule" .yml)
    if ! echo "$caught" | grep -qF ":$name:"; then
        echo "error: $rule catches nothing in make/prose/bad.md" >&2
        echo "hint: a rule comes with a sentence that breaks it" >&2
        exit 1
    fi
done
for line in $(grep -n . make/prose/bad.md | cut -d: -f1); do
    if ! echo "$caught" | grep -q "^make/prose/bad.md:$line:"; then
        echo "error: no rule catches line $line of make/prose/bad.md" >&2
        exit 1
    fi
done

# make/measured.py writes docs/measured.md. A decision keeps the words of its day.
exec "$vale" --output=line --glob='!docs/{measured.md,decisions/*}' README.md CHANGELOG.md docs
