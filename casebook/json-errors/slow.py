"""Documents of measurements, written as JSON. One in two has a value that JSON cannot say: the writer tries, and writes it anew without that.
argv: how many documents. `errors` instead: the six ways in which `json.dumps` refuses a value."""

import json
import math
import sys
import time
from decimal import Decimal


def documents(count):
    """The value is the last one, as mostly where a measurement is still going on."""
    for number in range(count):
        values = [{"name": f"sensor {at}", "value": at / 7, "unit": "K"} for at in range(400)]
        values.append({"name": "last", "value": math.nan if number % 2 else 0.0, "unit": "K"})
        yield {"number": number, "values": values}


def cleaned(value):
    if isinstance(value, dict):
        return {key: cleaned(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [cleaned(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def written(document):
    try:
        return json.dumps(document, allow_nan=False)
    except ValueError:
        return json.dumps(cleaned(document), allow_nan=False)


class Failing:
    pass


def failing(value):
    raise LookupError("no")


def refused():
    circle = []
    circle.append(circle)
    return [
        ("not a number", lambda: json.dumps(math.nan, allow_nan=False)),
        ("a circle", lambda: json.dumps(circle)),
        ("a default= that fails", lambda: json.dumps(Failing(), default=failing)),
        ("a key of another type", lambda: json.dumps({Failing(): 1})),
        ("a key that is not a number", lambda: json.dumps({math.nan: 1}, allow_nan=False)),
        ("a number that json does not know", lambda: json.dumps(Decimal("1.0"))),
    ]


def main(write):
    if sys.argv[1] == "errors":
        for name, call in refused():
            try:
                print(f"{name:<34}{call()}")
            except (ValueError, TypeError, LookupError) as why:
                print(f"{name:<34}{type(why).__name__}: {why}")
        return
    begin = time.process_time()
    size = sum(len(write(document)) for document in documents(int(sys.argv[1])))
    print(f"{size} characters, {time.process_time() - begin:.2f} s of CPU")


if __name__ == "__main__":
    main(written)
