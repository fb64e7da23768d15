"""`genba bench` beside hyperfine 1.15: what its README types, its options, and the files that it writes."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from recording import binary, genba
from test_measured_in_turns import exported

# README of hyperfine, with commands that end soon: option by option, what must have run.
OF_HYPERFINE: dict[str, list[str]] = {
    "--runs 2|sleep 0.003": ["sleep 0.003"],
    "--runs 2|od file|cat file": ["od file", "cat file"],
    "--warmup 1 --runs 2|grep -R word *": ["grep -R word *"],
    "--runs 2 --prepare sync|grep -R word *": ["grep -R word *"],
    "--runs 2 --prepare true --parameter-scan n 1 3|seq {n}": ["seq 1", "seq 2", "seq 3"],
    "--runs 2 --parameter-scan delay 0.003 0.007 -D 0.002|sleep {delay}": ["sleep 0.003", "sleep 0.005", "sleep 0.007"],
    "--runs 2 -L tool grep,egrep|{tool} -c word file": ["grep -c word file", "egrep -c word file"],
    "--runs 2 --shell bash|for i in {1..10}; do echo test; done": ["for i in {1..10}; do echo test; done"],
    "--runs 2 -N|grep word file": ["grep word file"],
    "--runs 2 --shell=none|grep word file": ["grep word file"],
    "--runs 2|my_function() { sleep 0.001; }; my_function": ["my_function() { sleep 0.001; }; my_function"],
    "-m 2 -M 3 -i -u second --style basic --output pipe|exit 3": ["exit 3"],
    # Hidden in both: without it there were hundreds of runs.
    "-m 2 --min-benchmarking-time 0.001|sleep 0.003": ["sleep 0.003"],
    "-r 2 -s true -c true -n named --show-output|true": ["named"],
}


@pytest.mark.parametrize("line", OF_HYPERFINE)
def test_what_hyperfines_readme_types(line: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("word\n")
    options, *commands = line.split("|")
    page = exported(tmp_path, *options.split(), *commands)
    assert [result["command"] for result in page["results"]] == OF_HYPERFINE[line]
    for result in page["results"]:
        assert 2 <= len(result["times"]) <= 3 and len(result["exit_codes"]) == len(result["times"]), result
        assert result["min"] <= result["median"] <= result["max"] and result["min"] <= result["mean"] <= result["max"], result


def with_hyperfine(*words: str, folder: Path) -> str:
    if shutil.which("hyperfine") is None:
        pytest.skip("hyperfine is not installed here (make/prepare.sh packages, as root)")
    version = subprocess.run(["hyperfine", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if not version.startswith("hyperfine 1.15"):
        pytest.skip(f"{version} is installed here, and not 1.15")
    return subprocess.run(["hyperfine", *words], cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("line", OF_HYPERFINE)
def test_hyperfine_itself_writes_the_same(line: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("word\n")
    options, *commands = line.split("|")
    own = exported(tmp_path, *options.split(), *commands)["results"]
    with_hyperfine("--export-json", "theirs.json", *options.split(), *commands, folder=tmp_path)
    theirs = json.loads((tmp_path / "theirs.json").read_text())["results"]
    alike = lambda results: [(one["command"], one.get("parameters") or {}, set(one["exit_codes"])) for one in results]
    assert alike(own) == alike(theirs)
    assert all(set(other) <= set(one) for one, other in zip(own, theirs)), "it has all keys of hyperfine's"


def options_of(help_text: str) -> set[str]:
    return {one for pair in re.findall(r"^ {2,8}(?:(-\w)(?:, )?)?(--[\w-]+)?", help_text, re.MULTILINE) for one in pair if one}


def test_all_options_of_hyperfine_have_their_names(tmp_path: Path) -> None:
    theirs = options_of(with_hyperfine("--help", folder=tmp_path)) - {"-V", "--version"}
    assert len(theirs) > 30 and theirs <= options_of(genba("bench", "--help").stdout), theirs


def test_tables_have_the_form_of_hyperfines(tmp_path: Path) -> None:
    words = ["-N", "-r", "2", "-u", "millisecond", "-L", "n", "1,3", "sleep 0.0{n}", "seq -s | 200000{n}"]
    for kind in ("csv", "markdown", "asciidoc", "orgmode"):
        with_hyperfine(*words, f"--export-{kind}", "theirs", folder=tmp_path)
        exported(tmp_path, *words, f"--export-{kind}", "own")
        assert form(tmp_path / "own") == form(tmp_path / "theirs") and form(tmp_path / "own").count("seq") == 2, kind


def form(table: Path) -> str:
    """Without its numbers, and without what deviates: behind a ratio hyperfine has a deviation, and genba nothing where there are two runs."""
    return re.sub(r"N ± N( \|?)$", r"N\1", re.sub(r"\d+(\.\d+)?(e-\d+)?", "N", table.read_text()), flags=re.MULTILINE)


@pytest.mark.parametrize(("style", "is_shown", "has_colour"), [
    ("auto", True, False), ("basic", True, False), ("nocolor", True, False), ("color", True, True), ("full", True, True), ("none", False, False),
])  # fmt: skip
def test_styles_are_those_of_hyperfine(style: str, is_shown: bool, has_colour: bool, tmp_path: Path) -> None:
    words = ["--style", style, "-N", "-r", "2", "true"]
    for screen in (genba("bench", *words, cwd=tmp_path).stdout, with_hyperfine(*words, folder=tmp_path)):
        assert ("Time (" in screen, "\x1b[" in screen) == (is_shown, has_colour), screen


@pytest.mark.parametrize("tool", ["genba", "hyperfine"])
def test_a_function_that_bash_exports(tool: str, tmp_path: Path) -> None:
    if tool == "hyperfine":
        with_hyperfine("--version", folder=tmp_path)
    script = 'my_function() { echo >> log; }; export -f my_function; exec "$@"'
    words = [*([str(binary()), "bench"] if tool == "genba" else ["hyperfine"]), "--shell=bash", "-r", "2", "my_function"]
    done = subprocess.run(["bash", "-c", script, "bash", *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and (tmp_path / "log").read_text() == "\n\n", done


def test_a_block_has_the_form_of_hyperfines(tmp_path: Path) -> None:
    words = ["-N", "-r", "2", "-u", "millisecond", "sleep 0.003"]
    theirs = times_of(with_hyperfine(*words, folder=tmp_path))
    assert len(theirs) == 3 and times_of(genba("bench", *words, cwd=tmp_path).stdout) == theirs


def times_of(screen: str) -> list[str]:
    """The lines of name, times and range, without numbers, and without the blanks before these."""
    lines = re.findall(r"^(?:Benchmark|  Time|  Range) .*", screen, re.MULTILINE)
    return [re.sub(r" *\d+(\.\d+)?", " N", line).rstrip() for line in lines]


def test_a_file_of_hyperfines_is_an_earlier_session(tmp_path: Path) -> None:
    words = ["-N", "-r", "2", "sleep 0.003"]
    with_hyperfine(*words, "--export-json", "theirs.json", folder=tmp_path)
    done = genba("bench", "--against", "theirs.json", *words, cwd=tmp_path)
    assert done.returncode == 0 and "1 session before" in done.stdout and "not in these files" not in done.stdout, done
