"""Files of other profilers by `genba.open`: the package beside its command, as an installer puts both. Runs no program."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from recording import REPOSITORY, binary

FILES = REPOSITORY / "testdata/imports"


def test_a_log_of_vmprof_as_a_profile(tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "python/genba", tmp_path / "genba")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/genba").symlink_to(binary().resolve())
    program = f"""
import json, genba
profile = genba.open({str(FILES / "format-7-lines-memory.vmprof")!r})
print(json.dumps({{
    "ticks": profile.accounting.ticks, "duration_ns": profile.duration_ns, "pid": profile.meta["pid"],
    "samples": {{f"{{row.function}}:{{row.line}}": row.samples for row in profile.rows()}},
    "below": sorted(node.name for node in profile.tree().find("^second$")[0].children),
}}))
"""
    ran = subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    # As vmprof's own reader counts them (testdata/imports/README.md).
    assert json.loads(ran.stdout) == {
        "ticks": 46, "duration_ns": 287_296_000, "pid": None,
        "samples": {"second:23": 18, "<lambda>:23": 10, "inner:13": 6, "second:22": 4, "inner:12": 4, "work:31": 4},
        "below": ["<lambda>"],
    }
