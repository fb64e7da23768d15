"""The pages for readers keep up with the command and the tests: each verdict has its page with its screen, the command takes every command line
that is shown, and a table that names a test for each row names tests that exist. Runs no program."""

import re
import shlex
from pathlib import Path

import pytest

from recording import REPOSITORY, genba

PAGES = REPOSITORY / "docs/verdicts"
REASONS = REPOSITORY / "crates/profile/src/rules/verdict/reason.rs"
# `not judged` gives no reason: it says what the recording lacks.
NAMES = [name for name in re.findall(r'Reason::\w+ \{ \.\. \} => "([^"]+)"', REASONS.read_text()) if name != "not judged"]
SHOWING_COMMANDS = [*sorted((REPOSITORY / "docs").glob("from-*.md")), *sorted(PAGES.glob("*.md")), *sorted((REPOSITORY / "docs/recipes").glob("*.md"))]
# In a block of code at the beginning of a line, in prose and tables between backticks.
COMMAND = re.compile(r"^(?:\$ |    )(?:[A-Z_]+=\S+ )*genba (.+)$|`(?:[A-Z_]+=\S+ )*genba ([^`\n]+)`", re.MULTILINE)


def test_there_are_as_many_pages_as_verdicts() -> None:
    assert len(NAMES) == 12
    assert {path.name for path in PAGES.glob("*.md")} == {page(name).name for name in NAMES} | {"README.md"}


@pytest.mark.parametrize("name", NAMES)
def test_a_verdict_has_a_page_and_its_screen(name: str) -> None:
    text = page(name).read_text()
    assert f"[{name}]({page(name).name})" in (PAGES / "README.md").read_text()
    assert text.startswith(f"# {name}: "), text.partition("\n")[0]
    block = text.split("```console\n")[1].split("```")[0]
    # Two blanks: the rest of a line that was broken.
    screen = [line for line in block.splitlines() if not line.startswith(("$ ", "  "))]
    assert screen[2].startswith(f"{name}: "), block


def test_the_pages_advise_the_rate_that_the_screen_advises() -> None:
    """A recording begins with 1000 ticks a second: to ask for that gives no more samples."""
    [rate] = re.findall(r"const RATE: u64 = ([\d_]+);", (REPOSITORY / "crates/profile/src/rules/pace.rs").read_text())
    for path in (page("too short to judge"), REPOSITORY / "docs/reading.md", REPOSITORY / "docs/recipes/pytest.md"):
        assert set(re.findall(r"--rate (\d+)", path.read_text())) == {rate.replace("_", "")}, path.name


FIRST_QUESTIONS = ("Django", "Which test is slow", "pandas", "hangs", "asyncio", "memory", "memray", "Kubernetes", "Lambda", "macOS", "arm64", "Is it safe")


def test_first_questions_are_two_clicks_away() -> None:
    """README leads to the index of all pages; there each question has a row that answers it, with the page that says more."""
    readme = (REPOSITORY / "README.md").read_text()
    assert "(docs/README.md)" in readme and "(docs/production.md)" in readme
    index = (REPOSITORY / "docs/README.md").read_text()
    rows = index.split("## First questions")[1].split("\n## ")[0].splitlines()
    for question in FIRST_QUESTIONS:
        answers = [row for row in rows if row.startswith("| ") and question in row]
        assert answers, question
        links = [link.partition("#")[0] for row in answers for link in re.findall(r"\]\(([^)]+)\)", row)]
        assert links and all((REPOSITORY / "docs" / link).is_file() for link in links), (question, links)


@pytest.mark.parametrize("path", SHOWING_COMMANDS, ids=lambda path: path.stem)
def test_the_command_takes_what_is_shown(path: Path, tmp_path: Path) -> None:
    """With --show-config a verb reads its command line, values too, and does nothing. A verb below another one has that not; at --help its words
    were read."""
    for shown in COMMAND.findall(path.read_text()):
        command = "".join(shown)
        verb, *words = shlex.split(command.partition(" | ")[0], comments=True)
        words = ["1" if word == "PID" else word for word in words]
        asked = [] if "--show-config" in words else ["--show-config"]
        is_below = (verb, *words[:1]) in {("heap", "refs"), ("heap", "diff"), ("gc", "cycles")}
        said = genba(verb, *words, "--help", cwd=tmp_path) if is_below else genba(verb, *asked, *words, cwd=tmp_path)
        assert said.returncode == 0, f"{path.name}: genba {command}\n{said.stderr}"


def test_the_page_of_the_server_names_each_option(tmp_path: Path) -> None:
    said = genba("serve", "--help", cwd=tmp_path)
    options = set(re.findall(r"^ +(?:-\w, )?(--[a-z0-9-]+)", said.stdout, re.MULTILINE)) - {"--help", "--show-config"}
    assert said.returncode == 0 and {"--listen", "--data", "--max-recording"} <= options, said.stdout
    text = (REPOSITORY / "docs/serve.md").read_text()
    assert [option for option in sorted(options) if not re.search(re.escape(option) + r"\b", text)] == []


def named_tests(text: str) -> list[str]:
    """The cells of each column `test`."""
    found, column = [], None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("|") else []
        if not cells:
            column = None
        elif "test" in cells:
            column = cells.index("test")
        elif column is not None and not line.startswith("|---"):
            found.append(cells[column])
    return found


def sources_of_tests() -> list[Path]:
    folders = {"crates": "*.rs", "tests": "test_*.py", "tests/page": "*.test.mjs", "web/model": "*.test.ts"}
    return [path for folder, names in folders.items() for path in (REPOSITORY / folder).rglob(names)]


def names_of_tests(code: str) -> list[str]:
    """Of Rust, Python and node. One that is made for several values is known by what comes before the first of them."""
    forms = (r"#\[test\]\s+(?:#\[.*\]\s+)*fn (\w+)\(", r"^ *def (test_\w+)\(", r"^ *test\([\"'`](.+?)[\"'`], ")
    return [re.sub(r",? ?\$\{.*", "", "".join(name)) for name in re.findall("|".join(forms), code, re.MULTILINE)]


@pytest.mark.parametrize("path", sorted((REPOSITORY / "docs").glob("from-*.md")), ids=lambda path: path.stem)
def test_the_tests_that_a_row_names_exist(path: Path) -> None:
    named = [name for cell in named_tests(path.read_text()) for name in re.findall(r"`([^`]+)`", cell)]
    assert len(named) > 40 or path.name != "from-vmprof.md", named
    tests = {name for source in sources_of_tests() for name in names_of_tests(source.read_text())}
    assert [name for name in named if name not in tests and not ("/" in name and (REPOSITORY / name).exists())] == []


def test_a_column_of_tests_is_found() -> None:
    assert named_tests("| a | test |\n|---|---|\n| b | `one`, `two` |\n| c | |\n\n| d | e |\n|---|---|\n| f | `none` |\n") == ["`one`, `two`", ""]
    assert named_tests("| test | a |\n|---|---|\n| `one` | b |\n") == ["`one`"]
    code = '#[test]\n#[ignore]\nfn one() {\nfn no() {\ndef test_two(x):\n    def helper():\ntest("three: x, y", async () => {\n  test(`four, ${theme}`, async () => {\n'
    assert names_of_tests(code) == ["one", "test_two", "three: x, y", "four"]


def parts_of_header(lines: list[str]) -> set[str]:
    """The first line of a view without its figures: `T wall`, `N process, N thread`, `sampled every T`. Behind it two blanks go on with it."""
    header = lines[0] + "".join(" " + line.strip() for line in lines[1:3] if line.startswith("  ") and " · " in lines[0][-3:] + " ")
    parts = re.split(r" ·(?: |$)", header)
    words = [re.sub(r"[\d,.]+ (?:ns|µs|ms|s|kB|MB|GB)\b", "T", re.sub(r", (?:mostly|later) .*", "", part)) for part in parts if part]
    return {re.sub(r"processes", "process", re.sub(r"threads", "thread", re.sub(r"\d[\d.,]*", "N", word))) for word in words}


def test_screens_begin_as_the_command_does() -> None:
    """A screen that is older than the words of the first line is made again by `make screens` and `make casebook UPDATE=1`."""
    recording = REPOSITORY / "testdata/golden/v2.genba"
    now = parts_of_header([genba("report", recording).stdout.splitlines()[0]])
    pages = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md")), *sorted((REPOSITORY / "casebook").rglob("*.md"))]
    screens = 0
    for path in pages:
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines):
            # A cut line ends in an ellipsis; above `B:` and `A:` is what the columns are called.
            if re.match(r"CPython 3\.\d+\.\d+ · .* wall · ", line) and not line.endswith("…"):
                screens += 1
                older = parts_of_header(lines[number : number + 3]) - now
                assert not older, f"{path.relative_to(REPOSITORY)}:{number + 1}: {older}, and a report says {now}"
    assert screens > 40, screens


def page(name: str) -> Path:
    return PAGES / (name.lower().replace(" ", "-") + ".md")
