"""`genba dump` of a program whose stacks never stop changing: no stack that genba calls verified may be one that cannot exist.

Owns: the rules of tests/programs/storm.py, by which a mixture of two moments is recognised, and a proof that each kind of mixture is.
"""

import subprocess
from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest

from figures import Figure
from interpreters import Interpreter
from looked_at import Program, line_of, running
from places import make_place
from programs import storm
from recording import Place
from running_program import until
from soak import SOAK

# A wrong stack is wrong on a busy machine, too.
pytestmark = pytest.mark.measures

DUMPS = 1000 if SOAK else 60
TRACED_DUMPS = DUMPS // 4
# Times as many, at most.
MORE_MAX = 10
PROGRAM = "storm.py"
RUNNING, SLEEPING = 3, 3
# Callee → the only caller, and the mark of the line there.
CALLERS = {
    "beta": ("alpha", "beta"),
    "gamma": ("beta", "gamma"),
    "steps": ("gamma", "steps"),
    "alpha": ("steps", "alpha"),
    "works": ("steps", "works"),
    "sleeps": ("steps", "sleeps"),
    "begins": ("calls", "begins"),
}
# The one more place that calls a function of the ring.
FIRST = ("alpha", "begins", "the first alpha")
LINES = {mark: line_of(PROGRAM, mark) for mark in (FIRST[2], *(mark for _, mark in CALLERS.values()))}
# The depth of `begins`, by the token.
first_depth = lambda token: (token % storm.ROUNDS_MAX + 1) * len(storm.RING)
LEAVES = ("works", "sleeps")
ENTRIES = ("calls", "starts")
THREAD = ["Thread.run", "Thread._bootstrap_inner", "Thread._bootstrap"]


@pytest.fixture
def place(python: Interpreter, request: pytest.FixtureRequest) -> Place:
    return make_place(python, request, "storm")


class Impossible(Exception):
    """Why a stack cannot exist."""


def demand(is_so: bool, why: str) -> None:
    if not is_so:
        raise Impossible(why)


def is_of_storm(frame: dict) -> bool:
    return Path(frame["file"] or "").name == PROGRAM


def check_thread(thread: dict) -> bool:
    """Whether there was anything to check: a frame of the storm. Raises `Impossible`."""
    frames = thread["frames"]
    own = [at for at, frame in enumerate(frames) if is_of_storm(frame)]
    if not own or thread["name"] == "MainThread":
        return False
    demand(own == list(range(own[0], own[-1] + 1)), "foreign frames between those of the storm")
    storm_frames = frames[own[0] : own[-1] + 1]
    for frame in storm_frames:
        check_line(frame)
    for callee, caller in zip(storm_frames, storm_frames[1:], strict=False):
        check_call(callee, caller)
    if own[0]:
        demand(storm_frames[0]["name"] in ("sleeps", "starts"), f"{storm_frames[0]['name']} calls {frames[own[0] - 1]['name']}")
    if thread["end"] == "complete":
        demand(storm_frames[-1]["name"] in ENTRIES, f"it begins with {storm_frames[-1]['name']}")
        demand([frame["name"] for frame in frames[own[-1] + 1 :]] == THREAD, "Thread.run does not call its entry")
    check_values([frame for frame in storm_frames if frame["name"] not in ENTRIES], thread)
    return True


def check_line(frame: dict) -> None:
    code = getattr(storm, frame["name"], None)
    demand(code is not None, f"no function {frame['name']}")
    # None is one of them where a function has code for exceptions.
    lines = [line for _, _, line in code.__code__.co_lines()]
    demand(frame["line"] in lines, f"line {frame['line']} is not one of {frame['name']}")


def check_call(callee: dict, caller: dict) -> None:
    pair = callee["name"], caller["name"]
    demand(pair == FIRST[:2] or pair[0] in CALLERS and CALLERS[pair[0]][0] == pair[1], f"{pair[1]} calls {pair[0]}")
    line = LINES[FIRST[2] if pair == FIRST[:2] else CALLERS[pair[0]][1]]
    demand(caller["line"] == line, f"{pair[1]} calls {pair[0]} from line {caller['line']}, not {line}")


def check_values(calls: list[dict], thread: dict) -> None:
    """Of the frames below `calls`, innermost first. What was not read in time has no values."""
    values = [{local["name"]: local["value"] for local in frame["locals"]} for frame in calls if frame["locals"] is not None]
    demand(len(values) == len(calls) or thread["is_cut_by_time"], "values are missing")
    if not calls or thread["is_cut_by_time"]:
        return
    tokens = {value.get("token") for value in values}
    demand(len(tokens) == 1 and None not in tokens, f"tokens {tokens} in one stack")
    token = int(tokens.pop())
    kind, _, number = (thread["name"] or "").partition("-")
    demand(not kind or int(number) == token // storm.CALLS_MAX, f"{thread['name']} has the stack of thread {token // storm.CALLS_MAX}")
    depths = [int(value["depth"]) for value in values]
    demand(depths == list(range(depths[0], depths[0] + len(depths))), f"depths {depths}")
    for frame, depth in zip(calls, depths, strict=True):
        if frame["name"] not in (*LEAVES, "begins"):
            demand(frame["name"] == storm.RING[depth % len(storm.RING)], f"{frame['name']} at depth {depth}")
    demand((depths[0] == -1) == (calls[0]["name"] in LEAVES), f"{calls[0]['name']} at depth {depths[0]}")
    if thread["end"] == "complete":
        demand(depths[-1] == first_depth(token), f"it begins at depth {depths[-1]}")


def why_impossible(thread: dict) -> str | None:
    try:
        check_thread(thread)
    except Impossible as why:
        return str(why)
    return None


def dumped(program: Program, figure: Figure, dumps: int, is_enough: Callable[[Counter], bool]) -> Counter:
    """Certainty → how many stacks of the storm. So many dumps, and more where a busy machine let too few threads be stopped. Fails at a verified one
    that cannot exist."""
    checked: Counter = Counter()
    torn: Counter = Counter()
    cut: Counter = Counter()
    brief = set()
    for number in range(dumps * MORE_MAX):
        if number >= dumps and is_enough(checked):
            break
        (process,) = program.dump("--locals")["processes"]
        for thread in process["threads"]:
            certainty = thread["certainty"]
            try:
                checked[certainty] += check_thread(thread)
            except Impossible as why:
                assert certainty.startswith("unverified"), f"{why}\n{shown(thread)}"
                checked[certainty] += 1
                torn[certainty] += 1
            if thread["end"] != "complete" or thread["is_cut_by_time"]:
                cut[f"{thread['end']}, {certainty}"] += 1
            if (thread["name"] or "").startswith("brief"):
                brief.add(thread["name"])
    assert program.process.poll() is None
    for certainty, count in checked.items():
        figure(f"stacks that cannot exist, {certainty}", torn[certainty], f"of {count}", bound=None if certainty.startswith("unverified") else 0)
    for end, count in cut.items():
        figure(f"threads without all frames: {end}", count, "looks")
    figure("threads that came and went, seen", len(brief), "threads")
    return checked


def shown(thread: dict) -> str:
    head = {key: thread[key] for key in ("name", "state", "certainty", "stopped_ns", "end", "is_cut_by_time")}
    local = lambda frame: {local["name"]: local["value"] for local in frame["locals"] or []}
    return "\n".join([str(head), *(f"{frame['name']}:{frame['line']} {local(frame)}" for frame in thread["frames"])])


def test_no_verified_stack_is_impossible(place: Place, figure: Figure) -> None:
    with running(place, PROGRAM, str(RUNNING), str(SLEEPING)) as program:
        is_enough = lambda checked: checked["stopped"] >= DUMPS / 2 and checked["slept"] >= DUMPS / 2
        checked = dumped(program, figure, DUMPS, is_enough)
    assert is_enough(checked), f"too few were verified: {checked}"


def test_nor_is_one_beside_a_tracer(place: Place, figure: Figure) -> None:
    """genba may not stop a thread that strace holds: a stack of one that runs is unverified, and may be torn."""
    with running(place, PROGRAM, str(RUNNING), str(SLEEPING)) as program:
        command = ["strace", "--follow-forks", "--quiet=attach", "--trace=none", "--output=/dev/null", "--attach", str(program.pid)]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as strace:
            try:
                assert until(lambda: f"TracerPid:\t{strace.pid}\n" in Path(f"/proc/{program.pid}/status").read_text())
                checked = dumped(program, figure, TRACED_DUMPS, lambda checked: checked["slept"] >= TRACED_DUMPS / 2 and are_held(checked))
            finally:
                strace.terminate()
    assert checked["slept"] >= TRACED_DUMPS / 2, f"too few were verified: {checked}"
    assert are_held(checked), f"strace held none of them: {checked}"


def are_held(checked: Counter) -> bool:
    return any(certainty.startswith("unverified") and count for certainty, count in checked.items())


def true_stack() -> dict:
    """One that can exist: `works`, below two rounds of the ring."""
    token = 4 * storm.CALLS_MAX + 1
    depths = range(-1, first_depth(token) + 1)
    names = ["works", *(storm.RING[depth % len(storm.RING)] for depth in depths[1:-1]), "begins"]
    calls = names[:-1]
    marks = [None, *(FIRST[2] if caller == "begins" else CALLERS[callee][1] for callee, caller in zip(calls, names[1:], strict=True))]
    lines = [storm.works.__code__.co_firstlineno + 1, *(LINES[mark] for mark in marks[1:])]
    value = lambda depth: [{"name": "token", "value": str(token)}, {"name": "depth", "value": str(depth)}]
    frames = [{"name": name, "line": line, "file": PROGRAM, "locals": value(depth)} for name, line, depth in zip(names, lines, depths, strict=True)]
    frames.append({"name": "calls", "line": LINES["begins"], "file": PROGRAM, "locals": []})
    frames += [{"name": name, "line": 1, "file": "threading.py", "locals": []} for name in THREAD]
    return {"name": "brief-4", "end": "complete", "is_cut_by_time": False, "frames": frames}


def swap_functions(frames: list[dict]) -> None:
    frames[2], frames[3] = frames[3], frames[2]


def take_a_line_of_another_moment(frames: list[dict]) -> None:
    frames[1]["line"] = LINES["sleeps"]


def take_the_token_of_another_call(frames: list[dict]) -> None:
    for frame in frames[:4]:
        frame["locals"][0]["value"] = str(4 * storm.CALLS_MAX + 2)


def take_another_thread(frames: list[dict]) -> None:
    for frame in frames[:-4]:
        frame["locals"][0]["value"] = str(5 * storm.CALLS_MAX + 1)


def leave_out_a_round(frames: list[dict]) -> None:
    del frames[2 : 2 + len(storm.RING)]


def leave_out_the_innermost_of_another_depth(frames: list[dict]) -> None:
    del frames[1:5]


def end_in_the_middle(frames: list[dict]) -> None:
    del frames[4:-3]


def lose_a_value(frames: list[dict]) -> None:
    frames[3]["locals"] = None


MIXTURES = (
    swap_functions, take_a_line_of_another_moment, take_the_token_of_another_call, take_another_thread, leave_out_a_round,
    leave_out_the_innermost_of_another_depth, end_in_the_middle, lose_a_value,
)


@pytest.mark.parametrize("mix", MIXTURES, ids=lambda mix: mix.__name__)
def test_each_mixture_is_recognised(mix) -> None:
    thread = true_stack()
    assert why_impossible(thread) is None and check_thread(thread)
    mixed = deepcopy(thread)
    mix(mixed["frames"])
    assert why_impossible(mixed) is not None
