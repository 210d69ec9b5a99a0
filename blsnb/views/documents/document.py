"""A finished run as self-contained HTML: picture, table, and the view itself."""

from __future__ import annotations

import base64
import functools
import gzip
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from blsnb.trace.excerpt import page_excerpt
from blsnb.trace.spans import Trace
from blsnb.views.batches import executions
from blsnb.views.callgraph import Box, call_graph
from blsnb.views.columns import columns_of
from blsnb.views.documents import embed, wire
from blsnb.views.documents.buffer import Buffer
from blsnb.views.folded import folded_note, left_out
from blsnb.views.format import cut, time, visible
from blsnb.views.pictures.snapshot import heading, snapshot, summary
from blsnb.views.tree import tree

CODE = Path(__file__).parent.parent / "static" / "view.js"
_TEXT = 4096
"""Characters of a text that a page shows without scripts."""

HOST = """(({ previousElementSibling: before, parentElement: all }) =>
    before?.matches(".blsnb-run") ? before : all.querySelector(".blsnb-run")
  )(document.currentScript)"""
"""What a script is about: VS Code runs a copy of it, at the end of the output."""

# Where a live view of the run was, its rows and its code are still in the page:
# drawn before the page is painted, the document takes its place unnoticed.
AT_ONCE = f"""
try {{
  const host = {HOST};
  globalThis[Symbol.for("blsnb")]?.get(host.dataset.run)?.mount(host);
}} catch (error) {{
  console.info("blsnb shows the picture first:", error);
}}
"""

# The host is claimed before anything is awaited: a run may be shown twice in a
# page, and each script has one host. A host whose policy lets only scripts run
# that stand in the page gets one. Whatever fails leaves the picture.
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


def mimebundle(
    trace: Trace,
    *,
    state: wire.State | None = None,
    embed_previews: bool = True,
    notes: Sequence[str] = (),
    selected: int = -1,
    height: int = wire.HEIGHT,
) -> dict[str, str]:
    """Return a finished run for a notebook: the document, and the tree as text."""
    page = html(
        trace,
        state=state,
        embed_previews=embed_previews,
        notes=notes,
        selected=selected,
        height=height,
    )
    return {"text/html": page, "text/plain": tree(trace)}


def html(
    trace: Trace,
    *,
    state: wire.State | None = None,
    embed_previews: bool = True,
    notes: Sequence[str] = (),
    selected: int = -1,
    height: int = wire.HEIGHT,
    code: str | None = None,
) -> str:
    """Return a run as one piece of HTML that needs neither kernel nor network.

    Parameters
    ----------
    state
        How the run ended, where that is known better than from its calls.
    embed_previews
        Whether values of tensors are saved in it, or their statistics only.
    notes
        Notes on the whole run.
    selected
        Id of the call selected last; its tensors are embedded before others.
    height
        Height in pixels that the view had last, so that the page does not move.
    code
        The view's JavaScript; the one that blsnb brings if None.
    """
    # Of a very long trace a page holds a part; it says so.
    trace = page_excerpt(trace)
    notes = [*folded_note(trace), *notes]
    header, buffer = wire.assemble(trace, state=state, notes=notes, height=height)
    order = embed.priority(trace, columns_of(trace), selected)
    header["tensors"] = embed.embed(trace, order, buffer, embed_previews)
    picture = still(trace, state)
    return hosted(wire.page_id(trace), picture, header, buffer, code)


def hosted(
    run: str,
    picture: str,
    header: wire.Header,
    buffer: Buffer,
    code: str | None = None,
    at_once: str = AT_ONCE,
    first: str = "",
) -> str:
    """Return a picture, and the script that puts the view in its place.

    Parameters
    ----------
    run
        Its id in the page.
    picture
        What readers without scripts see, as HTML.
    code
        The view's JavaScript; the one that blsnb brings if None.
    at_once
        A script that runs before the page is painted.
    first
        What the other script does before it decodes anything.
    """
    script = _SCRIPT % {
        "first": first,
        # In a script, the only thing that HTML can see is a closing tag.
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


def page(
    trace: Trace, *, state: wire.State | None = None, notes: Sequence[str] = ()
) -> str:
    """Return a run as a whole web page, to be saved in a file."""
    return whole_page(heading(trace), html(trace, state=state, notes=notes))


def whole_page(title: str, body: str) -> str:
    """Return a web page around a piece of HTML."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{spelled(title)}</title></head><body>{body}</body></html>\n"
    )


def still(trace: Trace, state: wire.State | None = None) -> str:
    """Return what readers without scripts see: the picture and a table.

    Parameters
    ----------
    trace
        As much as a page can hold, see `page_excerpt`.
    """
    columns = columns_of(trace)
    facts = [heading(trace), *summary(trace, columns)]
    boxes = call_graph(trace, columns).boxes
    batched = executions(trace)
    rows = "".join(_table_row(box, batched) for box in boxes)
    notes = [*left_out(trace), *trace.remarks]
    said = "".join(f"<p>{spelled(note)}</p>" for note in notes)
    return (
        f"{image(snapshot(trace, state), facts)}"
        # A page without a style of its own would show it in its book face.
        '<details style="font:13px system-ui,sans-serif"><summary>Models</summary>'
        "<table><thead><tr><th>model</th>"
        f"<th>calls</th>{'<th>executions</th>' if batched else ''}"
        "<th>own time</th><th>errors</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>{said}</details>"
    )


def image(picture: str, facts: Sequence[str]) -> str:
    """Return an SVG picture as an image, in which scripts are inert."""
    data = base64.b64encode(picture.encode()).decode()
    return (
        f'<img alt="{spelled(", ".join(facts))}" style="max-width:100%" '
        f'src="data:image/svg+xml;base64,{data}">'
    )


def _table_row(box: Box, batched: Mapping[int, int]) -> str:
    cells = [f"{box.calls:,}", time(box.own_us), f"{box.errors:,}"]
    if batched:
        cells.insert(1, f"{batched[box.model]:,}" if box.model in batched else "")
    numbers = "".join(
        f'<td style="padding-left:12px;text-align:right">{cell}</td>' for cell in cells
    )
    return f"<tr><td>{spelled(box.name)}</td>{numbers}</tr>"


def spelled(text: str) -> str:
    """Return text as it may stand between tags, cut, with nothing hidden in it."""
    return escape(visible(cut(text, _TEXT)))


def _packed(data: bytes) -> str:
    # Without a time of day, so that the same run gives the same notebook.
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


@functools.lru_cache(maxsize=4)
def _packed_code(code: str) -> str:
    return _packed(code.encode())
