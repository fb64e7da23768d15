"""Python text in which «» stand around the expressions that a profiler must name: which calls lead to which place.

A function after a line `# case` is called; each «» from there to the next `# case` is the place of one frame, in the order
of their beginnings: the caller first. «⟨-12⟩ …» is one up to CPython 3.12 only, «⟨13-⟩ …» from 3.13 on: there the
interpreter's own tables say another place, which a traceback would show too. Behind `# case` may stand
    , then NAME         the innermost frame's place is the first «» of NAME.marked
    , then <NAME>:2     … is line 2 of text without a file
A «» before the first `# case` is the last place of each.
    , through <NAME>    text without a file stands before the innermost frame; its line is not known
Owns: that grammar. Never: runs anything.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

CASE = re.compile(r"# case(?:, (?P<word>then|through) (?P<where>\S+))?\n(?:async )?def (?P<name>\w+)")


@dataclass(frozen=True)
class Mark:
    """A place: lines from 1, columns from 0 in characters, the last exclusive. Generated text has a line only, or nothing."""

    file: str
    line: int | None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    text: str | None = None
    minors: range = field(default=range(11, 100), compare=False)


@dataclass(frozen=True)
class Case:
    module: str
    name: str
    marks: tuple[Mark, ...]

    def chain(self, minor_number: int) -> tuple[Mark, ...]:
        return tuple(mark for mark in self.marks if minor_number in mark.minors)

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(frozen=True)
class Marked:
    """A file of marked text, as Python sees it."""

    path: Path
    text: str
    marks: tuple[tuple[int, Mark], ...]  # with their offset in `text`

    @property
    def module(self) -> str:
        return self.path.stem


def read_marked(path: Path) -> Marked:
    text, marks, open_marks = "", [], []
    for piece in re.split("(«(?:⟨[^⟩]*⟩)?|»)", path.read_text()):
        if piece.startswith("«"):
            open_marks.append((len(text), _minors(piece)))
        elif piece == "»":
            start, minors = open_marks.pop()
            (line, column), (end_line, end_column) = _place(text, start), _place(text, len(text))
            mark = Mark(f"{path.stem}.py", line, column, end_line, end_column, text[start:], minors)
            marks.append((start, len(text), mark))
        else:
            text += piece
    assert not open_marks, f"a « without its » in {path}"
    in_order = sorted(marks, key=lambda one: (one[0], -one[1]))
    return Marked(path, text, tuple((start, mark) for start, _, mark in in_order))


def _minors(opening: str) -> range:
    first, _, last = opening[1:].strip("⟨⟩").partition("-")
    return range(int(first or 11), int(last or 99) + 1)


def _place(text: str, offset: int) -> tuple[int, int]:
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1)


def cases(marked: Marked) -> list[Case]:
    found = list(CASE.finditer(marked.text))
    ends = [*(one.start() for one in found[1:]), len(marked.text)][: len(found)]
    made = []
    for match, end in zip(found, ends, strict=True):
        chain = [mark for offset, mark in marked.marks if match.start() <= offset < end]
        if marked.marks[0][0] < found[0].start():
            chain.append(marked.marks[0][1])
        where = match["where"]
        if match["word"] == "through":
            chain.insert(-1, Mark(where, None))
        elif where and where.startswith("<"):
            file, _, line = where.rpartition(":")
            chain.append(Mark(file, int(line)))
        elif where:
            chain.append(read_marked(marked.path.with_name(f"{where}.marked")).marks[0][1])
        made.append(Case(marked.module, match["name"], tuple(chain)))
    return made
