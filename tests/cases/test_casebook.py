"""Each page of the casebook, run as `make case` runs it: all commands end well, and show what the page says."""

import os
import re
import select
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import interpreters
from interpreters import Interpreter
from places import make_place
from recording import REPOSITORY, Place, binary
from runs_on import EVERYWHERE, ONE

RUNNER = REPOSITORY / "make/case.py"
CASES = sorted(page.parent.name for page in REPOSITORY.glob("casebook/*/README.md"))
# Those of a few seconds. `make test-all` runs all, on all versions.
QUICK = ("json-ascii", "mask")
# Twice what a case has: its two minutes are those of one machine, which `make case` and `make casebook` hold it to, and others are up to twice as slow.
# A try that others took the CPU from does not count.
SECONDS_MAX = 240
# These run beside a server, which is the same for all CPythons.
WITH_SERVER = ("chunk-pull", "orm")
# In the folder of the Debian sid is what its CPythons need, and little more.
NOT_IN_SID = {
    "json-errors": "there is no Go in the Debian sid",
    "utf8-copy": "there is no compiler in the Debian sid, and no wrk",
}
# The page `clock` names the kernel's clock source. For this command alone: other tests in that folder go without.
WITH_SYS = 'mount --bind /sys "$0/sys" && exec "$@"'
# Their proofs need what an earlier command of the page made: a library, a database.
WITH_PARTS_MADE_BEFORE = ("orm", "utf8-copy")
# A page is read over slow networks, too.
PICTURE_BYTES_MAX = 200_000
# Exit code of a case that is for other versions, or that needs what is not here.
CANNOT_RUN = 2
# What make/case.py says of a command that is missing: for the whole case, or for one step.
LACKS = re.compile(r"^(?:case \S+ cannot run here|skipped): .*hint: apt-get install (\S+)$", re.MULTILINE)
# Counts its own runs, and fails where an earlier one left its folder.
COUNTED = "n=$(cat casebook/n 2> /dev/null); echo x$n > casebook/n; mkdir made && echo tries x$n"


def case(name: str, *options: str, runner: str = str(RUNNER)) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, runner, name, "--genba", str(binary()), "--seconds", str(SECONDS_MAX), *options], capture_output=True, text=True)


def case_at(place: Place, name: str, runner: str) -> subprocess.CompletedProcess[str]:
    """A CPython with a root of its own runs the runner, too, in there; `runner` is as that CPython sees it."""
    python = place.interpreter
    if python.root is None:
        return case(name, "--python", python.path, runner=runner)
    options = ["--genba", place.genba_inside, "--python", python.path, "--seconds", str(SECONDS_MAX)]
    command = ["unshare", "--mount", "sh", "-c", WITH_SYS, str(python.root), *place.command([python.path, runner, name, *options])]
    return subprocess.run(command, env=place.environment({}), capture_output=True, text=True)


def take_packages(place: Place, name: str) -> None:
    """Files of Debian's packages that the case has unpacked on the machine (make/case.py). Where it has not, it downloads them."""
    page = (REPOSITORY / f"casebook/{name}/README.md").read_text()
    wanted = re.search(r"^<!-- case needs: (?:.*; )?packages ([^;\n]+?)(?:;.*)? -->$", page, re.MULTILINE)
    unpacked = f"build/cases/debian_{wanted[1].replace(' ', '_')}" if wanted else ""
    there = place.outside.parent / unpacked
    if wanted and (REPOSITORY / unpacked).exists() and not there.exists():
        shutil.copytree(REPOSITORY / unpacked, there, symlinks=True)


def not_brought(done: subprocess.CompletedProcess[str]) -> list[str]:
    """In `make test`: packages that are missing, of which make/prepare.sh does not say why."""
    if os.environ.get("GENBA_GATE") != "1":
        return []
    words = interpreters.NOT_HERE.read_text() if interpreters.NOT_HERE.exists() else ""
    return [package for package in LACKS.findall(done.stdout + done.stderr) if package not in re.findall(r"[\w.+-]+", words)]


@pytest.mark.parametrize("name", CASES)
def test_the_page_is_true(python: Interpreter, name: str, request: pytest.FixtureRequest) -> None:
    if name not in QUICK and not EVERYWHERE:
        pytest.skip("make test-all: the quick cases stand for all")
    if name in WITH_SERVER and python.name not in ONE:
        pytest.skip("the server beside it is the same for all CPythons")
    if python.root is not None and name in NOT_IN_SID:
        pytest.skip(NOT_IN_SID[name])
    place = make_place(python, request, "case")
    if python.root is not None:
        take_packages(place, name)
    done = case_at(place, name, f"{place.repository_inside}/make/case.py")
    # A step whose command the sid lacks is left out there.
    assert python.root is not None or not_brought(done) == []
    if done.returncode == CANNOT_RUN:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_case_is_in_the_index() -> None:
    listed = re.findall(r"^\| \[([\w-]+)\]\(\1/README\.md\)", (REPOSITORY / "casebook/README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == CASES


def test_the_index_has_the_time_of_each_case_and_the_sum() -> None:
    index = (REPOSITORY / "casebook/README.md").read_text()
    took = dict(re.findall(r"^\| \[([\w-]+)\].* \| <!-- took \1 -->(\d+) s<!-- --> \| ", index, re.MULTILINE))
    assert sorted(took) == CASES, "make casebook UPDATE=1"
    ((minutes, seconds),) = re.findall(r"<!-- all -->(\d+) min (\d+) s<!-- -->", index)
    assert 60 * int(minutes) + int(seconds) == sum(map(int, took.values()))


def test_a_case_is_found_by_its_symptom() -> None:
    _, by_symptom = (REPOSITORY / "casebook/README.md").read_text().split("## By symptom")
    assert sorted(set(re.findall(r"\[([\w-]+)\]\(\1/README\.md\)", by_symptom))) == CASES


def test_a_page_has_all_parts() -> None:
    """Each begins a paragraph."""
    for name in CASES:
        page = (REPOSITORY / f"casebook/{name}/README.md").read_text()
        parts = re.findall(r"\n\n\*\*([^*]+)\.\*\*", page)
        assert parts == ["Symptom", "What other tools show", "What genba shows", "The cause", "The fix", "The proof"], name


@pytest.mark.parametrize("name", CASES)
def test_a_page_has_a_picture(name: str) -> None:
    """One, which `make pictures` can make anew, with words for those who do not see it."""
    folder = REPOSITORY / "casebook" / name
    page = (folder / "README.md").read_text()
    (height, says, file), = re.findall(r"^<!-- picture: \w+ \w+ (\d+): .*genba run .*-o picture\.genba .* -->\n!\[(.+)\]\((.+\.png)\)\n", page, re.MULTILINE)
    assert len(says.split()) > 8, says
    assert page.count("![") == 1 and [path.name for path in folder.glob("*.png")] == [file]
    picture = (folder / file).read_bytes()
    assert picture.startswith(b"\x89PNG") and len(picture) <= PICTURE_BYTES_MAX, len(picture)
    # As its mark asks for: an older one may show something else.
    pixels_wide, pixels_high = struct.unpack(">II", picture[16:24])
    assert pixels_wide == 1000 and pixels_high <= int(height)


@pytest.mark.parametrize("name", CASES)
def test_a_page_s_own_screens_show_what_it_says(name: str) -> None:
    """So do the figures in its text. Nothing is run."""
    done = case(name, "--look")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", CASES)
def test_a_proof_names_the_winner(name: str) -> None:
    _, proof = (REPOSITORY / f"casebook/{name}/README.md").read_text().split("**The proof.**")
    asked = re.findall(r"^shows[^:\n]*: (.+)$", proof, re.MULTILINE)
    assert any(re.search(r"fixed\\?\.py.*slow\\?\.py|slow\\?\.py.*fixed\\?\.py", pattern) for pattern in asked), asked


def exchanged(name: str, root: Path) -> Path:
    """The case with its programs exchanged, each with its own arguments, and of its page the proofs and what they need. Gives the runner beside it."""
    folder = root / "casebook" / name
    page = (REPOSITORY / f"casebook/{name}/README.md").read_text()
    proofs = "".join(re.findall(r"^<!-- case: genba bench[^\n]*/slow\.py.*?^-->\n", page, re.MULTILINE | re.DOTALL))
    shutil.copytree(REPOSITORY / "casebook" / name, folder, ignore=shutil.ignore_patterns("__pycache__"))
    path = shutil.copytree(folder, folder / "as_it_was")
    for here, there in (("slow", "fixed"), ("fixed", "slow")):
        arguments = re.search(rf"/{there}\.py([^'\n]*)", proofs)[1].split()
        changed = f"sys.path.insert(0, '{path}')\nsys.argv[1:] = {arguments}\n"
        (folder / f"{here}.py").write_text(f"import runpy, sys\n\n{changed}runpy.run_path('{path}/{there}.py', run_name='__main__')\n")
    wanted = re.search(r"^<!-- case needs: .*\n", page, re.MULTILINE)
    (folder / "README.md").write_text((wanted[0] if wanted else "") + proofs)
    (root / "make").mkdir()
    (root / "python").symlink_to(REPOSITORY / "python")
    # Packages that were unpacked for the page itself.
    (REPOSITORY / "build").mkdir(exist_ok=True)
    (root / "build").symlink_to(REPOSITORY / "build")
    return Path(shutil.copy(RUNNER, root / "make"))


@pytest.mark.parametrize("name", CASES)
def test_exchanged_programs_prove_nothing(python: Interpreter, name: str, tmp_path: Path) -> None:
    page = (REPOSITORY / f"casebook/{name}/README.md").read_text()
    if python.name not in ONE:
        pytest.skip("the runner's affair, no CPython's")
    if name in WITH_PARTS_MADE_BEFORE:
        pytest.skip("an earlier command of the page makes what its proof needs")
    if "<!-- case: genba bench" not in page.split("**The proof.**")[1]:
        pytest.skip("it proves otherwise than by times")
    done = case(name, "--python", python.path, runner=str(exchanged(name, tmp_path)))
    assert not_brought(done) == []
    if done.returncode == CANNOT_RUN:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"{name}/fixed\\.py" in done.stderr and "exit code" not in done.stderr, done.stdout + done.stderr


@pytest.fixture
def made(tmp_path_factory: pytest.TempPathFactory):
    """A casebook of one page, with the runner beside it."""
    root = tmp_path_factory.mktemp("repository")
    (root / "make").mkdir()
    (root / "make/case.py").write_text(RUNNER.read_text())
    (root / "casebook/one").mkdir(parents=True)

    def write(text: str):
        page = root / "casebook/one/README.md"
        page.write_text(text)
        return lambda *options: case("one", *options, runner=str(root / "make/case.py")), page

    return write


def test_what_is_not_shown_any_more_fails(made) -> None:
    run, _ = made("<!-- case: echo one; echo two\nshows: ^two$\nshows: ^three$\n-->\n")
    done = run()
    assert done.returncode == 1
    assert "error: one: not shown any more: ^three$" in done.stderr and "^two$" not in done.stderr


def test_bounds(made) -> None:
    """Of a number, and of a quotient; on the versions that are named."""
    run, _ = made("<!-- case: echo '2,100 of 700 and 5'\nshows 2.9 to 3.1: ^([\\d,]+) of (\\d+)\nshows 5 to 5: and (\\d+)$\nshows on 3.1 1 to 2: nowhere (\\d)\n-->\n")
    assert run().returncode == 0
    run, _ = made("<!-- case: echo '2,100 of 700 and 5'\nshows 3.1 to 9: ^([\\d,]+) of (\\d+)\nshows 6 to 7: and (\\d+)$\nshows 1 to 2: nowhere (\\d)\n-->\n")
    done = run()
    assert done.returncode == 1
    assert "not from 3.1 to 9, but 3: ^([\\d,]+) of (\\d+)" in done.stderr
    assert "not from 6 to 7, but 5: and" in done.stderr and "not from 1 to 2, but nowhere: nowhere" in done.stderr


def test_figures_in_the_text_are_taken_from_the_screens(made) -> None:
    step = "<!-- case: echo 12 of 8\n-->\n```console\n$ echo 12 of 8\nold\n```\n"
    run, page = made(step + "It is <!-- taken: (\\d+) of (\\d+) -->0<!-- -->, <!-- taken: ^(\\d+) of -->0<!-- -->.\n")
    looked = run("--look")
    assert looked.returncode == 1 and "a figure of the text is 0, and the screens have none" in looked.stderr
    assert run("--update").returncode == 0 and run("--look").returncode == 0
    assert "It is <!-- taken: (\\d+) of (\\d+) -->1.5<!-- -->, <!-- taken: ^(\\d+) of -->12<!-- -->." in page.read_text()
    run, _ = made("<!-- case: echo 12 of 8\n-->\n<!-- taken: none (\\d) -->0<!-- -->\n")
    done = run()
    assert done.returncode == 1 and "a figure of the text that nothing says: none (\\d)" in done.stderr


def test_a_step_that_lacks_a_command_is_left_out(made) -> None:
    lacks = "<!-- case: no-such-command\nneeds: no-such-command:no-package\nshows: two\n-->\n```console\n$ no-such-command\none\ntwo\n```\n"
    text = lacks + "<!-- case: echo here\nneeds: sh:dash\nshows: here\n-->\n"
    run, page = made(text)
    done = run("--update")
    assert done.returncode == 0 and "skipped: no-such-command is missing; hint: apt-get install no-package" in done.stdout
    assert page.read_text() == text


def test_the_time_of_each_case(made) -> None:
    _, page = made("<!-- case: echo one\n-->\n")
    shutil.copytree(page.parent, page.parent.parent / "two")
    index = page.parents[1] / "README.md"
    index.write_text("<!-- took one --><!-- -->, <!-- took two -->70 s<!-- -->, all <!-- all -->an hour<!-- --> here.\n")
    runner = str(page.parents[2] / "make/case.py")
    assert case("one", "--update", runner=runner).returncode == 0
    assert re.fullmatch(r"<!-- took one -->\d s<!-- -->, <!-- took two -->70 s<!-- -->, all <!-- all -->1 min 1\d s<!-- --> here\.\n", index.read_text())
    done = subprocess.run([sys.executable, page.parents[2] / "make/case.py", "one", "two", "--update"], capture_output=True, text=True)
    assert re.search(r"^ +\d+\.\d s  one\n +\d+\.\d s  two\n +\d+\.\d s  all 2 cases$", done.stdout, re.MULTILINE), done.stdout
    assert re.fullmatch(r"<!-- took one -->\d s<!-- -->, <!-- took two -->\d s<!-- -->, all <!-- all -->0 min \d+ s<!-- --> here\.\n", index.read_text())


def test_all_cases_have_so_much_time(made) -> None:
    """A part of them has no such limit."""
    _, page = made("<!-- case: sleep 0.2\n-->\n")
    shutil.copytree(page.parent, page.parent.parent / "two")
    command = [sys.executable, page.parents[2] / "make/case.py", "--all-seconds", "0.3"]
    done = subprocess.run([*command, "one", "two"], capture_output=True, text=True)
    assert done.returncode == 1 and re.search(r"^error: all 2 cases took \d+\.\d s, more than 0\.3 s$", done.stderr, re.MULTILINE), done.stderr
    shutil.copytree(page.parent, page.parent.parent / "three")
    done = subprocess.run([*command, "one", "two"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_command_that_fails(made) -> None:
    run, _ = made("<!-- case: echo said; false\n-->\n")
    done = run()
    assert (done.returncode, "exit code 1: echo said; false" in done.stderr) == (1, True)


def test_a_command_that_tells_something_by_its_exit_code(made) -> None:
    run, page = made("<!-- case: echo said; exit 1\nneeds: sh:dash\nends: 0 1\nshows: said\n-->\n```console\n$ echo said; exit 1\nold\n```\n")
    assert run("--update").returncode == 0 and "\nends: 0 1\n" in page.read_text() and "\nsaid\n```\n" in page.read_text()
    run, _ = made("<!-- case: exit 2\nends: 0 1\n-->\n")
    done = run()
    assert (done.returncode, "exit code 2: exit 2" in done.stderr) == (1, True), done.stderr


def test_a_command_that_is_not_done_in_time_leaves_nothing_running(made) -> None:
    run, page = made("<!-- case: sleep 600 & echo $! > casebook/pid; wait\n-->\n")
    done = run("--seconds", "3")
    assert (done.returncode, "not done within the 3 s of a case: sleep 600" in done.stderr) == (1, True), done.stderr
    try:
        ended, _, _ = select.select([os.pidfd_open(int((page.parent.parent / "pid").read_text()))], [], [], 30)
    except ProcessLookupError:
        return
    assert ended


@pytest.mark.parametrize("sign", ["1,444 involuntary", "4 voluntary, 321 involuntary", "noise: two equal commands seem up to 17.9 % apart", "ticks 4,361 = sampled 1,361 + dropped 3,000"])
def test_a_command_on_a_disturbed_machine_is_run_again(made, sign: str) -> None:
    """By what genba says of the machine. The command finds its folder as before: what it made is gone."""
    run, page = made(f"<!-- case: {COUNTED}; echo '{sign}'\nshows: xxx$\n-->\n")
    assert run().returncode == 0
    assert (page.parent.parent / "n").read_text() == "xxx\n"


def test_a_screen_of_a_disturbed_machine_is_made_again(made) -> None:
    run, page = made(f"<!-- case: {COUNTED}; echo '1,444 involuntary'\nshows: x\n-->\n```console\n$ x\nx\n```\n")
    assert run().returncode == 0
    assert (page.parent.parent / "n").read_text() == "x\n"
    (page.parent.parent / "n").unlink()
    assert run("--update").returncode == 0
    assert (page.parent.parent / "n").read_text() == "xxx\n"


def in_turn(*said: str) -> str:
    """A command that says one more of these each time, and leaves it in the file `made`."""
    words = " ".join(f"'{one}'" for one in said)
    return f"n=$(cat casebook/n 2> /dev/null || echo 0); echo $((n + 1)) > casebook/n; said=({words}); mkdir kept; echo ${{said[n]}} | tee kept/made"


def test_of_tries_that_were_all_disturbed_the_quietest_counts(made) -> None:
    """With the files that it left: later commands read them. Somebody should know."""
    step = f"<!-- case: {in_turn('1,444 involuntary', '212 involuntary', '555 involuntary')}\nshows: involuntary\n-->\n```console\n$ old\n```\n"
    run, page = made(step + "<!-- case: cat kept/made\n-->\n```console\n$ cat kept/made\n```\n")
    done = run("--update")
    assert done.returncode == 0, done.stderr
    assert "warning: one: others took the CPU from each of 3 tries; in the quietest: 212 involuntary switches\n  by: n=" in done.stderr
    assert "kept/made\n212 involuntary\n```\n<!-- case: cat" in page.read_text() and "$ cat kept/made\n212 involuntary\n```\n" in page.read_text()


def test_a_quieter_try_that_shows_less_does_not_count(made) -> None:
    signs = ("noise: two equal commands seem up to 9.1 % apart", "noise: two equal commands seem up to 30.5 % apart, two", "noise: two equal commands seem up to 60.2 % apart, two")
    run, page = made(f"<!-- case: {in_turn(*signs)}\nshows: two$\n-->\n```console\n$ old\n```\n")
    done = run("--update")
    assert done.returncode == 0 and "in the quietest: a noise of 30.5 %\n" in done.stderr, done.stderr
    assert f"\n{signs[1]}\n```\n" in page.read_text()


def test_a_quiet_try_ends_without_a_warning(made) -> None:
    run, page = made(f"<!-- case: {in_turn('1,444 involuntary', '12 involuntary')}\n-->\n```console\n$ old\n```\n")
    done = run("--update")
    assert (done.returncode, done.stderr) == (0, "") and "\n12 involuntary\n```\n" in page.read_text()


@pytest.mark.parametrize("sign", ["12 involuntary", "2,156 voluntary, 550 involuntary", "noise: two equal commands seem up to 4.9 % apart", "ticks 4,361 = sampled 4,300 + dropped 61"])
def test_a_command_on_a_quiet_machine_is_run_once(made, sign: str) -> None:
    run, page = made(f"<!-- case: {COUNTED}; echo '{sign}'\nshows: xxx$\n-->\n")
    assert run().returncode == 1
    assert (page.parent.parent / "n").read_text() == "x\n"


@pytest.mark.parametrize(("sign", "runs"), [("noise: two equal commands seem up to 33.2 % apart", "x\n"), ("4 voluntary, 321 involuntary", "xxx\n")])
def test_noise_that_a_program_makes_itself_says_nothing_of_the_machine(made, sign: str, runs: str) -> None:
    """Other signs count as for each command."""
    run, page = made(f"<!-- case: {COUNTED}; echo '{sign}'\nnoise: its own\n-->\n```console\n$ old\n```\n")
    assert run("--update").returncode == 0
    assert (page.parent.parent / "n").read_text() == runs and "\nnoise: its own\n" in page.read_text()


def test_an_update_puts_the_output_into_the_page(made) -> None:
    run, page = made("Before.\n<!-- case: echo new\nshows: new\n-->\n```console\n$ echo old\nold\n```\nAfter.\n<!-- case: echo unseen\n-->\n")
    assert run().returncode == 0 and "old" in page.read_text()
    assert run("--update").returncode == 0
    assert page.read_text() == "Before.\n<!-- case: echo new\nshows: new\n-->\n```console\n$ echo new\nnew\n```\nAfter.\n<!-- case: echo unseen\n-->\n"


def test_what_it_needs_is_said(made) -> None:
    run, _ = made("<!-- case needs: debian no-such-command:no-package -->\n<!-- case: echo one\n-->\n")
    assert run().returncode == CANNOT_RUN and "no-such-command is missing; hint: apt-get install no-package" in run().stderr
    run, _ = made("<!-- case needs: until 3.10 -->\n<!-- case: echo one\n-->\n")
    assert run().returncode == CANNOT_RUN and "for CPython until 3.10" in run().stderr


def test_what_is_missing_without_a_reason_fails_in_make_test(made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A case, and a step. The reason is make/prepare.sh's; elsewhere a test is skipped."""
    run, _ = made("<!-- case needs: debian no-such-command:no-package -->\n<!-- case: echo one\n-->\n")
    done = run()
    run, _ = made("<!-- case: echo one\nneeds: no-such-command:no-package\n-->\n")
    of_a_step = run()
    run, _ = made("<!-- case: echo 'hint: apt-get install another'\n-->\n")
    not_here = tmp_path / "not-here"
    monkeypatch.setattr(interpreters, "NOT_HERE", not_here)
    monkeypatch.setenv("GENBA_GATE", "1")
    assert not_brought(done) == not_brought(of_a_step) == ["no-package"] and not_brought(run()) == []
    not_here.write_text("missing and not installed, because only root can: strace no-package; what needs them is skipped with a message\n")
    assert not_brought(done) == []
    not_here.write_text("no-package-at-all is missing\n")
    assert not_brought(done) == ["no-package"]
    monkeypatch.delenv("GENBA_GATE")
    assert not_brought(done) == []


def test_without_pyenv_a_case_takes_the_interpreter_that_runs_it(made, tmp_path: Path) -> None:
    """A reader's machine: each case runs from a clone, whatever Python is there."""
    _, page = made("<!-- case: readlink -f $(command -v python)\n-->\n")
    runner = page.parents[2] / "make/case.py"
    done = subprocess.run([sys.executable, runner, "one"], env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 0 and f"\n{Path(sys.executable).resolve()}\n" in done.stdout, done.stdout + done.stderr
    pyenv = tmp_path / ".pyenv/versions"
    for version in ("3.13.9", "3.13.10"):
        (pyenv / version / "bin").mkdir(parents=True)
        (pyenv / version / "bin/python3").write_text(f"#!/bin/sh\nexec {sys.executable} \"$@\"\n")
        (pyenv / version / "bin/python3").chmod(0o755)
    done = subprocess.run([sys.executable, runner, "one"], env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 0 and f"\n{pyenv / '3.13.10/bin/python3'}\n" in done.stdout, done.stdout + done.stderr


def test_a_picture_that_cannot_be_made(made) -> None:
    run, _ = made("<!-- case: echo one\n-->\n")
    done = run("--picture")
    assert done.returncode == CANNOT_RUN and "no mark `<!-- picture: " in done.stderr and "one" not in done.stdout
    run, page = made("<!-- picture: flame cpu 380: echo why; false -->\n![Boxes](flame.png)\n")
    done = run("--picture")
    assert (done.returncode, "exit code 1: echo why; false\nwhy" in done.stderr) == (1, True), done.stderr
    assert not (page.parent / "flame.png").exists()


def test_a_case_that_is_none() -> None:
    done = case("nothing")
    assert done.returncode == CANNOT_RUN and "no case nothing; there are: bytes-slice," in done.stderr
