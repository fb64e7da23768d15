"""Starts itself by subprocess, and programs that are not Python; prints what each one said and returned."""

import json
import os
import subprocess
import sys
from time import process_time, process_time_ns


def work_of_started():
    total = 0
    end = process_time() + 1
    while process_time() < end:
        for number in range(10_000):
            total += number
    print(json.dumps([os.getpid(), process_time_ns()]))


def main():
    child = subprocess.run([sys.executable, __file__, "child"], capture_output=True, text=True, check=True)
    pid, cpu_ns = json.loads(child.stdout)
    shell = subprocess.run(["sh", "-c", "echo from sh; exit 7"], capture_output=True, text=True, check=False)
    bare = subprocess.run(["/bin/true"], env={}, check=False)
    through = subprocess.run(
        ["sh", "-c", f"true; '{sys.executable}' '{__file__}' child; exit 5"], capture_output=True, text=True, check=False
    )
    inner_pid, inner_cpu_ns = json.loads(through.stdout)
    answers = {pid: ["work_of_started", cpu_ns], inner_pid: ["work_of_started", inner_cpu_ns]}
    codes = [shell.returncode, bare.returncode, through.returncode]
    print(json.dumps({"pid": os.getpid(), "workers": answers, "shell": [shell.stdout, shell.stderr], "codes": codes}))


if __name__ == "__main__":
    work_of_started() if sys.argv[1:] == ["child"] else main()
