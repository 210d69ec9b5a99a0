"""Addresses that end points bind, and how many connections they accept."""

from __future__ import annotations

import errno
import os
import resource
import socket
import stat
from pathlib import Path

from blsnb.arguments import path_of

_FILES_SHARE = 4
"""The inverse share of the process's file descriptors that connections may use."""
_MAX_CONNECTIONS = 4096
_LAST_PORT = 65535
_UNIX = "unix:"
_MAX_SOCKET_PATH = 107
"""Maximum length of a Unix socket's path on Linux, in bytes."""


def address_of(host: str, port: int) -> str:
    """Return host and port in the form that clients need: ``"127.0.0.1:8000"``.

    The host of a Unix socket, ``"unix:PATH"``, is a whole address.
    """
    if is_unix(host):
        return host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_unix(host: str) -> bool:
    """Whether an address is that of a Unix socket, ``"unix:PATH"``."""
    return host.startswith(_UNIX)


def socket_path(host: str) -> Path:
    """Return the path of a Unix socket's address."""
    return Path(host.removeprefix(_UNIX))


def unix_host(folder: str | os.PathLike[str], name: str) -> str:
    """Return the address of a Unix socket in a folder that only this user can enter.

    A missing folder is made.

    Raises
    ------
    OSError
        Other users can enter the folder, or the path of the socket is too long.
    """
    path = path_of(unix_sockets=folder).absolute()
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.stat()
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise PermissionError(
            f"folder '{path}' has mode {stat.S_IMODE(found.st_mode):04o} and owner "
            f"{found.st_uid}; expected mode 0700 and owner {os.geteuid()}, so that "
            "other users cannot reach the Unix sockets in it"
        )
    found_path = path / f"{name}.sock"
    if len(os.fsencode(found_path)) > _MAX_SOCKET_PATH:
        raise OSError(
            f"the path of Unix socket '{found_path}' is longer than {_MAX_SOCKET_PATH} "
            "bytes; choose a folder with a shorter path"
        )
    return f"{_UNIX}{found_path}"


def remove_stale_socket(path: Path) -> None:
    """Remove the socket of a server that was killed.

    Raises
    ------
    OSError
        A running server listens on it.
    """
    if not path.is_socket():
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
    raise OSError(errno.EADDRINUSE, f"Unix socket '{path}' is in use")


def listening_socket(host: str, port: int, backlog: int) -> socket.socket:
    """Return a socket that listens on an address."""
    if not is_unix(host):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=backlog)
    path = socket_path(host)
    remove_stale_socket(path)
    listening = socket.socket(socket.AF_UNIX)
    try:
        listening.bind(str(path))
        listening.listen(backlog)
    except BaseException:
        listening.close()
        raise
    return listening


def max_connections() -> int:
    """Return the maximum number of connections of a port."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files <= 0:
        return _MAX_CONNECTIONS
    return min(files // _FILES_SHARE, _MAX_CONNECTIONS)


def check_port(name: str, host: str, port: int) -> None:
    """Check that a port is available.

    Raises
    ------
    OSError
        The port is in use or reserved, or the host is not of this machine.
    ValueError
        The number is out of range.
    """
    if not 0 <= port <= _LAST_PORT:
        raise ValueError(
            f"{name} port {port} is out of range: expected 0 to {_LAST_PORT}"
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
            probe.listen(1)
        except OSError as error:
            raise OSError(
                error.errno,
                f"{name} cannot be served on port {port} of {host}: "
                f"{(error.strerror or str(error)).lower()}. {_advice(error)}",
            ) from None


def _advice(error: OSError) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return (
                "Choose another port, or 0 for a free one; or stop what uses it, such "
                "as a server that was started before."
            )
        case errno.EACCES:
            return "Choose another port, or 0 for a free one."
        case _:
            return "The host must be an address of this machine."
