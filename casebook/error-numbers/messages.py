"""Message files of database servers: MariaDB's `errmsg-utf8.txt`, MySQL's `messages_to_clients.txt`. A name gets the next number, unless a line
says where numbers go on; below it stand its texts, a line for each language.

    languages english=eng, german=ger;
    default-language eng
    start-error-number 1000
    ER_NO 42000
            eng "NO"
            ger "Nein"
"""

import re
from bisect import bisect_right
from dataclasses import dataclass, field

LINE = re.compile(r"[^\n]*\n?")
LANGUAGES = re.compile(r"languages\s+(?P<pairs>[^;]*);\s*$")
NUMBERS = re.compile(r"(?:start-error-number|skip-to-error-number)\s+(?P<number>\d+)\s*$")
RESERVED = re.compile(r"reserved-error-section\s+(?P<first>\d+)\s+(?P<last>\d+)\s*$")
DEFAULT = re.compile(r"default-language\s+(?P<language>\S+)\s*$")
NAME = re.compile(r"(?P<name>(?:OBSOLETE_)?(?:ER|WARN)_\w+)(?:\s+(?P<state>\w{5}))?(?:\s+(?P<odbc>\w{5}))?\s*$")
# What stands behind the last quotation mark counts for nothing, as for the servers' own compiler of these files.
TEXT = re.compile(r"[ \t]+(?P<language>[\w-]+)\s+\"(?:(?P<text>.*)\"[^\"]*|(?P<open>[^\"\n]*)\n?)$")


class BadFile(Exception):
    """FILE:LINE:COLUMN: what was expected."""


@dataclass
class Message:
    name: str
    number: int
    state: str
    # Where the name stands: line and column, from 1.
    place: tuple[int, int]
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def is_obsolete(self) -> bool:
        return self.name.startswith("OBSOLETE_")


class Reader:
    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text
        self.begins = [found.start() for found in LINE.finditer(text)]
        self.languages: dict[str, str] = {}
        self.default = ""
        self.reserved: list[tuple[int, int]] = []
        # What the servers take, and was hardly meant.
        self.remarks: list[str] = []

    def place(self, position: int) -> tuple[int, int]:
        line = bisect_right(self.begins, position)
        return line, position - self.begins[line - 1] + 1

    def bad(self, position: int, expected: str) -> BadFile:
        line, column = self.place(position)
        return BadFile(f"{self.name}:{line}:{column}: {expected}")

    def messages(self) -> list[Message]:
        read: list[Message] = []
        number = None
        names: dict[str, Message] = {}
        for found in LINE.finditer(self.text):
            line, position = found[0], found.start()
            place = self.place(position)
            if not line.strip() or line.startswith("#"):
                continue
            if line[0] in " \t":
                self.text_of(read, line, position)
            elif stated := NAME.match(line):
                if number is None:
                    raise self.bad(position, "start-error-number is expected before the first message")
                message = Message(stated["name"], number, stated["state"] or "HY000", place)
                if earlier := names.get(message.name):
                    raise self.bad(position, f"another name is expected: {message.name} is in line {earlier.place[0]}, too")
                if any(first <= number <= last for first, last in self.reserved):
                    raise self.bad(position, f"start-error-number is expected: {number} is reserved")
                names[message.name] = message
                read.append(message)
                number += 1
            else:
                number = self.section(line, position, number)
        return read

    def section(self, line: str, position: int, number: int | None) -> int | None:
        if stated := LANGUAGES.match(line):
            pairs = [pair.split("=") for pair in stated["pairs"].split(",")]
            if any(len(pair) != 2 for pair in pairs):
                raise self.bad(position, "languages are expected as LONG=SHORT, separated by commas")
            self.languages = {short.strip(): long.strip() for long, short in pairs}
        elif stated := NUMBERS.match(line):
            if number is not None and int(stated["number"]) < number:
                raise self.bad(stated.start("number") + position, f"a number from {number} on is expected")
            return int(stated["number"])
        elif stated := RESERVED.match(line):
            self.reserved.append((int(stated["first"]), int(stated["last"])))
        elif stated := DEFAULT.match(line):
            self.default = stated["language"]
        else:
            raise self.bad(position, "a name such as ER_NO, a text (indented), or a section such as start-error-number is expected")
        return number

    def text_of(self, read: list[Message], line: str, position: int) -> None:
        at = position + len(line) - len(line.lstrip())
        stated = TEXT.match(line)
        if not stated:
            raise self.bad(at, 'a language and a text in quotation marks are expected, such as eng "NO"')
        if not read:
            raise self.bad(at, "a name is expected before its texts")
        language = stated["language"]
        if self.languages and language not in self.languages:
            self.remarks.append(str(self.bad(at, f"{language} is none of the languages")))
        if stated["text"] is None:
            self.remarks.append(str(self.bad(at, "a quotation mark is expected at the end")))
        if language in read[-1].texts:
            raise self.bad(at, f"another language is expected: {read[-1].name} has {language} already")
        read[-1].texts[language] = stated["open"] if stated["text"] is None else stated["text"]
