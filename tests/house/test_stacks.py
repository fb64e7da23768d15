"""The judge of stacks is judged: a stack of each impossible kind, written by hand, must be caught; the possible ones pass."""

import pytest

from big_frames import program_text
from recording import REPOSITORY
from stacks import PossibleStacks, parse_collapsed

PROGRAMS = REPOSITORY / "tests/programs"


class Written:
    """A program, with lines named by their text, so that no test holds a line number."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = (PROGRAMS / name).read_text()
        self.possible = PossibleStacks(f"/somewhere/{name}", self.text)

    def frame(self, function: str, text: str) -> str:
        first = next(n for n, line in enumerate(self.text.splitlines(), 1) if f"def {function}(" in line or f"class {function}:" in line or function == "<module>")
        line = next(n for n, line in enumerate(self.text.splitlines(), 1) if n >= first and text in line)
        return f"{function} (/somewhere/{self.name}:{line})"

    def faults(self, *frames: str) -> list[str]:
        (stack,) = parse_collapsed(";".join(frames) + " 1")
        return self.possible.faults(stack)


flat = Written("flat.py")
MODULE = flat.frame("<module>", "main(float")
MAIN_A, MAIN_B = flat.frame("main", "via_a(60)"), flat.frame("main", "via_b(60)")
VIA_A, WORK_A = flat.frame("via_a", "return work_a"), flat.frame("work_a", "total += number")
VIA_B, WORK_B = flat.frame("via_b", "return work_b"), flat.frame("work_b", "total += number")
EVAL = "_PyEval_EvalFrameDefault [python3.11]"


def test_what_happens_passes() -> None:
    assert flat.faults(EVAL, MODULE, EVAL, MAIN_A, VIA_A, WORK_A) == []
    assert flat.faults(MODULE, MAIN_B) == []
    assert flat.faults("_start [python3.11]", "main [python3.11]") == []


def test_the_body_of_a_class_is_called_by_its_line() -> None:
    operators = Written("operators.py")
    module, body = operators.frame("<module>", "class Point_b"), operators.frame("Point_b", "def __init__")
    assert operators.faults(module, body) == []
    assert operators.faults(operators.frame("<module>", "class Point_a"), body) != []


@pytest.mark.parametrize(
    ("frames", "fault"),
    [
        ([MODULE, MAIN_A, VIA_A, WORK_B], "via_a at line"),
        ([MODULE, MAIN_B, VIA_A, WORK_A], "main at line"),
        ([MODULE, MAIN_A, WORK_A], "main at line"),
        ([MODULE, VIA_A, WORK_A], "<module> at line"),
        ([MAIN_A, VIA_A], "begins in main"),
        ([MODULE, MAIN_A, VIA_A, WORK_A, WORK_A], "work_a at line"),
        ([MODULE, MAIN_A, "via_a (/somewhere/flat.py:9999)"], "line 9999 is not in via_a"),
        ([MODULE, MAIN_A, "gone (/somewhere/flat.py:12)"], "gone is no function"),
    ],
)
def test_what_cannot_happen_is_caught(frames: list[str], fault: str) -> None:
    assert any(fault in one for one in flat.faults(*frames)), flat.faults(*frames)


def test_nothing_is_judged_across_a_mark() -> None:
    mark = "[Python function, not named yet]"
    assert flat.faults(MODULE, MAIN_A, mark, WORK_A) == []
    assert flat.faults(mark, VIA_A, WORK_A) == []
    assert flat.faults(mark, VIA_A, WORK_B) != []


def test_a_file_of_the_same_name_is_another_file() -> None:
    assert flat.faults(MODULE, MAIN_A, "work_a (/elsewhere/flat.py:9999)", VIA_A) == []


def test_mixed_families_are_caught() -> None:
    assert "families _a and _b in one stack" in flat.faults(MODULE, MAIN_A, VIA_B, WORK_B, VIA_A)


def test_a_branch_under_the_wrong_wrapper_is_caught() -> None:
    shared = Written("shared_leaf.py")
    below = [shared.frame("<module>", "main(float"), shared.frame("main", "left_wrapper(60)")]
    left = shared.frame("left_wrapper", "return leaf")
    assert shared.faults(*below, left, shared.frame("leaf", "total += number")) == []
    assert shared.faults(*below, left, shared.frame("leaf", "total -= number")) != []


def test_the_definition_of_a_function_is_not_the_function() -> None:
    deep = Written("deep.py")
    assert deep.faults(deep.frame("<module>", "def bottom_a(")) == []


def test_a_bottom_at_the_wrong_depth_is_caught() -> None:
    deep = Written("deep.py")
    below = [deep.frame("<module>", "main(float"), deep.frame("main", "down_a(300")]
    falling = [deep.frame("down_a", "down_a(left - 1")] * 300
    bottom = [deep.frame("down_a", "return bottom_a"), deep.frame("bottom_a", "total += number")]
    assert deep.faults(*below, *falling, *bottom) == []
    assert deep.faults(*below, *falling[1:], *bottom) != []
    assert deep.faults(*below, *falling, falling[0], *bottom) != []


def test_a_missing_extension_frame_is_caught() -> None:
    bounced = Written("bounced.py")
    below = [bounced.frame("<module>", "main(float"), bounced.frame("main", "via_a(60)")]
    via, work = bounced.frame("via_a", "return bounce"), bounced.frame("work_a", "total += number")
    assert bounced.faults(*below, via, "call_back [bounce.abi3.so]", EVAL, work) == []
    assert bounced.faults(*below, via, EVAL, work) != []
    assert bounced.faults(*below, "call_back [bounce.abi3.so]", via, work) != []


def test_escapes_and_frames_that_are_not_on_the_stack_are_read() -> None:
    (stack,) = parse_collapsed(
        "odd\\;name (a b.py:3);PyObject_GetItem (inferred) [python3.15];memmove [libc.so.6];fold (inlined) [a.so];truncated 12"
    )
    kinds = [(frame.kind, frame.name) for frame in stack.frames]
    c = [("inferred", "PyObject_GetItem"), ("c", "memmove"), ("inlined", "fold")]
    assert kinds == [("python", "odd;name"), *c, ("mark", "truncated")]
    assert stack.weight == 12


def test_the_generated_program_has_its_notes() -> None:
    possible = PossibleStacks("big.py", program_text())
    assert {"wide_a", "wider_a", "work_a", "wide_b", "wider_b", "work_b", "main"} <= set(possible.functions)
    assert possible.families == ["_a", "_b"]
