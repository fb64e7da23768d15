"""Collapsed stacks (`genba export --to collapsed`), read, and judged: which of them cannot have happened?

The truth stands in the program itself, as comments at the end of its lines:
    # calls: f, g        directly above this line only f or g of the same file can run
    # only-under: f      this line runs only while f waits below it; on a `def` line: the whole function
    # depth: f=301       … only with exactly 301 frames of f below; on a `def` line: the whole function
    # through: part      between this line and what it calls stands a C frame of a module with `part` in its name
    # families: _a _b    (anywhere) no stack holds names of two families
A mark in a stack ("truncated", a function not named yet) claims nothing, so nothing is judged across it.
Owns: the grammar of both texts and the judgement. Never: samples or counts anything twice.
"""

import ast
import functools
import re
from dataclasses import dataclass

PYTHON = re.compile(r"(?P<name>.+) \((?P<file>.+):(?P<line>\d+)\)")
C = re.compile(r"(?P<name>.+?)(?: \((?P<how>inferred|inlined)\))? \[(?P<module>[^\[\]]+)\]")
NOTE = re.compile(r"#\s*(?:(calls|only-under|depth|through|families):\s*([^#]+)|(first|anywhere)\s*$)")


@dataclass(frozen=True)
class Frame:
    kind: str  # python, c, inferred, inlined, mark
    name: str
    file: str = ""
    line: int = 0
    module: str = ""


@dataclass(frozen=True)
class Stack:
    frames: tuple[Frame, ...]
    weight: int

    def own(self, file: str) -> list[Frame]:
        """Frames of this file, and marks: something stands there that the stack does not name."""
        return [frame for frame in self.frames if frame.kind == "mark" or frame.file == file]

    def __str__(self) -> str:
        return "\n".join(f"    {frame.name} {frame.file}{frame.module}:{frame.line}" for frame in self.frames)


def parse_collapsed(text: str) -> list[Stack]:
    return [parse_stack(line) for line in text.splitlines()]


def parse_stack(line: str) -> Stack:
    frames, _, weight = line.rpartition(" ")
    # Few names have a semicolon in them, and a plain division is many times faster.
    names = re.split(r"(?<!\\);", frames) if "\\;" in frames else frames.split(";")
    return Stack(tuple(map(parse_frame, names)), int(weight))


@functools.cache
def parse_frame(escaped: str) -> Frame:
    """Of thousands of stacks nearly all frames are the same few."""
    text = escaped.replace("\\;", ";")
    if match := PYTHON.fullmatch(text):
        return Frame("python", match["name"], file=match["file"], line=int(match["line"]))
    if match := C.fullmatch(text):
        return Frame(match["how"] or "c", match["name"], module=match["module"])
    return Frame("mark", text)


@dataclass(frozen=True)
class Function:
    name: str
    first_line: int
    last_line: int


class PossibleStacks:
    """What can happen in one program, read from its text."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.functions = {"<module>": Function("<module>", 0, text.count("\n") + 1)}
        self.families: list[str] = []
        self.notes: dict[int, dict[str, list[str]]] = {}
        for number, line in enumerate(text.splitlines(), start=1):
            for key, value, flag in NOTE.findall(line):
                key, words = key or flag, value.replace(",", " ").split()
                if key == "families":
                    self.families = words
                else:
                    self.notes.setdefault(number, {})[key] = words
        self._collect(ast.parse(text), "")
        self.definitions = {one.first_line for one in self.functions.values()}

    def _collect(self, node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                name = prefix + child.name
                first = min([child.lineno, *(one.lineno for one in child.decorator_list)])
                assert name not in self.functions, f"two functions {name} in {self.file}"
                self.functions[name] = Function(name, first, child.end_lineno or first)
                self._collect(child, f"{name}.<locals>.")
            elif isinstance(child, ast.ClassDef):
                name = prefix + child.name
                self.functions[name] = Function(name, child.lineno, child.end_lineno or child.lineno)
                # The body of a class is called by the line that names it.
                self.notes.setdefault(child.lineno, {}).setdefault("calls", []).append(name)
                self._collect(child, f"{name}.")
            else:
                self._collect(child, prefix)

    def judged(self, stack: Stack) -> bool:
        return any(frame.kind == "python" for frame in stack.own(self.file))

    def faults(self, stack: Stack) -> list[str]:
        """Why this stack cannot have happened; empty when it can."""
        if not self.judged(stack):
            return []
        marked = stack.own(self.file)
        own = [frame for frame in marked if frame.kind == "python"]
        faults = [fault for frame in own for fault in self._frame_faults(frame)]
        if marked[0].kind == "python" and marked[0].name != "<module>" and not self._is(marked[0], "first"):
            faults.append(f"begins in {marked[0].name}, not in the module, and no mark says why")
        for below, above in zip(marked, marked[1:], strict=False):
            called = self.notes.get(below.line, {}).get("calls", [])
            if below.kind == above.kind == "python" and above.name not in called and not self._is(above, "anywhere"):
                faults.append(f"{below.name} at line {below.line} does not call {above.name}")
        if own == marked:
            for index in range(len(own)):
                faults += self._context_faults(own, index)
            faults += self._through_faults(stack)
        met = [family for family in self.families if any(_in_family(frame.name, family) for frame in own)]
        if len(met) > 1:
            faults.append(f"families {' and '.join(met)} in one stack")
        return faults

    def _is(self, frame: Frame, flag: str) -> bool:
        function = self.functions.get(frame.name)
        return function is not None and flag in self.notes.get(function.first_line, {})

    def _frame_faults(self, frame: Frame) -> list[str]:
        function = self.functions.get(frame.name)
        if function is None:
            return [f"{frame.name} is no function of {self.file}"]
        if not function.first_line <= frame.line <= function.last_line:
            return [f"line {frame.line} is not in {frame.name}"]
        return []

    def _context_faults(self, own: list[Frame], index: int) -> list[str]:
        faults = []
        frame = own[index]
        function = self.functions.get(frame.name)
        # Where a function is defined, the note is about the function, not about its definition.
        places = ({frame.line} - self.definitions) | ({function.first_line} if function else set())
        noted = [self.notes[place] for place in places if place in self.notes]
        # Few lines have one, and a stack may be hundreds of frames deep.
        below = [one.name for one in own[:index]] if noted else []
        for notes in noted:
            for name in notes.get("only-under", []):
                if name not in below:
                    faults.append(f"{frame.name} at line {frame.line} without {name} below it")
            for claim in notes.get("depth", []):
                name, _, count = claim.partition("=")
                if below.count(name) != int(count):
                    faults.append(f"{frame.name} above {below.count(name)} frames of {name}, not {count}")
        return faults

    def _through_faults(self, stack: Stack) -> list[str]:
        faults = []
        waiting: tuple[Frame, list[str]] | None = None
        for frame in stack.frames:
            if frame.kind == "c" and waiting and any(part in frame.module for part in waiting[1]):
                waiting = None
            if frame.kind == "python" and frame.file == self.file:
                if waiting:
                    faults.append(f"no C frame of {waiting[1]} between {waiting[0].name} and {frame.name}")
                through = self.notes.get(frame.line, {}).get("through")
                waiting = (frame, through) if through else None
        return faults


def _in_family(name: str, family: str) -> bool:
    return any(part.endswith(family) for part in name.split("."))
