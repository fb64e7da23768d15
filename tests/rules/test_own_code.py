"""Whose code a row is: one answer in every run of a program, and that of its author."""

import pytest

from recording import Run, Workshop


WORK = """
import json, time
DATA = [{"name": "x" * 50, "numbers": list(range(20))}] * 20
def dump():
    until = time.thread_time() + 0.4
    while time.thread_time() < until:
        json.dumps(DATA, indent=1)
"""
THREADS = (
    WORK
    + """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(2) as pool:
    for future in [pool.submit(dump) for _ in range(2)]:
        future.result()
"""
)
# A package as installers leave it: a starter in `bin`, all code in site-packages, and generated methods that have no file.
STARTER = "import sys\nfrom mypkg.work import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
PACKAGE = (
    WORK
    + """
from collections import namedtuple
from dataclasses import dataclass
@dataclass
class Point:
    x: int
    y: int
Pair = namedtuple("Pair", "a b")
def main():
    for _ in range(4000): Point(1, 2), Pair(1, 2)
    dump()
"""
)


def owner_of_most(run: Run) -> tuple[str | None, str]:
    """File and function of the first row."""
    assert run.exit_code == 0, run.stderr
    row = run.report_json("--by", "function")["rows"][0]
    return row["file"].rpartition("/")[2], row["function"]


@pytest.mark.parametrize("flags", [["-c", THREADS], ["-"]], ids=["-c", "stdin"])
def test_a_program_without_a_file_owns_its_code_in_every_thread(workshop: Workshop, flags: list[str]) -> None:
    if flags == ["-"]:
        program = workshop.write("program", THREADS)
        run = workshop.run_target(["/bin/sh", "-c", f"{workshop.interpreter.path} - < {program}"])
        assert owner_of_most(run) == ("<stdin>", "dump")
    else:
        assert owner_of_most(workshop.run_target([workshop.interpreter.path, *flags])) == ("<string>", "dump")


def test_what_is_timed_and_what_is_a_doctest_is_the_user_s(workshop: Workshop) -> None:
    timed = "import json; d = [{'n': list(range(20))}] * 20"
    run = workshop.run_target([workshop.interpreter.path, "-m", "timeit", "-n", "2000", "-r", "2", "-s", timed, "json.dumps(d, indent=1)"])
    assert owner_of_most(run) == ("<timeit-src>", "inner")
    text = workshop.write("example.txt", ">>> import json\n>>> for _ in range(2000): s = json.dumps([list(range(20))] * 50, indent=1)\n")
    file, function = owner_of_most(workshop.run_target([workshop.interpreter.path, "-m", "doctest", text]))
    assert (file.startswith("<doctest example.txt"), function) == (True, "<module>")


@pytest.mark.parametrize("folder", ["venv/bin", "tools/bin"])
def test_an_installed_program_owns_its_package(workshop: Workshop, folder: str) -> None:
    """Methods that have no file and were seen once or twice change nothing."""
    outside = workshop.place.outside
    (outside / folder).mkdir(parents=True)
    (outside / "lib/site-packages/mypkg").mkdir(parents=True)
    starter = workshop.write(f"{folder}/mypkg", STARTER)
    workshop.write("lib/site-packages/mypkg/__init__.py", "")
    workshop.write("lib/site-packages/mypkg/work.py", PACKAGE)
    environment = {"PYTHONPATH": f"{workshop.place.inside}/lib/site-packages"}
    run = workshop.run_target([workshop.interpreter.path, starter], environment=environment)
    assert owner_of_most(run) == ("work.py", "dump")


def test_a_script_in_a_bin_folder_of_the_user_s(workshop: Workshop) -> None:
    (workshop.place.outside / "project/bin").mkdir(parents=True)
    workshop.write("project/bin/helper.py", WORK)
    tool = workshop.write("project/bin/tool", "import json, time\nimport helper\nuntil = time.thread_time() + 0.4\nwhile time.thread_time() < until:\n    json.dumps(helper.DATA, indent=1)\nhelper.dump()\n")
    run = workshop.run(tool)
    assert run.exit_code == 0, run.stderr
    rows = {row["file"].rpartition("/")[2]: row["share"] for row in run.report_json("--by", "module")["rows"] if row["file"]}
    assert rows["tool"] > 0.25 and rows["helper.py"] > 0.25, rows


def test_importing_in_processes_side_by_side_is_no_start_up(workshop: Workshop) -> None:
    """Each of them imports for a moment and works for much longer."""
    run = workshop.run(
        workshop.write(
            "spawned.py",
            """
import multiprocessing, time
def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until: sum(range(1000))
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(6) as pool:
        pool.map(work, [0.4] * 6, 1)
        pool.close()
        pool.join()
""",
        )
    )
    assert run.exit_code == 0, run.stderr
    assert run.report_json()["verdict"]["name"] != "start-up", run.report()


# As `pip install --target deps` leaves it, with a module of the user's own beside the package.
BUNDLED = WORK.replace("def dump", "def spend")
LIST = "thing/__init__.py,sha256=xyz,300\nthing-1.0.dist-info/RECORD,,\n"


def test_a_bundled_package_is_not_the_users_own(workshop: Workshop) -> None:
    for folder in ("deps/thing", "deps/thing-1.0.dist-info"):
        (workshop.place.outside / folder).mkdir(parents=True)
    workshop.write("deps/thing/__init__.py", BUNDLED)
    workshop.write("deps/thing-1.0.dist-info/RECORD", LIST)
    workshop.write("deps/handler.py", "import thing\n\ndef handle():\n    thing.spend()\n")
    program = workshop.write("app.py", "import handler\nhandler.handle()\n")
    run = workshop.run(program, environment={"PYTHONPATH": f"{workshop.place.inside}/deps"})
    assert owner_of_most(run) == ("handler.py", "handle")
    files = {frame["file"].rpartition("/deps/")[2]: frame["owner"] for frame in run.profile()["frames"] if "/deps/" in (frame["file"] or "")}
    assert files == {"thing/__init__.py": "library", "handler.py": "user"}
