"""The page that a notebook keeps which is saved while a run is executing."""

from __future__ import annotations

import re
from pathlib import Path
from unittest import mock

from reviewed import reviewed

from blsnb.views.documents import host
from blsnb.views.live import running_page

from ..samples import invoice_run

GOLDEN = Path(__file__).parent / "golden" / "running.html"


def test_the_page_is_the_reviewed_one():
    """``BLSNB_WRITE_GOLDEN=1`` writes the file anew."""
    page = running_page.mimebundle(invoice_run(), carries_code=False)["text/html"]
    without_data = re.sub(r'(;base64,|unpack\("|key = ")[^"]*"', r'\1…"', page)
    text = without_data.replace("><", ">\n<") + "\n"

    assert reviewed(GOLDEN, text) == text


def test_it_says_that_the_run_was_still_executing():
    """In the page, in the view, and in the texts."""
    bundle = running_page.mimebundle(invoice_run())

    assert running_page.NOTE in bundle["text/plain"]
    with mock.patch.object(host, "hosted") as hosted:
        running_page.mimebundle(invoice_run())
    header = hosted.call_args.args[2]
    assert running_page.NOTE in header["notes"]["0"]
    assert header["run"]["saved"]
