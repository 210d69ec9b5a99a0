"""Ports that are free, and stay so until a server has started."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from asserting import every

from blsnb.parity.triton import ports
from blsnb.parity.triton.ports import LOOPBACK, free_ports


def test_they_can_be_bound_and_differ():
    """All at once."""
    found = free_ports(20)
    probes = [socket.socket() for _ in found]
    for probe, port in zip(probes, found, strict=True):
        probe.bind((LOOPBACK, port))
        probe.close()

    assert 20 == len(set(found))


@pytest.fixture
def lent(tmp_path, monkeypatch):
    """Let the system lend other ports than it does."""
    file = tmp_path / "range"
    monkeypatch.setattr(ports, "_LENT", file)
    return file


def test_the_system_lends_none_of_them(lent):
    """Nobody gets one by chance while a server starts."""
    lent.write_text("24000\t60999\n")

    assert every(20_000 <= port < 24_000 for port in free_ports(100))


@pytest.mark.parametrize("text", [None, "", "1024 65535", "words"])
def test_where_it_lends_all_or_does_not_say_any_port_will_do(lent, text):
    """As on other systems than Linux."""
    if text is not None:
        lent.write_text(text)

    assert 5 == len(set(free_ports(5)))


def test_a_port_that_is_taken_is_no_choice(lent, monkeypatch):
    """Where a thousand are left, each of the others is found."""
    taken = set(range(20_000, 21_000)) - {20_123, 20_456}
    monkeypatch.setattr(ports, "_is_free", lambda port: port not in taken)
    lent.write_text("21000 60999")

    assert {20_123, 20_456} == set(free_ports(2))
    assert 3 == len(set(free_ports(3)))


def test_the_system_is_asked_where_it_says_it():
    """On Linux."""
    if not Path("/proc/sys").exists():
        pytest.skip("not Linux")
    assert ports._lowest_lent() > 1_000
