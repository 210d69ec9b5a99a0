"""The part of a server that compares it with a real one."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blsnb.errors import RepositoryError, TritonServerError
from blsnb.parts.folders import Exchange
from blsnb.repository.directory import CONFIG_FILE, ModelDirectory

if TYPE_CHECKING:
    from blsnb.parity.cases import Cases
    from blsnb.parity.parity import Parity
    from blsnb.parity.verification import Progress
    from blsnb.repository.export import Exported


class Comparing(Exchange):
    """Makes the same requests on this server and on a real Triton server."""

    def compare(
        self,
        model_name: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        target: str = "local",
        cases: Cases | None = None,
        atol: float = 0.0,
        rtol: float = 0.0,
        timeout_s: float = 60.0,
        install: bool = False,
        progress: Progress | None = None,
        **options: Any,
    ) -> Parity:
        """Make the same requests on this server and on a real one, and compare.

        Values, datatypes, shapes, error codes and texts, the order of responses and
        their parameters must agree; durations are reported. Models of this server
        keep their state between requests; those of a started server are new.

        Parameters
        ----------
        inputs
            Inputs of the first request, as for `infer`; None if there are only cases.
        target
            ``"local"`` starts a real server with an export of the models and stops it
            afterwards: a ``tritonserver`` on PATH, or that of an installed
            nvidia-pytriton. ``"grpc://host:port"`` is a running server that has the
            models.
        cases
            Further requests: a JSON file with a list of objects, or the objects. Each
            has ``inputs``, and may have a ``name`` and any option of `infer`. In a
            file, an input is a JSON value, or ``{"npy": "path"}`` with the path of a
            NumPy file relative to it.
        atol, rtol
            Numbers agree if they differ by at most ``atol + rtol * |real value|``.
        timeout_s
            Maximum time until a real server is ready, and of each request, in seconds.
        install
            Whether a real server, and packages that the models import, may be
            installed from the package index, in an environment of its own.
        progress
            Receives the completed share, from 0 to 1, and a description of each step.
        options
            Options of `infer` for all requests.

        Returns
        -------
        Parity
            ``agree``, the ``differences``, and both runs of each case.

        Raises
        ------
        InputError
            A request is malformed, or an input has a type that Triton does not know.
        RepositoryError
            The model does not exist, or a stand-in serves it or a model that it calls.
        TritonServerError
            There is no real server, it cannot be reached or does not become ready,
            or the model does not load there; the text says why.
        ValueError
            The target is invalid.
        OSError
            A file of cases cannot be read.
        """
        from blsnb.parity.blsnb_client import BlsnbClient
        from blsnb.parity.cases import requests_of
        from blsnb.parity.verification import Verification
        from blsnb.tensors.tolerance import Tolerance

        self._check_open()
        if not self._has(model_name):
            known = ", ".join(self.repository.names()) or "none"
            raise RepositoryError(
                f"there is no model {model_name!r}; there are: {known}"
            )
        engine = self._engine
        client = BlsnbClient(
            self,
            self._requests,
            engine.catalog,
            engine.settings,
            self._exported_as_served,
        )
        verification = Verification(
            client,
            model_name,
            requests_of(model_name, inputs, cases, options),
            tolerance=Tolerance(atol, rtol),
            timeout_s=timeout_s,
            may_install=install,
            progress=progress,
        )
        try:
            return verification.run(target)
        except (TritonServerError, KeyboardInterrupt) as error:
            # The text explains the error; the frames of blsnb would hide it.
            raise error.with_traceback(None) from None

    def _has(self, name: str) -> bool:
        if self.repository.directory(name) is not None:
            return True
        return self._control.served_from(name) is not None

    def _exported_as_served(self, folder: Path) -> Exported:
        """Export all models, overridden ones with the files and fields in use."""
        exported = self._exported(folder)
        names = set(exported.models)
        for name in filter(self._control.is_overridden, self._control.serving()):
            served = self._control.served_from(name)
            if served is not None:
                _put_as_served(served, folder / name)
                names.add(name)
        return replace(exported, models=tuple(sorted(names)))


def _put_as_served(served: ModelDirectory, folder: Path) -> None:
    """Replace an exported model's folder by the files and configuration in use."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(
        served.path, folder, ignore=shutil.ignore_patterns("__pycache__", "configs")
    )
    config = served.config().to_pbtxt()
    (folder / CONFIG_FILE).write_text(config, encoding="utf-8")
