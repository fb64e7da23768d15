"""The pages for readers keep up with the command: each verdict has its page with its screen, and the command takes every command line
that is shown. Runs no program."""

import re
import shlex
from pathlib import Path

import pytest

from recording import REPOSITORY, genba

PAGES = REPOSITORY / "docs/verdicts"
REASONS = REPOSITORY / "crates/profile/src/rules/verdict/reason.rs"
# `not judged` gives no reason: a file of another profiler tells no CPU time.
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


@pytest.mark.parametrize("path", SHOWING_COMMANDS, ids=lambda path: path.stem)
def test_the_command_takes_what_is_shown(path: Path, tmp_path: Path) -> None:
    """With --show-config a verb reads its command line, values too, and does nothing."""
    for shown in COMMAND.findall(path.read_text()):
        command = "".join(shown)
        verb, *words = shlex.split(command.partition(" | ")[0], comments=True)
        words = ["1" if word == "PID" else word for word in words]
        asked = [] if "--show-config" in words else ["--show-config"]
        said = genba(verb, *asked, *words, cwd=tmp_path)
        assert said.returncode == 0, f"{path.name}: genba {command}\n{said.stderr}"


def page(name: str) -> Path:
    return PAGES / (name.lower().replace(" ", "-") + ".md")
