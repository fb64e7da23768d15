"""Constants and counts of a message file.

    fixed.py FILE                  how many messages there are, and texts by language
    fixed.py FILE --check HEADER   whether a server's mysqld_error.h has the same numbers
    fixed.py FILE --python         constants for Python
    fixed.py FILE --go             constants for Go
"""

import re
import sys
from collections import Counter
from pathlib import Path

from messages import BadFile, Message, Reader

DEFINED = re.compile(r"#define ((?:ER|WARN)_\w+) (\d+)$", re.MULTILINE)
# Of the header's own making.
SECTIONS = re.compile(r"ER_ERROR_(?:FIRST|LAST)(?:_SECTION_\d+)?$")


def counts(messages: list[Message]) -> None:
    print(f"{len(messages)} messages, numbers {messages[0].number} to {messages[-1].number}")
    languages = Counter(language for message in messages for language in message.texts)
    for language, count in languages.most_common():
        print(f"{language:<14}{count:>6}")


def check(messages: list[Message], header: str) -> int:
    defined = {name: int(number) for name, number in DEFINED.findall(header) if not SECTIONS.match(name)}
    read = {message.name: message.number for message in messages if not message.is_obsolete}
    differing = sorted(name for name in defined.keys() | read.keys() if defined.get(name) != read.get(name))
    for name in differing:
        print(f"{name}: {read.get(name)}, and {defined.get(name)} in the header")
    print(f"{len(read) - len(differing)} numbers are those of the header, {len(differing)} differ")
    return bool(differing)


def main(reader: type[Reader]) -> int:
    path, way = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    try:
        read = reader(path, Path(path).read_text(encoding="utf-8"))
        messages = read.messages()
    except (BadFile, OSError, UnicodeDecodeError) as why:
        print(f"error: {why}", file=sys.stderr)
        return 1
    for remark in read.remarks:
        print(f"remark: {remark}", file=sys.stderr)
    if way == "--check":
        return check(messages, Path(sys.argv[3]).read_text())
    if way == "--python":
        print("\n".join(f"{message.name} = {message.number}" for message in messages))
    elif way == "--go":
        print("package errornumbers\n\nconst (")
        print("\n".join(f"\t{message.name} = {message.number}" for message in messages))
        print(")")
    else:
        counts(messages)
    return 0


if __name__ == "__main__":
    sys.exit(main(Reader))
