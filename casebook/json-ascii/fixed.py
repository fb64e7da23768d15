"""The same document, escaped by json's C code: `json.encoder.encode_basestring` as CPython has it since 3.5."""

import json
import sys
import time


def documents(count):
    line = "näme\t\"größe\"\n" * 40
    return [{"text": line, "number": number} for number in range(count)]


if __name__ == "__main__":
    is_ascii = len(sys.argv) > 1 and sys.argv[1] == "True"
    some = documents(int(sys.argv[2]) if len(sys.argv) > 2 else 5_000)
    began = time.process_time()
    written = json.dumps(some, ensure_ascii=is_ascii)
    assert json.loads(written) == some
    print(f"{time.process_time() - began:.2f} s of CPU")
