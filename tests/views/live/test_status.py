"""Sentences below a widget."""

from __future__ import annotations

from blsnb.views.live.status import sentence


def test_a_sentence_is_announced_and_an_error_at_once():
    """Foreign text stays text; lines stay lines."""
    assert (
        '<div role="status" style="white-space: pre-wrap; overflow-wrap: anywhere">'
        "a &lt;b&gt;␛\nc</div>"
    ) == sentence("a <b>\x1b\nc")
    assert (
        '<div role="alert" style="white-space: pre-wrap; '
        'color: var(--jp-error-color0, #b71c1c); overflow-wrap: anywhere">no</div>'
    ) == sentence("no", is_error=True)
