"""Programs with file capabilities below root's genba. Root has these rights without them, so such a program is recorded as any other.

To another user they give rights, and the loader ignores what is preloaded: `genba run` refuses the program, and a process of the run that starts it
starts it as without genba, and counts it.
"""

import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from both_ways import without_genba, words_of
from other_users import NOBODY, READER, root_alone
from recording import RUN_SECONDS_MAX, Workshop

pytestmark = root_alone

# As `setcap cap_net_raw+ep` writes it: Linux, include/uapi/linux/capability.h, `struct vfs_cap_data`, VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE.
NET_RAW = 1 << 13
CAPABILITIES = struct.pack("<5I", 0x0200_0001, NET_RAW, 0, 0, 0)
# As crates/bells/src/programs.rs has it.
NAME_BYTES = 116


def own_status(key: str) -> int:
    [value] = re.findall(rf"^{key}:\s*([0-9a-f]+)$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(value, 16)


def capable(workshop: Workshop, program: Path) -> str:
    """A copy of it with that capability. Skips where the kernel heeds none."""
    if workshop.interpreter.root is not None:
        pytest.skip("the copies are of programs outside of that root")
    copy = workshop.place.outside / program.name
    if own_status("NoNewPrivs") or os.statvfs(copy.parent).f_flag & os.ST_NOSUID or not own_status("CapBnd") & NET_RAW:
        pytest.skip("a file gives no rights here: no_new_privs, a folder mounted nosuid, or a root without CAP_NET_RAW")
    shutil.copy(program, copy)
    try:
        os.setxattr(copy, "security.capability", CAPABILITIES)
    except OSError as error:
        pytest.skip(f"a file cannot have capabilities here: {error}")
    return f"{workshop.place.inside}/{copy.name}"


WORKS = """
import time
def works():
    until = time.process_time() + 0.2
    while time.process_time() < until: sum(range(3000))
works()
print([line.split() for line in open("/proc/self/status") if line.startswith(("Uid", "Gid", "Cap", "NoNewPrivs"))])
"""
STARTS = "import subprocess, sys\nprint(subprocess.run(sys.argv[1:], capture_output=True, text=True))\n"


@pytest.mark.parametrize("started_by", ["genba", "a child"])
def test_one_that_root_starts_is_recorded(workshop: Workshop, started_by: str) -> None:
    interpreter = Path(workshop.interpreter.path)
    target = [capable(workshop, interpreter.resolve()), workshop.write("works.py", WORKS)]
    # The copy finds its modules where the interpreter has them.
    workshop.write("pyvenv.cfg", f"home = {interpreter.resolve().parent}\n")
    if without_genba(workshop, target).returncode != 0:
        pytest.skip("a copy of this interpreter does not run")
    if started_by == "a child":
        target = [str(interpreter), workshop.write("starts.py", STARTS), *target]
    alone = without_genba(workshop, target)
    run = workshop.run_target(target, flags=("--quiet",))
    assert (run.exit_code, run.stdout, words_of(run.stderr)) == (alone.returncode, alone.stdout, alone.stderr)
    assert "CapEff" in run.stdout, run.stdout
    assert run.profile().sum("samples", lambda row: "works" in row.names()) > 0
    assert run.report_json()["not_followed"] == []


def test_one_that_another_user_starts_is_counted(workshop: Workshop) -> None:
    grep = capable(workshop, Path("/usr/bin/grep").resolve())
    words = [*READER, grep, "-E", "^(Uid|Gid|Cap|NoNewPrivs)", "/proc/self/status"]
    target = [workshop.interpreter.path, workshop.write("starts.py", STARTS), *words]
    alone = without_genba(workshop, target)
    # It has that one right, which its user has not.
    assert f"Uid:\\t{NOBODY}\\t" in alone.stdout and f"CapEff:\\t{NET_RAW:016x}\\n" in alone.stdout, alone
    run = workshop.run_target(target, flags=("--quiet",))
    assert (run.exit_code, run.stdout, words_of(run.stderr)) == (0, alone.stdout, alone.stderr)
    rows = [(row["name"], row["reason"], row["count"], row["python"]) for row in run.report_json()["not_followed"]]
    assert rows == [(grep[-NAME_BYTES:], "setuid", 1, False)], run.report()


def test_one_that_another_user_names_is_refused(workshop: Workshop) -> None:
    grep = capable(workshop, Path("/usr/bin/grep").resolve())
    place = workshop.place
    command = [*READER, place.genba_inside, "run", grep, "word", "file"]
    refused = subprocess.run(command, cwd=place.outside, env=place.environment({}), capture_output=True, text=True, timeout=RUN_SECONDS_MAX)
    said = refused.stderr.splitlines()
    assert (refused.returncode, refused.stdout) == (1, ""), refused
    assert said[0] == f"error: cannot record {Path(grep).resolve()}: it has file capabilities", refused.stderr
    assert said[1] == "  the kernel starts it with other rights, and the loader then ignores LD_PRELOAD", refused.stderr
    assert not list(place.outside.glob("*.genba"))
