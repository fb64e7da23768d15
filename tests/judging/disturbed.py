"""A quiet machine that was not, by the recording's own count of late ticks: such a run is made again, unless its answer is good as it is. Tells a sampler
that is always late by its own fault, and none that is so now and then: that would be seen on an idle machine (make soak)."""

from collections.abc import Callable

from recording import Run

LATE_MAX = 0.03
RUNS_MAX = 5


def was_disturbed(run: Run) -> bool:
    accounting = run.profile()["accounting"]
    return accounting["dropped"].get("late", 0) > LATE_MAX * accounting["ticks"]


def undisturbed(record: Callable[[], Run], is_well: Callable[[Run], bool]) -> Run:
    """The first of some runs that is well, or was not disturbed; the last one, where there is none."""
    for _ in range(RUNS_MAX):
        run = record()
        if is_well(run) or not was_disturbed(run):
            break
    return run
