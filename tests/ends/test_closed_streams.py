"""Standard descriptors that are closed when a program is started, as by daemons, cron and `>&-`: the program finds what it finds without genba, and
nothing of genba's gets into its files."""

import json
import os
import socket
import subprocess

import pytest

from recording import Workshop

# Each writes what it saw into the file that argv[1] names, opened at the end.
BEGINS = """
import json, os, stat, sys, time

def kind(number):
    try:
        return stat.S_IFMT(os.fstat(number).st_mode)
    except OSError as error:
        return -error.errno

def write(number, text):
    try:
        return os.write(number, text)
    except OSError as error:
        return -error.errno

def work(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until: sum(range(1000))

folder = os.path.dirname(sys.argv[1])
seen = [[kind(number) for number in range(3)], [stream is None for stream in (sys.stdin, sys.stdout, sys.stderr)]]
"""
ENDS = """
work(0.05)
with open(sys.argv[1], "w") as answer: json.dump(seen, answer)
sys.exit(7)
"""
PROGRAMS = {
    # New files get the numbers that are free; what it writes to 1 and 2 is in them.
    "opens": """
files = [os.open(f"{folder}/log-{count}", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600) for count in range(4)]
work(0.05)
seen += [files, write(1, b"to 1\\n"), write(2, b"to 2\\n"), [os.pread(number, 100, 0).decode() for number in files]]
for number in files: os.close(number)
""",
    # Children that are forked and started, while genba's sampler ends and begins.
    "starts": """
for _ in range(5):
    child = os.fork()
    if child == 0:
        os._exit(sum((kind(number) == -9) << number for number in range(3)))
    seen.append(os.waitpid(child, 0)[1] >> 8)
    seen.append([kind(number) for number in range(3)])
says = "import os, sys; os._exit(sum((stream is None) << number for number, stream in enumerate((sys.stdin, sys.stdout, sys.stderr))))"
seen.append(os.waitpid(os.posix_spawn(sys.executable, [sys.executable, "-c", says], os.environ), 0)[1] >> 8)
""",
    # As inetd starts it: one descriptor is a connection, which is answered, and a thread works on.
    "answers": """
import socket, threading
thread = threading.Thread(target=work, args=(0.05,))
thread.start()
if kind(0) == stat.S_IFSOCK:
    seen.append(os.read(0, 100).decode())
    seen.append(write(0, b"answer"))
pair = socket.socketpair()
seen.append([one.fileno() for one in pair])
thread.join()
for one in pair: one.close()
""",
}


def run_program(workshop: Workshop, under_genba: bool, name: str, closed: tuple[int, ...]) -> tuple:
    place = workshop.place
    answer = f"answer-{under_genba}.json"
    target = [workshop.interpreter.path, workshop.write(f"{name}.py", BEGINS + PROGRAMS[name] + ENDS), f"{place.inside}/{answer}"]
    ours, theirs = socket.socketpair()

    def close() -> None:
        for number in closed:
            os.close(number)

    with ours, theirs:
        ours.send(b"question")
        streams = {"stdin": theirs, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "preexec_fn": close}
        if under_genba:
            # The report is not wanted where nobody reads it.
            run = workshop.finish(workshop.start(target, ["-q", "-o", f"{place.inside}/closed.genba", "--force"], {}, **streams), "closed.genba")
            said, code = (run.stdout, run.stderr), run.exit_code
        else:
            done = subprocess.run(place.command(target), cwd=place.outside, env=place.environment({}), text=True, **streams)
            said, code = (done.stdout, done.stderr), done.returncode
        theirs.close()
        try:
            answered = ours.recv(100)
        except ConnectionResetError:
            answered = b"the question was not read"
    return code, json.loads((place.outside / answer).read_text()), said, answered


@pytest.mark.parametrize(
    "name, closed",
    [("opens", (0,)), ("opens", (1,)), ("opens", (2,)), ("opens", (0, 1, 2)), ("starts", (0, 1, 2)), ("answers", (1, 2))],
    ids=lambda part: part if isinstance(part, str) else "".join(map(str, part)),
)
def test_closed_at_the_start(workshop: Workshop, name: str, closed: tuple[int, ...]) -> None:
    alone, under_genba = (run_program(workshop, way, name, closed) for way in (False, True))
    assert under_genba == alone
    assert alone[0] == 7 and [kind < 0 for kind in alone[1][0]] == [number in closed for number in range(3)]
