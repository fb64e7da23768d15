"""Bytes a sample, all tables included: a long quiet program, and one with ninety thousand distinct stacks in a million samples.

The latter is made up, because a million samples at the highest sensible rate take two minutes; the real program beside it
has as many stacks in a tenth of the samples, so nearly each sample brings new ones: no bound is promised for that.
"""

from argparse import Namespace
from pathlib import Path

import recordings
from goals.made import many_samples
from row import Row

BENCHES = Path(__file__).resolve().parent.parent
TWO_CALLERS = str(BENCHES.parent / "casebook/two-callers/slow.py")
MANY_STACKS = str(BENCHES / "works/many_stacks.py")
# At 10 kHz; long enough for the tables and the source text, which are paid once, to have their fair share.
TWO_CALLERS_ROUNDS = "6000"
TWO_CALLERS_MAX = 2.0
MADE_SAMPLES = 1_000_000
MADE_STACKS = 90_000
MADE_MAX = 4.0


def rows(options: Namespace, folder: Path) -> list[Row]:
    found = []
    programs = (
        ("two-callers", TWO_CALLERS_MAX, (TWO_CALLERS, TWO_CALLERS_ROUNDS)),
        ("new stacks all the time", None, (MANY_STACKS,)),
    )
    for name, bound, program in programs:
        recording = recordings.made(options, folder / "size.genba", 10_000, *program)
        samples, stacks = recordings.counts(options.genba, recording)
        yardstick = f"{samples:,} samples, {stacks:,} distinct stacks"
        found.append(row(name, recording, samples, bound, yardstick))
    recording = many_samples(folder / "made.genba", MADE_SAMPLES, MADE_STACKS)
    yardstick = f"{MADE_SAMPLES:,} samples, {MADE_STACKS:,} distinct stacks, made up"
    found.append(row("90,000 stacks", recording, MADE_SAMPLES, MADE_MAX, yardstick))
    return found


def row(name: str, recording: Path, samples: int, bound: float | None, yardstick: str) -> Row:
    return Row(f"bytes a sample, {name}", recording.stat().st_size / samples, "B", bound=bound, yardstick=yardstick)
