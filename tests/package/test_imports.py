"""Files of other profilers by `genba.open`: the package beside its command, as an installer puts both. Runs no program."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from recording import REPOSITORY, binary

FILES = REPOSITORY / "testdata/imports"


def said(folder: Path, program: str) -> Any:
    """What the program prints as JSON: it imports the package, which finds its command."""
    shutil.copytree(REPOSITORY / "python/genba", folder / "genba", dirs_exist_ok=True)
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin/genba").unlink(missing_ok=True)
    (folder / "bin/genba").symlink_to(binary().resolve())
    ran = subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_a_log_of_vmprof_as_a_profile(tmp_path: Path) -> None:
    program = f"""
import json, genba
profile = genba.open({str(FILES / "format-7-lines-memory.vmprof")!r})
print(json.dumps({{
    "ticks": profile.accounting.ticks, "duration_ns": profile.duration_ns, "pid": profile.meta["pid"],
    "samples": {{f"{{row.function}}:{{row.line}}": row.samples for row in profile.rows()}},
    "below": sorted(node.name for node in profile.tree().find("^second$")[0].children),
}}))
"""
    # As vmprof's own reader counts them (testdata/imports/README.md).
    assert said(tmp_path, program) == {
        "ticks": 46, "duration_ns": 287_296_000, "pid": None,
        "samples": {"second:23": 18, "<lambda>:23": 10, "inner:13": 6, "second:22": 4, "inner:12": 4, "work:31": 4},
        "below": ["<lambda>"],
    }


# All that the package tells of a recording.
ALL = f"""
profile = genba.open({str(FILES / "format-7-lines-memory.vmprof")!r})

def below(node):
    return [node.name, node.samples, node.cpu_ns, [below(child) for child in node.children]]

print(json.dumps({{
    "accounting": repr(profile.accounting), "verdict": repr(profile.verdict), "rows": repr(profile.rows()), "meta": profile.meta, "argv": profile.argv,
    "warnings": profile.warnings, "duration_ns": profile.duration_ns, "cpu_ns": profile.cpu_ns, "tree": below(profile.tree()),
}}))
"""
# A command of a later genba: each object has a word more, but those that the package hands on as they are.
LATER = """
from genba import _agent

known, changed = _agent.command, []
HANDED_ON = ("dropped", "refused", "figures", "places", "advice", "blocks")

def more(value):
    if isinstance(value, list):
        return [more(one) for one in value]
    if not isinstance(value, dict):
        return value
    changed.append(value)
    return {"a later word": [1], **{key: one if key in HANDED_ON else more(one) for key, one in value.items()}}

_agent.command = lambda *arguments, **options: json.dumps(more(json.loads(known(*arguments, **options))))
"""


def test_a_later_command_may_say_more(tmp_path: Path) -> None:
    today = said(tmp_path, f"import json, genba\n{ALL}")
    later = said(tmp_path, f"import json, genba\n{LATER}\n{ALL}assert len(changed) > 10, changed\n")
    assert later == today
