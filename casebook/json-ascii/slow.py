"""Writes JSON without escaping what is not ASCII, with the C speed-up taken away. argv: `False` or `True` for ensure_ascii, then how many documents.

Prints the CPU seconds that the writing took.
"""

import json.encoder
import re
import sys
import time

# Without its C code json uses what is written in Python; so do interpreters that have none.
json.encoder.c_make_encoder = None
ESCAPED = re.compile(r'[\x00-\x1f\\"\b\f\n\r\t]')
# As it was up to CPython 3.4: one regular expression looks for what must be escaped, and a function is called for each of those.
NAMES = {"\\": "\\\\", '"': '\\"', "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def replaced(match):
    return NAMES.get(match.group(0)) or f"\\u{ord(match.group(0)):04x}"


def encode_by_expression(text):
    return '"' + ESCAPED.sub(replaced, text) + '"'


def documents(count):
    line = "näme\t\"größe\"\n" * 40
    return [{"text": line, "number": number} for number in range(count)]


if __name__ == "__main__":
    is_ascii = len(sys.argv) > 1 and sys.argv[1] == "True"
    json.encoder.encode_basestring = encode_by_expression
    some = documents(int(sys.argv[2]) if len(sys.argv) > 2 else 5_000)
    began = time.process_time()
    written = json.dumps(some, ensure_ascii=is_ascii)
    assert json.loads(written) == some
    print(f"{time.process_time() - began:.2f} s of CPU")
