"""make/screens.py: which marks it knows, and what it puts between them. A script takes the place of genba."""

import importlib.util
import re
from pathlib import Path

import pytest

from recording import REPOSITORY

SPEC = importlib.util.spec_from_file_location("screens", REPOSITORY / "make/screens.py")
screens = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(screens)

# Counts its calls in a file beside it, and has less noise each time.
GENBA = """#!/bin/sh
echo >> "$0.calls"
n=$(wc -l < "$0.calls")
if [ "$1" = doctor ]; then
    printf 'this machine\\n  ok  kernel\\n  ok  heat\\n  slow  quota  COLUMNS=%s\\n' "$COLUMNS"
    exit 1
fi
for word; do echo "[$word]"; done
echo "COLUMNS=$COLUMNS python=$(command -v python)"
echo "  noise: two equal commands seem up to $((12 - 4 * n)).0 % apart here"
[ "$2" != fails ]
"""


@pytest.fixture
def genba(tmp_path: Path) -> str:
    script = tmp_path / "genba"
    script.write_text(GENBA)
    script.chmod(0o755)
    return str(script)


def python(folder: Path) -> str:
    (folder / "bin").mkdir()
    for name in ("python", "python3"):
        (folder / "bin" / name).write_text("#!/bin/sh\n")
        (folder / "bin" / name).chmod(0o755)
    return str(folder / "bin/python3")


def made(genba: str, python: str, mark: str) -> str:
    page = f"Before.\n{screens.BEGIN}{mark} -->\n```console\nold\n```\n{screens.END}After.\n"
    return screens.SCREEN.sub(lambda found: screens.of_mark(genba, python, found), page)


def test_a_bench_shows_its_own_screen(genba: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screens.Path, "home", lambda: Path("/home/of/nobody"))
    monkeypatch.setattr(screens, "TRIES", 3)
    interpreter = python(tmp_path)
    command = "genba bench --py 'b[i:]' --setup 'b = 1; i = 7'"
    page = made(genba, interpreter, command)
    # The second run is quiet enough: there is no third one.
    shown = f"[bench]\n[--py]\n[b[i:]]\n[--setup]\n[b = 1; i = 7]\nCOLUMNS={screens.COLUMNS} python={tmp_path}/bin/python\n"
    shown += "  noise: two equal commands seem up to 4.0 % apart here\n"
    assert page == f"Before.\n{screens.BEGIN}{command} -->\n```console\n$ {command}\n{shown}```\n{screens.END}After.\n"
    # What was put there is found again.
    assert len(screens.SCREEN.findall(page)) == 1
    with pytest.raises(AssertionError, match="ended with 1"):
        made(genba, interpreter, "genba bench fails")


def test_lines_that_are_chosen(genba: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    page = made(genba, python(tmp_path), r"genba doctor; lines: ^\S|quota")
    # No line is broken.
    assert "```console\n$ genba doctor\nthis machine\n…\n  slow  quota  COLUMNS=\n```\n" in page, page
    assert rf"{screens.BEGIN}genba doctor; lines: ^\S|quota -->" in page


def script(path: Path, lines: str) -> str:
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(0o755)
    return str(path)


def test_a_command_that_runs_before(tmp_path: Path) -> None:
    keeps = script(tmp_path / "genba", 'if [ "$2" = --against ]; then cat "$3"; ls Makefile; else echo "$4" > "$3"; fi')
    mark = "genba bench --against old.json 'b; c'; after: genba bench --export-json old.json 'a; b'"
    page = made(keeps, python(tmp_path), mark)
    shown = "$ genba bench --export-json old.json 'a; b'\n$ genba bench --against old.json 'b; c'\na; b\nMakefile\n"
    assert page == f"Before.\n{screens.BEGIN}{mark} -->\n```console\n{shown}```\n{screens.END}After.\n"
    assert not (REPOSITORY / "old.json").exists()


def test_a_program_that_runs_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/of/nobody")
    doctor = script(tmp_path / "genba", 'kill -0 "$2" && printf "process %s\\nit has files\\nit has $HOME/files\\n" "$2"')
    waits = script(tmp_path / "waits", "echo ready\nexec sleep 600")
    page = made(doctor, python(tmp_path), f"genba doctor $!; beside: {waits}; lines: process")
    found = re.search(re.escape(f"```console\n$ {waits} &\n$ genba doctor $!\nprocess ") + r"(\d+)\n…\n```\n", page)
    assert found and not Path(f"/proc/{found[1]}").exists(), page
    page = made(doctor, str(tmp_path / "bin/python3"), f"genba doctor $!; beside: {waits}")
    assert "it has ~/files\n```\n" in page and "nobody" not in page, page
    with pytest.raises(AssertionError, match="ended before it was ready"):
        made(doctor, str(tmp_path / "bin/python3"), "genba doctor $!; beside: true")


# Each run has lost fewer ticks than the one before.
RECORDS = """echo >> "$0.calls"
n=$(wc -l < "$0.calls")
case $1 in
    run) echo "$n" > app.genba; echo "of $*, COLUMNS=$COLUMNS" >&2; echo "recorded app.genba, next: genba view app.genba" >&2; echo printed ;;
    report) printf '{"accounting": {"ticks": 100, "sampled": %d}}' "$((60 + 10 * $(cat "$2")))" ;;
esac"""


def test_what_a_run_prints_at_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screens.Path, "home", lambda: Path("/home/of/nobody"))
    monkeypatch.setattr(screens, "TRIES", 2)
    interpreter = python(tmp_path)
    page = made(script(tmp_path / "genba", RECORDS), interpreter, "genba run app.py")
    shown = f"of run --python {interpreter} app.py, COLUMNS={screens.COLUMNS}\nrecorded app.genba, next: genba view app.genba\n"
    assert page == f"Before.\n{screens.BEGIN}genba run app.py -->\n```console\n$ genba run app.py\n{shown}```\n{screens.END}After.\n"
    assert len(screens.SCREEN.findall(page)) == 1 and not (REPOSITORY / "app.genba").exists()
    # A report in place of what the run prints is none of its lines.
    with pytest.raises(AssertionError, match="it prints its own screen"):
        made(str(tmp_path / "genba"), interpreter, "genba run app.py; genba report --limit 2")
    with pytest.raises(AssertionError, match="genba run app.py: 1\nno such program"):
        made(script(tmp_path / "fails", "echo no such program >&2; exit 1"), interpreter, "genba run app.py")


def test_marks_of_a_recording_are_as_they_were() -> None:
    (found,) = screens.SCREEN.finditer(f"{screens.BEGIN}genba run --quiet app.py; genba report --limit 2 -->\nold\n{screens.END}")
    assert (found["alone"], found["run"], found["read"]) == (None, "genba run --quiet app.py", "genba report --limit 2")


def test_each_mark_is_known_and_its_page_is_made() -> None:
    made_by_default = {REPOSITORY / page for page in screens.PAGES} | set((REPOSITORY / "docs/verdicts").glob("*.md"))
    for page in [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")]:
        text = page.read_text()
        assert text.count(screens.BEGIN) == len(screens.SCREEN.findall(text)), page
        assert screens.BEGIN not in text or page in made_by_default, page


@pytest.mark.parametrize("name", ["bench", "doctor"])
def test_all_screens_of_these_pages_are_made(name: str) -> None:
    text = (REPOSITORY / f"docs/{name}.md").read_text()
    commands = re.findall(r"^\$ (.+)$", text, re.MULTILINE)
    made = [line for found in screens.SCREEN.finditer(text) for line in screens.typed(found)]
    assert commands == made and text.count("```console\n") == text.count(screens.BEGIN) >= 2, commands
