"""casebook/mask: how often `mask` and what it calls are called is known beforehand, and so is that all bytes came back."""

import pytest

from recording import Workshop
from test_trace import called, counts, traced

MESSAGES = 20
BYTES = MESSAGES * 4096


def test_a_call_for_each_byte(workshop: Workshop) -> None:
    program = workshop.program("casebook/mask/slow.py")
    done = traced(workshop, "-o", f"{workshop.place.inside}/slow.prof", "--python", workshop.interpreter.path, program, str(MESSAGES))
    assert (done.returncode, done.stdout) == (0, f"{BYTES}\n"), done.stderr
    profile = workshop.place.outside / "slow.prof"
    assert [called(profile, name) for name in ("mask", "mask_byte", "unmask")] == [MESSAGES, BYTES, MESSAGES]
    assert called(profile, "<built-in method builtins.ord>") >= 2 * BYTES


@pytest.mark.parametrize("fix", ["bytewise", "fixed"])
def test_the_fixes_need_none(workshop: Workshop, fix: str) -> None:
    """That of the story, in arrays, goes byte by byte, too."""
    program = workshop.program(f"casebook/mask/{fix}.py")
    done = traced(workshop, "-o", f"{workshop.place.inside}/{fix}.prof", "--python", workshop.interpreter.path, program, str(MESSAGES))
    assert (done.returncode, done.stdout) == (0, f"{BYTES}\n"), done.stderr
    profile = workshop.place.outside / f"{fix}.prof"
    assert (called(profile, "mask"), called(profile, "mask_byte")) == (MESSAGES, 0)
    # None for a byte, of any function.
    assert max(numbers[1] for (file, _, _), numbers in counts(profile).items() if file in {"bridge.py", f"{fix}.py"}) < BYTES / 10
