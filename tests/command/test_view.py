"""`genba view` on a machine that others use, too: who waits for whom, and what is begun for nobody; and how a page learns that its file grew.

How quick it is, `make soak` asks here, and benches/goals/crowd.py prints it with `genba serve` beside it. What a page does with such news is
tests/page's.
"""

import os
import signal
from pathlib import Path

import pytest

from figures import Figure
from leases import held
from recording import binary
from soak import SOAK
from visitors import CROWD, Openings, View, many_descriptors, measure

# Stacks of a page that takes a while, and what its owner may wait for it behind a crowd, beside the time without one.
STACKS = 60_000
BEHIND_RATIO_MAX = 2
# Below the bound of the server, so that each is asked for; above the pages that are made at once.
FILES = 40


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    files = [tmp_path / f"{number}.txt" for number in range(FILES)]
    for file in files:
        file.write_text(f"main;{file.stem} 3\n")
    return files


def test_a_crowd_holds_nobody_up_and_nothing_is_begun_for_nobody(files: list[Path]) -> None:
    *abandoned, small, one, other = files
    with many_descriptors(), View(binary(), *files) as view:
        page = [f"{view.root}recording/{number}" for number in range(FILES)]
        with held(one, other) as until_in_demand:
            waiting = [view.connect(view.asks(page[number])) for number in (-2, -1)]
            until_in_demand()
            openings = Openings([*abandoned, small])
            # Behind two pages that are made and take long: nobody else's is begun, and whoever may not have one learns that at once.
            view.abandoned([page[number % len(abandoned)] for number in range(CROWD)])
            assert view.answer("/wrong-secret/")[0] == 404
        with view.half_open(CROWD):
            for connection in waiting:
                with connection:
                    assert b" 200 " in connection.recv(1 << 16)
            status, whole = view.answer(page[FILES - 3])
            assert (status, b"data-numbers" in whole) == (200, True)
            assert set(openings.so_far()) == {small.name}
        os.kill(view.process.pid, signal.SIGINT)
        stderr = view.process.stderr.read() if view.process.stderr else ""
    assert stderr.count("connections are open, the most that genba keeps") == 1, stderr


@pytest.mark.measures
@pytest.mark.skipif(not SOAK, reason="make soak: what others do on the machine counts, too")
def test_the_owner_waits_behind_a_crowd_at_most_twice_as_long(tmp_path: Path, figure: Figure) -> None:
    recording = tmp_path / "many.txt"
    recording.write_text("".join(f"main;request_{number % 977};step_{number} {number % 7 + 1}\n" for number in range(STACKS)))
    found = measure(binary(), recording)
    ratio = found["behind_seconds"] / found["idle_seconds"]
    idle_ms = found["idle_seconds"] * 1e3
    figure("genba view: the next page behind 1,000 abandoned and 1,000 half-open requests", ratio, f"× of {idle_ms:.0f} ms", bound=BEHIND_RATIO_MAX)
    assert ratio <= BEHIND_RATIO_MAX, found


def test_a_page_that_many_wait_for_is_made_once(files: list[Path]) -> None:
    one, shared, *_ = files
    with View(binary(), *files) as view:
        with held(shared) as until_in_demand:
            readers = [view.connect(view.asks(f"{view.root}recording/1")) for _ in range(20)]
            until_in_demand()
            # Its own page is made beside: by then the server has read all requests that came before.
            assert view.answer(f"{view.root}recording/0")[0] == 200
            openings = Openings([shared])
        for reader in readers:
            with reader:
                assert b" 200 " in reader.recv(1 << 16)
        # The look whether it is a file of genba's own, and the reading.
        first = len(openings.so_far())
        assert view.answer(f"{view.root}recording/1")[0] == 200
        assert len(openings.so_far()) == first, "a page of twenty readers takes as many looks as that of one"


def test_the_state_of_a_page_changes_when_a_file_of_it_grows_and_asking_opens_nothing(files: list[Path]) -> None:
    one, other, *_ = files
    places = ["recording/0/state", "recording/1/state", "compare/state?before=0&after=1"]
    with View(binary(), one, other) as view:
        openings = Openings([one, other])

        def states() -> list[bytes]:
            answers = [view.answer(f"{view.root}{place}") for place in places]
            assert [status for status, _ in answers] == [200, 200, 200]
            return [whole.partition(b"\r\n\r\n")[2].strip() for _, whole in answers]

        before = states()
        assert states() == before
        assert openings.so_far() == []
        with other.open("a") as file:
            file.write("main;more 4\n")
        after = states()
        assert [was == now for was, now in zip(before, after, strict=True)] == [True, False, False]
        other.unlink()
        assert states() == [before[0], b"-", b"-"]
        # The list has none, and nobody has one without the secret.
        assert view.answer(f"{view.root}state")[0] == 404
        assert view.answer("/wrong-secret/recording/0/state")[0] == 404
