"""Where /proc is another pid namespace's, or is not there: sandboxes, containers, build machines."""

import subprocess
from pathlib import Path

import pytest

from profile_tables import RUNNING
from recording import Run, Workshop


# What each of three threads runs tells which it is; the others only wait.
THREADS = """
import json, os, sys, threading, time
BURN_SECONDS = 0.5
def burn():
    until = time.thread_time() + BURN_SECONDS
    while time.thread_time() < until: sum(range(100))
def work_0(): burn()
def work_1(): burn()
def work_2(): burn()
over = threading.Event()
waiting = [threading.Thread(target=over.wait) for _ in range(int(sys.argv[1]))]
busy = [threading.Thread(target=target) for target in (work_0, work_1, work_2)]
for thread in [*waiting[::2], *busy, *waiting[1::2]]: thread.start()
for thread in busy: thread.join()
over.set()
for thread in waiting: thread.join()
child = os.fork()
if child == 0:
    burn()
    os._exit(0)
os.waitpid(child, 0)
told = {"main": [threading.main_thread()], "busy": busy, "waiting": waiting}
tids = {name: [thread.native_id for thread in threads] for name, threads in told.items()}
print(json.dumps({**tids, "child": child}))
"""
OUTER_PROC = ["unshare", "--pid", "--fork"]
# An inner namespace whose numbers begin a little above those of the outer one, so that most of them name different threads there and here.
NUMBER = 'read outer rest < /proc/self/stat; echo $((outer + 12)) > /proc/sys/kernel/ns_last_pid || exit 77; exec "$@"'
NUMBERS_MEET = [*OUTER_PROC, "sh", "-c", NUMBER, "sh"]
# Nothing of it is seen outside: the root of a chroot is no mount point, so /proc alone is made private.
OWN_MOUNTS = ["unshare", "--mount", "--propagation", "unchanged", "sh", "-c"]
NO_PROC = [*OWN_MOUNTS, 'mount --make-private /proc && mount -t tmpfs none /proc && exec "$@"', "sh"]
# Of a namespace that this process is not in.
INNER_PROC = [*OWN_MOUNTS, 'mount --make-private /proc && unshare --pid --fork mount -t proc proc /proc && exec "$@"', "sh"]


def skip_if_it_cannot_start(workshop: Workshop, wrapped: list[str]) -> None:
    """The linker finds libraries beside an executable by /proc/self/exe."""
    command = workshop.place.command([*wrapped, workshop.interpreter.path, "-c", "pass"])
    alone = subprocess.run(command, capture_output=True, text=True, cwd=workshop.place.outside)
    if alone.returncode != 0:
        pytest.skip(f"without genba neither: {alone.stderr.strip()}")


def check_threads(run: Run) -> None:
    answer, profile = run.answer(), run.profile()
    tids = [thread["tid"] for thread in profile["threads"]]
    assert {*answer["main"], *answer["busy"], answer["child"]} <= set(tids), (tids, answer)
    assert set(tids) <= {*answer["main"], *answer["busy"], *answer["waiting"], answer["child"]}, (tids, answer)
    for number, tid in enumerate(answer["busy"]):
        rows = [row for row in profile.rows() if f"work_{number}" in row.names()]
        assert {tids[row.thread] for row in rows} == {tid}, (number, rows, answer)
        # A clock beside another thread's state: such a thread is never asked.
        assert sum(row.cpu_ns for row in rows) > 75_000_000, profile.facts()
    child = profile.sum("cpu_ns", lambda row: tids[row.thread] == answer["child"] and "burn" in row.names())
    assert child > 75_000_000, profile.facts()
    waiting = profile.sum("wall_ns", lambda row: tids[row.thread] in answer["main"] and row.state not in RUNNING)
    assert waiting > 75_000_000, profile.facts()
    assert "no samples" not in run.stderr, run.stderr


@pytest.mark.parametrize("namespaces", [1, 2])
def test_the_proc_of_an_outer_namespace(workshop: Workshop, namespaces: int) -> None:
    program = workshop.write("threads.py", THREADS)
    check_threads(workshop.run_target([*OUTER_PROC * namespaces, workshop.interpreter.path, program, "3"]))


def test_one_number_for_two_threads(workshop: Workshop) -> None:
    program = workshop.write("threads.py", THREADS)
    run = workshop.run_target([*NUMBERS_MEET, workshop.interpreter.path, program, "40"])
    if run.exit_code == 77:
        pytest.skip("this kernel lets nobody choose the next pid (CONFIG_CHECKPOINT_RESTORE)")
    check_threads(run)


@pytest.mark.parametrize(
    "wrapped, why",
    [(NO_PROC, "there is no /proc here"), (INNER_PROC, "this /proc belongs to another pid namespace")],
)
def test_refused_with_the_reason(workshop: Workshop, wrapped: list[str], why: str) -> None:
    skip_if_it_cannot_start(workshop, wrapped)
    text = "import time\nuntil = time.process_time() + 0.1\nwhile time.process_time() < until: pass\nprint('done')\n"
    run = workshop.run_target([*wrapped, workshop.interpreter.path, workshop.write("busy.py", text)])
    assert (run.exit_code, run.stdout) == (0, "done\n"), run.stderr
    assert why in run.stderr and "mount -t proc proc /proc" in run.stderr, run.stderr
    assert "before the first tick" not in run.stderr, run.stderr
    refused = [process["refused"] for process in run.profile()["processes"]]
    assert len(refused) == 1 and refused[0].startswith(why), refused
    assert why in run.check().stdout


def test_the_programs_own_folder_is_not_taken_for_it(workshop: Workshop) -> None:
    """A folder `self/task` and one named like the process, below the program's own: nothing is read there."""
    skip_if_it_cannot_start(workshop, [*OUTER_PROC, *NO_PROC])
    own: Path = workshop.place.outside
    for name in ("1", "self/task/1"):
        (own / name).mkdir(parents=True)
        subprocess.run(["mkfifo", str(own / name / "stat")], check=True)
    text = "print('done')\n"
    run = workshop.run_target([*OUTER_PROC, *NO_PROC, workshop.interpreter.path, workshop.write("done.py", text)])
    assert (run.exit_code, run.stdout) == (0, "done\n"), run.stderr
