"""The handler leaves no trace in the program: errno stays, its own signals arrive, faulthandler may be on (I-04: the handler
calls nothing; I-06: memory is read by guarded reads only)."""

from pathlib import Path

import pytest

from looks import LOOKS
from profile_tables import RUNNING
from recording import Workshop


@pytest.mark.measures
def test_errno_stays_over_ten_thousand_ticks(workshop: Workshop, spin: Path) -> None:
    library = workshop.take(spin)
    # However many of its ticks come late, and find the thread waiting for a CPU.
    text = LOOKS + (
        "import ctypes, sys\nspin, looked, changes = ctypes.CDLL(sys.argv[1]), Looked(), 0\n"
        "while not looked.often(40_000): changes += spin.errno_changes(ctypes.c_longlong(500_000_000))\nprint(changes)\n"
    )
    run = workshop.run(workshop.write("spin.py", text), library, flags=("--rate", "10000"))
    assert run.answer() == 0
    sampled = run.profile().sum("ticks", lambda row: row.state in RUNNING and "errno_changes" in row.names())
    assert sampled >= 10_000, run.report_json()["accounting"]


def test_faulthandler(workshop: Workshop) -> None:
    run = workshop.run(workshop.program("tests/programs/own_signals.py"), "faulthandler", flags=("--rate", "5000"))
    assert run.answer()["counted"] == 0
    assert "Fatal Python error" not in run.stderr
    assert run.profile().sum("samples", lambda row: row.state in RUNNING and "work" in row.names()) >= 1000


def test_the_program_s_own_sigurg(workshop: Workshop) -> None:
    """Every signal the program sends itself arrives exactly once, and the recording says that sampling gave way."""
    run = workshop.run(workshop.program("tests/programs/own_signals.py"), "SIGURG")
    answer = run.answer()
    assert answer["counted"] == 100 and "count" in answer["handler"], answer
    notes = [mark["text"] for mark in run.profile()["marks"] if mark["kind"] == "handler"]
    assert any("SIGURG" in note for note in notes), notes


def test_sigurg_looks_untouched_to_the_program(workshop: Workshop) -> None:
    text = "import signal\nprint(int(signal.getsignal(signal.SIGURG)))\n"
    run = workshop.run(workshop.write("look.py", text))
    assert run.answer() == 0, "SIG_DFL"


TAKEN = """
import json, signal, time

def works(seconds):
    begun = time.thread_time()
    while time.thread_time() - begun < seconds: sum(range(1000))
    return time.thread_time() - begun

def before(): return works(0.1)
def meanwhile(): return works(1)
def after(): return works(0.1)

first = before()
signal.signal(signal.SIGURG, lambda number, frame: None)
unseen = meanwhile()
signal.signal(signal.SIGURG, signal.SIG_DFL)
print(json.dumps([unseen, first + after()]))
"""


def test_what_runs_while_the_program_has_sigurg_is_in_no_sample(workshop: Workshop) -> None:
    """None of it goes to what ran before or runs after, and nobody is told that the program waited."""
    run = workshop.run(workshop.write("taken.py", TAKEN), flags=("--rate", "1000"))
    unseen_s, seen_s = run.answer()
    profile = run.profile()
    of_phase = {
        phase: profile.sum("cpu_ns", lambda row, phase=phase: phase in row.names()) / 1e9 for phase in ("before", "meanwhile", "after")
    }
    assert of_phase["before"] + of_phase["after"] < seen_s + unseen_s / 2, of_phase
    assert of_phase["meanwhile"] < unseen_s / 2, of_phase
    assert run.report_json()["verdict"]["name"] == "not judged", run.report()
    assert "the program has SIGURG for itself" in run.report()
    run.check_laws()
