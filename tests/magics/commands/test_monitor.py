"""Specification of %triton monitor."""

import threading

import pytest
from IPython.core.error import UsageError

from blsnb.magics import default_server as default
from blsnb.magics import extension

from ..models import DOUBLE, infer


@pytest.fixture
def double(notebook):
    notebook.run(DOUBLE.replace("--input", "--quiet --input"))
    return notebook


@pytest.fixture
def page(double, monkeypatch):
    """A notebook with a page that can show widgets."""
    monkeypatch.setattr(type(double.shell), "kernel", object(), raising=False)
    return double


def looking():
    """Whether a thread of a monitor is running."""
    return "blsnb monitor" in [thread.name for thread in threading.enumerate()]


def test_without_a_page_it_is_a_table_once(double):
    """Without a page a table is printed once, and the monitor's thread ends."""
    double.run("%triton monitor")
    double.run(infer("double"))
    ran = double.run("%triton monitor")

    caption, head, row = ran.stdout.splitlines()
    assert "0 in flight" in caption
    assert "model" == head.split()[0]
    assert ["double", "1", "READY", "0", "of", "1"] == row.split()[:6]
    assert not looking()


def test_in_a_page_it_is_a_table_whose_place_a_widget_takes(page):
    """A notebook that is saved shows the table; twice it is the same widget."""
    [first] = page.run("%triton monitor").outputs
    [second] = page.run("%triton monitor").outputs
    id_ = default.server().monitor().widget().monitor_id

    assert {"text/html", "text/plain"} == set(first)
    assert "double" in first["text/plain"]
    assert "<table>" in first["text/html"]
    assert f'get("{id_}")' in first["text/html"]
    assert f'get("{id_}")' in second["text/html"]
    assert looking()


def test_vscode_displays_the_widget_itself(page, monkeypatch):
    """VS Code makes no model of a widget without a view."""
    monkeypatch.setenv("VSCODE_PID", "1")
    [shown] = page.run("%triton monitor").outputs

    assert "application/vnd.jupyter.widget-view+json" in shown


def test_unloading_the_extension_ends_it(page):
    """Unloading the extension ends the monitor; the server stays open."""
    page.run("%triton monitor")
    extension.unload_ipython_extension(page.shell)

    assert not looking()
    assert default.started() is not None
    assert "READY" == default.server().model("double").state


def test_a_table_replaces_the_widget_at_the_end(page):
    """A saved notebook has the last table instead of a widget."""
    page.run("%triton monitor")
    ran = page.run("import blsnb; blsnb.server().monitor().close()")

    assert [{"text/html", "text/plain"}] == [set(shown) for shown in ran.outputs]


def test_a_metrics_port_is_that_of_another_server(double):
    """Alone it would show this kernel's server."""
    ran = double.run("%triton monitor --metrics 127.0.0.1:8002")

    assert "%triton monitor: --metrics needs --url" in ran.stderr


def test_it_takes_no_arguments(double):
    """An argument is refused with the usage."""
    ran = double.run("%triton monitor double")

    assert isinstance(ran.error, UsageError)
    assert "usage: %triton monitor" in ran.stderr
