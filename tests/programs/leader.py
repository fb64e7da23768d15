"""A shell for one job, on the terminal that is its input: argv[1:] runs in a process group of its own, in the foreground. Prints to
stderr what becomes of it, and wakes it when a line comes in on descriptor 3."""

import fcntl
import os
import signal
import sys
import termios

os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.close(3)
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    _, status = os.waitpid(job, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        break
    os.tcsetpgrp(0, os.getpid())
    os.write(2, f"stopped by {os.WSTOPSIG(status)}\n".encode())
    os.read(3, 100)
    os.tcsetpgrp(0, job)
    os.killpg(job, signal.SIGCONT)
os.write(2, f"ended with {os.waitstatus_to_exitcode(status)}\n".encode())
