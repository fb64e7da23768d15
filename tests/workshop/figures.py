"""Figures that tests measure: one JSON line each into the file named by GENBA_FIGURES, and a line of text on stdout.

Owns: the shape of such a line. Never: judges (a test asserts; a figure only says what was measured and against which bound).
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ledger import append, commit
from soak import SOAK

Figure = Callable[..., None]


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Figure:
    """`figure("share of C", 0.512, "share", bound=0.02)`; `bound` is a number or words, none where nothing is promised."""
    interpreter = getattr(request.node, "callspec", None) and request.node.callspec.params.get("python")

    def write(name: str, value: float | str, unit: str, *, bound: float | str | None = None) -> None:
        line = {
            "test": request.node.nodeid,
            "python": interpreter.name if interpreter else None,
            "figure": name,
            "value": value,
            "unit": unit,
            "bound": bound,
            "soak": SOAK,
            "commit": commit(),
        }
        print(json.dumps(line, ensure_ascii=False))
        if path := os.environ.get("GENBA_FIGURES"):
            append(Path(path), line)

    return write
