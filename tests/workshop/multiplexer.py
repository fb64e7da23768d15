"""A terminal in which a test types and reads the screen back: a window of tmux, with a server of its own.

Owns: that the server ends with the test, and the words where tmux is missing. Never: reads the user's own settings of tmux.
"""

import itertools
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

# Far more than anything here takes; a test that waits in vain ends with the screen that it saw.
SECONDS_MAX = 60
# A server that was told to end may still have its socket: no two have the same name.
SERVERS = itertools.count()


class Window:
    """One window of `columns` x `lines`, in which `command` of a shell runs."""

    def __init__(self, folder: Path, command: str, columns: int = 80, lines: int = 24, **environment: str) -> None:
        tmux = shutil.which("tmux")
        if tmux is None:
            pytest.skip("no tmux: make prepare")
        self.tmux = [tmux, "-L", f"genba-{os.getpid()}-{next(SERVERS)}", "-f", "/dev/null", "-u"]
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        self.environment = {**kept, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color", "SHELL": "/bin/sh", **environment}
        size = ["-x", str(columns), "-y", str(lines)]
        # The window stays when the command has ended: its last words are read.
        options = ["set-option", "-g", "remain-on-exit", "on", ";", "set-option", "-g", "remain-on-exit-format", "", ";", "set-option", "-g", "status", "off", ";"]
        # tmux itself does not always come to know how the command ended.
        self.status = Path(tempfile.mkdtemp()) / "status"
        words = f"{command}; printf %s $? > {self.status}.new; mv {self.status}.new {self.status}"
        self._tmux(*options, "new-session", "-d", *size, "-c", str(folder), words)

    def _tmux(self, *words: str) -> str:
        done = subprocess.run([*self.tmux, *words], env=self.environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout

    def types(self, *keys: str) -> None:
        """Keys as tmux names them: `q`, `Down`, `C-c`."""
        self._tmux("send-keys", *keys)

    def types_text(self, text: str) -> None:
        self._tmux("send-keys", "-l", text)

    def resizes(self, columns: int, lines: int) -> None:
        self._tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def screen(self, *, with_colour: bool = False) -> str:
        return self._tmux("capture-pane", "-p", *(["-e"] if with_colour else []))

    def until(self, is_there: str | Callable[[str], bool]) -> str:
        """The first screen on which the words are, or which a function finds good."""
        end = time.monotonic() + SECONDS_MAX
        while True:
            page = self.screen()
            if is_there in page if isinstance(is_there, str) else is_there(page):
                return page
            assert time.monotonic() < end, f"{is_there!r} is not on the screen:\n{page}"
            time.sleep(0.05)

    def pid(self) -> int:
        """Of the command that the window's shell waits for."""
        shell = self._tmux("display-message", "-p", "#{pane_pid}").strip()
        return int(Path(f"/proc/{shell}/task/{shell}/children").read_text().split()[0])

    def ends(self) -> tuple[int, str]:
        """Waits for the end of the command: its exit code, and the screen that it left."""
        self.until(lambda page: self.status.exists())
        return int(self.status.read_text()), self.screen()

    def close(self) -> None:
        subprocess.run([*self.tmux, "kill-server"], capture_output=True, timeout=60)
        shutil.rmtree(self.status.parent)
