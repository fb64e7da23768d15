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
VERSIONS = ("3.11", "3.12", "3.13", "3.14", "3.15")


def main() -> int:
    lines = [json.loads(line) for path in sys.argv[1:] for line in Path(path).read_text().splitlines()]
    if not lines:
        sys.exit("error: no figures to make docs/measured.md of\nhint: make soak")
    PAGE.write_text(page(lines, machine()))
    print(f"{PAGE}: {len(lines)} figures")
    return 0


def page(lines: list[dict], machine: str) -> str:
    long = sum(line["soak"] for line in lines)
    head = (
        "# What was measured\n\nMade by `make soak` and `make bench`; what each promise means stands in [promises.md](promises.md).\n\n"
        f"{machine} {long} figures with the long amounts of `make soak` and `make bench`, {len(lines) - long} with the short ones of `make test`.\n"
    )
    sections: dict[str, list[dict]] = {}
    for line in lines:
        sections.setdefault(line["test"].partition("::")[0], []).append(line)
    return head + "".join(section(name, sections[name]) for name in sorted(sections))


def section(name: str, lines: list[dict]) -> str:
    rows: dict[str, list[dict]] = {}
    for line in lines:
        rows.setdefault(line["figure"], []).append(line)
    columns = [one for one in (*VERSIONS, "") if any(one == minor(line["python"]) for line in lines)]
    titles = " | ".join(one or "all" for one in columns)
    text = f"\n## {name}\n\n| figure | {titles} | bound |\n|---|{'---|' * len(columns)}---|\n"
    for figure, found in sorted(rows.items()):
        bounds = {bound_text(line) for line in found}
        cells: dict[str, str] = {}
        for line in found:
            own_bound = f" ({bound_text(line)})" if len(bounds) > 1 else ""
            cells[minor(line["python"])] = value_text(line) + own_bound
        bound = bounds.pop() if len(bounds) == 1 else "in parentheses"
        text += f"| {figure} | {' | '.join(cells.get(one, '') for one in columns)} | {bound} |\n"
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
