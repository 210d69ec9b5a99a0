"""Specification of the comm target to which pages with the panel connect."""

from types import SimpleNamespace

import pytest

from blsnb.magics.panel import CommTarget


class Page:
    """A page that says hello."""

    def __init__(self, name):
        self.comm_id = name
        self.is_closed = False
        self.received = []

    def on_msg(self, receive):
        """Send no more messages."""

    def on_close(self, closed):
        """Stay open."""

    def send(self, data, *, buffers):
        self.received.append(data)

    def close(self):
        self.is_closed = True


HELLO = {"content": {"data": {"v": 1, "type": "hello"}}}


@pytest.fixture
def manager(monkeypatch):
    """The kernel's comms, as `comm` has them."""
    import comm

    class Manager:
        def __init__(self):
            self.targets, self.comms = {}, []

        def register_target(self, name, accept):
            self.targets[name] = accept

        def unregister_target(self, name, accept):
            assert self.targets.pop(name) == accept

        def register_comm(self, announced):
            self.comms.append(announced)

        def unregister_comm(self, announced):
            self.comms.remove(announced)

    found = Manager()
    monkeypatch.setattr(comm, "get_comm_manager", lambda: found)
    monkeypatch.setattr(comm, "create_comm", lambda **how: SimpleNamespace(**how))
    return found


def test_pages_share_a_panel_that_the_first_one_makes(manager):
    """Closing ends the connections of all, and pages find no target."""
    made = []

    def host():
        made.append("host")
        return SimpleNamespace(on_main_thread=None)

    target = CommTarget(host)
    target.open()
    assert ["blsnb"] == [each.target_name for each in manager.comms]
    pages = [Page("one"), Page("two")]
    for page in pages:
        manager.targets["blsnb"](page, HELLO)
    assert ["host"] == made
    assert ["welcome", "welcome"] == [page.received[0]["type"] for page in pages]

    target.close()
    assert [True, True] == [page.is_closed for page in pages]
    assert ({}, []) == (manager.targets, manager.comms)


def test_a_target_without_pages_is_closed(manager):
    """No panel was made."""
    target = CommTarget(pytest.fail)
    target.open()
    target.close()

    assert ({}, []) == (manager.targets, manager.comms)
