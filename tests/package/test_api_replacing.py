"""`force=True` replaces an empty file or a recording; nothing of anybody else's is lost by it (docs/api.md)."""

from inside import Inside
from inside import inside as inside  # noqa: PLC0414  (fixture)


def test_force_replaces_an_empty_file_or_a_recording_only(inside: Inside) -> None:
    lines = inside.said(
        """
before = open(__file__).read()
open("empty.genba", "w").close()
for again in range(2):
    genba.start("empty.genba", force=True)
    genba.stop()
os.symlink("empty.genba", "link.genba")
os.mkfifo("pipe.genba")
for foreign in (__file__, "link.genba", "pipe.genba", "."):
    for force in (False, True):
        try:
            genba.start(foreign, force=force)
        except FileExistsError as error:
            print(*error.__notes__)
assert open(__file__).read() == before and os.path.islink("link.genba") and not genba.is_active()
genba.open("empty.genba").rows()
"""
    )
    assert lines == ["hint: remove it, or record to another path: it is neither empty nor a recording"] * 8, lines


def test_what_force_replaces_comes_back_when_nothing_is_recorded(inside: Inside) -> None:
    inside.said(
        """
from genba import _agent
with genba.record("old.genba"):
    copies(20)
before = open("old.genba", "rb").read()
start, _agent.start = _agent.start, lambda session: (_agent.Outcome.REFUSED, "told so by a test")
try:
    genba.start("old.genba", force=True)
except genba.CannotRecord:
    pass
assert open("old.genba", "rb").read() == before
_agent.start = start
with genba.record("old.genba", force=True):
    copies(20)
assert sorted(name for name in os.listdir() if "old.genba" in name) == ["old.genba"], os.listdir()
assert open("old.genba", "rb").read() != before
"""
    )
