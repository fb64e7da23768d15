"""The same application, with the collections behind its responses."""

import sys

import genba.gc
import slow

application = genba.gc.after_response(slow.application)

if __name__ == "__main__":
    requests = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    assert slow.answer(application, requests) == 4 * requests
