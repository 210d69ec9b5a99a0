"""``%%triton_model``, ``%%triton_config``, ``%%triton_file``: cells become models."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import (
    Magics,
    cell_magic,
    line_cell_magic,
    magics_class,
    needs_local_scope,
    no_var_expand,
)
from IPython.display import display

from blsnb.errors import BlsnbError, RequestInterrupted
from blsnb.magics import card, checked, flags, line
from blsnb.magics import default_server as default
from blsnb.magics.cell_book import CellBook, CellText
from blsnb.magics.cell_config import (
    CellConfig,
    compose,
    configuration_text,
    extra_files,
)
from blsnb.magics.cell_transforms import source_below
from blsnb.parts.server_parts import parts_of
from blsnb.repository.directory import CONFIG_FILE

if TYPE_CHECKING:
    from blsnb.repository.change import FileContent
    from blsnb.repository.status import ModelStatus

_MODEL = flags.model_flags()


@magics_class
class DefineMagics(Magics):
    """The magics that write models.

    Parameters
    ----------
    cells
        Receives the cell of each file.
    failed
        Receives an error, and the file and the cell that caused it.
    begin_load
        Receives a file and its cell before the model is loaded.
    """

    def __init__(
        self,
        shell: Any,
        cells: CellBook,
        failed: Callable[[BlsnbError | RequestInterrupted, Path, CellText], None],
        begin_load: Callable[[Path, CellText], None],
    ) -> None:
        super().__init__(shell)
        self._cells = cells
        self._failed = failed
        self._begin_load = begin_load
        self._written: dict[str, CellConfig] = {}
        self._running = ""

    def begin_cell(self, info: Any) -> None:
        """Note the text of the cell that begins."""
        self._running = info.raw_cell

    @no_var_expand
    @needs_local_scope
    @line_cell_magic
    @flags.documented(_MODEL.format_help())
    def triton_model(
        self, text: str, cell: str | None = None, local_ns: Any = None
    ) -> None:
        """Define a model; the docstring is replaced by the parser's help."""
        namespace = line.namespace(self.shell, local_ns)
        try:
            given = _MODEL.parse(line.words(text, namespace))
        except flags.HelpShown:
            return
        if cell is None:
            cell = source_below(self._running)
        if cell is None:
            raise UsageError(
                "%triton_model must be the first line of its cell, "
                "with the model's source below it"
            )
        try:
            written = self._configuration(given, namespace)
        except BlsnbError:
            self._show_what_serves(given.name)
            raise
        files: dict[str, FileContent | None] = {
            f"{given.version}/{path}": content
            for path, content in extra_files(given.file).items()
        }
        # A file of the user's stays, also an empty one.
        is_file = written.text or written.base is not None
        files[CONFIG_FILE] = written.text if is_file else None
        main = f"{given.version}/model.py"
        self._change(given.name, {main: cell, **files}, main, cell, given.quiet)
        self._written[given.name] = written

    @no_var_expand
    @needs_local_scope
    @cell_magic
    def triton_config(self, text: str, cell: str, local_ns: Any = None) -> None:
        """Write the cell's text, unchanged, to a model's config.pbtxt.

        ::

            %%triton_config NAME

        The model is reloaded with it. Options of ``%%triton_model`` are merged into
        it; one that contradicts it is an error.
        """
        from blsnb.model.config import parse_pbtxt
        from blsnb.model.model_options import ModelOptions

        name = self._one_word("%%triton_config NAME", text, local_ns)
        last = self._last(name)
        place = self._cells.here(cell)
        path = self._path(name, CONFIG_FILE)
        try:
            parse_pbtxt(cell, path=str(path))
            written = compose(cell, last.options if last else ModelOptions())
        except BlsnbError as error:
            self._failed(error, path, place)
            self._show_what_serves(name)
            raise
        self._change(name, {CONFIG_FILE: written.text}, CONFIG_FILE, cell)
        self._written[name] = written

    @no_var_expand
    @needs_local_scope
    @cell_magic
    def triton_file(self, text: str, cell: str, local_ns: Any = None) -> None:
        """Write the cell's text, unchanged, to a file beside a model.

        ::

            %%triton_file NAME/VERSION/helper.py

        The model, if it exists already, is reloaded with it. A file that the model has
        may be in any of its folders, such as NAME/labels.txt.
        """
        usage = "%%triton_file NAME/VERSION/helper.py"
        word = self._one_word(usage, text, local_ns)
        name, _, path = word.partition("/")
        version, _, inner = path.partition("/")
        if path == CONFIG_FILE:
            raise UsageError(f"for a configuration use %%triton_config {name}")
        is_in_version = version.isdecimal() and inner
        if not (name and (is_in_version or self._has_file(name, path))):
            raise UsageError(f"{word!r} is not a file of a model; usage: {usage}")
        self._change(name, {path: cell}, path, cell)

    def _has_file(self, name: str, path: str) -> bool:
        """Whether a model has a file already, such as labels beside its versions."""
        directory = parts_of(default.server()).repository.directory(name)
        return directory is not None and (directory.path / path).is_file()

    def _one_word(self, usage: str, text: str, local_ns: Any) -> str:
        found = line.words(text, line.namespace(self.shell, local_ns))
        if len(found) != 1 or found[0].startswith("-"):
            raise UsageError(f"usage: {usage}")
        return found[0]

    def _path(self, name: str, inner: str) -> Path:
        return parts_of(default.server()).repository.private(name).path / inner

    def _change(
        self,
        name: str,
        files: Mapping[str, FileContent | None],
        main: str,
        cell: str,
        quiet: bool = False,
    ) -> None:
        """Write files and load the model; show its card, or that of the old version."""
        # Deferred: loading the extension must not import traces.
        from blsnb.trace.events import Origin

        place = self._cells.here(cell)
        path = self._path(name, main)
        models = parts_of(default.server()).models
        models.control.origins[cell] = Origin(place.cell, place.offset)
        try:
            status = models.change(name, files, lambda: self._begin_load(path, place))
        except (BlsnbError, RequestInterrupted) as error:
            self._failed(error, path, place)
            self._show_what_serves(name)
            raise
        self._cells.remember(path, place)
        if not quiet:
            self._show(status, main, place)

    def _show(self, status: ModelStatus, main: str, place: CellText) -> None:
        server = default.server()
        found = list(status.findings)
        found += _unserved(main, status.versions)
        if main == CONFIG_FILE:
            found = checked.config_findings(server, found, place)
        found += checked.findings(server, status.name, self._cells)
        status = replace(status, findings=tuple(found))
        display(card.bundle(status), raw=True)

    def _show_what_serves(self, name: str) -> None:
        status = default.server().model(name)
        if status.state == "READY":
            display(card.bundle(status, "the new one did not load"), raw=True)

    def _last(self, name: str) -> CellConfig | None:
        """Return the last configuration, unless its file has been changed since."""
        last = self._written.get(name)
        unchanged = last is not None and last.text == (self._config_text(name) or "")
        return last if unchanged else None

    def _config_text(self, name: str) -> str | None:
        # Of an imported model it is the one in the user's folder.
        directory = parts_of(default.server()).repository.directory(name)
        file = self._path(name, CONFIG_FILE)
        if directory is not None:
            file = directory.path / CONFIG_FILE
        # Comments may contain any bytes, which stay as they are.
        return file.read_text("utf-8", "surrogateescape") if file.is_file() else None

    def _configuration(
        self, given: argparse.Namespace, namespace: Mapping[str, Any]
    ) -> CellConfig:
        from blsnb.model.model_options import ModelOptions

        options = ModelOptions(
            inputs=tuple(given.input),
            outputs=tuple(given.output),
            max_batch_size=given.max_batch_size,
            instances=given.instances,
            kind=given.kind,
            dynamic_batching=given.dynamic_batching,
            decoupled=given.decoupled,
        )
        if given.config is not None:
            return compose(configuration_text(given.config, namespace), options)
        last = self._last(given.name)
        base = self._config_text(given.name) if last is None else last.base
        return compose(base, options)


def _unserved(path: str, serving: Sequence[int]) -> Iterator[str]:
    """Yield a finding about a cell whose version is not among those that serve."""
    version = path.partition("/")[0]
    if serving and version.isdecimal() and int(version) not in serving:
        others = ", ".join(map(str, serving))
        yield (
            f"version {version}, the cell's, does not serve, but {others}: see "
            "version_policy"
        )
