"""Makes docs/measured.md of the figures that tests and benches wrote; `make soak`, and `make bench`,
`make steady` and `make cluster` with UPDATE=1, call it, and it tells whether the long run is whole.

Argv: files of JSON lines as tests/soaking/ledger.py writes them, the newest last. One row a figure, one column a CPython, the commit
that each was measured at; at the top the newest run's machine, and what the long run lacks. What a run did not measure stays, with its own commit.
Owns: that page. Never: rounds a figure past its bound, leaves one out.
"""

import datetime
import json
import os
import platform
import re
import sys
from collections import Counter
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
PAGE = REPOSITORY / "docs/measured.md"
VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.15", "3.11-standalone", "3.14-standalone")
COLUMNS = (*VERSIONS, "all")

# One row: what stands in each column, by the column's title, the bound and the commits.
Row = dict[str, str]
BOUND, COMMIT = "bound", "commit"
# What a bench measured beside the figure in the same run. No test has it, so its column is there where a row has one.
YARDSTICK = "yardstick"
# The bounds of a row that differ stand behind each value.
APART = "in parentheses"
# Of rows that are older than the column.
UNKNOWN = "unknown"
ORDINALS = {2: "second", 3: "third"}
PYTHON_PARAMETER = re.compile(r"^3\.\d+(-standalone)?")
LONG_RUN = re.compile(r"^The long run .*?(?=\n## |\Z)", re.MULTILINE | re.DOTALL)
NEVER_RUN = "The long run (`make soak`) was not begun.\n"


def main() -> int:
    lines = [json.loads(line) for path in sys.argv[1:] for line in Path(path).read_text().splitlines()]
    if not lines:
        sys.exit("error: no figures to make docs/measured.md of\nhint: make soak, or make bench UPDATE=1")
    before = PAGE.read_text() if PAGE.exists() else ""
    sections = {name: rows for name, rows in rows_of(before).items() if still_there(name)}
    figures = [line for line in lines if "figure" in line]
    files = standing(lines)
    put(figures + passed(files), sections)
    found = LONG_RUN.search(before)
    plans = [line for line in lines if "plan" in line]
    words = long_run(files, plans[-1]["commit"]) if plans else found[0].strip() + "\n" if found else NEVER_RUN
    PAGE.write_text(page(sections, machine(), words))
    print(f"{words}{PAGE}: {len(figures)} figures")
    return 0


def still_there(section: str) -> bool:
    return not section.startswith("tests/") or (REPOSITORY / section).exists()


class Standing:
    """How far the long run of one file's tests on one CPython is."""

    def __init__(self, file: str, version: str, tests: int) -> None:
        self.file, self.version, self.tests = file, version, tests
        self.outcomes: dict[str, str] = {}
        self.failures: Counter[str] = Counter()
        self.commit = ""

    @property
    def counts(self) -> Counter[str]:
        return Counter(self.outcomes.values())

    @property
    def not_run(self) -> int:
        return self.tests - len(self.outcomes)

    def failed(self) -> list[str]:
        return [test for test, outcome in self.outcomes.items() if outcome == "failed"]

    def tried_again(self) -> dict[str, int]:
        """The tests that passed after they had failed, and at which try."""
        return {test: self.failures[test] + 1 for test, outcome in self.outcomes.items() if outcome == "passed" and self.failures[test]}


def standing(lines: list[dict]) -> list[Standing]:
    """By the newest plan: an outcome at another state of the sources does not count."""
    plan = next((line["plan"] for line in reversed(lines) if "plan" in line), {})
    found = {(file, version): Standing(file, version, tests) for file, one in plan.items() for version, tests in one["tests"].items()}
    for line in lines:
        file, version = line.get("test", "").partition("::")[0], line.get("python")
        if "outcome" in line and (file, version) in found and line["state"] == plan[file]["state"]:
            one = found[file, version]
            one.outcomes[line["test"]] = line["outcome"]
            one.failures[line["test"]] += line["outcome"] == "failed"
            one.commit = line["commit"]
    return list(found.values())


def passed(files: list[Standing]) -> list[dict]:
    """A row of each file, of what ran of it: a figure, too."""
    rows = []
    for one in files:
        if one.outcomes:
            others = {"failed": one.counts["failed"], "expected to fail": one.counts["xfailed"], "skipped": one.counts["skipped"]}
            counts = {"at a later try": len(one.tried_again()), **others, "not run": one.not_run}
            words = [f"{count} {name}" for name, count in counts.items() if count]
            line = {"test": one.file, "python": one.version, "figure": "passed", "value": one.counts["passed"]}
            unit = ", ".join([f"of {one.tests}", *words])
            rows.append({**line, "unit": unit, "bound": "all", "soak": True, "commit": one.commit})
    return rows


def long_run(files: list[Standing], commit: str) -> str:
    """Whether it is whole, and what is missing."""
    counts = sum((one.counts for one in files), Counter())
    not_run = sum(one.not_run for one in files)
    is_whole = not counts["failed"] and not not_run
    words = f"The long run (`make soak`) {'is whole' if is_whole else 'is **not whole**'} at {commit}: of"
    words += f" {sum(one.tests for one in files):,} tests {counts['passed']:,} passed, {counts['xfailed']} failed as expected,"
    words += f" {counts['skipped']:,} were skipped, {counts['failed']} failed, {not_run:,} were not run.\n"
    for test in (test for one in files for test in one.failed()):
        words += f"\n- failed: `{test}`"
    for test, tries in (row for one in files for row in one.tried_again().items()):
        words += f"\n- passed at the {ORDINALS.get(tries, f'{tries}th')} try: `{test}`"
    begun = {one.file for one in files if one.outcomes}
    for file in sorted({one.file for one in files if one.not_run and one.file in begun}):
        missing = [f"{one.version} ({one.not_run})" for one in files if one.file == file and one.not_run]
        words += f"\n- not run: {file} on {', '.join(missing)}"
    if begun and (never := sorted({one.file for one in files} - begun)):
        words += f"\n- nothing was run of {', '.join(never)}"
    return words.rstrip() + "\n"


def titles_of(lines: list[dict]) -> dict[tuple[str, str], set[str]]:
    """The tests that wrote each figure of a file."""
    titles: dict[tuple[str, str], set[str]] = {}
    for line in lines:
        titles.setdefault((line["test"].partition("::")[0], line["figure"]), set()).add(title_of(line["test"]))
    return titles


def title_of(test: str) -> str:
    """`tests/test_b.py::test_some_thing[3.13-nested.py]` -> `some thing, nested.py`."""
    name, _, parameters = test.partition("::")[2].removeprefix("test_").rstrip("]").partition("[")
    others = [one for one in PYTHON_PARAMETER.sub("", parameters).split("-") if one]
    return ", ".join([name.replace("_", " "), *others])


def put(lines: list[dict], sections: dict[str, dict[str, Row]]) -> None:
    """Each figure into its row; what stood there for the same version gives way. Where several tests of a file write a figure of one name, each
    has a row."""
    titles = titles_of(lines)
    for line in lines:
        file, name = line["test"].partition("::")[0], line["figure"]
        rows = sections.setdefault(file, {})
        if len(titles[file, name]) > 1:
            rows.pop(name, None)
            name = f"{name} ({title_of(line['test'])})"
        row = rows.setdefault(name, {})
        column, bound = line["python"] or "all", bound_text(line)
        text = value_text(line) + (" *long*" if line["soak"] else "")
        others = [title for title in row if title in COLUMNS and title != column]
        before = row.get(BOUND, bound)
        if others and before != bound:
            if before != APART:
                row.update({title: f"{row[title]} ({before})" for title in others})
            text, bound = f"{text} ({bound})", APART
        commits = {**commits_of(row), column: line["commit"]}
        row[column], row[BOUND], row[COMMIT] = text, bound, commits_text(commits)
        # That of an older figure says nothing of this one.
        row.pop(YARDSTICK, None)
        if line.get("yardstick"):
            row[YARDSTICK] = line["yardstick"].replace("|", "/")


def commits_of(row: Row) -> dict[str, str]:
    """The commit of each column, of `44ff4ee` or `3.11, 3.12: 44ff4ee; 3.13: 6407451`."""
    text = row.get(COMMIT, UNKNOWN)
    if ": " not in text:
        return {title: text for title in row if title in COLUMNS}
    parts = [part.partition(": ") for part in text.split("; ")]
    return {title: commit for titles, _, commit in parts for title in titles.split(", ")}


def commits_text(commits: dict[str, str]) -> str:
    columns: dict[str, list[str]] = {}
    for title in sorted(commits, key=COLUMNS.index):
        columns.setdefault(commits[title], []).append(title)
    if len(columns) == 1:
        return next(iter(columns))
    return "; ".join(f"{', '.join(titles)}: {commit}" for commit, titles in columns.items())


def rows_of(page: str) -> dict[str, dict[str, Row]]:
    """What an earlier run left in the page; a column where nothing stands is not of the row."""
    sections: dict[str, dict[str, Row]] = {}
    for part in page.split("\n## ")[1:]:
        name, *lines = part.splitlines()
        table = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("|")]
        titles, _, *rows = table
        sections[name] = {row[0]: row_of(titles, row) for row in rows}
    return sections


def row_of(titles: list[str], row: list[str]) -> Row:
    return {title: cell for title, cell in zip(titles[1:], row[1:], strict=True) if cell or title in (BOUND, COMMIT)}


def page(sections: dict[str, dict[str, Row]], machine: str, words: str) -> str:
    head = (
        "# What was measured\n\nMade by `make soak`, `make bench`, `make steady` and `make cluster`; what each promise means is said in [promises.md](promises.md).\n\n"
        f"The newest run's machine: {machine} Figures with *long* have the amounts of `make soak`, the others those of `make test` or of\n"
        "`make bench`. What the newest run did not measure stays as an earlier run left it, which may have had another machine: *commit* is what a figure\n"
        f"was measured at, with `+` where the sources were edited after it. Figures of the commit `{UNKNOWN}` are older than that column, and of other machines.\n"
        "*yardstick* is what a bench measured beside the figure in the same run.\n\n"
    )
    return head + words + "".join(section(name, sections[name]) for name in sorted(sections))


def section(name: str, rows: dict[str, Row]) -> str:
    columns = [one for one in COLUMNS if any(one in row for row in rows.values())]
    with_yardstick = [YARDSTICK] if any(YARDSTICK in row for row in rows.values()) else []
    titles = ["figure", *columns, BOUND, *with_yardstick, COMMIT]
    text = f"\n## {name}\n\n| {' | '.join(titles)} |\n|{'---|' * len(titles)}\n"
    for figure, row in sorted(rows.items()):
        cells = [*(row.get(one, "") for one in (*columns, BOUND, *with_yardstick)), row.get(COMMIT, UNKNOWN)]
        text += f"| {figure} | {' | '.join(cells)} |\n"
    return text


def value_text(line: dict) -> str:
    return f"{number(line['value'])} {line['unit']}".strip()


def bound_text(line: dict) -> str:
    return "" if line["bound"] is None else number(line["bound"])


def number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}" if isinstance(value, float) else f"{value:,}"


def machine() -> str:
    names = [row.partition(": ")[2] for row in Path("/proc/cpuinfo").read_text().splitlines() if row.startswith("model name")]
    memory_kb = int(Path("/proc/meminfo").read_text().split()[1])
    today = datetime.datetime.now(datetime.UTC).date()
    return (
        f"{names[0] if names else platform.machine()}, {os.cpu_count()} CPUs, {memory_kb >> 20} GiB, Linux {platform.release()},"
        f" {' '.join(platform.libc_ver())}, {today}."
    )


if __name__ == "__main__":
    sys.exit(main())
