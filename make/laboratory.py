"""Puts what the laboratory of `genba diff` counted into the tables of docs/reading/diff.md; `make laboratory UPDATE=1` calls it.

Argv: the output of `cargo test … laboratory -- --nocapture`, whose tests print rows of tables, those of several tests in turns.
Owns: what is between the two marks of that page. Never: leaves a row out: it refuses an output that lacks one of the tables.
"""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs/reading/diff.md"
BEGIN, END = "<!-- `make laboratory UPDATE=1` -->", "<!-- end of laboratory -->"

# The first row of a test may be behind the test's name.
ROW = re.compile(r"\| (calls of .*) \|$")
COUNT = re.compile(r"^(\d+) of (\d+)$")
SIDES = ("1 + 1", "1 + 5", "3 + 3")
PARTS = ("+5 %", "+10 %", "+30 %", "+100 %")
FILTERS = re.compile(r"(--\w+)")
# Of equal programs: in which order they are on the page. What has none of these words comes first.
LATER = (re.compile(r", one side with a sample of "), re.compile(r" on one side"), re.compile(r", boxes of the page$"), re.compile(r", (\d+ calls|of unequal lengths)$"))

SLOWER = (
    "The same programs with one function made slower: found without a false claim beside it, with 1 + 1, 3 + 3 and 10 + 10 recordings.\n"
    "Where the sides are recorded in two ways, the slower one is recorded in the other way."
)
ADVISED = (
    "The advice of the last line, followed, where the function with 60 % of the time takes 5 % longer. The first count is with as many recordings\n"
    "as it asks for. The second one is with as many as there were, each so much longer, up to eight times as long."
)


def main() -> int:
    rows = [found[1].split(" | ") for line in Path(sys.argv[1]).read_text().splitlines() if (found := ROW.search(line))]
    equal = [row for row in rows if row[1] in SIDES]
    slower = [row for row in rows if len(row) > 2 and row[2] in PARTS]
    advised = [row for row in rows if row[1].startswith("as many recordings: ")]
    if not equal or not slower or not advised or len(equal) + len(slower) + len(advised) < len(rows):
        counts = f"{len(equal)} of equal programs, {len(slower)} of slower ones and {len(advised)} of the advice"
        sys.exit(f"error: {sys.argv[1]} has {len(rows)} rows: {counts}\nhint: make laboratory UPDATE=1")
    page = PAGE.read_text()
    (before, _, rest), (_, _, after) = page.partition(BEGIN), page.partition(END)
    if END not in rest:
        sys.exit(f"error: {PAGE} lacks the two marks\nhint: {BEGIN} and {END}")
    tables = (equal_table(equal), SLOWER, slower_table(slower), ADVISED, advised_table(advised))
    PAGE.write_text("\n\n".join((before + BEGIN, *tables, END + after)))
    print(f"{PAGE}: {len(rows)} rows of the laboratory")
    return 0


def equal_table(rows: list[list[str]]) -> str:
    cells: dict[str, dict[str, str]] = {}
    for name, sides, told in sorted(rows, key=lambda row: place(row[0])):
        cells.setdefault(name, {})[sides] = told
    of = one_total(told for row in cells.values() for told in row.values())
    lines = [[claimed(row[sides]) if sides in row else "" for sides in SIDES] for row in cells.values()]
    return table([f"equal programs, claims of {of}", *SIDES], cells, lines)


def slower_table(rows: list[list[str]]) -> str:
    cells: dict[str, dict[str, list[str]]] = {}
    for name, function, part, *told in rows:
        share = function.rsplit(": ", 1)[1]
        cells.setdefault(f"{named(name)} | {share}", {})[part] = told
    of = one_total(told for row in cells.values() for all_told in row.values() for told in all_told)
    lines = [[" · ".join(claimed(told) for told in row.get(part, [])) for part in PARTS] for row in cells.values()]
    return table([f"slower function, found of {of}", "its share", *PARTS], cells, lines)


def advised_table(rows: list[list[str]]) -> str:
    lines = [[told.split(": ", 1)[1] for told in row[1:]] for row in rows]
    return table(["5 % slower, found", "as many recordings", "as many longer ones"], [row[0] for row in rows], lines)


def table(head: list[str], names: Iterable[str], lines: list[list[str]]) -> str:
    rows = [" | ".join((named(name), *cells)) for name, cells in zip(names, lines, strict=True)]
    return "\n".join((f"| {' | '.join(head)} |", "|---" * len(head) + "|", *(f"| {row} |" for row in rows)))


def place(name: str) -> int:
    return max((at for at, words in enumerate(LATER, 1) if words.search(name)), default=0)


def named(name: str) -> str:
    return name if "`" in name else FILTERS.sub(r"`\1`", name)


def claimed(told: str) -> str:
    return counted(told)[0]


def counted(told: str) -> tuple[str, str]:
    found = COUNT.match(told)
    if not found:
        sys.exit(f"error: {told!r} is no count")
    return found[1], found[2]


def one_total(all_told: Iterable[str]) -> str:
    totals = {counted(told)[1] for told in all_told}
    if len(totals) != 1:
        sys.exit(f"error: of {', '.join(sorted(totals))} pairs in one table\nhint: GENBA_PAIRS=400")
    return totals.pop()


if __name__ == "__main__":
    sys.exit(main())
