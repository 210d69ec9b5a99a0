"""A host in the page: a picture, and the script that puts the view in its place."""

from __future__ import annotations

import base64
import functools
import gzip
import json
from html import escape
from pathlib import Path

from blsnb.views.documents.buffer import Buffer
from blsnb.views.documents.wire import Header

CODE = Path(__file__).parent.parent / "static" / "view.js"

HOST = """(({ previousElementSibling: before, parentElement: all }) =>
    before?.matches(".blsnb-run") ? before : all.querySelector(".blsnb-run")
  )(document.currentScript)"""
"""The host of a script; VS Code runs a copy of the script at the end of the output."""

AT_ONCE = f"""
try {{
  const host = {HOST};
  globalThis[Symbol.for("blsnb")]?.get(host.dataset.run)?.mount(host);
}} catch (error) {{
  console.info("blsnb shows the picture first:", error);
}}
"""
"""Draws the view before the page is painted, where a live view left rows and code."""

# The host is claimed before anything is awaited: a page may show a run twice, and each
# script has one host. Where the page's policy allows only inline scripts, the code
# becomes one. Any failure leaves the picture.
_SCRIPT = """
const id = %(id)s;
const host = [...document.querySelectorAll(".blsnb-run")]
  .find((each) => each.dataset.run === id && !each.blsnbClaimed);
const unpack = async (text) => {
  const packed = atob(text);
  const bytes = new Uint8Array(packed.length);
  for (let k = 0; k < bytes.length; k += 1) bytes[k] = packed.charCodeAt(k);
  return new Response(
    new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
};
const load = async (text) => {
  const code = await (await unpack(text)).text();
  const url = URL.createObjectURL(new Blob([code], {type: "text/javascript"}));
  try {
    return await import(url);
  } catch (error) {
    if (error instanceof TypeError) return standing(code);
    throw error;
  } finally {
    URL.revokeObjectURL(url);
  }
};
const standing = (code) => new Promise((done, failed) => {
  const script = document.createElement("script");
  const key = `blsnb${Math.random()}`;
  globalThis[key] = (mount) => {
    delete globalThis[key];
    done({mount});
  };
  document.addEventListener("securitypolicyviolation",
    (event) => event.blockedURI === "inline" && failed(event.violatedDirective));
  script.type = "module";
  script.textContent = `${code}\nglobalThis["${key}"](mount);`;
  document.head.append(script);
  script.remove();
});
if (host) host.blsnbClaimed = true;
%(first)s
if (host && !host.blsnbLive) {
  try {
    const live = globalThis[Symbol.for("blsnb")]?.get(id);
    const [code, header, buffer] = await Promise.all([
      live ?? load("%(code)s"),
      unpack("%(header)s").then((header) => header.json()),
      unpack("%(buffer)s").then((buffer) => buffer.arrayBuffer()),
    ]);
    code.mount(host, header, buffer);
  } catch (error) {
    console.info("blsnb shows the picture only:", error);
  }
}
"""


def hosted(
    run: str,
    picture: str,
    header: Header,
    buffer: Buffer,
    code: str | None = None,
    at_once: str = AT_ONCE,
    first: str = "",
) -> str:
    """Return a picture, and the script that puts the view in its place.

    Parameters
    ----------
    run
        Page id of the run.
    picture
        HTML for readers without scripts.
    code
        The view's JavaScript; that of blsnb if None.
    at_once
        A script that runs before the page is painted.
    first
        Statements before the view is decoded.
    """
    script = _SCRIPT % {
        "first": first,
        # HTML recognises nothing in a script but its closing tag.
        "id": json.dumps(run).replace("<", "\\u003c"),
        "code": _packed_code(CODE.read_text("utf-8") if code is None else code),
        "header": _packed(json.dumps(header, separators=(",", ":")).encode()),
        "buffer": _packed(bytes(buffer)),
    }
    return (
        f'<div class="blsnb-run" data-run="{escape(run)}" '
        f'style="min-height:{int(header["ui"]["height"])}px">{picture}</div>'
        f"<script>{at_once}</script>"
        f'<script type="module">{script}</script>'
    )


def _packed(data: bytes) -> str:
    # Without a time of day: the same run results in the same notebook.
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


@functools.lru_cache(maxsize=4)
def _packed_code(code: str) -> str:
    return _packed(code.encode())
