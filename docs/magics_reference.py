"""The directive ``magics``: every magic with the help of its parser."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from blsnb.magics.commands.subcommands import (
    SUBCOMMANDS,
    example_text,
    help_of,
    help_text,
)
from blsnb.magics.define import DefineMagics

DEFINING = ("triton_model", "triton_config", "triton_file")


def texts() -> Iterator[tuple[str, str]]:
    """Yield the name and the help of each magic and of each subcommand."""
    for name in DEFINING:
        text = inspect.cleandoc(getattr(DefineMagics, name).__doc__)
        yield f"%%{name}", f"{text}\n\n{example_text(f'%%{name}')}"
    yield "%triton", help_text()
    for name in SUBCOMMANDS:
        yield f"%triton {name}", help_of(name)


class Magics(SphinxDirective):
    """A section for each of them."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        return [self._section(name, text) for name, text in texts()]

    def _section(self, name: str, text: str) -> nodes.section:
        section = nodes.section(ids=[nodes.make_id(name)])
        section += nodes.title(name, name)
        section += nodes.literal_block(text, text, language="text")
        return section


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("magics", Magics)
    return {"parallel_read_safe": True}
