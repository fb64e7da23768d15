"""genba: where the time of a Python program goes, and what happens underneath in C.

Importing this package does nothing. `python -m genba` is the command `genba`, with this interpreter.
"""

from genba._command import CommandNotFound, find_command

__all__ = ["CommandNotFound", "find_command"]
