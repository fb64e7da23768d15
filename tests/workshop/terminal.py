"""A terminal that a test holds the other end of (`screen, terminal = os.openpty()`)."""

import os
import subprocess
import threading


def until(screen: int, words: bytes) -> bytes:
    """What the terminal got until `words` are in it."""
    seen = b""
    while words not in seen:
        seen += os.read(screen, 4096)
    return seen


def until_the_end_of(process: subprocess.Popen, screen: int, terminal: int) -> bytes:
    """What the terminal (a pipe will do) gets until `process` has ended; both ends are closed then.

    The end that is written to stays open here and gets the last word, so that nothing depends on what becomes of words
    that are still on their way when a terminal is closed for the last time.
    """

    def last_word() -> None:
        try:
            process.wait(timeout=300)
        finally:
            os.write(terminal, b"\0")

    waiting = threading.Thread(target=last_word)
    waiting.start()
    seen = until(screen, b"\0")
    waiting.join()
    os.close(screen)
    os.close(terminal)
    return seen.removesuffix(b"\0")
