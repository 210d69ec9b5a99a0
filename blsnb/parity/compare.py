"""Comparing: what a server does to be held against a real one."""

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
    """The part of a server that makes the same requests on a real Triton server."""

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
        """Make the same requests here and on a real Triton server, and compare.

        A model's values, datatypes, shapes, error codes and texts, the order of its
        responses and their parameters count; how long it takes is told. The models
        here keep their state between requests; those of a server of its own are new.

        Parameters
        ----------
        inputs
            Of the first request, as for `infer`; None if there are only cases.
        target
            ``"local"``: a real server is started with an export of the models and
            stopped afterwards. It is a ``tritonserver`` on PATH, or that of an
            installed nvidia-pytriton. ``"grpc://host:port"``: one that runs, and
            has the models.
        cases
            Further requests: a JSON file with a list of objects, or the objects. Each
            has ``inputs``, and may have a ``name`` and what `infer` takes besides. In
            a file a value is what JSON has, or ``{"npy": "path"}`` of a NumPy file
            beside it.
        atol, rtol
            Numbers agree if they are at most ``atol + rtol * |real value|`` apart.
        timeout_s
            Seconds that a real server has to become ready, and to answer each
            request.
        install
            Whether a real server, and packages that the models import, may be
            installed from the package index, in an environment of its own.
        progress
            Told the share that is done, and what is being done.
        options
            What `infer` takes besides, for all requests.

        Returns
        -------
        Parity
            ``agree``, the ``differences``, and both runs of each case.

        Raises
        ------
        InputError
            A request has another form, or an input a type that Triton has not.
        RepositoryError
            There is no such model, or a stand-in answers in its run.
        TritonServerError
            There is no real server, it cannot be reached or does not become ready,
            or the model does not load there; the text says why.
        ValueError
            The target is none.
        OSError
            A file of cases cannot be read.
        """
        from blsnb.parity.blsnb_client import Ours
        from blsnb.parity.cases import asked_of
        from blsnb.parity.verification import Verification
        from blsnb.tensors.tolerance import Tolerance

        self._check_open()
        if not self._has(model_name):
            known = ", ".join(self.repository.names()) or "none"
            raise RepositoryError(
                f"there is no model {model_name!r}; there are: {known}"
            )
        engine = self._engine
        ours = Ours(
            self,
            self._requests,
            engine.catalog,
            engine.settings,
            self._exported_as_served,
        )
        verification = Verification(
            ours,
            model_name,
            asked_of(model_name, inputs, cases, options),
            tolerance=Tolerance(atol, rtol),
            timeout_s=timeout_s,
            may_install=install,
            progress=progress,
        )
        try:
            return verification.run(target)
        except (TritonServerError, KeyboardInterrupt) as error:
            # What happened is in its text; nobody looks for it in our frames.
            raise error.with_traceback(None) from None

    def _has(self, name: str) -> bool:
        if self.repository.directory(name) is not None:
            return True
        return self._control.served_from(name) is not None

    def _exported_as_served(self, folder: Path) -> Exported:
        """Export all models; of those that serve with something else, that.

        Raises
        ------
        RepositoryError
            A file cannot be read or written.
        """
        exported = self._exported(folder)
        names = set(exported.models)
        for name in filter(self._control.is_overridden, self._control.serving()):
            served = self._control.served_from(name)
            if served is not None:
                _put_as_served(served, folder / name)
                names.add(name)
        return replace(exported, models=tuple(sorted(names)))


def _put_as_served(served: ModelDirectory, folder: Path) -> None:
    """Replace an exported model by the files and configuration that serve.

    Parameters
    ----------
    folder
        The model's folder in the export.
    """
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(
        served.path, folder, ignore=shutil.ignore_patterns("__pycache__", "configs")
    )
    config = served.config().to_pbtxt()
    (folder / CONFIG_FILE).write_text(config, encoding="utf-8")
