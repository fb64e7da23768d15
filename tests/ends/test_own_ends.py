"""Ways in which a program ends itself without a word: each one leaves a whole recording and its own exit code."""

import pytest

from profile_tables import RUNNING
from recording import Workshop


# Under nohup SIGHUP is inherited as ignored.
WORK = "import os, signal, sys, time\nsignal.signal(signal.SIGHUP, signal.SIG_DFL)\nwhile time.process_time() < 0.4: sum(range(100))\n"
ENDS = {
    "raise KeyboardInterrupt": 130,
    "os.abort()": 134,
    "os.kill(os.getpid(), signal.SIGTERM)": 143,
    "os.kill(os.getpid(), signal.SIGKILL)": 137,
    "signal.raise_signal(signal.SIGHUP)": 129,
    "os._exit(7)": 7,
    "sys.exit(3)": 3,
    "1 / 0": 1,
}


@pytest.mark.parametrize("end", ENDS)
def test_the_recording_is_whole(workshop: Workshop, end: str) -> None:
    run = workshop.run(workshop.write("ends.py", WORK + end + "\n"))
    assert run.exit_code == ENDS[end], run.stderr
    assert "has no end in this recording" not in run.stderr
    assert run.profile().sum("samples", lambda row: row.state in RUNNING) > 0


def test_a_signal_that_is_handled_ends_nothing(workshop: Workshop) -> None:
    text = "signal.signal(signal.SIGTERM, lambda *_: None)\nos.kill(os.getpid(), signal.SIGTERM)\nlater()\n"
    later = "def later():\n    while time.process_time() < 0.8: sum(range(100))\n"
    run = workshop.run(workshop.write("handled.py", WORK + later + text))
    assert run.exit_code == 0, run.stderr
    assert run.profile().sum("samples", lambda row: "later" in row.names()) > 0


ALONG_PATH = """
import os, sys
os.environ["PATH"] = ":".join(f"/nowhere/{n}" for n in range(30)) + ":" + os.path.dirname(sys.executable)
try:
    os.execvp("no-such-program", ["no-such-program"])
except FileNotFoundError:
    os.execvp(os.path.basename(sys.executable), [sys.executable, "-c", "print('there')"])
"""


def test_a_program_that_is_not_there_is_not_waited_for(workshop: Workshop) -> None:
    """Python's own search along PATH asks the kernel for a program in each folder. Only the one that is there ends the recording's block."""
    run = workshop.run(workshop.write("along_path.py", ALONG_PATH))
    assert (run.exit_code, run.stdout) == (0, "there\n"), run.stderr
    assert [mark["kind"] for mark in run.profile()["marks"]].count("exec") == 1
