"""Recordings made up by crates/format's example `many_samples`: as long as asked for, the same bytes every time."""

import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
MAGIC = b"\x89genba\r\n"
# FORMAT.md: the header's length, and where in it the payload's length stands.
HEADER_BYTES = 66
PAYLOAD_BYTES_AT = 50


def many_samples(path: Path, samples: int, stacks: int, key: int = 7) -> Path:
    command = ["cargo", "run", "--quiet", "--release", "-p", "genba-format", "--features", "read", "--example", "many_samples"]
    subprocess.run([*command, "--", str(path), str(samples), str(stacks), str(key)], check=True, cwd=REPOSITORY)
    return path


def payloads(recording: Path, out: Path) -> Path:
    """The same payloads without genba's headers: frames in a row, which `zstd -d` reads as one file."""
    content = recording.read_bytes()
    at = 0
    with open(out, "wb") as file:
        while at < len(content):
            assert content.startswith(MAGIC, at), f"no block at byte {at:,} of {recording}"
            length_at = at + PAYLOAD_BYTES_AT
            payload_bytes = int.from_bytes(content[length_at : length_at + 4], "little")
            file.write(content[at + HEADER_BYTES : at + HEADER_BYTES + payload_bytes])
            at += HEADER_BYTES + payload_bytes
    return out
