"""The page: how large it is of usual programs, beside the same recordings in other forms; and how long a recording of three million boxes, and one
of a million samples, take to open in a real Chromium, beside `JSON.parse` of their numbers."""

import base64
import http.client
import re
import subprocess
from argparse import Namespace
from pathlib import Path

import recordings
from goals.made import many_samples
from row import Row

REPOSITORY = Path(__file__).resolve().parent.parent.parent
BOXES = 3_000_000
SAMPLES, STACKS = 1_000_000, 100_000
OPENED_MS_MAX = 2_000
# A computation of a second, and a server with a thread for each request.
CASE = ("casebook/json-errors/slow.py", "1000")
SERVER = "tests/programs/web_server.py"
REQUESTS = 1_000
PAGE_KB_MAX = 300
# web/shell.html has each in an element of its own.
NUMBERS = re.compile(rb'(data-numbers="[^"]*">)[^<]*')
CODE = re.compile(rb'data-code="[^"]*">([^<]*)')


def rows(options: Namespace, folder: Path) -> list[Row]:
    return [*sizes(options, folder), *openings(options, folder)]


def sizes(options: Namespace, folder: Path) -> list[Row]:
    """At genba's default settings."""
    case, server = folder / "case.genba", folder / "server.genba"
    subprocess.run([*recorder(options, case), str(REPOSITORY / CASE[0]), *CASE[1:]], check=True, stdout=subprocess.DEVNULL)
    serve([*recorder(options, server), str(REPOSITORY / SERVER)])
    return [
        size(f"the page of {' '.join(CASE)}", case, options),
        size(f"the page of {SERVER} after {REQUESTS:,} requests", server, options),
        code(page_of(case)),
    ]


def recorder(options: Namespace, recording: Path) -> list[str]:
    return [options.genba, "run", "--quiet", "--force", "-o", str(recording), options.python]


def serve(command: list[str]) -> None:
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            port = int(server.stdout.readline())
            for number in range(REQUESTS):
                ask(port, f"/{'x' * (number % 50)}")
            ask(port, "/stop")
            server.communicate(timeout=60)
        except BaseException:
            server.kill()
            raise
    if server.returncode != 0:
        raise SystemExit(f"error: {SERVER} ended with {server.returncode}")


def ask(port: int, path: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    connection.getresponse().read()
    connection.close()


def page_of(recording: Path) -> Path:
    return recording.with_suffix(".html")


def size(name: str, recording: Path, options: Namespace) -> Row:
    page = page_of(recording)
    subprocess.run([options.genba, "html", "-o", str(page), str(recording)], check=True)
    page_kb, (speedscope_kb, json_kb) = page.stat().st_size / 1e3, (exported_kb(options, recording, to) for to in ("speedscope", "json"))
    calls = len(recordings.profile(options.genba, recording)["nodes"]["frame"])
    yardstick = f"for speedscope {speedscope_kb:,.0f} kB, as JSON {json_kb:,.0f} kB; {calls:,} calls in the tree"
    return Row(f"{name}: its size", page_kb, "kB", bound=PAGE_KB_MAX, yardstick=yardstick, ratio=page_kb / speedscope_kb)


def exported_kb(options: Namespace, recording: Path, to: str) -> float:
    command = [options.genba, "export", str(recording), "--to", to, "-o", "-"]
    return len(subprocess.run(command, capture_output=True, check=True).stdout) / 1e3


def code(page: Path) -> Row:
    """The same in every page. Its script and style are packed in it, as they were compressed, in base64."""
    alone = NUMBERS.sub(rb"\1", page.read_bytes(), count=1)
    (packed,) = CODE.findall(alone)
    compressed_kb = len(base64.b64decode(packed)) / 1e3
    return Row("of a page: its code and style", len(alone) / 1e3, "kB", yardstick=f"compressed (gzip -9), before base64 {compressed_kb:.1f} kB")


def openings(options: Namespace, folder: Path) -> list[Row]:
    recording = many_samples(folder / "page.genba", SAMPLES, STACKS)
    page = folder / "page.html"
    subprocess.run([options.genba, "html", "--all-samples", "-o", str(page), str(recording)], check=True)
    made, written = f"page of {BOXES:,} boxes", f"page of {SAMPLES:,} samples, {STACKS:,} stacks"
    return [*opened(made, str(BOXES), folder), *opened(written, str(page), folder)]


def opened(name: str, what: str, folder: Path) -> list[Row]:
    """`what`: how many boxes are made up, or the path of a page."""
    command = ["npm", "--prefix", str(REPOSITORY / "web"), "run", "--silent", "speed", "--", what]
    said = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
    print(said, flush=True)
    painted_ms, read_ms, parsing_ms = (milliseconds(said, mark) for mark in ("painted", "numbers read", "JSON.parse of its numbers"))
    yardstick = f"JSON.parse of the same numbers in node {parsing_ms:.0f} ms"
    return [
        Row(f"{name}: until it is painted", painted_ms, "ms", bound=OPENED_MS_MAX, yardstick=yardstick, ratio=painted_ms / parsing_ms),
        Row(f"{name}: of which its numbers are read", read_ms, "ms", yardstick=yardstick, ratio=read_ms / parsing_ms),
    ]


def milliseconds(said: str, name: str) -> float:
    found = re.search(rf"^ +{re.escape(name)} +(\d+) ms", said, re.MULTILINE)
    if found is None:
        raise SystemExit(f"error: npm run speed does not say `{name}`:\n{said}")
    return float(found[1])
