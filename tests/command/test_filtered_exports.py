"""What is exported or made into a page with filters is the part that `report` shows, and says that it is one."""

import json
import resource
import subprocess
from pathlib import Path
from typing import Any

import pytest

import interpreters
from recording import binary, check_laws, genba, genba_said

APP = """\
def keep(number):
    return sum(range(number))

def leave(number):
    return sorted(range(number))

for _ in range(400):
    keep(50_000)
    leave(50_000)
"""
FILTER = ("--focus", "^keep$")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = interpreters.from_pyenv()
    folder = tmp_path_factory.mktemp("filtered")
    (folder / "app.py").write_text(APP)
    done = genba("run", "--quiet", "--interval", "200us", "--python", found[-1].path, "-o", "app.genba", "app.py", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "app.genba"


def exported(recording: Path, to: str, *words: str) -> tuple[str, str]:
    """What is written, and what is said about it."""
    done = genba("export", recording, "--to", to, "-o", "-", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_json_says_what_it_is_a_part_of(recording: Path) -> None:
    check_laws(recording)
    whole: dict[str, Any] = json.loads(exported(recording, "json")[0])
    part: dict[str, Any] = json.loads(exported(recording, "json", *FILTER)[0])
    report = json.loads(genba_said("report", recording, "--format", "json", *FILTER))
    assert whole["filters"] is None
    assert part["filters"] == report["filters"] and 0 < part["filters"]["share"] < 1
    assert part["filters"]["flags"] == ["--focus '^keep$'"]
    for name, key in (("kept", part), ("whole", whole)):
        assert sum(key["samples"]["cpu_ns"]) == part["filters"][name]["cpu_ns"]
        assert sum(key["samples"]["wall_ns"]) == part["filters"][name]["wall_ns"]
    for table in ("accounting", "processes", "threads", "meta"):
        assert part[table] == whole[table], table
    names = [frame["name"] for frame in part["frames"]]
    parents, frames = part["nodes"]["parent"], part["nodes"]["frame"]

    def stack(node: int | None) -> list[str]:
        return [] if node is None else [*stack(parents[node]), names[frames[node]]]

    assert all("keep" in stack(node) for node in part["samples"]["node"])


def test_the_other_formats_and_the_page_say_so(recording: Path, tmp_path: Path) -> None:
    kept = json.loads(genba_said("report", recording, "--format", "json", *FILTER))["filters"]["kept"]
    collapsed, said = exported(recording, "collapsed", "--weight", "samples", *FILTER)
    assert sum(int(line.rpartition(" ")[2]) for line in collapsed.splitlines()) == kept["samples"]
    assert said.startswith("kept: ") and "(--focus '^keep$')" in said
    assert "kept: " not in exported(recording, "collapsed")[1]
    speedscope = json.loads(exported(recording, "speedscope", *FILTER)[0])
    assert speedscope["name"].startswith("app.genba · kept: ") and speedscope["name"].endswith(" CPU (--focus '^keep$')")
    assert json.loads(exported(recording, "speedscope")[0])["name"] == "app.genba"
    page = genba("html", recording, "-o", tmp_path / "part.html", *FILTER)
    assert page.returncode == 0 and "\nkept: " in page.stderr, page.stderr
    nothing = genba("html", recording, "-o", tmp_path / "nothing.html", "--focus", "no_such_function")
    assert nothing.returncode == 1 and not (tmp_path / "nothing.html").exists()
    assert nothing.stderr.startswith("error: --focus no_such_function: no frame of this recording"), nothing.stderr


@pytest.mark.parametrize("verb", [("html",), ("export", "--to", "json")])
def test_an_earlier_file_stays_until_the_next_one_is_whole(recording: Path, tmp_path: Path, verb: tuple[str, ...]) -> None:
    command = (*verb, recording, "-o", "it")
    assert genba(*command, cwd=tmp_path).returncode == 0
    whole = (tmp_path / "it").read_bytes()
    (tmp_path / "it").chmod(0o640)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(whole) // 2,) * 2)

    words = [binary(), *command]
    # Python ignores the signal of the limit, and so does what it starts without giving signals back.
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, preexec_fn=limited, restore_signals=False, check=False)
    assert (done.returncode, done.stdout) == (1, "") and "cannot write it" in done.stderr, done
    assert (tmp_path / "it").read_bytes() == whole and [path.name for path in tmp_path.iterdir()] == ["it"]
    (tmp_path / "it").write_bytes(whole + b"earlier")
    assert genba(*command, cwd=tmp_path).returncode == 0
    assert (tmp_path / "it").stat().st_mode & 0o777 == 0o640 and [path.name for path in tmp_path.iterdir()] == ["it"]
    assert not (tmp_path / "it").read_bytes().endswith(b"earlier")
    # Where none was before, none is left.
    (tmp_path / "it").unlink()
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, preexec_fn=limited, restore_signals=False, check=False)
    assert done.returncode == 1 and list(tmp_path.iterdir()) == []
