"""Libraries that the program loads while it is recorded are marks in the recording, at their time."""

import shutil
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import count

from inside import Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)
from recording import Run, Workshop
from running_program import Program, started

PROGRAM = """
import ctypes, time

def spin():
    until = time.thread_time() + 0.3
    while time.thread_time() < until:
        sum(range(1000))

spin()
# Two of libc's own that nobody has loaded.
ctypes.CDLL("libBrokenLocale.so.1")
ctypes.CDLL("libanl.so.1")
spin()
print(0)
"""


def test_a_mark_tells_what_was_loaded(workshop: Workshop) -> None:
    run = workshop.run(workshop.write("loads.py", PROGRAM))
    assert run.answer() == 0
    run.check_laws()
    profile = run.profile()
    marks = [mark for mark in profile["marks"] if mark["kind"] == "loaded"]
    [first] = [mark for mark in marks if "libBrokenLocale.so.1" in mark["text"]]
    assert first["at_ns"] >= 300_000_000, "after the first spin"
    late = [mark for mark in marks if mark["at_ns"] >= first["at_ns"]]
    # One mark, or two where a block was written between them.
    assert sum(mark["value"] for mark in late) == 2, marks
    assert all("libBrokenLocale" in mark["text"] or "libanl" in mark["text"] for mark in late), marks


LOADS_WHEN_ASKED = """
import ctypes, sys
print("ready", flush=True)
for name in sys.stdin:
    ctypes.CDLL(name.strip())
    print("loaded", flush=True)
"""


def load(program: Program, name: str) -> None:
    program.process.stdin.write(f"{name}\n")
    program.process.stdin.flush()
    assert program.process.stdout.readline() == "loaded\n"


def recorded_while_it_loads(program: Program, name: str) -> Run:
    """Copies of the library, one after the other until the recording ends: nobody outside knows when it looks first."""
    (library,) = {path for path in program.mapped_files() if "libBrokenLocale" in path}
    place = program.workshop.place
    with ThreadPoolExecutor(1) as pool:
        recording = pool.submit(program.recorded, name, "--duration", "1s")
        for number in count():
            shutil.copyfile(library, place.outside / f"copy-{number}.so")
            load(program, f"{place.inside}/copy-{number}.so")
            if wait([recording], timeout=0.05).done:
                return recording.result()


def test_what_was_loaded_between_two_recordings_of_a_process_is_no_mark_of_the_second(workshop: Workshop) -> None:
    """What comes during the second one is."""
    with started(workshop, workshop.write("asked.py", LOADS_WHEN_ASKED)) as program:
        program.recorded("first.genba", "--duration", "200ms")
        load(program, "libBrokenLocale.so.1")
        run = recorded_while_it_loads(program, "second.genba")
    loaded = [mark["text"] for mark in run.profile()["marks"] if mark["kind"] == "loaded"]
    assert any("/copy-" in path for path in loaded) and not any("libBrokenLocale" in path for path in loaded), loaded


def test_what_was_loaded_in_a_pause_is_no_mark(inside: Inside) -> None:
    """Nobody knows when: the first look after the pause finds it."""
    inside.said(
        """
import ctypes
genba.start("app.genba")
before(150)
genba.pause()
ctypes.CDLL("libBrokenLocale.so.1")
genba.resume()
# It looks at the list of files now.
genba.snapshot()
after(150)
ctypes.CDLL("libanl.so.1")
after(150)
genba.stop()
"""
    )
    loaded = [mark["text"] for mark in inside.recording("app.genba").profile()["marks"] if mark["kind"] == "loaded"]
    assert any("libanl" in text for text in loaded) and not any("libBrokenLocale" in text for text in loaded), loaded
