"""A panel over a server, with pages that are lists of messages."""

import threading

import pytest

import blsnb
from blsnb.panel.host import Host
from blsnb.panel.panel import Panel


class Page:
    """A page: what it receives, and what it sends."""

    comm_id = "page"

    def __init__(self):
        self.received = []
        self.is_closed = False

    def send(self, data, *, buffers):
        """Receive a message of the kernel."""
        self.received.append(data | {"buffers": buffers})

    def on_msg(self, receive):
        self._receive = receive

    def on_close(self, closed):
        self.leave = lambda: closed({})

    def close(self):
        self.is_closed = True

    def say(self, **message):
        self._receive({"content": {"data": {"v": 1, **message}}})

    def act(self, name, **about):
        """Send an action."""
        self.say(type="action", id=f"{len(self.received)}", name=name, **about)

    def of(self, type_):
        """The messages of a type."""
        return [each for each in self.received if each["type"] == type_]

    @property
    def answer(self):
        """The newest answer."""
        return self.of("answer")[-1]

    def rows(self, list_, key="name"):
        """The rows of a list, as the page has put them together."""
        rows = {}
        for message in self.of(list_):
            rows = {} if message["whole"] else rows
            rows |= {each[key]: each for each in message["rows"]}
            for gone in message["removed"]:
                del rows[gone]
        return rows


@pytest.fixture
def server():
    with blsnb.Server() as server:
        yield server


@pytest.fixture
def connected():
    """The runs that were connected for display."""
    return []


@pytest.fixture
def loop():
    """What waits for the kernel's main thread."""
    return []


@pytest.fixture
def host(server, connected, loop, tmp_path):
    def line(subcommand, name):
        return f"%triton {subcommand} {name}"

    def debug(run, call):
        return f"{run} call {call} on {threading.current_thread().name}"

    return Host(
        lambda: server,
        lambda _: ["one", "two"],
        line,
        connected.append,
        debug,
        loop.append,
        lambda call, during_cell: during_cell(call),
        str(tmp_path / "notebooks"),
    )


@pytest.fixture
def panel(host):
    panel = Panel(host)
    yield panel
    panel.close()


@pytest.fixture
def page(panel):
    """A page that is connected."""
    page = Page()
    panel.accept(page, {"v": 1, "type": "hello"})
    return page
