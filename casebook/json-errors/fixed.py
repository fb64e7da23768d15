"""The same documents: what JSON cannot say is replaced where it comes in, at one place that is known. argv: as slow.py has it."""

import json
import math

import slow


def written(document):
    for one in document["values"]:
        if not math.isfinite(one["value"]):
            one["value"] = None
    return json.dumps(document, allow_nan=False)


if __name__ == "__main__":
    slow.main(written)
