"""`make readme`: puts the real first screen of casebook/bytes-slice into README.md, between its two marks.

Owns: that place in README.md. argv: the command, the interpreter. Never: changes a figure; the path of the repository and
of the interpreter are written as a reader would type them."""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN = "<!-- first screen: `make readme` fills this in from a real run -->\n"
END = "<!-- end of first screen -->\n"


def main(genba: str, python: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder) / "slow.genba"
        program = "casebook/bytes-slice/slow.py"
        command = [genba, "run", "--quiet", "-o", str(recording), *python, program]
        subprocess.run(command, cwd=ROOT, check=True)
        report = [genba, "report", str(recording), "--limit", "2"]
        screen = subprocess.run(report, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    block = f"```console\n$ genba run {program}\n{screen.rstrip()}\n```\n"
    readme = ROOT / "README.md"
    before, _, rest = readme.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    assert after, f"README.md has lost its marks {BEGIN!r} and {END!r}"
    readme.write_text(before + BEGIN + block + END + after)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
