"""Two hundred forks, one after the other; each child leaves at once. Meant for `-W error`."""

import os

if __name__ == "__main__":
    for _ in range(200):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
    print("200")
