#!/usr/bin/env python3
"""Which sources the pictures in docs/pictures were made of. `make pictures` writes a digest for each into docs/pictures/sources.json, and a test
(tests/house/test_pictures.py) fails when a page looks otherwise by now. The picture of a recording also has words that come with the recording: its
verdict. They are those of README's screen, of the same program, and tests/command/test_typed_commands.py says whether that screen comes out again.

Owns: what each picture shows. argv: the file to write. Never: takes a picture. Uses the standard library alone.
"""

import hashlib
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = "docs/pictures/sources.json"
# Of a picture `page-light.png` the first word.
SOURCES = {
    "page": ["main.tsx", "shell.html", "parts", "draw", "model", "style"],
    "bench": ["bench", "model/bench", "style/bench", "style/light.css", "style/dark.css"],
    "server": ["server", "model/server", "style/server", "style/light.css", "style/dark.css"],
}
# Below a folder of `page`, and of other pages.
OTHERS = ("model/bench/", "model/cycles/", "model/server/", "style/bench/", "style/cycles/", "style/server/")


def digest(picture: str) -> str:
    web = ROOT / "web"
    paths = [path for name in SOURCES[picture] for path in ([web / name] if (web / name).is_file() else sorted((web / name).rglob("*")))]
    found = hashlib.sha256()
    for path in paths:
        name = path.relative_to(web).as_posix()
        if path.is_file() and ".test." not in name and not (picture == "page" and name.startswith(OTHERS)):
            found.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    if picture == "page":
        found.update("\n".join(verdict_words((ROOT / "README.md").read_text())).encode())
    return found.hexdigest()


def verdict_words(readme: str) -> list[str]:
    """The verdict of the screen, without its figures."""
    _, _, screen = readme.partition("```console\n")
    lines = iter(screen.partition("\n\n")[0].splitlines())
    # Before it come the command, the header and the accounting, perhaps in two lines each.
    found = [line for line in lines if not line.startswith(("$ ", "CPython ", "ticks ")) and not re.match(r"  (sampled every|CPU covered) ", line)]
    return [re.sub(r"[\d.,]+( (ms|s|µs)\b)?", "#", line) for line in found]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps({picture: digest(picture) for picture in SOURCES}, indent=2) + "\n")
