"""Settings: from a file, from variables, from flags; what wins, what is refused, and that the program sees nothing of it."""

import json
import marshal
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

import interpreters
from recording import REPOSITORY, Workshop, binary
from test_shells import options_of, verbs

# A table of genba's before another tool's, so that a line number counts from the top of the file.
SHARED = '[project]\nname = "shop"\n\n[tool.genba]\n{}\n[tool.other]\ninterval = 5\n'


def genba(
    folder: Path, *arguments: str, variables: dict[str, str] | None = None, **more: Any
) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **(variables or {})}
    command = [str(binary()), *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60, **more)


def shown(folder: Path, *arguments: str, variables: dict[str, str] | None = None, **more: Any) -> dict[str, tuple[Any, str]]:
    """`--show-config`: key to value and origin, None for what is not set. The page must be TOML."""
    done = genba(folder, *arguments, variables=variables, **more)
    assert done.returncode == 0, done.stderr
    values = tomllib.loads(done.stdout)
    page: dict[str, tuple[Any, str]] = {}
    for line in done.stdout.splitlines()[1:]:
        what, _, whence = line.rpartition("  # ")
        if what:
            key = what.strip("# ").split(" ")[0]
            page[key] = (values.get(key), whence)
    return page


def write(folder: Path, name: str, lines: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(SHARED.format(lines) if name == "pyproject.toml" else lines)


def test_the_stronger_place_decides(tmp_path: Path) -> None:
    write(tmp_path, "pyproject.toml", 'interval = "7ms"\nnative = false\ntag = ["a=1", "b=2"]\n')
    command = ("run", "--show-config")
    assert shown(tmp_path, "run", "--show-config") == {
        "output": (None, "default: app.genba, app-2.genba, …"),
        "force": (False, "default"),
        "interval": ("7ms", "pyproject.toml:5"),
        "rate": (None, "not set"),
        "budget": (None, "default: 2%, unless a rate is asked for"),
        "python": (None, "default: the active virtual environment's, else python3"),
        "duration": (None, "not set"),
        "native": (False, "pyproject.toml:6"),
        "children": (True, "default"),
        "mem": (False, "default"),
        "copies": (False, "default"),
        "alloc": (False, "default"),
        "gc": (False, "default"),
        "heap-on": (None, "not set"),
        "heap-every": (None, "not set"),
        "heap-collect": (False, "default"),
        "heap-around-gc": (None, "not set"),
        "gc-cycles": (False, "default"),
        "heap-at-exit": (False, "default"),
        "heap-at-rss": (None, "not set"),
        "tag": (["a=1", "b=2"], "pyproject.toml:7"),
        "source": ("all", "default"),
        "quiet": (False, "default"),
        "view": (False, "default"),
        "push": (None, "not set"),
        "token-file": (None, "default: the variable GENBA_TOKEN"),
        "weight": (None, "default: cpu, or wall when the program mostly waited"),
        "show": ("both", "default"),
        "min-share": (None, "not set"),
        "color": ("auto", "default"),
        "sort": ("self", "default"),
    }
    variables = {"GENBA_INTERVAL": "3ms", "GENBA_NATIVE": "yes", "GENBA_TAG": "c=3,d=4", "GENBA_QUIET": ""}
    page = shown(tmp_path, *command, variables=variables)
    assert (page["interval"], page["native"]) == (("3ms", "GENBA_INTERVAL"), (True, "GENBA_NATIVE"))
    assert (page["tag"], page["quiet"]) == ((["c=3", "d=4"], "GENBA_TAG"), (False, "default"))
    page = shown(tmp_path, *command, "--interval", "1ms", "--no-native", "--tag", "e=5", "-q", variables=variables)
    assert (page["interval"], page["native"]) == (("1ms", "--interval"), (False, "--no-native"))
    assert (page["tag"], page["quiet"]) == ((["e=5"], "--tag"), (True, "--quiet"))
    # What says the same in another way decides, too.
    page = shown(tmp_path, *command, "-r", "100", variables=variables)
    assert (page["rate"], page["interval"][0]) == ((100, "--rate"), None)
    page = shown(tmp_path, *command, "--budget", "5%", variables=variables)
    assert (page["budget"], page["interval"][0]) == (("5%", "--budget"), None)


def test_allocations_are_a_setting_of_run_alone(tmp_path: Path) -> None:
    """attach cannot record them, and refuses who types it; a setting for `run` must not shut it."""
    write(tmp_path, "genba.toml", "alloc = true\n")
    variables = {"GENBA_ALLOC": "1"}
    assert shown(tmp_path, "run", "--show-config")["alloc"] == (True, "genba.toml:1")
    assert shown(tmp_path, "run", "--show-config", variables=variables)["alloc"] == (True, "GENBA_ALLOC")
    assert "alloc" not in shown(tmp_path, "attach", "--show-config", "1", variables=variables)
    done = genba(tmp_path, "attach", "4000000", variables=variables)
    assert (done.returncode, done.stderr.splitlines()[0]) == (1, "error: there is no process 4000000")
    offered = {verb: "\n      --alloc" in genba(tmp_path, verb, "--help").stdout for verb in ("run", "attach")}
    assert offered == {"run": True, "attach": False}
    done = genba(tmp_path, "attach", "--alloc", "4000000")
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "error: attach cannot record allocated bytes yet")
    assert "\nhint: " in done.stderr, done.stderr


def test_every_verb_says_what_holds(tmp_path: Path) -> None:
    write(tmp_path, "genba.toml", 'color = "never"\n')
    for verb in verbs():
        color = shown(tmp_path, verb, "--show-config").get("color")
        assert color == (("never", "genba.toml:1") if "--color" in options_of(verb) else None), verb
    assert list(tmp_path.iterdir()) == [tmp_path / "genba.toml"], "it does nothing else"


def test_the_nearest_file_is_taken_alone(tmp_path: Path) -> None:
    write(tmp_path, "genba.toml", 'interval = "1ms"\nmem = true\n')
    write(tmp_path / "a", "pyproject.toml", 'interval = "2ms"\n')
    write(tmp_path / "a/b", "pyproject.toml", 'interval = "3ms"\n')
    write(tmp_path / "a/b", "genba.toml", 'interval = "4ms"\n')
    write(tmp_path / "a/b/c", "other.toml", "")
    (tmp_path / "a/b/c/pyproject.toml").write_text('[project]\nname = "without"\n')
    write(tmp_path / "d", "other.toml", "")

    def interval(folder: str) -> tuple[Any, str]:
        return shown(tmp_path / folder, "run", "--show-config")["interval"]

    assert interval(".") == ("1ms", "genba.toml:1")
    assert interval("a") == ("2ms", "pyproject.toml:5")
    assert interval("a/b") == ("4ms", "genba.toml:1")
    assert interval("a/b/c") == ("4ms", f"{tmp_path}/a/b/genba.toml:1"), "a pyproject.toml without the table is passed"
    assert interval("d") == ("1ms", f"{tmp_path}/genba.toml:1")
    assert shown(tmp_path / "a", "run", "--show-config")["mem"] == (False, "default"), "files are not merged"
    beside = genba(tmp_path / "a/b", "run", "--show-config").stdout
    assert "not used: [tool.genba] in pyproject.toml" in beside, beside
    for lines in ('intervall = "3ms"\n', "mem = = true\n"):
        write(tmp_path / "a/b", "pyproject.toml", lines)
        assert interval("a/b") == ("4ms", "genba.toml:1"), "what is not used cannot be wrong"


def test_settings_that_are_switched_off_are_not_shown(tmp_path: Path) -> None:
    off = {"GENBA_SETTINGS": "none", "GENBA_MEM": "perhaps"}
    for lines in ('interval = "4ms"\n', "mem = = true\n"):
        write(tmp_path, "genba.toml", lines)
        page = shown(tmp_path, "run", "--show-config", "--gc", variables=off)
        assert (page["interval"][0], page["mem"], page["gc"]) == (None, (False, "default"), (True, "--gc"))
        said = genba(tmp_path, "run", "--show-config", variables=off).stdout
        assert said.startswith("# settings: none, because GENBA_SETTINGS is none\n"), said


@pytest.mark.parametrize(
    ("lines", "error", "hint"),
    [
        ('mem = true\nintervall = "1ms"', "6: `intervall` is not a setting", "did you mean `interval`?"),
        ('min_share = "1%"', "5: `min_share` is not a setting", "did you mean `min-share`?"),
        ("no-native = true", "5: `no-native` is not a setting", "native = false"),
        ('output = "x.genba"', "5: `output` is not a setting", "the settings are alloc, budget, by, children, color"),
        ('output = "x.genba"', "5: `output` is not a setting", "--output is an option of genba run, and no setting"),
        ('format = "json"', "5: `format` is not a setting", "--format is an option of genba "),
        ("x = 1", "5: `x` is not a setting", "the settings are alloc, budget, by, children, color"),
        ('push = "foo"', "5: `push`: `foo` is not the address of a server", "http://foo"),
        ("mem = 1", "5: `mem` cannot be an integer", "mem = true"),
        ("interval = true", "5: `interval` cannot be a boolean", "interval = "),
        ('tag = "a=b"', "5: `tag` cannot be a string", "tag = ["),
        ('interval = "5 apples"', "5: `interval` cannot be `5 apples`", "genba run --help"),
        ("limit = -1", "5: `limit` cannot be `-1`", "genba report --help"),
        ('show = "rust"', "5: `show` cannot be `rust`", "genba report --help"),
        ('rate = 5\ninterval = "1ms"', "6: `interval` cannot be set together with `rate`", "leave one of them out"),
        ("mem = = true", "5: not TOML", "correct line 5 of pyproject.toml"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, lines: str, error: str, hint: str) -> None:
    write(tmp_path, "pyproject.toml", lines + "\n")
    done = genba(tmp_path, "run", "sh", "-c", "echo ran")
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    first, *rest = done.stderr.splitlines()
    assert first.startswith(f"error: pyproject.toml:{error}"), done.stderr
    assert any(line.startswith("hint: ") and hint in line for line in rest), done.stderr


def test_the_page_lists_every_setting(tmp_path: Path) -> None:
    write(tmp_path, "genba.toml", "zzz = 1\n")
    said = re.search("hint: the settings are (.*)", genba(tmp_path, "report").stderr)
    assert said is not None
    listed = re.findall(r"^\| `([a-z-]+)` \|", (REPOSITORY / "docs/settings.md").read_text(), re.MULTILINE)
    assert sorted(listed) == said[1].split(", ")


def test_a_table_in_the_wrong_place(tmp_path: Path) -> None:
    write(tmp_path, "genba.toml", "[tool.genba]\nmem = true\n")
    done = genba(tmp_path, "report")
    assert done.returncode == 2 and "hint: in genba.toml the settings stand at the top" in done.stderr, done.stderr
    (tmp_path / "genba.toml").unlink()
    (tmp_path / "pyproject.toml").write_text("[tool]\ngenba = true\n")
    done = genba(tmp_path, "report")
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: pyproject.toml:2: `tool.genba` is a boolean, not a table"), done.stderr


def test_a_wrong_variable_is_named(tmp_path: Path) -> None:
    for name, value in {"GENBA_INTERVAL": "5", "GENBA_PUSH": "foo", "GENBA_MEM": "perhaps", "GENBA_TAG": "a=1,b"}.items():
        done = genba(tmp_path, "run", "true", variables={name: value})
        assert done.returncode == 2 and done.stderr.startswith(f"error: {name}: "), done.stderr
        assert "\nhint: " in done.stderr, done.stderr
        # Another verb has no such setting and does not look at it.
        assert "GENBA_" not in genba(tmp_path, "report", variables={name: value}).stderr


def test_variables_that_are_no_settings_are_not_looked_at(tmp_path: Path) -> None:
    names = "AGENT_SO BINARY CHROMIUM DEBUG FIGURES OUTPUT PYTHONS SESSION SHOW_CONFIG SID SOAK SOAK_PYTHON TARGET".split()
    variables = {f"GENBA_{name}": "no such thing" for name in names}
    for verb in ("run", "report", "tree", "export"):
        plain = genba(tmp_path, verb, "--show-config")
        done = genba(tmp_path, verb, "--show-config", variables=variables)
        assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, "")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to another user")
def test_a_stranger_s_file_in_a_folder_for_everybody_is_not_taken(tmp_path: Path) -> None:
    write(tmp_path / "own", "other.toml", "")
    write(tmp_path, "genba.toml", 'python = "/tmp/evil"\n')
    assert shown(tmp_path / "own", "run", "--show-config")["python"][0] == "/tmp/evil"
    os.chown(tmp_path / "genba.toml", 4711, 4711)
    assert shown(tmp_path / "own", "run", "--show-config")["python"][0] == "/tmp/evil", "a folder of one's own"
    tmp_path.chmod(0o1777)
    assert shown(tmp_path / "own", "run", "--show-config")["python"][0] is None
    done = genba(tmp_path / "own", "report")
    assert f"warning: the settings in {tmp_path}/genba.toml are not used: the file is user 4711's" in done.stderr


def test_the_recording_follows_and_the_program_sees_nothing(workshop: Workshop) -> None:
    text = "import json, os, sys\nprint(json.dumps([dict(os.environ), os.getcwd(), sys.argv, sys.orig_argv]))\n"
    program = workshop.write("app.py", text)
    plain = workshop.run(program)
    settings = 'interval = "7ms"\nnative = false\ntag = ["team=shop"]\nquiet = true\npython = "no-such-python"\n'
    workshop.write("genba.toml", settings)
    run = workshop.run(program)
    (process,) = run.profile()["processes"]
    assert (process["interval_ns"], process["native"]) == (7_000_000, False)
    assert run.stderr == "", "quiet, and a command brings its own interpreter"
    typed = workshop.run(program, flags=("--native", "--no-quiet", "--rate", "100"))
    (process,) = typed.profile()["processes"]
    assert (process["interval_ns"], process["native"]) == (10_000_000, True)
    assert "recorded " in typed.stderr

    def seen(run) -> list:
        environment, *rest = run.answer()
        # What tells genba's own library what to do names the recording and the interval.
        environment.pop("GENBA_SESSION", None)
        return [environment, *rest]

    assert seen(plain) == seen(run) == seen(typed)


def test_the_closing_report_follows_what_is_set_for_reports(tmp_path: Path) -> None:
    found = interpreters.from_pyenv()
    write(tmp_path, "app.py", "def work():\n    for _ in range(6_000_000): sum((1, 2))\n\nwork()\n")
    run = ("run", "--python", found[0].path, "app.py")
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    plain = genba(tmp_path, *run, variables=cache).stderr
    assert "weight: " not in plain and "(self " not in plain, plain
    assert "builtin_sum" in plain, plain
    write(tmp_path, "genba.toml", 'weight = "samples"\nsort = "total"\nshow = "python"\nmin-share = "50%"\n')
    followed = genba(tmp_path, *run, variables=cache).stderr
    assert "\nweight: samples\n" in followed and "builtin_sum" not in followed, followed
    # Most of it passes through the call of `work`, and nothing ends there.
    rows = re.findall(r"^ *(\d+\.\d) %  +[\d,]+ \(self ([\d,]+)\)  (.*)$", followed, re.MULTILINE)
    assert rows and rows[0][1:] == ("0", "app.py:4 <module>    work()"), followed
    assert all(float(share) >= 50 for share, *_ in rows), followed
    assert followed.startswith(genba(tmp_path, "report", "app-2.genba", "--limit", "5").stdout), followed
    typed = genba(tmp_path, "run", "--weight", "cpu", "--sort", "self", *run[1:], variables=cache).stderr
    assert "weight: " not in typed and "(self " not in typed, typed
    # What cannot be is said before the program starts.
    wrong = genba(tmp_path, *run, variables={"GENBA_WEIGHT": "gold", **cache})
    assert wrong.returncode == 2 and wrong.stderr.startswith("error: GENBA_WEIGHT: `weight` cannot be `gold`"), wrong.stderr
    assert not (tmp_path / "app-4.genba").exists()
    # What the run does not count, and what no comparison has.
    left = genba(tmp_path, *run, variables={"GENBA_WEIGHT": "copied", **cache}).stderr
    assert left.startswith("note: GENBA_WEIGHT: `weight` is left out: without --copies no copied bytes are recorded\n"), left
    assert "\nweight: " not in left and (tmp_path / "app-4.genba").exists(), left
    write(tmp_path, "genba.toml", 'weight = "copied"\n')
    compared = genba(tmp_path, "diff", "app.genba", "app-2.genba", variables=cache)
    assert compared.returncode == 0 and compared.stdout, compared.stderr
    refused = genba(tmp_path, "run", "--weight", "copied", *run[1:], variables=cache)
    assert refused.returncode == 2 and "\nhint: --copies --weight copied\n" in refused.stderr, refused.stderr
    assert not (tmp_path / "app-5.genba").exists()


def test_an_interpreter_beside_the_settings(tmp_path: Path) -> None:
    found = interpreters.from_pyenv()
    write(tmp_path, "genba.toml", 'python = "bin/shop-python"\n')
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/shop-python").symlink_to(found[0].path)
    below = tmp_path / "src"
    write(below, "app.py", "import json, sys\nprint(json.dumps(sys.orig_argv[0]))\n")
    done = genba(below, "run", "app.py", variables={"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == str(tmp_path / "bin/shop-python")
    shutil.rmtree(tmp_path / "bin")
    done = genba(below, "run", "app.py")
    assert done.returncode == 2 and "the setting `python`, " in done.stderr and "--show-config" in done.stderr, done.stderr


def test_a_weight_that_a_file_does_not_tell_is_left_out(tmp_path: Path) -> None:
    """Of a setting that is meant for all files; one that is typed is refused."""
    (tmp_path / "stacks.txt").write_text("main (a.py);work (a.py) 5\n")
    for name in ("copied", "cpu"):
        write(tmp_path, "genba.toml", f'weight = "{name}"\n')
        for verb in ("report", "tree", "lines"):
            done = genba(tmp_path, verb, "stacks.txt")
            assert done.returncode == 0, done.stderr
            assert done.stderr.startswith("note: genba.toml:1: `weight` is left out: "), done.stderr
            done = genba(tmp_path, verb, "--weight", name, "stacks.txt")
            assert done.returncode in (1, 2) and "genba.toml" not in done.stderr, done.stderr
    for name, seconds in {"before.prof": 0.5, "after.prof": 0.7}.items():
        (tmp_path / name).write_bytes(marshal.dumps({("a.py", 1, "work"): (1, 1, seconds, seconds, {})}))
    done = genba(tmp_path, "diff", "before.prof", "after.prof")
    assert done.returncode == 0 and done.stderr.startswith("note: genba.toml:1: `weight` is left out: "), done.stderr
    done = genba(tmp_path, "report", "stacks.txt", variables={"GENBA_WEIGHT": "wall"})
    assert done.returncode == 0 and done.stderr.startswith("note: GENBA_WEIGHT: `weight` is left out: "), done.stderr
