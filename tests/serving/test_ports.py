"""Addresses of ports: their form, sockets that listen, and stale ones."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from blsnb.arguments import is_loopback
from blsnb.serving.ports import (
    address_of,
    check_port,
    listening_socket,
    remove_stale_socket,
    unix_host,
)


@pytest.mark.parametrize(
    ("host", "port", "address"),
    [
        ("127.0.0.1", 8000, "127.0.0.1:8000"),
        ("::1", 8000, "[::1]:8000"),
        ("unix:/a/b.sock", 0, "unix:/a/b.sock"),
    ],
)
def test_an_address_has_the_form_that_clients_need(
    host: str, port: int, address: str
) -> None:
    """Brackets surround an address with colons; a Unix socket has no port."""
    assert address == address_of(host, port)


def test_names_of_this_machine_may_have_a_prefix() -> None:
    """Not a suffix."""
    assert is_loopback("a.localhost")
    assert not is_loopback("localhost.example.org")
    assert not is_loopback("alocalhost")


@pytest.mark.parametrize(
    ("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)]
)
def test_a_port_listens_on_its_address(host: str, family: socket.AddressFamily) -> None:
    """Meanwhile it is in use; the error names the port, the host and the advice."""
    with listening_socket(host, 0, 1) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(OSError, match="HTTP") as caught:
            check_port("HTTP", host, port)

    assert family == listening.family
    assert errno.EADDRINUSE == caught.value.errno
    assert (
        f"HTTP cannot be served on port {port} of {host}: address already in use. "
        "Choose another port, or 0 for a free one; or stop what uses it, such as a "
        "server that was started before." == caught.value.strerror
    )
    assert check_port("HTTP", host, port) is None


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_has_16_bits(port: int) -> None:
    """Others are out of range."""
    with pytest.raises(ValueError, match="HTTP") as caught:
        check_port("HTTP", "127.0.0.1", port)
    assert f"HTTP port {port} is out of range: expected 0 to 65535" == str(caught.value)


def test_the_host_must_be_of_this_machine() -> None:
    """The error says so, and the system's reason."""
    with pytest.raises(OSError, match="gRPC") as caught:
        check_port("gRPC", "192.0.2.1", 0)
    assert (
        "gRPC cannot be served on port 0 of 192.0.2.1: cannot assign requested "
        "address. The host must be an address of this machine." == caught.value.strerror
    )


def test_the_socket_of_a_killed_server_is_replaced(tmp_path: Path) -> None:
    """One on which a server listens is not, and another file stays."""
    path = tmp_path / "http.sock"
    with listening_socket(f"unix:{path}", 0, 1):
        with pytest.raises(OSError, match="in use") as caught:
            listening_socket(f"unix:{path}", 0, 1)
        assert (errno.EADDRINUSE, f"Unix socket '{path}' is in use") == (
            caught.value.errno,
            caught.value.strerror,
        )
    assert path.is_socket()
    with listening_socket(f"unix:{path}", 0, 1), socket.socket(socket.AF_UNIX) as probe:
        probe.connect(str(path))
    remove_stale_socket(path)
    assert not path.exists()
    remove_stale_socket(path)
    path.write_text("kept")
    remove_stale_socket(path)
    with pytest.raises(OSError, match="in use"):
        listening_socket(f"unix:{path}", 0, 1)
    assert "kept" == path.read_text()


def test_a_path_of_107_bytes_is_a_unix_socket(tmp_path: Path) -> None:
    """One more is too long; bytes count, and not characters."""
    left = 107 - len(os.fsencode(tmp_path)) - len("//h.sock")
    fitting = "ü" + "s" * (left - 2)
    assert f"unix:{tmp_path}/{fitting}/h.sock" == unix_host(tmp_path / fitting, "h")
    path = tmp_path / f"{fitting}s" / "h.sock"
    with pytest.raises(OSError, match="107") as caught:
        unix_host(path.parent, "h")
    assert (
        f"the path of Unix socket '{path}' is longer than 107 bytes; choose a folder "
        "with a shorter path" == str(caught.value)
    )


def test_another_user_must_not_enter_the_folder(tmp_path: Path) -> None:
    """Neither the group nor anybody else."""
    folder = tmp_path / "s"
    folder.mkdir()
    for mode in (0o710, 0o701):
        folder.chmod(mode)
        with pytest.raises(PermissionError) as caught:
            unix_host(folder, "h")
        assert (
            f"folder '{folder}' has mode {mode:04o} and owner {os.geteuid()}; expected "
            f"mode 0700 and owner {os.geteuid()}, so that other users cannot reach the "
            "Unix sockets in it" == str(caught.value)
        )
