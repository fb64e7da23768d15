"""A command is started for each file."""

import subprocess
import sys


def size(name):
    return subprocess.run(["wc", "-c", name], capture_output=True, check=True).stdout


if __name__ == "__main__":
    for _ in range(int(sys.argv[1])):
        size("/etc/passwd")
