"""`genba heap refs`: each object of a program by the way that keeps it alive, as the program says it (tests/programs/held.py).

Owns: each kind of step and each kind of root; what is said of a class that is not there, or there twice.
"""

import json
import re

import pytest

from entered import on
from recording import Workshop, genba
from running_program import Program, started
from test_heap import heaped

HELD = "tests/programs/held.py"
# By class: how many objects, and the way to each, from its root on.
WAYS = {
    "ByAttribute": (1, ["module __main__", ".CACHE: __main__.Cache", ".one: __main__.ByAttribute"]),
    "BySlot": (1, ["module __main__", ".SLOTTED: __main__.Slotted", ".second: __main__.BySlot"]),
    "ByItem": (50, ["module __main__", ".ITEMS: list", "[…]: __main__.ByItem"]),
    "AsKey": (1, ["module __main__", ".KEYS: dict", "as a key: __main__.AsKey"]),
    "ByLocal": (1, ["frame of main (held.py)", "local local: __main__.ByLocal"]),
    "ByClosure": (1, ["module __main__", ".CLOSURE: function", ".__closure__: tuple", "[…]: cell", ".cell_contents: __main__.ByClosure"]),
    "ByGenerator": (1, ["module __main__", ".GENERATOR: generator", "local held: __main__.ByGenerator"]),
    "ByClass": (1, ["module __main__", ".Base: type", ".kept: __main__.ByClass"]),
    "ByDict": (1, ["module __main__", ".DICT: __main__.WithDict", ".late: __main__.ByDict"]),
    # A dict in the place where others have their attributes is one that they refer to.
    "InCellDict": (1, ["module __main__", ".IN_CELL: function", ".__closure__: tuple", "[…]: cell", ".cell_contents: dict", '["in"]: __main__.InCellDict']),
    "InSlotDict": (1, ["module __main__", ".IN_SLOT: __main__.Slotted", ".first: dict", '["in"]: __main__.InSlotDict']),
    "InGlobals": (1, ["module __main__", ".FOREIGN: function", ".__globals__: dict", '["in"]: __main__.InGlobals']),
    "OfTuple": (1, ["module __main__", ".ROW: __main__.Row", ".late: __main__.OfTuple"]),
    "OfFunction": (1, ["module __main__", ".closed: function", ".late: __main__.OfFunction"]),
    # Classes derived from containers have attributes beside their items.
    "OfDict": (1, ["module __main__", ".INDEX: __main__.Index", ".late: __main__.OfDict"]),
    "InDict": (1, ["module __main__", ".INDEX: __main__.Index", '["one"]: __main__.InDict']),
    "OfList": (1, ["module __main__", ".ROWS: __main__.Rows", ".late: __main__.OfList"]),
    "InList": (1, ["module __main__", ".ROWS: __main__.Rows", "[…]: __main__.InList"]),
    "BySlotOfList": (1, ["module __main__", ".LABELLED: __main__.Labelled", ".label: __main__.BySlotOfList"]),
    "OfSet": (1, ["module __main__", ".NAMES: __main__.Names", ".late: __main__.OfSet"]),
    "OfOrdered": (1, ["module __main__", ".ORDERED: collections.OrderedDict", ".late: __main__.OfOrdered"]),
    "ByC": (1, ["the interpreter or C code", "refers to: __main__.ByC"]),
    "ByNothing": (1, ["nothing: garbage"]),
    "InThread": (2, ["frame of keeps (held.py)", "local mine: list", "[…]: __main__.InThread"]),
}


def refs(program: Program, name: str, *flags: str) -> dict:
    done = genba("heap", "refs", str(program.pid), "--class", name, "--format", "json", *flags)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def table(program: Program, name: str, *flags: str) -> tuple[list[tuple[str, int, str]], str]:
    done = genba("heap", "refs", str(program.pid), "--class", name, *flags)
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^ *([\d,]+) +([\d.]+|< ?[\d.]+) %  ( *)(.+)$", done.stdout, re.MULTILINE)
    return [(len(indent) // 2, int(count.replace(",", "")), words) for count, _, indent, words in rows], done.stdout


def test_each_way_to_an_object_is_named(workshop: Workshop) -> None:
    with heaped(workshop, program=HELD) as (program, _):
        for number, (name, (count, way)) in enumerate(WAYS.items()):
            rows, text = table(program, f"__main__.{name}", *(["--in-place"] if number % 4 == 3 else []))
            assert rows == [(depth, count, words) for depth, words in enumerate(way)], text
        # Two keys of one dict are two branches, with the larger one first.
        rows, text = table(program, "ByKey")
        below = ["[…]: tuple", "[…]: __main__.ByKey"]
        assert [(count, words) for _, count, words in rows] == [
            (400, "module __main__"), (400, ".CACHE: __main__.Cache"), (400, ".store: dict"),
            (300, '["hot"]: list'), *((300, words) for words in below), (100, "[…]: list"), *((100, words) for words in below),
        ], text
        # A list of five thousand links is no tree of five thousand steps.
        rows, text = table(program, "Chained", "--sample", "200")
        assert (0, "… (a way of more than 64 steps)") in [(depth, words) for depth, _, words in rows], text
        assert re.search(r"^looked at 200 of 5,000, evenly from all", text, re.MULTILINE) and len(rows) < 12
        namespace = refs(program, "ByNamespace")
        # From 3.14 on the stack of a frame is looked at, too, and the globals of `exec` are on it.
        has_stacks = workshop.interpreter.minor_number >= 14
        assert namespace["kept_by"]["modules_and_locals" if has_stacks else "frame_namespaces"] == 1
        assert namespace["ways"][0]["step"] == ("frame" if has_stacks else "namespace")
        assert program.end() == {"local": True}


def test_many_keys_of_a_dict_are_one_way(workshop: Workshop) -> None:
    """Below the module's dict, whose keys keep their names: 700 and 300 keys, and one that holds a tenth."""
    text = "class A:\n    def __init__(self): self.payload = Leak()\nclass B:\n    def __init__(self): self.other = Leak()\nclass Leak: pass\nCACHE = {}\n"
    text += "for number in range(700): CACHE[f'user-{number}'] = A()\nfor number in range(200): CACHE[f'item-{number}'] = B()\n"
    text += "CACHE['hot'] = [Leak() for _ in range(100)]\nprint('ready', flush=True)\ninput()\nprint('{}')\n"
    with started(workshop, workshop.write("cache.py", text)) as program:
        rows, page = table(program, "Leak")
        assert rows == [
            (0, 1000, "module __main__"),
            (1, 1000, ".CACHE: dict"),
            (2, 700, "[…]: __main__.A"),
            (3, 700, ".payload: __main__.Leak"),
            (2, 200, "[…]: __main__.B"),
            (3, 200, ".other: __main__.Leak"),
            (2, 100, '["hot"]: list'),
            (3, 100, "[…]: __main__.Leak"),
        ], page
        assert program.end() == {}


def test_objects_are_counted_by_what_keeps_them(workshop: Workshop) -> None:
    with heaped(workshop, program=HELD) as (program, _):
        page = refs(program, "Two", "--sample", "8")
        assert (page["class"], page["objects"], page["looked_at"]) == ("__main__.Two", 40, 8)
        assert page["kept_by"] == {"modules_and_locals": 40, "frame_namespaces": 0, "c_only": 0, "nothing": 0}
        (module,) = page["ways"]
        assert (module["step"], module["name"], module["objects"]) == ("module", "__main__", 8)
        assert {way["name"] for way in module["ways"]} == {"TWO_A", "TWO_B"} and sum(way["objects"] for way in module["ways"]) == 8
        for name, key in [("ByC", "c_only"), ("ByNothing", "nothing")]:
            assert refs(program, name)["kept_by"][key] == 1
        assert "of 1 object, 1 is held by the interpreter or C code only" in table(program, "ByC")[1]
        assert "of 1 object, 1 is held by nothing: garbage that the collector has not freed" in table(program, "ByNothing")[1]
        assert program.end() == {"local": True}


def test_the_ways_to_everything_harm_nobody(workshop: Workshop) -> None:
    with heaped(workshop, program=HELD) as (program, _):
        for number, name in enumerate(["str", "dict", "tuple", "type", "function", "int", "cell", "code"]):
            page = refs(program, name, "--sample", "20000", ["--fork", "--in-place"][number % 2])
            assert page["looked_at"] == min(page["objects"], 20_000) == sum(way["objects"] for way in page["ways"])
            assert sum(page["kept_by"].values()) == page["objects"] and page["kept_by"]["modules_and_locals"] > 0
        assert program.end() == {"local": True}


@on("3.13")
def test_the_dict_of_attributes_is_its_objects(workshop: Workshop) -> None:
    text = "import sys\nclass User:\n    def __init__(self): self.tags = ['a']\nUSERS = [User() for _ in range(5_000)]\n[vars(user) for user in USERS] and None\n"
    with started(workshop, workshop.write("users.py", text + "print('ready', flush=True)\nsys.stdin.readline()\nprint('{}')\n")) as program:
        page = refs(program, "dict", "--sample", "50000")
        assert page["objects"] > 5_000 and page["kept_by"]["c_only"] + page["kept_by"]["nothing"] < 500, page["kept_by"]
        (module,) = [way for way in page["ways"] if way["name"] == "__main__"]
        (users,) = [way for way in module["ways"] if way["name"] == "USERS"]
        ((user,),) = [users["ways"]]
        assert (user["class"], user["objects"]) == ("__main__.User", 5_000)
        assert [(way["step"], way["objects"]) for way in user["ways"]] == [("attributes", 5_000)]
        assert program.end() == {}


@on("3.13")
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Laek", ["has no object of a class Laek", "hint: it has __main__.Leak"]),
        ("__main__.ByAtribute", ["hint: it has __main__.ByAttribute"]),
        ("Slow", ["has 2 classes of the name Slow", "__main__.Slow, other.Slow", "hint: --class __main__.Slow"]),
        ("zzz_qqq", ["hint: genba heap", "lists the classes"]),
    ],
)
def test_a_class_that_is_not_there_or_there_twice(workshop: Workshop, name: str, words: list[str]) -> None:
    with heaped(workshop, program=HELD) as (program, _):
        done = genba("heap", "refs", str(program.pid), "--class", name)
        assert done.returncode == 1 and not done.stdout
        assert all(word in done.stderr for word in words), done.stderr
        assert refs(program, "other.Slow")["objects"] == 1
