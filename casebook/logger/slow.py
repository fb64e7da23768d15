"""Log calls that no handler will write, in several forms. argv: which one, then how many calls. Prints what a call cost, and what it allocated.

Forms: disabled (an f-string for a level that is off), eager (% by the caller), lazy (arguments for the logger), guarded (isEnabledFor before), extra (fields
as a dict), empty (no call at all).
"""

import logging
import sys
import time
import tracemalloc

logger = logging.getLogger("case")
logger.setLevel(logging.INFO)
logger.addHandler(logging.NullHandler())
USER = {"name": "someone", "groups": list(range(20))}


def disabled(number):
    logger.debug(f"request {number} of {USER}")


def eager(number):
    logger.debug("request %d of %r" % (number, USER))


def lazy(number):
    logger.debug("request %d of %r", number, USER)


def guarded(number):
    if logger.isEnabledFor(logging.DEBUG):
        logger.debug("request %d of %r", number, USER)


def extra(number):
    logger.debug("request", extra={"number": number, "user": USER})


def empty(number):
    pass


FORMS = {form.__name__: form for form in (disabled, eager, lazy, guarded, extra, empty)}


def call(form, count):
    began = time.process_time_ns()
    for number in range(count):
        form(number)
    return (time.process_time_ns() - began) / count


def peak_bytes(form):
    """What one call asks for at most."""
    form(0)
    tracemalloc.start()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    form(1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - before


if __name__ == "__main__":
    names = [sys.argv[1]] if len(sys.argv) > 1 and sys.argv[1] != "all" else list(FORMS)
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 200_000
    for name in names:
        print(f"{name:10} {call(FORMS[name], count):8.0f} ns a call, {peak_bytes(FORMS[name]):6} bytes at most")
