"""The servers of a test session, each made once for the tests that share it."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from blsnb.testing.settings import FixtureSettings
from blsnb.testing.tested_server import TestedServer

_NODES: dict[str, type[pytest.Collector]] = {
    "class": pytest.Class,
    "module": pytest.Module,
    "package": pytest.Package,
    "session": pytest.Session,
}


class _Shared(NamedTuple):
    """A server that the tests of a node share."""

    node: pytest.Collector
    settings: FixtureSettings
    server: TestedServer


class ServerPool:
    """The servers of tests, shared or not."""

    def __init__(self) -> None:
        self._shared: list[_Shared] = []

    def lend(self, test: pytest.Item, settings: FixtureSettings) -> TestedServer:
        """Return a server for a test.

        Raises
        ------
        RepositoryError, ModelLoadError
            The repository is missing, or one of its models does not load.
        """
        node = _sharing(test, settings.share)
        for each in self._shared:
            matches = each.node is node and each.settings == settings
            # A test may have closed it.
            if matches and not each.server.closed:
                return each.server
        server = TestedServer(**settings.arguments(test.path))
        if node is not None:
            shared = _Shared(node, settings, server)
            self._shared.append(shared)
            node.addfinalizer(lambda: self._close(shared))
        return server

    def take_back(self, server: TestedServer) -> None:
        """End a test: close its server, or restore it for the tests that share it."""
        if any(each.server is server for each in self._shared):
            server.end_test()
        else:
            server.close()

    def _close(self, shared: _Shared) -> None:
        self._shared.remove(shared)
        shared.server.close()


def _sharing(test: pytest.Item, share: str) -> pytest.Collector | None:
    """Return the node whose tests share a server; None if the test does not share."""
    kind = _NODES.get(share)
    if kind is None:
        return None
    # A test may be in no class, or in no package.
    return test.getparent(kind) or test.getparent(pytest.Module)
