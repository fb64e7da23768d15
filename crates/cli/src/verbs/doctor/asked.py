# What genba doctor asks an interpreter about itself. Also an old one should answer.
from __future__ import print_function

import sys

# Nothing of the current folder is imported.
sys.path = [folder for folder in sys.path if folder not in ("", ".")]

import json
import os
import time

try:
    import sysconfig

    config = sysconfig.get_config_vars()
except Exception:
    config = {}


def jit():
    about = getattr(sys, "_jit", None)
    if about is None:
        return None
    return "on" if about.is_enabled() else "off" if about.is_available() else "absent"


def cost(call):
    number = 250
    while True:
        number *= 4
        best = min(timed(call, range(number)) for _ in range(5))
        if best > 0.002:
            return best / number * 1e9


def timed(call, numbers):
    begin = time.perf_counter()
    for _ in numbers:
        call()
    return time.perf_counter() - begin


CLOCKS = ("time", "monotonic", "perf_counter")
NAMES = (
    "CONFIG_ARGS PY_CORE_CFLAGS PY_CFLAGS PY_CORE_LDFLAGS LDFLAGS CC Py_DEBUG Py_GIL_DISABLED Py_TRACE_REFS WITH_PYMALLOC WITH_MIMALLOC "
    "PYTHON_BUILD_STANDALONE LDLIBRARY SOABI"
).split()
answer = {
    "version": sys.version,
    "implementation": getattr(getattr(sys, "implementation", None), "name", ""),
    "executable": sys.executable,
    "base_prefix": getattr(sys, "base_prefix", sys.prefix),
    "config": dict((name, str(config[name])) for name in NAMES if config.get(name) is not None),
    "jit": jit(),
    "clocks": [["time.%s()" % name, cost(getattr(time, name))] for name in CLOCKS] if "clock" in sys.argv[1:] else [],
}
print(json.dumps(answer))
sys.stdout.flush()
# Until genba has looked at this process from outside.
sys.stdin.read()
