"""C names where no debug file can judge them: python-build-standalone's CPython 3.14 (BOLT, tail calls between instructions, stripped).

Judged by behaviour: a program of one operation a function, whose first C frame may have few names. Asked for: no other name, and
of the first C frames of many builtins at least FIRST_MIN with the function's own name.
"""

from collections import Counter

import pytest

from figures import Figure
from interpreters import Interpreter
from profile_tables import RUNNING, Profile
from recording import Workshop

pytestmark = pytest.mark.measures

FIRST_MIN = 0.85
# The others are helpers of a specialised instruction's, which nothing names.
NAMED_MIN = 8
MANY = "tests/programs/many_builtins.py"
# `hashlib.blake2b` dies of any signal in this build (tests/reading_cpython/test_standalone.py).
WITHOUT = "digests"
# What stands between any call and what is called, and what ends any object.
CALLS = {"method_vectorcall_VARARGS_KEYWORDS", "cfunction_vectorcall_NOARGS", "PyObject_Vectorcall", "_PyObject_MakeTpCall", "_Py_Dealloc"}
# The loop around the operation: it looks up global names, asks the clock, makes an iterator and takes from it.
LOOP = {"_PyDict_LoadGlobalStackRef", "itertools.repeat.__next__", "time.process_time", "type.__call__", "itertools.repeat.__new__", "PyObject_SelfIter",
        "PyObject_RichCompare"}
# Function: its setup, its only operation, names that the first C frame under it may have.
OPERATIONS = {
    "sort": ("a = [str(n * 7 % 1000) for n in range(1000)]", "sorted(a)", {"builtins.sorted"}),
    "cut": ("b = bytes(1 << 16)", "b[1:]", {"bytes.__getitem__", "PyObject_GetItem"}),
    "multiply": ("n = 3 ** 3000", "n * n", {"int.__mul__", "PyNumber_Multiply"}),
    "divide": ("n = 3 ** 3000; m = 7 ** 300", "n % m", {"int.__mod__", "PyNumber_Remainder"}),
    "find": ("t = 'ab' * 5000", "t.find('ac')", {"str.find", "PyUnicode_Find"}),
    "split": ("t = 'ab ' * 500", "t.split(' ')", {"str.split"}),
    "twin": ("d = dict.fromkeys(range(500))", "d.copy()", {"dict.copy"}),
    "join": ("w = ['word'] * 500", "'-'.join(w)", {"str.join", "_PyUnicode_ExactDealloc"}),
    "extend": ("w = [1, 2, 3] * 50", "w * 9", {"list.__mul__", "PyNumber_Multiply", "PySequence_Repeat"}),
    "total": ("w = list(range(500))", "sum(w)", {"builtins.sum"}),
    "root": ("w = [0.1] * 500", "fsum(w)", {"math.fsum"}),
    "spell": ("n = 3 ** 500", "repr(n)", {"builtins.repr", "PyObject_Repr", "_PyUnicode_ExactDealloc"}),
}


def first_c_names(profile: Profile) -> dict[str, Counter[str]]:
    """Name of each Python function -> names of the first C frames under it, in samples."""
    found: dict[str, Counter[str]] = {}
    for row in profile.rows():
        if row.state in RUNNING:
            for python, c in zip(row.frames, row.frames[1:]):
                if python["kind"] == "python" and c["kind"] not in ("python", "mark", "inlined"):
                    found.setdefault(python["name"], Counter())[c["name"]] += row.samples
    return found


def has_own_name(name: str) -> bool:
    return "+0x" not in name and not name.endswith("⁺")


@pytest.fixture
def stripped(python: Interpreter) -> Interpreter:
    if not python.has_tail_calls:
        pytest.skip(f"CPython {python.name}: judged by its own symbols or by debug files (tests/names/test_names_truth.py)")
    return python


def test_most_first_frames_have_a_name(stripped: Interpreter, workshop: Workshop, figure: Figure) -> None:
    run = workshop.run(workshop.program(MANY), "0.25", WITHOUT, flags=("--rate", "1000"))
    assert run.exit_code == 0, run.stderr
    names = sum(first_c_names(run.profile()).values(), Counter())
    share = sum(samples for name, samples in names.items() if has_own_name(name)) / names.total()
    figure("first C frames under Python that have a name of their own", share, "share", bound=FIRST_MIN)
    nameless = Counter({name: samples for name, samples in names.items() if not has_own_name(name)})
    assert share >= FIRST_MIN, nameless.most_common(20)


def test_one_operation_has_one_name(stripped: Interpreter, workshop: Workshop, figure: Figure) -> None:
    # What the setup does is no operation of the function's.
    operands = {name: ", ".join(part.split("=")[0].strip() for part in setup.split(";")) for name, (setup, _, _) in OPERATIONS.items()}
    functions = [
        f"def set_up_{name}():\n    {setup}\n    return [{operands[name]}]\n"
        f"def {name}({operands[name]}):\n    end = process_time() + 0.5\n    while process_time() < end:\n"
        f"        for _ in repeat(None, 20): {operation}\n{name}(*set_up_{name}())\n"
        for name, (setup, operation, _) in OPERATIONS.items()
    ]
    text = "from itertools import repeat\nfrom math import fsum\nfrom time import process_time\n" + "".join(functions)
    run = workshop.run(workshop.write("operations.py", text), flags=("--rate", "1000"))
    assert run.exit_code == 0, run.stderr
    found = first_c_names(run.profile())
    wrong, named = {}, 0
    for name, (_, _, allowed) in OPERATIONS.items():
        assert found[name].total() > 50, (name, found[name])
        # The last iteration ends what the function made: lists, texts, numbers.
        names = {one for one in found[name] if has_own_name(one) and not one.endswith(".tp_dealloc")}
        wrong[name] = names - allowed - CALLS - LOOP
        named += sum(found[name][one] for one in allowed) > 0.5 * found[name].total()
    figure("wrong names of single operations", sum(map(len, wrong.values())), "names", bound=0)
    figure("single operations whose first C frame mostly has its name", named, f"of {len(OPERATIONS)}", bound=NAMED_MIN)
    assert named >= NAMED_MIN, found
    assert not any(wrong.values()), {name: (words, found[name]) for name, words in wrong.items() if words}
