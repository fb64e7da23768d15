"""`python -m genba`: becomes the command, which runs scripts and modules with this interpreter.

Owns: the process it replaces. Never: reads the command's options, stays in between.
"""

import os
import sys

from genba._command import CommandNotFound, find_command


def main() -> None:
    """Replaces this process by the command; on failure says why and exits with 2."""
    try:
        command = find_command()
    except CommandNotFound as failure:
        folders = "".join(f"\n  looked in {folder}" for folder in failure.searched)
        print(f"error: {failure}{folders}\nhint: {failure.hint}", file=sys.stderr)
        sys.exit(2)
    arguments = sys.argv[1:]
    if arguments[:1] in (["run"], ["trace"]) and sys.executable:
        arguments[1:1] = ["--python-of-genba", sys.executable]
    os.execv(command, [str(command), *arguments])


if __name__ == "__main__":
    main()
