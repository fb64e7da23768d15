"""Genba's stacks are those that a stopped process has: the same program at the same time, seen by genba and by a sampler that stops
it with ptrace and unwinds with framehop (I-11: no frame is shown where it was not; I-03: nothing is lost uncounted).

Both interrupt the thread in the same way, from outside at random, so both see it where the kernel next lets it stop, and neither is
nearer to the truth of where; what differs is everything after: who reads, unwinds, merges. Compared are whole stacks, Python functions
and C functions (by where they begin).

The bound: if both samples come from one distribution, then so do the halves of the two pooled and divided at random; the
distance between such halves has a mean and a standard deviation, found by dividing many times, and is a sum over hundreds of
stacks, so nearly normal. Five standard deviations above the mean alarm by chance once in three million.
"""

import random

import pytest

from figures import Figure, figure  # noqa: F401  (fixture)
from recording import Workshop
from runs_on import KINDS
from soak import SOAK
from jit import JIT, jitted  # noqa: F401  (fixture)
from twin import SIGMAS, Distribution, Watched, largest_differences, noise, variation, watch, without_frame

# The bound sinks with the root of the stops: some 0.04 of the samples with 150,000, 0.25 with 4,000. The walk differs by the kind of build more
# than by its version: the most stops on one CPython of each kind.
STOPS, MORE_STOPS, MOST_STOPS = 4000, 30_000, 150_000
SEED = 20261120
# A rate that is asked for stays: in a long run the budget would leave genba too few samples to compare.
RATE = ("--rate", "1000")
ANONYMOUS = "[anonymous]"


def stops_on(version: str) -> int:
    if not SOAK:
        return STOPS
    return MOST_STOPS if version in KINDS else MORE_STOPS


@pytest.mark.measures
def test_genba_and_the_twin_see_the_same_stacks(workshop: Workshop, figure: Figure) -> None:  # noqa: F811
    program = workshop.program("tests/programs/stationary.py")
    stops = stops_on(workshop.interpreter.name)
    watched = watch(workshop, program, under="forever (", stops=stops, seed=SEED, flags=RATE)
    assert_same_stacks(watched, stops, figure)


@pytest.mark.measures
def test_they_see_the_same_stacks_where_the_jit_is_on(jitted: Workshop, figure: Figure) -> None:  # noqa: F811
    if jitted.interpreter.minor == "3.14":
        pytest.skip("framehop knows no way through what the JIT of 3.14 makes: the twin itself fails there")
    program = jitted.program("tests/programs/stationary.py")
    stops = stops_on(jitted.interpreter.name)
    watched = watch(jitted, program, under="forever (", stops=stops, seed=SEED, flags=RATE, environment=JIT)
    # The twin shows a frame for code that the JIT made; genba takes such code for the eval loop (docs/limits.md).
    assert any(ANONYMOUS in stack for stack in watched.by_twin), "the JIT made nothing that ran"
    watched.by_twin = without_frame(watched.by_twin, ANONYMOUS)
    assert_same_stacks(watched, stops, figure)


def assert_same_stacks(watched: Watched, stops: int, figure: Figure) -> None:  # noqa: F811
    distance = variation(watched.by_genba, watched.by_twin)
    mean, deviation = noise(watched.by_genba, watched.by_twin, SEED)
    bound = mean + SIGMAS * deviation
    sizes = f"{sum(watched.by_genba.values())} of genba, {sum(watched.by_twin.values())} of the twin"
    figure("total variation distance from the stopped process", distance, f"share, samples: {sizes}", bound=bound)
    assert distance <= bound, largest_differences(watched.by_genba, watched.by_twin)
    assert sum(watched.by_genba.values()) >= stops / 4, sizes
    misfits = watched.summary["stops"]["no fit"]
    assert misfits <= stops / 100, f"the twin itself could not make sense of {misfits} of its stops"

    compared = watched.summary
    figure("C frames on which framehop and the flat rows agree (pc and CFA)", compared["frames"], "frames", bound="all")
    figure("stacks that end differently, explained", sum(compared["explained"].values()), "stacks")
    assert compared["unexplained"] == []


def test_the_judge_lets_chance_pass_and_sees_a_shift() -> None:
    """Two samples of one distribution with a long tail; then one in which a tenth of the commonest stacks has changed places."""
    chance = random.Random(SEED)
    stacks = [f"stack {number}" for number in range(400)]
    weights = [1 / (number + 3) for number in range(400)]

    def sample(size: int) -> Distribution:
        drawn = chance.choices(stacks, weights, k=size)
        return {stack: drawn.count(stack) for stack in set(drawn)}

    one, other = sample(4000), sample(3000)
    mean, deviation = noise(one, other, SEED)
    assert variation(one, other) <= mean + SIGMAS * deviation
    for number in range(100):
        moved = other.get(stacks[number], 0) // 10 * (3 if number % 2 else 5)
        other[stacks[number]] = other.get(stacks[number], 0) - moved
        other[stacks[number + 300]] = other.get(stacks[number + 300], 0) + moved
    mean, deviation = noise(one, other, SEED)
    assert variation(one, other) > mean + SIGMAS * deviation
