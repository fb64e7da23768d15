"""casebook/mask: how often `mask` and what it calls are called is known beforehand, and so is that all bytes came back."""

from recording import Workshop
from test_trace import called, traced

MESSAGES = 20
BYTES = MESSAGES * 4096


def test_a_call_for_each_byte(workshop: Workshop) -> None:
    program = workshop.program("casebook/mask/slow.py")
    done = traced(workshop, "-o", f"{workshop.place.inside}/slow.prof", "--python", workshop.interpreter.path, program, str(MESSAGES))
    assert (done.returncode, done.stdout) == (0, f"{BYTES}\n"), done.stderr
    profile = workshop.place.outside / "slow.prof"
    assert [called(profile, name) for name in ("mask", "mask_byte", "unmask")] == [MESSAGES, BYTES, MESSAGES]
    assert called(profile, "<built-in method builtins.ord>") >= 2 * BYTES


def test_the_fix_needs_none(workshop: Workshop) -> None:
    program = workshop.program("casebook/mask/fixed.py")
    done = traced(workshop, "-o", f"{workshop.place.inside}/fixed.prof", "--python", workshop.interpreter.path, program, str(MESSAGES))
    assert (done.returncode, done.stdout) == (0, f"{BYTES}\n"), done.stderr
    profile = workshop.place.outside / "fixed.prof"
    assert (called(profile, "mask"), called(profile, "mask_byte")) == (MESSAGES, 0)
