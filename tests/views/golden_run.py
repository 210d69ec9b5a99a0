"""The sample run as both languages read it; run as a module to write it anew.

``python -m tests.views.golden_run``
"""

from __future__ import annotations

import json
from pathlib import Path

from blsnb.views import embed, wire
from blsnb.views.columns import columns_of
from blsnb.views.snapshot import snapshot
from blsnb.views.tree import tree

from .samples import invoice_run

FOLDER = Path(__file__).parent / "golden"
HEADER = FOLDER / "run27.json"
BUFFER = FOLDER / "run27.bin"
PICTURE = FOLDER / "run27.svg"
TREE = FOLDER / "run27.txt"


def encoded() -> tuple[dict, bytes]:
    """Header and buffer of the 27 calls, with all that fits of their tensors."""
    trace = invoice_run()
    header, buffer = wire.assemble(trace)
    order = embed.priority(trace, columns_of(trace))
    header["tensors"] = embed.embed(trace, order, buffer)
    return header, bytes(buffer)


def write() -> None:
    header, buffer = encoded()
    text = json.dumps(header, indent=1, ensure_ascii=False, sort_keys=True)
    HEADER.write_text(text + "\n", "utf-8")
    BUFFER.write_bytes(buffer)
    PICTURE.write_text(snapshot(invoice_run()), "utf-8")
    TREE.write_text(tree(invoice_run()) + "\n", "utf-8")


if __name__ == "__main__":
    write()
