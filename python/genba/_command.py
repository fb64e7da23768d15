"""Where the installed `genba` command is.

Owns: the search. Never: runs it, prints, ends the process.
"""

import os
import sys
import sysconfig
from pathlib import Path

_NAME = "genba"


class CommandNotFound(Exception):
    """The `genba` command is not where pip puts commands.

    Fields: `searched`, the folders looked in; `hint`, what to do about it.
    """

    def __init__(self, searched: list[Path]) -> None:
        self.searched = searched
        # PyPI has no package of that name: pip would find nothing, or somebody else's.
        self.hint = "install it again from its wheel: python -m pip install --force-reinstall genba-*.whl"
        super().__init__("the genba command is not installed beside this package")


def find_command() -> Path:
    """The path of the `genba` command that was installed with this package. Raises CommandNotFound."""
    searched = list(dict.fromkeys(_folders()))
    for folder in searched:
        path = folder / _NAME
        if path.is_file() and os.access(path, os.X_OK):
            return path
    raise CommandNotFound(searched)


def _folders() -> list[Path]:
    package = Path(__file__).resolve().parent
    folders = [Path(sysconfig.get_path("scripts"))]
    # pip install --user
    user = sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user"))
    folders.append(Path(user))
    # pip install --prefix: PREFIX/lib/pythonX.Y/site-packages/genba; --target: FOLDER/genba
    if len(package.parents) > 3:
        folders.append(package.parents[3] / "bin")
    folders.append(package.parent / "bin")
    folders.append(Path(sys.executable).parent)
    return folders
