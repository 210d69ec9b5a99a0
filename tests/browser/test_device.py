"""Specification of what the inspector shows of a device, in a real browser."""

import numpy as np
import pytest
import stage
from cells import CONFIG
from cells import DOUBLE as HOST_DOUBLE
from engine.device_cells import DOUBLE, ON_GPU, asking
from playwright.sync_api import expect

from blsnb.inference_server import Server
from blsnb.runtimes import simulated
from blsnb.views.documents import document

from .view import View

pytestmark = pytest.mark.browser
TO_CPU = "preferred_memory=pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU)"


@pytest.fixture
def view(page, tmp_path):
    """A model that requests the output of another one on the host."""
    stage.values["xp"] = simulated
    with Server(runtime="simulated") as server:
        server.define("double", DOUBLE, config=ON_GPU)
        caller = asking("double", TO_CPU)
        server.define("m", caller, config=f"{CONFIG} instance_group {{ count: 1 }}")
        values = simulated.asarray(np.ones(1 << 18, np.float32))
        trace = server.infer("m", {"X": values}).trace
    stage.clear()
    file = tmp_path / "run.html"
    file.write_text(document.page(trace), encoding="utf-8")
    page.goto(file.as_uri())
    view = View(page)
    view.rows.first.wait_for()
    return view


def test_a_call_shows_its_copies_and_what_it_used(view):
    """Tensor, direction, size and time; the device's own time, and its memory."""
    view.rows.nth(1).click()
    inspector = view.element.get_by_role("region", name="Inspector")

    expect(inspector.get_by_role("heading", name="Device gpu:0")).to_be_visible()
    expect(inspector.get_by_text("Y: gpu:0 → cpu, 1.0 MiB in ")).to_be_visible()
    expect(inspector.get_by_text("peak").first).to_be_visible()


def test_a_call_without_a_device_has_no_section_for_it(page, tmp_path, server):
    """Most runs have no device."""
    server.define("m", HOST_DOUBLE, config=CONFIG)
    file = tmp_path / "run.html"
    trace = server.infer("m", {"X": np.ones(2, np.float32)}).trace
    file.write_text(document.page(trace), encoding="utf-8")
    page.goto(file.as_uri())
    view = View(page)
    view.rows.first.click()
    inspector = view.element.get_by_role("region", name="Inspector")

    expect(inspector.get_by_role("heading", name="m")).to_be_visible()
    expect(inspector.get_by_role("heading", name="Device")).to_have_count(0)
