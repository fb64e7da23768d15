"""genba: where the time of a Python program goes, and what happens underneath in C.

    import genba

    with genba.record("load.genba") as r:
        load()
    print(r.profile().verdict.words)

`start`, `stop`, `pause`, `resume` and `record` record this process; `is_active` and `path` tell whether and where; `open`
reads a recording; `snapshot` tells this thread's stack at this moment. Nothing is loaded into the process before the first of them
is called. `trace` counts every call of a block.
`gc.after_response` moves garbage collections behind the responses of a server. `python -m genba` is the command `genba`, with this interpreter.
"""
# Over twelve files: what a caller does has one each, and what they share lies beside them.

from genba import gc
from genba._command import CommandNotFound, find_command
from genba._profile import Accounting, Node, Profile, Row, Verdict
from genba._profile import open_recording as open
from genba._recording import Recorded, is_active, path, pause, record, resume, start, stop
from genba._snapshot import Frame, snapshot
from genba._tracing import Traced, trace
from genba.errors import AlreadyRecording, CannotRead, CannotRecord, GenbaError, NotRecording

__all__ = [
    "Accounting",
    "AlreadyRecording",
    "CannotRead",
    "CannotRecord",
    "CommandNotFound",
    "Frame",
    "GenbaError",
    "Node",
    "NotRecording",
    "Profile",
    "Recorded",
    "Row",
    "Traced",
    "Verdict",
    "find_command",
    "gc",
    "is_active",
    "open",
    "path",
    "pause",
    "record",
    "resume",
    "snapshot",
    "start",
    "stop",
    "trace",
]
