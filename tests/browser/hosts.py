"""Pages that impose the rules of hosts that are not run here, as far as they are known.

Each shows HTML as the host does, at an address that leads nowhere: Playwright answers.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from playwright.sync_api import Frame, Page, Route

_TOP = "https://host.test"
_FRAME = "https://4f1e8a2c-0-frame.test"
# The frame around may run what it serves, and nothing else, as VS Code's does.
_AROUND = (
    "default-src 'none'; script-src 'self'; frame-src *; style-src 'unsafe-inline'"
)
_ACTIVATE = """([html, activate]) => {
    const output = document.createElement("div");
    output.className = "output";
    output.innerHTML = html;
    document.querySelector("#container").append(output);
    for (const inert of [...output.querySelectorAll("script")]) {
        const script = document.createElement("script");
        for (const name of ["type", "src", "nonce", "noModule", "async"]) {
            const value = inert[name] || inert.getAttribute(name);
            if (value) script.setAttribute(name, value);
        }
        script.text = inert.innerText;
        if (activate === "at the end") {
            output.append(script);
            script.remove();
        } else inert.replaceWith(script);
    }
}"""
_STYLE = "border:0;width:100%;height:1000px"
_KEYS = "<script>heard = []; onkeydown = (event) => heard.push(event.key);</script>"


class Host(NamedTuple):
    """How a host shows HTML: in which frame, under which policy, in which theme."""

    sandbox: str = ""
    policy: str = ""
    html: str = ""
    """Attributes of the frame's root."""
    body: str = ""
    """Attributes of its body."""
    activate: str = "in place"
    """Where scripts run, which markup alone leaves inert."""
    written: bool = False
    """Whether the frame's page is written by another frame around it."""


def vscode(kind: str) -> Host:
    """VS Code: a written page in two sandboxes, scripts copied to the output's end.

    Seen in VS Code 1.139 as code-server 4.139 serves it: the outer frame's policy is
    strict, the inner one's page has none; the theme is a class and a data attribute.
    """
    return Host(
        sandbox="allow-same-origin allow-pointer-lock allow-scripts allow-downloads "
        "allow-forms",
        body=f'class="{kind}" data-vscode-theme-kind="{kind}"',
        activate="at the end",
        written=True,
    )


def colab(theme: str) -> Host:
    """Colab: a frame for each cell, at an origin of its own, its theme at the root."""
    return Host(
        sandbox="allow-downloads allow-forms allow-modals allow-popups "
        "allow-popups-to-escape-sandbox allow-presentation allow-same-origin "
        "allow-scripts",
        html=f'theme="{theme}"' if theme else "",
    )


_SHUT = "default-src 'none'; base-uri 'none'; form-action 'none'; "
INLINE_ONLY = Host(
    sandbox="allow-scripts",
    policy=f"{_SHUT}script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:",
)
"""A frame without an origin, in which only code of the page may run."""
BLOB_ONLY = Host(
    policy=f"{_SHUT}script-src 'unsafe-inline' blob:; img-src data:",
)
"""The same, for hosts that also name blobs, and no style of a page's own."""
NO_SCRIPTS = Host(policy=f"{_SHUT}img-src data:")
"""What GitHub and mail do: markup and images, nothing that runs."""


def show(page: Page, host: Host, *outputs: str) -> Frame:
    """Open a host with outputs below one another; return the frame they are in."""
    served = {"/": _around(host), "/write.js": _writing(host), "/blank": ""}
    within = {"/": _within(host)}
    page.route(f"{_TOP}/**", lambda route: _answer(route, served, _AROUND))
    page.route(f"{_FRAME}/**", lambda route: _answer(route, within, host.policy))
    page.goto(f"{_TOP}/")
    page.frame_locator("iframe").locator("#container").wait_for(state="attached")
    (frame,) = page.main_frame.child_frames
    for html in outputs:
        add(frame, host, html)
    return frame


def add(frame: Frame, host: Host, html: str) -> None:
    """Show one more output, below the others."""
    frame.evaluate(_ACTIVATE, [html, host.activate])


def _around(host: Host) -> str:
    frame = f'<iframe sandbox="{host.sandbox}" style="{_STYLE}" src="{_FRAME}/">'
    if not host.sandbox:
        frame = f'<iframe style="{_STYLE}" src="{_FRAME}/">'
    script = '<script src="/write.js"></script>'
    within = script if host.written else f"{frame}</iframe>"
    return f"<!doctype html><title>host</title><body>{within}"


def _writing(host: Host) -> str:
    return f"""const frame = document.createElement("iframe");
    frame.sandbox = {json.dumps(host.sandbox)};
    frame.style = {json.dumps(_STYLE)};
    frame.src = "/blank";
    frame.onload = () => {{
        frame.onload = null;
        frame.contentDocument.open();
        frame.contentDocument.write({json.dumps(_within(host))});
        frame.contentDocument.close();
    }};
    document.body.append(frame);"""


def _within(host: Host) -> str:
    return (
        f"<!doctype html><html {host.html}><meta charset=utf-8><title>output</title>"
        f'<body {host.body}>{_KEYS}<div id="container"></div></body></html>'
    )


def _answer(route: Route, served: dict[str, str], policy: str) -> None:
    """Serve a page or a script with a policy; what is not there is an error."""
    path = "/" + route.request.url.split("/", 3)[3]
    kind = "text/javascript" if path.endswith(".js") else "text/html"
    headers = {"content-type": kind} | (
        {"content-security-policy": policy} if policy and path != "/blank" else {}
    )
    route.fulfill(
        status=200 if path in served else 404,
        body=served.get(path, ""),
        headers=headers,
    )
