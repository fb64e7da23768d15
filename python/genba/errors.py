"""What can go wrong, for the program that calls.

Owns: the exceptions. Never: prints. Each can be pickled, so that it comes back whole from another process.
"""


class GenbaError(Exception):
    """Base of all. Fields: `message`; `hint`, what helps, may be empty."""

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = message
        self.hint = hint
        super().__init__(message, hint)

    def __str__(self) -> str:
        return f"{self.message}\nhint: {self.hint}" if self.hint else self.message


class AlreadyRecording(GenbaError):
    """This process has a recording already. Fields: `path`, where it goes; `asked`, where the new one should have gone."""

    def __init__(self, path: str, asked: str) -> None:
        super().__init__(f"this process is recorded to {path} already; {asked} was not begun", "genba.stop() ends the first one")
        self.path = path
        self.asked = asked
        self.args = (path, asked)


class NotRecording(GenbaError):
    """There is no recording to stop, pause or resume. Fields: `what`, the call."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}: this process is not being recorded", "genba.start(path) begins a recording")
        self.what = what
        self.args = (what,)


class CannotRecord(GenbaError):
    """The recording could not be begun or ended."""


class CannotRead(GenbaError):
    """The file is no recording, or it cannot be read."""
