"""Unwind rows are kept beside the unpacked agent from one process to the next; a file that is not what it should be is not used.

What is used shows in the stacks: down to the thread's first frame they are whole, whatever lies in the folder.
"""

import os
from pathlib import Path

from recording import Workshop
from tables_made import HASHES, share_of_whole

WHOLE_MIN = 0.9
# The version and the library's key, three words: what follows, with its sum, may be any library's.
WHOSE_BYTES = 24
VERSION_BYTES = 8


def cut_short(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def damage(file: Path) -> None:
    content = bytearray(file.read_bytes())
    for at in range(100, len(content), 1000):
        content[at] ^= 0x55
    file.write_bytes(content)


def open_to_others(file: Path) -> None:
    damage(file)
    file.chmod(0o666)


def link(file: Path) -> None:
    damage(file)
    file.rename(file.with_name("elsewhere"))
    file.symlink_to("elsewhere")


def folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def kept(workshop: Workshop) -> list[Path]:
    return sorted(file for file in (workshop.place.cache_folder() / "rows").glob("*") if file.name.isdecimal())


def exchange(files: list[Path]) -> dict[Path, bytes]:
    """Each file has the rows of another library, under its own one's key."""
    content = [file.read_bytes() for file in files]
    exchanged = {file: one[:WHOSE_BYTES] + other[WHOSE_BYTES:] for file, one, other in zip(files, content, content[1:] + content[:1], strict=True)}
    assert len(exchanged) > 1
    for file, rows in exchanged.items():
        file.write_bytes(rows)
    return exchanged


def test_rows_are_kept_and_believed_only_when_whole(cold: Workshop) -> None:
    program = cold.write("hashes.py", HASHES)
    assert share_of_whole(cold.run(program, flags=("-q",))) > WHOLE_MIN
    files = kept(cold)
    content = {file: file.read_bytes() for file in files}
    assert files and all(file.stat().st_mode & 0o777 == 0o600 for file in files)
    assert share_of_whole(cold.run(program, flags=("-q",))) > WHOLE_MIN
    assert {file: file.read_bytes() for file in kept(cold)} == content
    # The last one is not written anew: something that is not genba's stands in the way.
    for harm in (cut_short, damage, open_to_others, link, folder):
        for file in files:
            harm(file)
        assert share_of_whole(cold.run(program, flags=("-q",))) > WHOLE_MIN, harm.__name__
        if harm is not folder:
            assert {file: file.read_bytes() for file in kept(cold)} == content, harm.__name__


def test_kept_rows_are_what_the_stack_is_walked_with(cold: Workshop) -> None:
    """Each library's file has the rows of another one: with them no stack is whole. Rows that were compiled again would show whole ones.
    So are those of the executable, which may have no build id (python-build-standalone's)."""
    program = cold.write("hashes.py", HASHES)
    assert share_of_whole(cold.run(program, flags=("-q",))) > WHOLE_MIN
    exchanged = exchange(kept(cold))
    assert share_of_whole(cold.run(program, flags=("-q",))) < 1 - WHOLE_MIN
    assert {file: file.read_bytes() for file in kept(cold)} == exchanged


def test_rows_that_another_genba_compiled_are_not_used(cold: Workshop) -> None:
    """All versions share the folder. Those here would show in the stacks, as above."""
    program = cold.write("hashes.py", HASHES)
    assert share_of_whole(cold.run(program, flags=("-q",))) > WHOLE_MIN
    for file, rows in exchange(kept(cold)).items():
        file.write_bytes(bytes(255 - byte for byte in rows[:VERSION_BYTES]) + rows[VERSION_BYTES:])
    assert share_of_whole(cold.run(program, flags=("-q",))) > WHOLE_MIN


def test_without_a_folder_everything_is_compiled(cold: Workshop) -> None:
    program = cold.write("hashes.py", HASHES)
    cold.place.cache_folder().mkdir(parents=True, mode=0o700)
    (cold.place.cache_folder() / "rows").write_text("")
    assert share_of_whole(cold.run(program, flags=("-q",))) > WHOLE_MIN
    assert kept(cold) == []
