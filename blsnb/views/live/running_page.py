"""A running run as HTML, for a notebook that is saved before the run has ended.

In a page with the run's widget the live view replaces this document, and stays when
newer HTML arrives. Without the widget the document shows the state when it was made.
"""

from __future__ import annotations

from dataclasses import replace

from blsnb.trace.excerpt import page_excerpt
from blsnb.trace.spans import Trace
from blsnb.views.documents import document, host, wire
from blsnb.views.exported import exported
from blsnb.views.folded import folded_note
from blsnb.views.tree import tree

NOTE = (
    "This run was still executing when the notebook was saved: "
    "what came later is not in this picture."
)

_PATIENCE_MS = 600
"""Milliseconds during which neither picture nor document is shown: a page may receive
the widget later than its output, and would show one after the other."""
_AT_ONCE = """{
  const host = %(host)s;
  const place = () => {
    const known = globalThis[Symbol.for("blsnb")]?.get(host.dataset.run);
    if (!known) return false;
    removeEventListener("blsnb-registered", place);
    known.mount(host);
    host.blsnbLive = true;
    return true;
  };
  if (!place()) {
    addEventListener("blsnb-registered", place);
    const picture = host.firstElementChild;
    picture.style.visibility = "hidden";
    setTimeout(() => { picture.style.visibility = ""; }, %(patience)d);
  }
}"""
_FIRST = "if (host) await new Promise((ready) => setTimeout(ready, %(patience)d));"


def mimebundle(
    trace: Trace, *, height: int = wire.LIVE_HEIGHT, carries_code: bool = True
) -> dict[str, str]:
    """Return a running run for a notebook, as HTML and as texts.

    Parameters
    ----------
    height
        Height of the live view in pixels.
    carries_code
        Whether the view's code is embedded.
    """
    trace = page_excerpt(trace)
    remarked = replace(trace, remarks=(*trace.remarks, NOTE))
    notes = [*folded_note(trace), NOTE]
    header, buffer = wire.assemble(trace, notes=notes, height=height)
    header["run"]["saved"] = True
    # Without values, because a model waits during the call.
    said = f'<p style="font:13px system-ui,sans-serif">{document.spelled(NOTE)}</p>'
    page = host.hosted(
        wire.page_id(trace),
        f"<div>{document.still(trace)}{said}</div>",
        header,
        buffer,
        carries_code=carries_code,
        at_once=_AT_ONCE % {"host": host.HOST, "patience": _PATIENCE_MS},
        first=_FIRST % {"patience": _PATIENCE_MS},
    )
    return {"text/html": page, **exported(tree(remarked))}
