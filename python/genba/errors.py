"""What can go wrong, for the program that calls.

Owns: the exceptions. Never: prints.
"""


class GenbaError(Exception):
    """Base of all. Fields: `hint`, what helps, may be empty."""

    def __init__(self, message: str, hint: str = "") -> None:
        self.hint = hint
        super().__init__(f"{message}\nhint: {hint}" if hint else message)


class AlreadyRecording(GenbaError):
    """This process has a recording already. Fields: `path`, where it goes; `asked`, where the new one should have gone."""

    def __init__(self, path: str, asked: str) -> None:
        self.path = path
        self.asked = asked
        super().__init__(f"this process is recorded to {path} already; {asked} was not begun", "genba.stop() ends the first one")


class NotRecording(GenbaError):
    """There is no recording to stop, pause or resume."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}: this process is not being recorded", "genba.start(path) begins a recording")


class CannotRecord(GenbaError):
    """The recording could not be begun or ended."""


class CannotRead(GenbaError):
    """The file is no recording, or it cannot be read."""
