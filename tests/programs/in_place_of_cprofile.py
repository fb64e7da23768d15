"""CPython's own test_cprofile, test_profile and test_pstats with genba in the place of cProfile and profile. Prints what ran, what failed and why, and what
was left out.

Compared is what genba promises: which functions are called how often, and by whom. So times are taken out of the expected listings, and genba's names of C
functions are cProfile's, also where `profile` writes others. Owns: the class that stands in, and which tests are left out, each with its reason.
"""

import io
import json
import marshal
import pstats
import re
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

import genba

warnings.simplefilter("ignore")  # 3.15 says that `profile` will go.

import cProfile
import profile

# A test -> why it says nothing of genba's counts. The classes about `python -m cProfile` alone are not loaded.
LEFT_OUT = {
    "test_bad_counter_during_dealloc": "a clock of the program's own, in _lsprof",
    "test_evil_external_timer": "a clock of the program's own, in _lsprof",
    "test_external_timer_result_reentry": "a clock of the program's own, in _lsprof",
    "test_external_timer_reinitializes_profiler": "a clock of the program's own, in _lsprof",
    "test_enable_in_external_timer": "a clock of the program's own, in _lsprof",
    "test_crash_with_not_enough_args": "methods of _lsprof's own",
    "test_clear_with_nested_calls": "methods of _lsprof's own",
    "test_profile_enable_disable": "that cProfile has its number of sys.monitoring, or is the profile function",
    "test_profile_as_context_manager": "that cProfile has its number of sys.monitoring, or is the profile function",
    "test_second_profiler": "the words for that number's second user; genba's are in tests/counting/test_trace_within.py",
    "test_run_profile_as_module": "the command line of cProfile; the like of genba trace is in tests/counting/test_trace.py",
    "test_output_file_when_changing_directory": "the command line of cProfile; the like of genba trace is in tests/counting/test_trace.py",
}
FOLDER = tempfile.TemporaryDirectory(dir=".")


class Profile:
    """cProfile.Profile by blocks of genba.trace: each `enable` begins one, with a file of its own, and all of them are added up. No timer is asked."""

    made = 0

    def __init__(self, timer=None, timeunit=0.0, subcalls=True, builtins=True):
        self.block = None
        self.blocks = []

    def enable(self, subcalls=True, builtins=True):
        if self.block is None:
            Profile.made += 1
            self.block = genba.trace(f"{FOLDER.name}/{Profile.made}.prof")
            self.blocks.append(self.block.__enter__())

    def disable(self):
        if self.block is not None:
            self.block.__exit__(None, None, None)
            self.block = None

    def create_stats(self):
        self.disable()
        added = pstats.Stats().add(*(block.stats() for block in self.blocks))
        self.stats = without_own(added.stats)

    def dump_stats(self, file):
        self.create_stats()
        Path(file).write_bytes(marshal.dumps(self.stats))

    def print_stats(self, sort=-1):
        pstats.Stats(self).strip_dirs().sort_stats(*(sort if isinstance(sort, tuple) else (sort,))).print_stats()

    def run(self, cmd):
        import __main__

        return self.runctx(cmd, __main__.__dict__, __main__.__dict__)

    def runctx(self, cmd, globals, locals):
        self.enable()
        try:
            exec(cmd, globals, locals)
        finally:
            self.disable()
        return self

    def runcall(self, func, /, *args, **kw):
        self.enable()
        try:
            return func(*args, **kw)
        finally:
            self.disable()

    def __enter__(self):
        self.enable()
        return self

    def __exit__(self, *exc_info):
        self.disable()


def without_own(stats):
    """`disable` is a method in C of cProfile's, and a function in this file."""
    is_own = lambda function: function[0] == __file__
    return {
        function: (*numbers, {of: by for of, by in callers.items() if not is_own(of)})
        for function, (*numbers, callers) in stats.items()
        if not is_own(function)
    }


for module in (cProfile, profile, sys.modules.get("profiling.tracing")):
    if module is not None:
        module.Profile = Profile

# They take the class from its module when they are imported.
from test import test_profile, test_pstats  # noqa: E402

try:
    from test.test_cprofile import CProfileTest
except ImportError:
    from test.test_profiling.test_tracing_profiler import CProfileTest

IN_C = re.compile(r"\{(?:method '(\w+)' of '.*' objects|built-in method (?:\w+\.)*(\w+))\}|:0\((\w+)\)")
TIME = r"-?\d+\.\d{3}"


def listing(text):
    """The rows of print_stats: calls and function."""
    return sorted(re.sub(rf" +{TIME}(?= )", "", line).strip() for line in text.splitlines())


def pairs(text, arrow, has_primitive):
    """The rows of print_callers and print_callees: function, calls, the other function. One in C is seen only in the first row of a function, and which
    row is the first depends on its name. `profile` writes the calls behind the name, and does not know the primitive ones (has_primitive)."""
    found, function = [], ""
    for line in text.splitlines():
        before, is_first, rest = line.rpartition(f" {arrow}")
        function = before.strip() if is_first else function
        calls = re.match(rf" *(?P<calls>[\d/]+) +{TIME} +{TIME} +(?P<name>.+)$", rest) or re.match(rf" *(?P<name>.+)\((?P<calls>\d+)\) +{TIME}$", rest)
        if calls and not IN_C.fullmatch(calls["name"]):
            count = calls["calls"] if has_primitive else calls["calls"].partition("/")[0]
            found.append((IN_C.sub(lambda of: next(filter(None, of.groups())), function), count, calls["name"]))
    return sorted(found)


class Counts:
    """The listings of both sides without times."""

    def test_cprofile(self):
        expected = super().get_expected_output()
        ticks, *found = self.do_profiling()
        self.assertEqual(ticks, 1000)
        for method, text in zip(self.methodnames, found, strict=True):
            if method == "print_stats":
                self.assertEqual(listing(text), listing(expected[method]))
            else:
                arrow = {"print_callers": "<-", "print_callees": "->"}[method]
                ours, theirs = (pairs(of, arrow, self.has_primitive) for of in (text, expected[method]))
                self.assertGreater(len(theirs), 5)
                self.assertEqual(ours, theirs)


class OfCProfile(Counts, CProfileTest):
    has_primitive = True


class OfProfile(Counts, test_profile.ProfileTest):
    has_primitive = False
    expected_max_output = CProfileTest.expected_max_output


class OfPstats(test_pstats.StatsTestCase):
    pass


def main():
    loader, suite, ran, left_out = unittest.TestLoader(), unittest.TestSuite(), [], {}
    for of in (OfCProfile, OfProfile, OfPstats):
        for name in loader.getTestCaseNames(of):
            if name in LEFT_OUT:
                left_out[name] = LEFT_OUT[name]
            else:
                ran.append(f"{of.__name__}.{name}")
                suite.addTest(of(name))
    result = unittest.TextTestRunner(io.StringIO(), verbosity=2).run(suite)
    failed = {str(test): why for test, why in result.failures + result.errors}
    print(json.dumps({"ran": ran, "failed": failed, "skipped": [str(test) for test, _ in result.skipped], "left_out": left_out, "blocks": Profile.made}))


main()
