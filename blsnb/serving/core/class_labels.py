"""Labels of output elements, from the files that configurations name."""

from __future__ import annotations

import contextlib
import weakref

from blsnb.engine.catalog import Catalog
from blsnb.engine.request.validation import RequestError
from blsnb.engine.served import Served
from blsnb.repository.repository import ModelRepository

_MAX_DEPTH = 16
"""Maximum number of nested ensembles that are searched for labels."""


class ClassLabels:
    """Reads labels at their first use, and keeps them until the model is unloaded.

    References
    ----------
    core: src/label_provider.cc; src/ensemble_scheduler.cc, where an ensemble's output
    takes the labels of the model that makes it
    """

    def __init__(self, catalog: Catalog, repository: ModelRepository) -> None:
        self._catalog = catalog
        self._repository = repository
        self._read: weakref.WeakKeyDictionary[Served, dict[str, list[str]]]
        self._read = weakref.WeakKeyDictionary()

    def of(self, served: Served, output: str) -> list[str]:
        """Return the labels of an output's elements, perhaps fewer than elements."""
        known = self._read.setdefault(served, {})
        if output not in known:
            known[output] = self._find(served, output, _MAX_DEPTH)
        return known[output]

    def _find(self, served: Served, output: str, depth: int) -> list[str]:
        own = self._file(served, output)
        if own or not served.config.is_ensemble or not depth:
            return own
        for step in served.config.message.ensemble_scheduling.step:
            for inner, outer in step.output_map.items():
                if outer == output:
                    with contextlib.suppress(RequestError):
                        made = self._catalog.find(step.model_name, step.model_version)
                        return self._find(made, inner, depth - 1)
        return []

    def _file(self, served: Served, output: str) -> list[str]:
        directory = self._repository.directory(served.info.name)
        for tensor in served.config.message.output:
            if tensor.name == output and tensor.label_filename and directory:
                path = directory.path / str(tensor.label_filename)
                try:
                    text = path.read_bytes().decode("utf-8", "replace")
                except OSError:
                    return []
                # Triton splits at no other line ending.
                return text.split("\n")
        return []
