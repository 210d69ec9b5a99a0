"""Specification of what the notebook gives to the panel."""

from __future__ import annotations

import pytest

from blsnb.inference_server import Server
from blsnb.panel.host import Host
from blsnb.parts.server_parts import parts_of
from blsnb.views.live.queries import QueryError


def host_of(server: Server | None) -> Host:
    """Return the host of a kernel whose default server this is."""

    def unused(*_: object) -> None:
        pytest.fail("only the server is needed")

    return Host(lambda: server, *[unused] * 6, "")


def test_the_default_server_is_that_of_the_kernel(server):
    """Its parts are those that other rooms use."""
    host = host_of(server)

    assert server is host.server()
    assert parts_of(server) is host.parts()


@pytest.mark.parametrize("was_made", [False, True])
def test_without_an_open_server_an_action_says_what_to_do(was_made):
    """It has not been made, or is closed."""
    server = Server() if was_made else None
    if server is not None:
        server.close()
    host = host_of(server)

    assert host.parts() is None
    with pytest.raises(QueryError, match=r"no server: define a model first$") as gone:
        host.server()
    assert "gone" == gone.value.answer["code"]
