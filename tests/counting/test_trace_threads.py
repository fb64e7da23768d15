"""Threads under `genba trace`: what each takes of the process's memory, and what genba does itself while they run.

Owns: a program with many functions and many threads, of which each calls a few.
"""

from recording import Workshop
from test_trace import counts, plainly, traced

# Functions that the main thread alone calls, before a first thread begins: each is a row of the process's table, in front of those that threads call.
FUNCTIONS, THREADS = 6_000, 300
MANY = f"""
import resource, threading

exec(compile("".join(f"def f{{n}}(): pass\\nf{{n}}()\\n" for n in range({FUNCTIONS})), "many.py", "exec"))
begun, end = threading.Barrier({THREADS} + 1), threading.Event()

def wait():
    begun.wait()
    end.wait()

threads = [threading.Thread(target=wait) for _ in range({THREADS})]
for thread in threads: thread.start()
begun.wait()
with open("/proc/self/statm") as file: print(int(file.read().split()[1]) * resource.getpagesize())
end.set()
for thread in threads: thread.join()
"""
# Of a function and a thread: calls, recursive calls and two times of eight bytes each.
ROW_BYTES_MIN = 32


def test_a_thread_takes_memory_for_what_it_calls_itself(workshop: Workshop) -> None:
    """Half of what each thread would take with a row for each function of the process."""
    program = workshop.write("threads.py", MANY)
    plain = plainly(workshop, program)
    done = traced(workshop, "-o", f"{workshop.place.inside}/threads.prof", "--python", workshop.interpreter.path, program)
    assert (plain.returncode, done.returncode) == (0, 0), plain.stderr + done.stderr
    found = counts(workshop.place.outside / "threads.prof")
    assert found["threads.py", 7, "wait"][:2] == (THREADS, THREADS)
    assert sum(file == "many.py" and name != "<module>" for file, _, name in found) == FUNCTIONS
    assert int(done.stdout) - int(plain.stdout) < FUNCTIONS * THREADS * ROW_BYTES_MIN / 2, (done.stdout, plain.stdout)


# `_thread.start_new` is the old name of `_thread.start_new_thread`, and a function of its own.
OLD_NAME = """
import _thread, threading

def work(): pass

def in_thread():
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

def by_old_name():
    ended = _thread.allocate_lock()
    ended.acquire()
    getattr(_thread, "start_new", _thread.start_new_thread)(lambda: (work(), ended.release()), ())
    ended.acquire()

in_thread(), by_old_name(), in_thread()
"""


def test_threads_are_counted_by_whichever_name_they_are_started(workshop: Workshop) -> None:
    program = workshop.write("names.py", OLD_NAME)
    done = traced(workshop, "-o", f"{workshop.place.inside}/names.prof", "--python", workshop.interpreter.path, program)
    assert done.returncode == 0, done.stderr
    assert counts(workshop.place.outside / "names.prof")["names.py", 4, "work"][:2] == (3, 3)


def test_genba_only_waits_while_the_program_runs(workshop: Workshop) -> None:
    """Its main thread for the end, another one for signals. `genba run` has a third, which looks at each thread of the program."""
    program = workshop.write("parent.py", "import os\nprint(len(os.listdir(f'/proc/{os.getppid()}/task')))\n")
    done = traced(workshop, "-o", f"{workshop.place.inside}/parent.prof", "--python", workshop.interpreter.path, program)
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr
