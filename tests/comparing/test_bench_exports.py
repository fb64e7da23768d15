"""`genba bench --export-…`: what becomes of a file that is there, and of the other files where one cannot be written."""

import os
import signal
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from recording import binary, genba

COMMAND = "sleep 0.01"
NO_ID = 0xFFFF_FFFF
# As linux/posix_acl_xattr.h has it, version 2, entries of tag, rights and id: the owner, a user besides, the group, the mask, all others.
ENTRIES = [(1, 6, NO_ID), (2, 4, 4711), (4, 4, NO_ID), (16, 4, NO_ID), (32, 0, NO_ID)]
ACL = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in ENTRIES)


def test_an_export_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    """It keeps the mode, and a file that has another name is the same file by that name, too."""
    names = ["plain", "named-twice", "linked"]
    for name in names:
        (tmp_path / name).write_text("of yesterday, and longer than a table: " * 1000)
        (tmp_path / name).chmod(0o640)
    (tmp_path / "other-name").hardlink_to(tmp_path / "named-twice")
    (tmp_path / "link").symlink_to("linked")
    exports = ["--export-csv", "plain", "--export-markdown", "named-twice", "--export-orgmode", "link"]
    done = genba("bench", "-N", "-r", "3", *exports, COMMAND, cwd=tmp_path)
    assert done.returncode == 0, done
    assert all(COMMAND in (tmp_path / name).read_text() and "yesterday" not in (tmp_path / name).read_text() for name in names)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in names] == [0o640] * 3
    assert (tmp_path / "other-name").samefile(tmp_path / "named-twice") and (tmp_path / "link").is_symlink()
    assert {path.name for path in tmp_path.iterdir()} == {*names, "other-name", "link"}


def test_an_export_keeps_the_attributes_of_its_file(tmp_path: Path) -> None:
    """Its ACL is one of them, and a folder may have one that only new files get."""
    for name in ("of-its-own", "of-the-folder"):
        (tmp_path / name).write_text("of yesterday")
    try:
        os.setxattr(tmp_path / "of-its-own", "user.origin", b"by hand")
        os.setxattr(tmp_path, "system.posix_acl_default", ACL)
    except OSError as error:
        pytest.skip(f"the file system of {tmp_path} has no ACLs or no attributes: {error}")
    done = genba("bench", "-N", "-r", "3", "--export-csv", "of-its-own", "--export-markdown", "of-the-folder", COMMAND, cwd=tmp_path)
    assert done.returncode == 0 and all(COMMAND in path.read_text() for path in tmp_path.iterdir()), done
    assert os.getxattr(tmp_path / "of-its-own", "user.origin") == b"by hand"
    assert not any(name.startswith("system.posix_acl") for path in tmp_path.iterdir() for name in os.listxattr(path))
    assert {path.name for path in tmp_path.iterdir()} == {"of-its-own", "of-the-folder"}


def test_an_export_that_fails_keeps_no_other_from_being_written(tmp_path: Path) -> None:
    done = genba("bench", "-N", "-r", "3", "--export-json", "/dev/full", "--export-csv", "a.csv", "--export-markdown", "-", COMMAND, cwd=tmp_path)
    assert done.returncode == 2 and "error: cannot write /dev/full: no space left on device\n" in done.stderr, done
    assert COMMAND in (tmp_path / "a.csv").read_text() and "| Command |" in done.stdout, done


def test_each_export_that_fails_is_told(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/dev/full")
    done = genba("bench", "-N", "-r", "3", "--export-json", "/dev/full", "--export-csv", "link", COMMAND, cwd=tmp_path)
    assert done.returncode == 2 and all(f"error: cannot write {name}: " in done.stderr for name in ("/dev/full", "link")), done


def test_an_interrupt_has_the_exit_code_where_an_export_fails_too(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "hangs")
    # Its second run never ends.
    measured = "test -e second && { echo > hangs; exec sleep 600; }; touch second"
    command = [str(binary()), "bench", "--export-json", "/dev/full", "--export-csv", "a.csv", "-r", "9", measured]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as bench:
        (tmp_path / "hangs").read_text()
        bench.send_signal(signal.SIGINT)
        _, stderr = bench.communicate(timeout=60)
    assert bench.returncode == 130 and "error: cannot write /dev/full: no space left on device\n" in stderr, stderr
    assert "error: interrupted after 1 of 9 rounds\n  what was measured until then is shown, and exported in part\n" in stderr, stderr
    assert measured in (tmp_path / "a.csv").read_text()


@pytest.mark.parametrize("command", ["rm -f a.csv", "sh -c 'echo other > b; mv b a.csv'"])
@pytest.mark.parametrize("before", ["", "of yesterday"])
def test_an_export_is_in_the_file_of_its_name_whatever_became_of_that_meanwhile(before: str, command: str, tmp_path: Path) -> None:
    if before:
        (tmp_path / "a.csv").write_text(before)
    done = genba("bench", "-N", "-r", "3", "--export-csv", "a.csv", command, cwd=tmp_path)
    assert done.returncode == 0 and command in (tmp_path / "a.csv").read_text(), done
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"], done


def test_where_an_export_fails_recordings_are_shown(tmp_path: Path) -> None:
    for name, numbers in (("old.py", 3_000_000), ("new.py", 2_000_000)):
        (tmp_path / name).write_text(f"sum(number for number in range({numbers}))\n")
    commands = [f"{sys.executable} {name}" for name in ("old.py", "new.py")]
    done = genba("bench", "-N", "-r", "2", "--why", "--export-json", "/dev/full", *commands, cwd=tmp_path)
    assert done.returncode == 2 and "\nWhy: from " in done.stdout and "error: cannot write /dev/full: " in done.stderr, done


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (["--export-csv", "a.csv"], "shown and exported"),
        (["--style", "none", "--export-csv", "a.csv"], "exported"),
        (["--style", "none"], "neither shown nor exported"),
        ([], "shown"),
    ],
)
def test_a_failure_tells_what_was_kept(options: list[str], kept: str, tmp_path: Path) -> None:
    done = genba("bench", "-r", "9", *options, "echo >> n; test $(wc -l < n) -le 8", cwd=tmp_path)
    assert done.returncode == 1 and f"\n  what was measured until then is {kept}\n" in done.stderr, done
