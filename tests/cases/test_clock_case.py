"""The page of the case `clock` is true on machines with another clock: where each reading is a system call, and with another clock source."""

import re
import subprocess
from pathlib import Path

import pytest

from clock_source import another_clock_source
from figures import Figure
from interpreters import from_pyenv
from recording import REPOSITORY
from test_casebook import case


def test_the_page_where_each_reading_is_a_system_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = tmp_path / "one_call_clock.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", str(REPOSITORY / "tests/programs/one_call_clock.c"), "-o", str(made)], check=True)
    # Of the runner, too, which bears it.
    monkeypatch.setenv("LD_PRELOAD", str(made))
    done = case("clock", "--python", from_pyenv()[-1].path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"slow +clock_gettime\(CLOCK_MONOTONIC\) .*1\s+system\s+call,\s+by\s+one_call_clock\.so", done.stdout, re.DOTALL), done.stdout
    assert re.search(r"remedy\s+above\s+gives\s+back", done.stdout), done.stdout


@pytest.mark.measures
def test_the_page_with_another_clock_source(figure: Figure) -> None:
    with another_clock_source() as other:
        done = case("clock", "--python", from_pyenv()[-1].path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(rf"clock source +{re.escape(other)} \(available: ", done.stdout), done.stdout
    for name in ("gettimeofday", "time.time()"):
        ((value, unit),) = re.findall(rf"^ +\S+ +{re.escape(name)} +[\d.]+ .s a call, ([\d.]+) (m?s) a million", done.stdout, re.MULTILINE)
        figure(f"casebook/clock: a million readings by {name} with {other}", float(value) * (1000 if unit == "s" else 1), "ms")
    (share,) = re.findall(r"clock calls +([\d.]+) % of the CPU", done.stdout)
    figure(f"casebook/clock: share of the clock in slow.py with {other}", float(share), "% of the CPU")
