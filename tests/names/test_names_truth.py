"""The C names that a recording of a stripped CPython holds, judged by the distribution's debug files, weighted by samples.

The debug files lie aside (`make prepare`), where genba does not look: what it names, it names without them. Asked for: no
wrong name; of the first C frames under Python at least FIRST_MIN with the function's own name, of all C frames at least ALL_MIN. How many can be named
depends on the build: those two hold for the builds of docs/limits.md, of another one they are figures.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from figures import Figure
from recording import REPOSITORY, Workshop
from soak import SOAK
from tried import is_tried

pytestmark = pytest.mark.measures

PROGRAM = "tests/programs/many_builtins.py"
# One call that takes a tenth of a second once (a collection, a file) must not weigh much in 22 parts.
SECONDS_A_PART = "3" if SOAK else "0.75"
FIRST_MIN = 0.94
ALL_MIN = 0.70


def debug_folder() -> Path:
    return Path(os.environ.get("GENBA_DEBUG") or Path.home() / ".cache/genba/debug")


def test_names_are_true(request: pytest.FixtureRequest, workshop: Workshop, figure: Figure) -> None:
    interpreter = workshop.interpreter
    if interpreter.root is None:
        pytest.skip(f"CPython {interpreter.minor} of pyenv is not stripped: it has its own symbols")
    if not (debug_folder() / ".build-id").is_dir():
        pytest.skip(f"no debug files in {debug_folder()} (make prepare, as root)")
    judge = request.getfixturevalue("judge")
    run = workshop.run(workshop.program(PROGRAM), SECONDS_A_PART, flags=("--rate", "1000"))
    assert run.exit_code == 0, run.stderr
    judged = judged_by(judge, run.recording, interpreter.root)
    shares = {name: share["named"] / share["frames"] for name, share in judged["shares"].items()}
    whole = judged["shares"]["all"]
    figure("first C frames under Python that have their true name", shares["first"], "share", bound=FIRST_MIN)
    figure("all C frames that have their true name", shares["all"], "share", bound=ALL_MIN)
    figure("C frames under Python that have their true name", shares["under_python"], "share")
    figure("all C frames that say whom they work for (NAME⁺)", whole["lineage"] / whole["frames"], "share")
    figure("wrong names", len(judged["wrong"]), "names", bound=0)
    of_another_build = whole["judged"] <= 0.9 * whole["frames"]
    assert judged["wrong"] == []
    if not is_tried(interpreter):
        pytest.skip(f"CPython {interpreter.version} is untried: what is named is a figure" + ("; debug files of another build" if of_another_build else ""))
    assert not of_another_build, "debug files of another build than the interpreter's (make prepare)"
    assert shares["all"] >= ALL_MIN, judged["missing"]
    assert shares["first"] >= FIRST_MIN, judged["first_missing"]


@pytest.fixture(scope="session")
def judge() -> Path:
    """Built with Rust's tests, as judge_names-HASH: another call of cargo compiles all that is below it once more. Where that was not since its sources
    changed, it is built here."""
    folder = REPOSITORY / "target/debug/examples"
    built = [path for path in folder.glob("judge_names*") if not path.suffix and os.access(path, os.X_OK)]
    newest = max(built, key=changed_ns, default=None)
    sources = [REPOSITORY / "Cargo.lock", *(REPOSITORY / "crates/cli/examples").rglob("*.rs")]
    sources += [path for crate in ("names", "format") for path in (REPOSITORY / "crates" / crate / "src").rglob("*.rs")]
    if newest is not None and changed_ns(newest) > max(map(changed_ns, sources)):
        return newest
    environment = {**os.environ, "GENBA_AGENT_LIBRARIES": str(REPOSITORY / "build/libraries")}
    command = ["cargo", "build", "--quiet", "--workspace", "--example", "judge_names"]
    subprocess.run(command, cwd=REPOSITORY, env=environment, check=True)
    return folder / "judge_names"


def changed_ns(path: Path) -> int:
    return path.stat().st_mtime_ns


def judged_by(judge: Path, recording: Path, root: Path) -> dict:
    done = subprocess.run([judge, recording, root, debug_folder()], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)
