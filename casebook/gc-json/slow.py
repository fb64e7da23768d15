"""Decodes a large JSON document without a single cycle in it. argv: how many entries; `c` or `python`: what makes the objects, json's C code or a class."""

import json
import sys


class Entry:
    def __init__(self, values):
        self.id, self.tags, self.place, self.links = values["id"], values["tags"], values["place"], values["links"]


def document(entries):
    rows = ({"id": number, "tags": ["a", "b"], "place": {"row": number}, "links": [number]} for number in range(entries))
    return json.dumps(list(rows))


def decode_in_c(text):
    return json.loads(text)


def decode_in_python(text):
    """Each object of the document becomes one of a class: Python code runs in between."""
    return json.loads(text, object_hook=lambda values: Entry(values) if "id" in values else values)


if __name__ == "__main__":
    entries = int(sys.argv[1]) if len(sys.argv) > 1 else 55_000
    decode = decode_in_c if sys.argv[2:] == ["c"] else decode_in_python
    text = document(entries)
    assert len(decode(text)) == entries
