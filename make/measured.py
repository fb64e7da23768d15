"""Makes docs/measured.md of the figures that tests and benches wrote: `make soak` and `make bench` call it.

Argv: files of JSON lines as tests/figures.py writes them, the newest last. One row a figure, one column a CPython; the
machine stands at the top. Owns: that page. Never: rounds a figure past its bound, leaves one out.
"""

import datetime
import json
import os
import platform
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs/measured.md"
VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.15", "3.11-standalone", "3.14-standalone")


# One row: what stands in each column, by the column's title, and the bound.
Row = dict[str, str]
BOUND = "bound"
# The bounds of a row that differ stand behind each value.
APART = "in parentheses"


def main() -> int:
    lines = [json.loads(line) for path in sys.argv[1:] for line in Path(path).read_text().splitlines()]
    if not lines:
        sys.exit("error: no figures to make docs/measured.md of\nhint: make soak")
    sections = rows_of(PAGE.read_text()) if PAGE.exists() else {}
    put(lines, sections)
    PAGE.write_text(page(sections, machine()))
    print(f"{PAGE}: {len(lines)} figures")
    return 0


def put(lines: list[dict], sections: dict[str, dict[str, Row]]) -> None:
    """Each figure into its row; what stood there for the same version gives way."""
    for line in lines:
        row = sections.setdefault(line["test"].partition("::")[0], {}).setdefault(line["figure"], {})
        column, bound = minor(line["python"]) or "all", bound_text(line)
        text = value_text(line) + (" *long*" if line["soak"] else "")
        others = [title for title in row if title not in (column, BOUND)]
        before = row.get(BOUND, bound)
        if others and before != bound:
            if before != APART:
                row.update({title: f"{row[title]} ({before})" for title in others})
            text, bound = f"{text} ({bound})", APART
        row[column], row[BOUND] = text, bound


def rows_of(page: str) -> dict[str, dict[str, Row]]:
    """What an earlier run left in the page."""
    sections: dict[str, dict[str, Row]] = {}
    for part in page.split("\n## ")[1:]:
        name, *lines = part.splitlines()
        table = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("|")]
        titles, _, *rows = table
        sections[name] = {row[0]: dict(zip(titles[1:], row[1:], strict=True)) for row in rows}
    return sections


def page(sections: dict[str, dict[str, Row]], machine: str) -> str:
    head = (
        "# What was measured\n\nMade by `make soak` and `make bench`; what each promise means stands in [promises.md](promises.md).\n\n"
        f"{machine} Figures with *long* have the amounts of `make soak`, the others those of `make test` or of `make bench`. What the newest run\n"
        "did not measure stands as the one before left it.\n"
    )
    return head + "".join(section(name, sections[name]) for name in sorted(sections))


def section(name: str, rows: dict[str, Row]) -> str:
    columns = [one for one in (*VERSIONS, "all") if any(one in row for row in rows.values())]
    text = f"\n## {name}\n\n| figure | {' | '.join(columns)} | bound |\n|---|{'---|' * len(columns)}---|\n"
    for figure, row in sorted(rows.items()):
        text += f"| {figure} | {' | '.join(row.get(one, '') for one in columns)} | {row.get(BOUND, '')} |\n"
    return text


def value_text(line: dict) -> str:
    return f"{number(line['value'])} {line['unit']}".strip()


def bound_text(line: dict) -> str:
    return "" if line["bound"] is None else number(line["bound"])


def number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}" if isinstance(value, float) else f"{value:,}"


def minor(version: str | None) -> str:
    return ".".join(version.split(".")[:2]) if version else ""


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
