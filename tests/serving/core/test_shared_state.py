"""What the end points of a server share."""

from __future__ import annotations

from types import SimpleNamespace

from blsnb import Server
from blsnb.parts.server_parts import parts_of
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.core.trace_settings import TraceSetting

URL = (("url", "http://collector"),)


def test_a_trace_setting_with_a_collector_decides_what_is_sent_to_it(
    server: Server,
) -> None:
    """One for Triton's files changes nothing; nor does any without an exporter."""
    shared, changes = SharedState(parts_of(server)), list[tuple[int, int, bool]]()
    setting = TraceSetting(("TIMESTAMPS",), 5, 7, collector=URL)
    shared._sample(setting)
    sampler = SimpleNamespace(
        change=lambda *given, is_on: changes.append((*given, is_on))
    )
    shared._exporter = SimpleNamespace(sampler=sampler)

    shared._sample(setting)
    shared._sample(TraceSetting(("TIMESTAMPS",), 6, 8))
    shared._sample(TraceSetting((), 9, 10, collector=URL))

    assert [(5, 7, True), (9, 10, False)] == changes
