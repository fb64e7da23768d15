"""The first hour as a script: what somebody types who knows other profilers and meets genba for the first time, right and wrong, each line with
what its screen must hold. A refused line is often followed by the one that its hint names.

Owns: the lines, the programs that such a user has, and what no screen may hold. test_typed_commands.py types what the pages say,
test_first_minute.py has the names, files and streams, crates/cli/tests/command each refusal to the letter.
"""

import os
import re
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from recipes import TOOLS
from recording import binary

# How often a short run is sampled, how long it waits and what is certain of two of them depends on what else the machine does.
pytestmark = pytest.mark.measures

APP = """\
import sys

def distinct(values):
    found = []
    for value in values:
        if value not in found:
            found.append(value)
    return found

if __name__ == "__main__":
    print(len(distinct(f"value {number}" for number in range(int([*sys.argv, "9000"][1])))))
"""
# It waits for the next request for most of its time. The client is no Python, so the recording has the server alone.
SERVER = """\
import json, subprocess, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CLIENT = '''
for number in {1..40}; do
    exec 3<>/dev/tcp/127.0.0.1/PORT
    printf 'GET / HTTP/1.0\\\\r\\\\n\\\\r\\\\n' >&3
    cat <&3 >/dev/null
    sleep 0.05
done
'''
left = 40

def prices():
    until = time.thread_time() + 0.015
    while time.thread_time() < until:
        json.dumps(list(range(200)))

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        global left
        prices()
        self.send_response(200)
        self.end_headers()
        left -= 1
        if not left:
            server.shutdown()
    def log_message(self, *_):
        pass

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
client = subprocess.Popen(["bash", "-c", CLIENT.replace("PORT", str(server.server_port))])
server.serve_forever(0.02)
client.wait()
"""
BLOCKS = """\
import asyncio, time

def load():
    time.sleep(0.3)

async def answer():
    for _ in range(4):
        load()
        await asyncio.sleep(0.01)

asyncio.run(answer())
"""
FILES = {
    "app.py": APP,
    "server.py": SERVER,
    "blocks.py": BLOCKS,
    "sleeps.py": "import time\ndef fetch():\n    time.sleep(0.05)\nfor _ in range(10): fetch()\n",
    "cycles.py": "for _ in range(200_000):\n    garbage = {}\n    garbage['key'] = garbage\n",
    "raises.py": "raise ValueError('its end')\n",
    "exits.py": "import sys\nsys.exit(3)\n",
    "broken.py": "def broken(:\n",
    "hangs.py": "def computes():\n    print('ready', flush=True)\n    while True:\n        sum(range(1000))\ncomputes()\n",
    "test_app.py": "import app\n\ndef test_distinct():\n    assert len(app.distinct(str(number) for number in range(14000))) == 14000\n",
    "pack/module.py": "",
}


@dataclass(frozen=True)
class Typed:
    """A line, the exit codes that it may end with, and what each must be found in its screen. `^` and `$` are those of a line."""

    line: str
    holds: tuple[str, ...]
    codes: tuple[int, ...] = (0,)
    # On PATH are genba and nothing else: no browser, for example.
    alone: bool = False


def typed(line: str, *holds: str, codes: tuple[int, ...] = (0,), alone: bool = False) -> Typed:
    return Typed(line, holds, codes, alone)


def refused(line: str, *holds: str, code: int = 2) -> Typed:
    """By genba itself, with a reason and with what to do."""
    return Typed(line, ("^error: \\S", "^hint: \\S", *holds), (code,))


HEADER = r"^CPython 3\.\d+\.\d+ · \S+ \S+ wall · \S+ \S+ CPU \+ \S+ \S+ genba's · 1 process, 1 thread · sampled every 1 ms"
ACCOUNT = r"^ticks [\d,]+ = sampled [\d,]+ \+ dropped .* \+ refused .* · CPU covered \d"
ONE_PLACE = r"^one place: \d+\.\d % of \S+ \S+ CPU is app\.py:6 distinct   value not in found$"
# On a busy machine, or from a cold disk, such a program waits for longer than it works, or takes long enough to be judged: it begins and it ends, in many places.
SHORT = r"^(too short to judge|waiting|start-up|gc|spread): "
SCRIPT = "genba run -q app.py"
# What runs already: it has begun when the next command comes, and ends behind it.
RUNS = 'coproc python3 hangs.py; trap "kill $COPROC_PID" EXIT; read -ru "${COPROC[0]}"; '

WALK = {
    "what is it": [
        typed("genba", "^Record:$", "^  run +Start a program and record it$", "^Read:$", "^  report +", "^Share:$"),
        typed("genba --version", r"\Agenba \d+\.\d+\.\d+\n\Z"),
        refused("genba version", "^hint: genba --version$"),
        typed("genba help", "^Look at a process:$", r"^  dump +What every thread"),
        typed("genba help run", "^Usage: genba run "),
        typed("genba run --help", "--budget <SHARE>", r"\[default:\s+2%", "--duration <DURATION>", "^The report at the end:$"),
        refused("genba app.py", "^hint: genba run app.py$"),
        refused("genba record app.py 9000", "`run` starts a program", "^hint: genba run app.py 9000$"),
        refused("genba recrod app.py", "^hint: genba run app.py$"),
        refused("genba profile app.py", "^hint: genba run app.py$"),
        typed("genba run app.py", r"\A9000$", HEADER, ACCOUNT, ONE_PLACE,
              r"^ *\d+\.\d % +\S+ \S+  app\.py:6 distinct +if value not in found:", "^ +~{18}$",
              r"^recorded app\.genba \([\d.]+ kB\) · next: genba view app\.genba$"),
        refused("genba run -o app.genba app.py", "it exists$", "^hint: --force replaces it"),
        typed("genba run -q --force -o app.genba app.py", r"\A9000\n\Z"),
        refused("genba run --force -o app.py app.py", "the program's own command line names this file"),
        typed("genba run app.py 20", r"\A20$", SHORT, r"^recorded app-2\.genba "),
        typed("genba completions bash", "_genba"),
    ],
    "read it": [
        refused("genba report", "^error: no recording in the current directory$", r"^hint: genba run app\.py makes one", code=1),
        typed(SCRIPT, r"\A9000\n\Z"),
        typed("genba report", r"^reading app\.genba$", HEADER, ACCOUNT, ONE_PLACE),
        typed("genba report --by function", r"^ *\d+\.\d % .* app\.py:3 distinct\b"),
        typed("genba report --by line --limit 1", r"^ *\d+\.\d % .* app\.py:6 distinct +if value not in found:", r"--limit 0 shows them all\)$"),
        typed("genba report --sort total --limit 3", r"^ *\d+\.\d % .* app\.py:11 <module>"),
        typed("genba report --weight wall", r"app\.py:6 distinct"),
        refused("genba report --by func", "possible values: expression, line, function, module, thread, process"),
        refused("genba rport", "^hint: did you mean `report`"),
        refused("genba report app.py", r"app\.py is not a recording$", r"^hint: genba run app\.py makes one$", code=1),
        refused("genba report no.genba", r"^hint: the newest recording here is app\.genba$", code=1),
        refused("genba report --json", "^hint: genba report --format json$"),
        typed("genba report --format json | python3 -c 'import json, sys; print(json.load(sys.stdin)[\"verdict\"][\"name\"])'", "^one place$"),
        typed("genba report --format markdown", r"^\| \d+\.\d % \| .* \| `app\.py:6 distinct` \| `value not in found` \|"),
        typed("genba report --focus distinct", r"^kept: \d+\.\d % of .* \(--focus distinct\)"),
        typed("genba report --time 150ms..", "^kept: .*--time"),
        refused("genba report --focus nowhere", "^hint: genba tree shows the names", code=1),
        refused("genba report --focus '('", "not a regular expression: "),
        refused("genba report --time 1", "expected a time from the recording's beginning"),
        refused("genba report --weight allocated", "^hint: record anew: genba run --alloc app.py$", code=1),
        refused("genba run --weight copied app.py", "^error: --weight copied: without --copies", "^hint: --copies --weight copied$"),
        refused("genba diff --weight copied app.genba app.genba", "^hint: bytes are of one recording: genba report --weight copied"),
        refused("genba html --weight allocated", "^hint: bytes are of one recording: genba report --weight copied"),
        typed("genba tree", "^ *share +CPU +self +wall +self +path$", r"^ *\d+\.\d % .* distinct \(app\.py:3\)$"),
        typed("genba tree --inverted --show python --max-depth 2", r"distinct \(app\.py:3\)"),
        typed("genba lines", r"^app\.py:3 distinct · ", r"^ *\d+\.\d % .* 6 +if value not in found:$"),
        typed("genba lines --function distinct", r"^app\.py:3 distinct · "),
        refused("genba top", "^error: genba top needs a terminal, and stdin is none$", "^hint: genba report"),
        typed("genba check", "^every block is intact, both laws hold$"),
    ],
    "share it": [
        refused("genba run -o app.html app.py", r"^hint: -o app\.genba; then genba html makes a page of it$"),
        refused("genba run -o profile.svg app.py", r"^hint: -o profile\.genba; then genba html makes a page of it$"),
        refused("genba run -o profile.json app.py", r"^hint: -o profile\.genba; then genba export --to FORMAT"),
        refused("genba run --format speedscope app.py", "^hint: genba html --open .* genba export --to FORMAT"),
        typed(SCRIPT, r"\A9000\n\Z"),
        typed("genba html", r"^wrote app\.html \([\d.]+ [kM]B\): open it in a browser$", ACCOUNT),
        typed("genba html", r"^wrote app-2\.html "),
        refused("genba html app.genba page.html", r"^hint: a page is named with -o: genba html -o page\.html$", code=1),
        refused("genba html --force", r"^hint: genba html -o app\.html app\.genba$"),
        typed("genba html -o app.html app.genba", r"^wrote app\.html "),
        typed("genba html --open", r"^wrote app-3\.html ", "^no browser could be started: ", "^hint: copy the page", alone=True),
        refused("genba report --html app.genba", r"^hint: genba html --open app\.genba$"),
        refused("genba flamegraph app.genba", r"^hint: genba html --open app\.genba$"),
        refused("genba show app.genba", r"^hint: genba view app\.genba$"),
        refused("genba export", "^  --to collapsed: ", "^  --to json: ", "^  --to speedscope: "),
        refused("genba export --to collapsed -o out.html", "^error: cannot export to out.html: ", r"^hint: genba html -o out\.html$"),
        refused("genba report --format html", "^hint: genba html --open writes the page"),
        refused("genba upload app.genba", r"^hint: genba push app\.genba$"),
        refused("genba export --to svg", "possible values: collapsed, json, speedscope"),
        typed("genba export --to speedscope", r"^wrote app\.speedscope\.json \("),
        typed("genba export --to collapsed -o -", r"^\S.*;distinct \(.*app\.py:6\).* \d+$"),
        refused("genba export --to json -o app.py", "^error: app.py is not overwritten: ", code=1),
        refused("genba push app.genba", "^error: no server to push to$", "genba serve starts a server$"),
    ],
    "wrong words": [
        refused("genba run", "^error: nothing to run$", r"^hint: genba run app\.py, genba run -m module, or genba run command$"),
        refused("genba run nothing.py", r"^error: no such file: nothing\.py$"),
        refused("genba run nothing", "^error: no command `nothing` on PATH$"),
        refused("genba run pack", "has no __main__.py$", "^hint: name a script in it"),
        refused("genba run -c 'print(1)'", "^hint: genba run python -c CODE$"),
        typed("genba run python3 -c 'print(1)'", r"\A1$", SHORT, r"^recorded python3\.genba "),
        refused("genba run --pid 1", "^hint: genba attach 1$"),
        refused("genba record -o profile.svg --pid 12", "^hint: genba attach 12$"),
        refused("genba record -- python3 app.py -p 80", r"^hint: genba run -- python3 app\.py -p 80$"),
        refused("genba top --pid 12", "^hint: genba top 12$"),
        refused("genba dump -p12", "^hint: genba dump 12$"),
        refused("genba -p 12", "^hint: genba attach 12$"),
        refused("genba 12", "^hint: genba attach 12 records"),
        refused("genba -m cProfile -s cumtime app.py", r"^hint: genba trace -s cumtime app\.py$"),
        refused("genba -m app", "^hint: genba run -m app$"),
        refused("genba -q run app.py", r"^hint: genba run -q app\.py$"),
        refused("genba -c 'print(1)'", r"^hint: genba run python -c 'print\(1\)'$"),
        refused("genba app.genba", r"^hint: genba report app\.genba$"),
        refused("genba run app.genba", r"^hint: genba report app\.genba, or genba view app\.genba$"),
        refused("genba cprofile app.py", r"^hint: genba trace app\.py$"),
        refused("genba live 12", "^hint: genba top 12$"),
        refused("genba threads", "^hint: genba dump PID$"),
        refused("genba web app.genba", r"^hint: genba view app\.genba$"),
        refused("genba timeit 'sum([])'", r"^hint: genba bench --py 'sum\(\[\]\)'$"),
        refused("genba open app.genba", r"^hint: genba view app\.genba$"),
        refused("genba nope", "^hint: genba --help lists the verbs$"),
        refused("genba run -n app.py", "C is recorded anyway", r"^hint: genba run app\.py$"),
        refused("genba run -F 99 app.py", r"^hint: genba run --rate 99 app\.py$"),
        refused("genba run --gpu app.py", r"^hint: genba run app\.py$"),
        refused("genba run --memory app.py", r"^hint: genba run --alloc app\.py$"),
        refused("genba run --by line app.py", "^hint: genba report --by function$"),
        refused("genba run -o app.prof app.py", r"^hint: -o app\.genba; genba trace -o writes what cProfile does$"),
        refused("genba run 'python3 app.py'", r"^hint: without the quotes: genba run python3 app\.py$"),
        refused("genba run COUNT=3 python3 app.py", r"^hint: a variable comes first: COUNT=3 genba run app\.py$"),
        refused("genba run 'COUNT=3 python3 app.py'", r"^hint: a variable comes first: COUNT=3 genba run python3 app\.py$"),
        refused("genba run app", r"^hint: genba run app\.py$"),
        refused("genba report -n 20", "^hint: genba report --limit 20$"),
        refused("genba report --sort cumulative", "^hint: --sort total is what cProfile calls cumulative$"),
        refused("genba report -s cumulative", "^hint: --sort total is what cProfile calls cumulative$"),
        refused("genba export --format speedscope", "^hint: genba export --to speedscope$"),
        refused("genba export --to pprof", "--to speedscope and --to collapsed are what most viewers read$"),
        refused("genba bench app.py", "sh found no such command", "^hint: genba bench 'python app.py'$", code=1),
        refused("genba serve stop", "^error: `stop` is not a command of genba serve$", "^hint: genba serve --help lists its commands$"),
        refused("genba serve tokens", "^hint: did you mean `token`"),
        refused("genba heap ref 12", "^error: `ref` is not a command of genba heap$", "^hint: did you mean `refs`"),
        refused("genba serve --port 8000", r"^hint: genba serve --listen 127\.0\.0\.1:8970$"),
        refused("genba heap app.py", "not JSON as genba writes it", "^hint: genba heap PID -o FILE keeps one$", code=1),
        refused("genba run --subprocesses app.py", r"^hint: genba run app\.py$"),
        refused("genba run -d 5 app.py", r"^hint: genba run --duration 5 app\.py$"),
        typed("genba run --duration 5 app.py", "^9000$", ONE_PLACE),
        refused("genba run --interval 5 app.py", "such as 100us, 1ms, 30s or 5m$"),
        refused("genba run --intervall 1ms app.py", "^hint: a similar argument exists: '--interval'$"),
        refused("genba run --rate 0 app.py", "expected 1 to 20000 ticks a second$"),
        refused("genba run --budget 0 app.py", "expected 0.1% to 100%"),
        refused("genba run -o no/app.genba app.py", "^hint: mkdir -p no$"),
        refused("genba run ls", r"^app\.py$", "^error: no Python in the command$", "^  seen in it: ls, but no CPython$", code=1),
        refused("genba stats app.genba", r"^hint: genba report app\.genba$"),
        refused("genba memory", "^hint: genba heap PID$"),
        refused("genba memory app.py", r"^hint: genba run --alloc app\.py$"),
        refused("genba record -g -- python3 app.py", r"^hint: genba run -- python3 app\.py$"),
        refused("genba dump --pid", "^hint: genba dump PID$"),
        refused("genba report --lines", "^hint: genba lines$"),
        refused("genba report --to json", "^hint: genba report --format json$"),
        refused("genba tree --depth 3", "^hint: genba tree --max-depth 3$"),
    ],
    "programs of all kinds": [
        typed("genba run raises.py", "^ValueError: its end$(?s:.*)^CPython 3\\.", SHORT, codes=(1,)),
        typed("genba run exits.py", r"^recorded exits\.genba ", codes=(3,)),
        typed("genba run broken.py", "^SyntaxError: ", SHORT, codes=(1,)),
        typed("genba run -m app 9000", "^9000$", ONE_PLACE, r"^recorded app\.genba "),
        typed("genba run sh -c 'python3 app.py'", "^9000$", ONE_PLACE, r"^recorded sh\.genba "),
        typed("genba run pytest -q", "1 passed", r"^one place: .*value not in found$", r"^recorded pytest\.genba "),
        typed("genba report --by test pytest.genba", r"^ *\d+\.\d % .* test_app\.py:3 test_distinct\b", "outside of tests"),
        typed("genba report --focus test_distinct pytest.genba", r"^kept: .* \(--focus test_distinct\)", r"app\.py:6 distinct"),
        typed("genba run --no-native app.py", r"without C \(--no-native\)$", ONE_PLACE),
        typed("GENBA_RATE=500 genba run app.py", "sampled every 2 ms$"),
        typed("genba run --rate 10000 -q -o fine.genba app.py", r"\A9000\n\Z"),
        typed("genba report fine.genba", "sampled every 100 .s$", ONE_PLACE),
        typed("genba run --show-config app.py", "budget", "no genba.toml"),
    ],
    "it waits": [
        typed("genba run sleeps.py", r"^waiting: ", r"sleeps\.py:3 fetch   time\.sleep\(0\.05\)   sleeping"),
        # What the server did is the answer, and its handler the first row.
        typed("genba run server.py", r"^ *waited for work: .* in \S*server\.py:\d+ <module>.* \(genba tree --weight wall\)$",
              r"\n\n *\d+\.\d % +\S+ \S+ +\S*server\.py:\d+ prices\b"),
        typed("genba report --weight wall", "waiting for work"),
        typed("genba report --by thread", r"Thread-\d+ \(process_request_thread\)"),
        typed("genba tree --weight wall", "BaseServer.serve_forever "),
        typed("genba run blocks.py", r"blocks the event loop: .* in blocks\.py:4 load   time\.sleep\(0\.3\), called from .*\banswer$"),
    ],
    "is it faster": [
        typed("genba run -q -o before.genba app.py", r"\A9000\n\Z"),
        typed("genba run -q -o after.genba app.py 6000", r"\A6000\n\Z"),
        refused("genba diff", "<BEFORE>"),
        refused("genba diff before.genba", r"^hint: genba diff before\.genba before\.genba$", "compares two times of it$"),
        refused("genba compare before.genba after.genba", r"^hint: genba diff before\.genba after\.genba$"),
        # One run of less than a second on each side tells a hot loop that was halved.
        typed("genba diff before.genba after.genba", r"^B (takes [\d.]+ % less than|differs from) A", r"^\d+ rows?: [1-9]\d* certain",
              r"^ +−\S+ .* app\.py:6 distinct .*value not in found$"),
        typed("genba html before.genba after.genba", r"^wrote after\.diff\.html "),
        typed("genba bench -N -r 3 'python3 app.py 1000' 'python3 app.py 3000'", "^Benchmark 1: ", "^Benchmark 2: ", "^Summary"),
        typed("genba trace -s time app.py 900", "^900$", r"app\.py:3\(distinct\)$", r"^traced app\.prof "),
        typed("genba pstats app.prof --sort time --stats 3", r"app\.py:3\(distinct\)$"),
        refused("genba gc before.genba", r"^hint: genba run --gc app\.py", code=1),
        typed("genba run --gc cycles.py", r"^[\d,]+ garbage collections: ", r"^recorded cycles\.genba "),
        typed("genba gc", r"^reading cycles\.genba$", "^generation +collections ", "^threshold "),
        typed("genba run --alloc -q -o alloc.genba cycles.py", r"\A\Z"),
        typed("genba lines --weight allocated alloc.genba", "^ +total +CPU +alloc +self +line$", r"MB +\d+\.\d % +[23] +garbage"),
    ],
    "one that runs": [
        typed("genba ps", "^ +PID +PPID +USER +PYTHON "),
        refused("genba dump", "^hint: genba dump PID; genba ps lists the Python processes$"),
        refused("genba dump $$", "is not a Python process$", "^hint: genba ps lists", code=1),
        # Linux gives no process this number.
        refused("genba dump 4194304", "^error: there is no process 4194304$", "^hint: genba ps lists", code=1),
        refused("genba attach", "<PID>"),
        refused("genba attach hangs.py", "expected the number of a process; genba ps lists those of Python$"),
        refused("genba heap", "^hint: genba heap PID; "),
        typed(RUNS + "genba dump $COPROC_PID", r"^process \d+ · CPython 3\.",
              r"^  computes +hangs\.py:[234]\b", r"^  <module> +hangs\.py:5  computes\(\)$"),
        typed(RUNS + "genba attach --duration 1s $COPROC_PID", r"^recording process \d+: ", r"hangs\.py:4 computes", r"^recorded \S+\.genba "),
        typed("genba doctor", "^this machine$", "^the interpreter$", codes=(0, 1)),
    ],
}
# What no screen may hold: Rust's own words, and those of a developer.
NEVER = re.compile(r"panicked at|\(os error \d|RUST_BACKTRACE|\bErr\(|\bSome\(|unwrap\(\)|not yet implemented")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "shop"
    for name, text in FILES.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(text)
    (tmp_path / "home").mkdir()
    return made


def screen_of(folder: Path, one: Typed) -> tuple[int, str]:
    """What a terminal shows of both streams, in their order, and the exit code."""
    path = str(binary().parent) if one.alone else f"{binary().parent}:{TOOLS}/bin:/usr/bin:/bin"
    environment = {
        "PATH": path, "HOME": str(folder.parent / "home"), "VIRTUAL_ENV": str(TOOLS), "LC_ALL": "C.UTF-8", "TERM": "dumb",
        "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"],
    }
    with subprocess.Popen(
        ["/bin/bash", "-c", one.line], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    ) as process:
        try:
            screen, _ = process.communicate(timeout=120)
        except BaseException:
            # With what it started: a program that never ends keeps the pipe open.
            os.killpg(process.pid, signal.SIGKILL)
            raise
    return process.returncode, screen


def faults(one: Typed, code: int, screen: str) -> list[str]:
    found = [f"without /{words}/" for words in one.holds if not re.search(words, screen, re.MULTILINE)]
    found += [f"ended with {code}"] if code not in one.codes else []
    found += [f"holds {words[0]}" for words in [NEVER.search(screen)] if words]
    return found


@pytest.mark.parametrize("part", WALK)
def test_each_screen_holds_what_it_must(folder: Path, part: str) -> None:
    bad = []
    for one in WALK[part]:
        code, screen = screen_of(folder, one)
        bad += [f"$ {one.line}\n{screen}{words}" for words in [", ".join(faults(one, code, screen))] if words]
    assert not bad, "\n\n".join(bad)
    # What was refused has not touched the user's own files.
    assert {name: (folder / name).read_text() for name in FILES} == FILES


def test_one_run_has_the_same_figures_everywhere(folder: Path) -> None:
    def said(line: str) -> list[str]:
        code, screen = screen_of(folder, Typed(line, ()))
        assert code == 0, f"$ {line}\n{screen}"
        # A long header is broken in some views.
        return screen.replace(" ·\n  ", " · ").splitlines()

    head = [line for line in said("genba run app.py") if line.startswith(("CPython ", "ticks ", "one place: "))]
    assert len(head) == 3, head
    assert said("genba report")[1:4] == head
    assert said("genba report --weight cpu --by function")[1:4] == head
    for view in ("genba tree", "genba lines"):
        assert head[0] in said(view), view
    assert head[1] in said("genba html") and head[1] in said("genba export --to speedscope")
    words = said("genba report --format json | python3 -c 'import json, sys; print(json.load(sys.stdin)[\"verdict\"][\"words\"])'")
    assert f"one place: {words[-1]}" == head[2]


def test_the_walk_is_as_long_as_an_hour() -> None:
    lines = [one for part in WALK.values() for one in part]
    assert len(lines) >= 80 and all(one.holds for one in lines), len(lines)
    # A good part of what is typed in the first hour is wrong.
    assert sum(one.holds[0].startswith("^error: ") for one in lines) >= 40
