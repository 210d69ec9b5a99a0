"""The sample run as both languages read it; run as a module to write it anew.

``python -m tests.views.golden_run``
"""

from __future__ import annotations

import json
from pathlib import Path

from blsnb.trace.comparison import compare
from blsnb.views.documents import embed, wire
from blsnb.views.pictures.snapshot import snapshot
from blsnb.views.tree import tree

from .samples import edited_run, invoice_run

FOLDER = Path(__file__).parent / "golden"
HEADER = FOLDER / "run27.json"
BUFFER = FOLDER / "run27.bin"
PICTURE = FOLDER / "run27.svg"
TREE = FOLDER / "run27.txt"
COMPARED_HEADER = FOLDER / "compared.json"
COMPARED_BUFFER = FOLDER / "compared.bin"
COMPARED_TREE = FOLDER / "compared.txt"
COMPARED_PICTURE = FOLDER / "compared.svg"


def encoded() -> tuple[dict, bytes]:
    """Header and buffer of the 27 calls, with all that fits of their tensors."""
    trace = invoice_run()
    header, buffer = wire.assemble(trace)
    order = embed.priority(trace)
    header["tensors"] = embed.embed(trace, order, buffer)
    return header, bytes(buffer)


def compared() -> tuple[dict, bytes]:
    """Header and buffer of the run after an edit beside the one before."""
    header, buffer = wire.assemble(compare(edited_run(), invoice_run()))
    return header, bytes(buffer)


def write() -> None:
    _write(encoded(), HEADER, BUFFER)
    _write(compared(), COMPARED_HEADER, COMPARED_BUFFER)
    comparison = compare(edited_run(), invoice_run())
    COMPARED_TREE.write_text(tree(comparison) + "\n", "utf-8")
    COMPARED_PICTURE.write_text(snapshot(comparison), "utf-8")
    PICTURE.write_text(snapshot(invoice_run()), "utf-8")
    TREE.write_text(tree(invoice_run()) + "\n", "utf-8")


def _write(sent: tuple[dict, bytes], header: Path, buffer: Path) -> None:
    text = json.dumps(sent[0], indent=1, ensure_ascii=False, sort_keys=True)
    header.write_text(text + "\n", "utf-8")
    buffer.write_bytes(sent[1])


if __name__ == "__main__":
    write()
