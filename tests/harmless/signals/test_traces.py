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
