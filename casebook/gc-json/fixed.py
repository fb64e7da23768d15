"""The same without collections while the document is decoded. argv: as slow.py has it."""

import gc
import sys

import slow


def without_collections(decode, text):
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return decode(text)
    finally:
        if was_enabled:
            gc.enable()


if __name__ == "__main__":
    entries = int(sys.argv[1]) if len(sys.argv) > 1 else 55_000
    decode = slow.decode_in_c if sys.argv[2:] == ["c"] else slow.decode_in_python
    text = slow.document(entries)
    assert len(without_collections(decode, text)) == entries
