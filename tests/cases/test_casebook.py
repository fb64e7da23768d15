"""Each page of the casebook, run as `make case` runs it: all commands end well, and show what the page says."""

import re
import subprocess
import sys

import pytest

from interpreters import Interpreter
from recording import REPOSITORY, binary
from runs_on import EVERYWHERE

RUNNER = REPOSITORY / "make/case.py"
CASES = sorted(page.parent.name for page in REPOSITORY.glob("casebook/*/README.md"))
# Those of a few seconds. `make test-all` runs all, on all versions.
QUICK = ("bytes-slice", "gc-cycle", "gc-json", "json-ascii", "logger", "mask")
# Exit code of a case that is for other versions, or that needs what is not here.
CANNOT_RUN = 2


def case(name: str, *options: str, runner: str = str(RUNNER)) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, runner, name, "--genba", str(binary()), *options], capture_output=True, text=True)


@pytest.mark.parametrize("name", CASES)
def test_the_page_is_true(python: Interpreter, name: str) -> None:
    if name not in QUICK and not EVERYWHERE:
        pytest.skip("make test-all: the quick cases stand for all")
    if python.root is not None:
        pytest.skip("a case runs where the command is, and this CPython is in a folder of its own")
    done = case(name, "--python", python.path)
    if done.returncode == CANNOT_RUN:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_case_is_in_the_index() -> None:
    listed = re.findall(r"^\| \[([\w-]+)\]\(\1/README\.md\)", (REPOSITORY / "casebook/README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == CASES


def test_a_page_has_all_parts() -> None:
    for name in CASES:
        page = (REPOSITORY / f"casebook/{name}/README.md").read_text()
        parts = re.findall(r"^\*\*([^*]+)\.\*\*", page, re.MULTILINE)
        assert parts == ["Symptom", "What other tools show", "What genba shows", "The cause", "The fix", "The proof"], name


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


def test_a_command_that_fails(made) -> None:
    run, _ = made("<!-- case: echo said; false\n-->\n")
    done = run()
    assert (done.returncode, "exit code 1: echo said; false" in done.stderr) == (1, True)


def test_a_command_on_a_disturbed_machine_is_run_again(made) -> None:
    """By the involuntary switches that a bench counts. It finds its folder as before: what it made is gone."""
    counted = "n=$(cat casebook/n 2> /dev/null); echo x$n > casebook/n; mkdir made && echo tries x$n"
    run, page = made(f"<!-- case: {counted}; echo '1,444 involuntary'\nshows: xxx$\n-->\n")
    assert run().returncode == 0
    assert (page.parent.parent / "n").read_text() == "xxx\n"
    quiet, page = made(f"<!-- case: {counted}; echo '12 involuntary'\nshows: xxx$\n-->\n")
    (page.parent.parent / "n").unlink()
    assert quiet().returncode == 1
    assert (page.parent.parent / "n").read_text() == "x\n", "once"


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


def test_a_case_that_is_none() -> None:
    done = case("nothing")
    assert done.returncode == CANNOT_RUN and "no case nothing; there are: bytes-slice," in done.stderr
