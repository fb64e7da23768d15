"""What the library is asked for, as one line of text.

Owns: the encoding (crates/agent/src/process/session.rs has the decoder). Never: opens a file.
"""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

INTERVAL_NS_DEFAULT = 1_000_000
INTERVAL_NS_MIN = 50_000
INTERVAL_NS_MAX = 1_000_000_000
BUDGET_DEFAULT = 0.02

_PAGES = ("html", "htm", "svg", "png", "pdf")
_FORMATS = ("json", "txt", "folded", "collapsed", "speedscope")


def check_ending(path: str | os.PathLike[str]) -> None:
    """A recording is not the page or the file that other commands make of it. Raises ValueError with
    the command, as `genba run -o` does."""
    ending = os.path.splitext(os.fsdecode(path))[1].removeprefix(".").lower()
    if ending in _PAGES:
        hint = "then `genba html` makes a page of it"
    elif ending in _FORMATS:
        hint = "then `genba export --to FORMAT` writes it in another format"
    elif ending == "prof":
        hint = "or genba.trace(path) writes what cProfile does"
    else:
        return
    raise ValueError(f"{os.fspath(path)!r}: the name of a recording does not end in .{ending}: choose one that ends in .genba, {hint}")


@dataclass(frozen=True)
class Options:
    """How to record. `interval_ns`: kept exactly; None is 1 ms at first, then as `budget` allows, the share of the program's own CPU that
    sampling may take (None is 0.02). `duration_ns`: None is until `stop`. `native`: C frames. `children`: forked children, too.
    `memory`: the resident size, at most every 10 ms."""

    interval_ns: int | None = None
    duration_ns: int | None = None
    native: bool = True
    children: bool = False
    memory: bool = False
    tags: Mapping[str, str] = field(default_factory=dict)
    budget: float | None = None

    def __post_init__(self) -> None:
        if self.interval_ns is not None and not INTERVAL_NS_MIN <= self.interval_ns <= INTERVAL_NS_MAX:
            raise ValueError(f"interval_ns is {self.interval_ns:,}, and may be {INTERVAL_NS_MIN:,} (50 us) to {INTERVAL_NS_MAX:,} (1 s)")
        if self.budget is not None and not 0.001 <= self.budget <= 1:
            raise ValueError(f"budget is {self.budget}, and may be 0.001 to 1: a share of the program's CPU")
        if self.budget is not None and self.interval_ns is not None:
            raise ValueError("interval_ns is kept whatever it costs: it cannot be set together with budget")
        if self.duration_ns is not None and self.duration_ns <= 0:
            raise ValueError(f"duration_ns is {self.duration_ns:,}, and must be above 0")
        for key in self.tags:
            if not key or "=" in key:
                raise ValueError(f"{key!r} cannot be the name of a tag: it is empty or contains '='")

    def encode(self, path: str) -> str:
        """The line for a recording that goes to `path`, which is absolute."""
        budget = BUDGET_DEFAULT if self.budget is None else self.budget
        until_ns = 0 if self.duration_ns is None else time.monotonic_ns() + self.duration_ns
        fields: list[tuple[str, str | int]] = [
            ("v", 1),
            ("out", path),
            ("interval_ns", INTERVAL_NS_DEFAULT if self.interval_ns is None else self.interval_ns),
            ("budget_per_mille", round(budget * 1000) if self.interval_ns is None else 0),
            ("native", int(self.native)),
            ("children", int(self.children)),
            ("memory", int(self.memory)),
            ("until_ns", until_ns),
            *(("tag", f"{key}={value}") for key, value in self.tags.items()),
        ]
        try:
            return ";".join(f"{key}={quote(str(value), safe='/')}" for key, value in fields)
        except UnicodeEncodeError:
            raise ValueError(f"{path!r} or a tag is not UTF-8: choose another path, such as /tmp/app.genba") from None
