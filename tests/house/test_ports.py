"""Ports that tests give to servers (tests/workshop/ports.py) are of one worker alone, and there are some on each machine."""

import socket
from pathlib import Path

import pytest

import ports


def given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kernels: str, worker: str) -> list[int]:
    (tmp_path / "range").write_text(f"{kernels}\n")
    monkeypatch.setattr(ports, "RANGE", tmp_path / "range")
    monkeypatch.setenv("PYTEST_XDIST_WORKER", worker)
    return [ports.free_port() for _ in range(3)]


def test_they_lie_below_those_that_the_kernel_gives(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = [given(monkeypatch, tmp_path, "20000\t60999", worker) for worker in ("gw0", "gw1", "gw2")]
    assert all(len(set(each)) == 3 for each in found)
    assert 20_000 > max(found[0]) and min(found[0]) > max(found[1]) and min(found[1]) > max(found[2])


@pytest.mark.parametrize("worker", ["", "gw0", "gw2", "gw7"])
def test_where_the_kernel_gives_all_it_is_one_of_those(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, worker: str) -> None:
    for port in given(monkeypatch, tmp_path, "1024\t65535", worker):
        assert port >= ports.PORT_MIN
        socket.create_server(("127.0.0.1", port)).close()
