"""Web pages that a real browser opens may not use a served notebook."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Playwright

import blsnb
from blsnb.serving.access import Access
from blsnb.serving.endpoints import serve

from . import chromium

pytestmark = pytest.mark.browser

LOAD = """async (address) => {
    const url = `http://${address}/v2/repository/models/absent/load`;
    const simple = {method: "POST", body: "{}", mode: "no-cors"};
    await fetch(url, simple).catch(() => {});
    const image = new Image();
    await new Promise((done) => {
        image.onload = image.onerror = done;
        image.src = `http://${address}/v2/models/stats`;
    });
    try {
        const answer = await fetch(url, {method: "POST", body: "{}"});
        return [answer.status, await answer.text()];
    } catch (error) { return ["unreadable", ""]; }
}"""
READ = """async (path) => {
    const answer = await fetch(path);
    return [answer.status, await answer.text()];
}"""


class _Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>page</title>")

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def website() -> Iterator[int]:
    """Serve an empty page on another loopback port; yield the port."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Page) as site:
        thread = threading.Thread(target=site.serve_forever)
        thread.start()
        try:
            yield site.server_address[1]
        finally:
            site.shutdown()
            thread.join()


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the models whose load reached the server."""
    from blsnb.parts.models import Models

    seen: list[str] = []
    original = Models.load

    def load(self: Models, name: str, *args: object, **options: object) -> object:
        seen.append(name)
        return original(self, name, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Models, "load", load)
    return seen


def test_a_page_of_another_loopback_port_cannot_load_a_model(
    browser: Browser, loads: list[str]
) -> None:
    """Its request has no effect, and it cannot read the response."""
    with (
        blsnb.Server() as server,
        serve(server, http=0, grpc=None, metrics=None) as ends,
        website() as port,
    ):
        page = browser.new_page()
        page.goto(f"http://localhost:{port}/")
        found = page.evaluate(LOAD, ends.addresses["HTTP"])
        page.close()

    assert (["unreadable", ""], []) == (found, loads)


def test_a_page_of_an_allowed_origin_can_load_a_model(
    browser: Browser, loads: list[str]
) -> None:
    """Its request takes effect, and it reads the response."""
    with website() as port, blsnb.Server() as server:
        origin = f"http://localhost:{port}"
        access = Access(allow_origin=(origin,))
        with serve(server, http=0, grpc=None, metrics=None, access=access) as ends:
            page = browser.new_page()
            page.goto(f"{origin}/")
            status, text = page.evaluate(LOAD, ends.addresses["HTTP"])
            page.close()

    assert ("absent", 500) == (loads[0], status)
    assert "failed to load 'absent'" in text


@pytest.mark.parametrize("path", ["/v2", "/metrics"])
def test_a_rebound_name_reads_nothing(playwright: Playwright, path: str) -> None:
    """DNS makes the browser treat page and server as one origin."""
    rules = "--host-resolver-rules=MAP evil.example 127.0.0.1"
    found = chromium.executable()
    if found is None:
        pytest.skip("no Chromium here")
    browser = playwright.chromium.launch(
        executable_path=found, args=[*chromium.ARGUMENTS, rules]
    )
    with (
        blsnb.Server() as server,
        serve(server, http=0, grpc=None, metrics=0) as ends,
    ):
        port = ends.ports["HTTP" if path == "/v2" else "metrics"]
        page = browser.new_page()
        page.goto(f"http://evil.example:{port}/v2")
        status, text = page.evaluate(READ, path)
        browser.close()

    assert 403 == status
    assert f"Host 'evil.example:{port}' is not this server" in text
