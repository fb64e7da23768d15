"""CPython's own JIT, turned on for a program of a test; a CPython without one is skipped."""

import json
import subprocess

import pytest

from recording import Workshop

JIT = {"PYTHON_JIT": "1"}


@pytest.fixture
def jitted(workshop: Workshop) -> Workshop:
    probe = "import sys, json; print(json.dumps(hasattr(sys, '_jit') and [sys._jit.is_available(), sys._jit.is_enabled()]))"
    command = workshop.place.command([workshop.interpreter.path, "-c", probe])
    said = subprocess.run(command, env=workshop.place.environment(JIT), capture_output=True, text=True, check=True)
    match json.loads(said.stdout):
        case False:
            pytest.skip("this CPython has no JIT")
        case [False, _]:
            pytest.skip("this CPython was built without the JIT")
        case [True, enabled]:
            assert enabled, "PYTHON_JIT=1 did not turn the JIT on"
    return workshop
