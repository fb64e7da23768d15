"""`genba doctor`: what it says of the clock, an interpreter and a process, where the truth is known without it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clock_source import another_clock_source, unchanged_clock_source
from figures import Figure
from interpreters import from_pyenv, pyenv_candidates
from looked_at import Program, started
from recording import REPOSITORY, Place, Workshop, binary, genba
from test_dump_refusals import forbidding

WAITS = "import sys; print('ready', flush=True); sys.stdin.read()"
PTRACE = 101
# Installs a seccomp filter that lets all calls pass.
WITH_A_FILTER = """
import ctypes, struct, sys
libc = ctypes.CDLL(None)
step = ctypes.create_string_buffer(struct.pack("<HBBI", 6, 0, 0, 0x7FFF0000))
program = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", 1, ctypes.addressof(step)))
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, program, 0, 0) == 0
""" + WAITS


# What an interpreter has in itself of its build; genba takes the same from its configuration.
BUILT = """
import json, sys
jit = getattr(sys, "_jit", None)
print(json.dumps({
    "debug build": "yes" if hasattr(sys, "gettotalrefcount") else "no",
    "threads": "one GIL an interpreter" if getattr(sys, "_is_gil_enabled", lambda: True)() else "free-threaded",
    "JIT": "not built in" if not (jit and jit.is_available()) else "on" if jit.is_enabled() else "built in, and off",
}))
"""


@pytest.fixture
def place(workshop: Workshop) -> Place:
    return workshop.place


@pytest.fixture(scope="module")
def slow_clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_clock(tmp_path_factory.mktemp("clock"))


def built_clock(folder: Path) -> Path:
    """A library whose clock makes ten system calls a reading."""
    return library(REPOSITORY / "tests/programs/slow_clock.c", folder / "slow_clock.so")


def library(source: Path, made: Path) -> Path:
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", str(source), "-o", str(made)], check=True)
    return made


def doctor(*arguments: str | Path, **options: Any) -> tuple[dict[str, Any], dict[str, dict[str, Any]], subprocess.CompletedProcess]:
    """Its JSON, the facts by name, and how it ended."""
    command = [str(binary()), "doctor", "--format", "json", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, **options)
    page = json.loads(done.stdout)
    wrong = [fact for fact in page["facts"] if fact["standing"] in ("slow", "hinders")]
    assert (page["format"], page["version"], page["wrong"]) == ("genba-doctor", 1, len(wrong))
    assert done.returncode == (1 if wrong else 0) and done.stderr.startswith("error: ") == bool(wrong), done.stderr
    assert all(fact["remedy"] for fact in wrong) and all(fact["why"] for fact in page["facts"]), page
    return page, {fact["name"]: fact for fact in page["facts"]}, done


def test_a_clock_that_makes_system_calls_is_named(slow_clock: Path) -> None:
    page, facts, done = doctor("--clock", env={**os.environ, "LD_PRELOAD": str(slow_clock)})
    assert done.returncode == 1
    for call in page["clock"]["calls"][:3]:
        assert (call["system_calls"], call["answered_by"]) == (10, str(slow_clock)), call
        fact = facts[call["name"]]
        assert fact["standing"] == "slow" and "10 system calls, by slow_clock.so" in fact["value"], fact
        assert fact["remedy"] == f"{slow_clock} answers in libc's place: take it out of LD_PRELOAD"


def test_one_system_call_a_reading_is_enough(tmp_path: Path) -> None:
    preloaded = library(REPOSITORY / "tests/programs/one_call_clock.c", tmp_path / "one.so")
    page, facts, _ = doctor("--clock", env={**os.environ, "LD_PRELOAD": str(preloaded)})
    for call in page["clock"]["calls"][:3]:
        assert (call["system_calls"], call["answered_by"]) == (1, str(preloaded)), call
        assert facts[call["name"]]["standing"] == "slow" and "1 system call, by one.so" in facts[call["name"]]["value"], facts


def test_a_preloaded_library_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    preloaded = library(REPOSITORY / "tests/programs/hangs.c", tmp_path / "hangs.so")
    # The process that hangs has this stderr, too: until it is gone, there is no end of it to read.
    done = subprocess.run(
        [str(binary()), "doctor", "--clock"], env={**os.environ, "LD_PRELOAD": str(preloaded)}, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (1, ""), done
    assert done.stderr.startswith("error: the process that reads the clock gave no answer within 20 s\n"), done
    assert "hint: env -u LD_PRELOAD genba doctor --clock\n" in done.stderr, done


def test_the_kernel_s_clock_is_counted() -> None:
    with unchanged_clock_source() as name:
        page, facts, _ = doctor("--clock", env={name: value for name, value in os.environ.items() if name != "LD_PRELOAD"})
    assert page["clock"]["not_counted"] is None
    libc, _, _, of_thread, kernel, plain = page["clock"]["calls"]
    # glibc asks the vDSO, which answers or makes the call itself.
    assert libc["system_calls"] == kernel["system_calls"] and of_thread["system_calls"] == plain["system_calls"] == 1
    assert facts[libc["name"]]["standing"] == ("slow" if libc["system_calls"] else "ok") or libc["ns"] > 500
    assert page["clock"]["source"] == name
    assert [call["name"] for call in page["clock"]["python"]] == ["time.time()", "time.monotonic()", "time.perf_counter()"]


@pytest.mark.measures
def test_another_clock_source_of_this_machine(figure: Figure) -> None:
    """Where its readings make system calls, the remedy is the processor's counter."""
    without_preload = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    with another_clock_source() as other:
        page, facts, _ = doctor("--clock", env=without_preload)
    assert page["clock"]["source"] == other and facts["clock source"]["value"].startswith(f"{other} (available: ")
    for call in page["clock"]["calls"][:3]:
        figure(f"{call['name']} by {other}", call["ns"], "ns")
        if call["system_calls"] is not None:
            assert (facts[call["name"]]["standing"] == "slow") == (call["system_calls"] > 0 or call["ns"] > 500), call
        if call["system_calls"] and "tsc" in page["clock"]["available"]:
            assert facts[call["name"]]["standing"] == "slow" and facts[call["name"]]["remedy"].startswith("echo tsc > /sys/")


def test_what_cannot_be_counted_is_said() -> None:
    page, facts, _ = doctor("--clock", preexec_fn=lambda: forbidding(PTRACE))
    assert page["clock"]["not_counted"].startswith("ptrace is not allowed here")
    assert facts["system calls"]["standing"] == "unknown" and "judged by the cost" in facts["system calls"]["value"]
    assert {call["system_calls"] for call in page["clock"]["calls"]} == {None}


def test_a_build_is_told_by_its_own_configuration(place: Place) -> None:
    outside_alone(place)
    _, facts, done = doctor("--python", place.interpreter.path)
    # docs/limits.md, *Interpreters that were tried*.
    is_standalone = place.interpreter.is_standalone
    assert facts["genba"]["value"] == f"knows CPython {place.interpreter.version}"
    assert facts["PGO"]["standing"] == ("ok" if is_standalone else "slow") and (facts["LTO"]["value"] == "yes") == is_standalone
    assert (facts["BOLT"]["value"] == "yes") == place.interpreter.has_tail_calls
    assert facts["symbols"]["value"].startswith("stripped" if place.interpreter.is_stripped else "in /")
    assert ("python-build-standalone" if is_standalone else "pyenv") in facts["python"]["value"]
    if not is_standalone:
        assert "--enable-optimizations" in facts["PGO"]["remedy"] and "slow: PGO: no" in done.stderr


@pytest.mark.parametrize("jit", ["", "0", "1"])
def test_a_build_is_what_the_interpreter_itself_has(place: Place, jit: str) -> None:
    outside_alone(place)
    environment = {**os.environ, "PYTHON_JIT": jit}
    said = subprocess.run([place.interpreter.path, "-c", BUILT], env=environment, capture_output=True, text=True, check=True)
    _, facts, _ = doctor("--python", place.interpreter.path, env=environment)
    assert {name: facts[name]["value"] for name in json.loads(said.stdout)} == json.loads(said.stdout), facts
    assert facts["debug build"]["standing"] == "ok" and facts["frame pointers"]["standing"] == "fact"
    assert facts["allocator"]["value"] == "pymalloc"


def test_an_allocator_that_checks_is_slow(place: Place) -> None:
    outside_alone(place)
    _, facts, _ = doctor("--python", place.interpreter.path, env={**os.environ, "PYTHONMALLOC": "debug"})
    assert facts["allocator"]["standing"] == "slow" and facts["allocator"]["remedy"] == "unset PYTHONMALLOC"


def test_what_genba_may_do_to_a_process(place: Place) -> None:
    command = place.command([place.interpreter.path, "-c", WAITS])
    with started(command, cwd=place.outside, env=place.environment({"PYTHONMALLOC": "malloc_debug"})) as program:
        _, facts, _ = doctor(program.pid)
        assert f"CPython {place.interpreter.version}" in facts["python"]["value"] and facts["PGO, LTO"]["standing"] == "unknown"
        assert facts["allocator"]["value"] == "PYTHONMALLOC=malloc_debug"
        for name in ("dump", "attach, top", "heap"):
            assert facts[name]["standing"] == "ok" and facts[name]["value"].startswith("allowed: "), facts[name]
        # Also inside a chroot, where the package of the file is another root's.
        assert facts["symbols"]["value"].startswith("stripped" if place.interpreter.is_stripped else "in /"), facts["symbols"]
        if place.interpreter.root:
            assert f"python{place.interpreter.minor}-dbg would bring them" in facts["symbols"]["value"]
        assert ("each thread is held once more" in facts["attach, top"]["value"]) == place.interpreter.has_tail_calls
        stopped(program, facts)


def test_another_malloc_in_a_process_is_named(tmp_path: Path) -> None:
    # By its name: what it answers does not matter.
    (tmp_path / "nothing.c").write_text("")
    preloaded = library(tmp_path / "nothing.c", tmp_path / "libjemalloc.so.2")
    with started([from_pyenv()[-1].path, "-c", WAITS], cwd=tmp_path, env={**os.environ, "LD_PRELOAD": str(preloaded)}) as program:
        _, facts, _ = doctor(program.pid)
    assert facts["malloc"]["value"] == "libjemalloc.so.2" and facts["LD_PRELOAD"]["value"] == str(preloaded), facts


def stopped(program: Program, facts: dict[str, dict[str, Any]]) -> None:
    program.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, program.pid, os.WSTOPPED | os.WNOWAIT)
    _, facts, done = doctor(program.pid)
    assert facts["state"]["value"] == "stopped by a signal" and facts["dump"]["standing"] == "ok"
    for name in ("attach, top", "heap"):
        assert facts[name]["standing"] == "hinders" and f"process {program.pid} is stopped" in facts[name]["value"], facts[name]
        assert facts[name]["remedy"] == f"kill -CONT {program.pid} lets it go on"
    assert done.returncode == 1


def test_timers_and_quota_are_those_of_the_process(tmp_path: Path) -> None:
    # PR_SET_TIMERSLACK, of that process alone.
    late = f"import ctypes; assert ctypes.CDLL(None).prctl(29, 50_000_000) == 0; {WAITS}"
    with started([sys.executable, "-c", late], cwd=tmp_path) as program:
        _, facts, _ = doctor(program.pid)
        slack, quota = facts["timer slack"], facts["CPU quota"]
        assert (slack["group"], quota["group"]) == ("the process", "the process"), facts
        try:
            Path(f"/proc/{program.pid}/timerslack_ns").read_text()
        except PermissionError:
            assert slack["standing"] == "unknown" and "CAP_SYS_NICE" in slack["value"], slack
        else:
            assert (slack["standing"], slack["value"]) == ("hinders", "50.0 ms"), slack
            assert slack["remedy"] == "start it from a shell or service without TimerSlackNSec", slack
        # Its interpreter is not started for the clock, nor is it forgotten.
        done = genba("doctor", str(program.pid), "--clock")
        assert done.returncode == 2 and done.stdout == "" and f"not process {program.pid}\n" in done.stderr, done
        assert "\nhint: genba doctor --clock --python " in done.stderr, done
    _, facts, _ = doctor()
    assert facts["timer slack"]["value"] != "50.0 ms" and facts["timer slack"]["group"] == "this machine", "genba's own"


def test_a_process_with_filters_of_its_own(tmp_path: Path) -> None:
    with started([sys.executable, "-c", WITH_A_FILTER], cwd=tmp_path) as program:
        page, facts, _ = doctor(program.pid)
        if any(fact["name"] == "dump, attach, heap" for fact in page["facts"]):
            pytest.skip(f"genba does not know {sys.executable}")
        assert facts["dump"]["standing"] == "ok" and "seccomp filters" in facts["attach, top"]["value"]
        assert facts["attach, top"]["standing"] in ("unknown", "hinders")


def test_a_process_that_genba_does_not_know(tmp_path: Path) -> None:
    older = next(iter(pyenv_candidates("3.10")), None)
    if older is None:
        pytest.skip("no CPython 3.10 in pyenv")
    with started([str(older), "-c", WAITS], cwd=tmp_path) as program:
        _, facts, done = doctor(program.pid)
        assert "older than CPython 3.11" in facts["dump, attach, heap"]["value"]
        assert done.stderr.startswith(f"error: genba does not know the Python of process {program.pid}")
        layout = genba("doctor", "--layout", str(program.pid)).stdout
        assert "older than CPython 3.11" in layout and "Py_Version     none" in layout


def test_what_to_send_in_holds_no_data(place: Place) -> None:
    secret = "hunter2-of-the-environment"
    command = place.command([place.interpreter.path, "-c", WAITS, secret])
    asked = [] if place.interpreter.root else [("--python", place.interpreter.path)]
    with started(command, cwd=place.outside, env={**place.environment({}), "PASSWORD": secret}) as program:
        for arguments in ((str(program.pid),), *asked):
            done = genba("doctor", "--layout", *arguments)
            assert done.returncode == 0 and f"knows CPython {place.interpreter.version}" in done.stdout, done.stderr
            # CPython tells them from 3.13 on, and begins with `xdebugpy`.
            tells = place.interpreter.minor_number >= 13
            assert ("offsets 0000   7864656275677079" in done.stdout) == tells and secret not in done.stdout
            # Addresses of the process are none of anybody's business.
            assert "7f0000" not in done.stdout.partition("offsets 0000")[2], done.stdout


def outside_alone(place: Place) -> None:
    if place.interpreter.root:
        pytest.skip("genba doctor asks an interpreter of its own root, and this CPython is in a folder of its own")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--clock", "nothing.genba"), "nothing.genba"),
        (("--clock", "3395"), "hint: --clock takes a recording; a process is judged without it: genba doctor 3395"),
        (("--python", "/bin/true"), "/bin/true did not answer as a Python does"),
        (("--python", "no-such-python"), "no such interpreter"),
        (("--python", "no-such-python"), "hint: genba doctor --python python3.13\n"),
        (("--layout", "--clock"), "cannot be used with"),
        (("0",), "expected the number of a process"),
    ],
)
def test_bad_words(arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    done = genba("doctor", *arguments, cwd=tmp_path)
    assert done.returncode in (1, 2) and done.stderr.startswith("error: ") and words in done.stderr, done.stderr
    assert not done.stdout
