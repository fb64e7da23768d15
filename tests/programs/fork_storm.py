"""Two hundred forks, one after the other; each child leaves at once. With `hooks` Python code runs right after each. Meant for `-W error`."""

import os
import sys


def after() -> int:
    return sum(number for number in range(300))


if __name__ == "__main__":
    if "hooks" in sys.argv:
        import logging  # noqa: PLC0415  (its locks are seen to by at-fork functions of its own)

        logging.getLogger("storm").addHandler(logging.NullHandler())
        os.register_at_fork(after_in_parent=after)
    for _ in range(200):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
    print("200")
