"""The modules of one instance, isolated from those of other instances."""

from __future__ import annotations

import builtins
import contextlib
import functools
import importlib
import importlib.machinery
import itertools
import linecache
import os
import re
import site
import sys
import threading
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from blsnb.engine.request.inflight import Execution
from blsnb.pb_utils.backend import CurrentBackend, EngineCalls
from blsnb.pb_utils.compiled.releases import Release
from blsnb.pb_utils.module import module as pb_module
from blsnb.release import OLDEST

_PREFIX = "_blsnb_"
_IPYTHON = frozenset({"__IPYTHON__", "display", "get_ipython"})
"""Names that IPython adds to builtins; models on Triton do not have them."""
_SIBLING = ":"
"""Separates the package of an instance from the name of a file beside its model."""
_numbers = itertools.count(1)
_by_package: dict[str, InstanceModules] = {}
_registration = threading.Lock()
"""Held while `_by_package` and the finders change, since models load side by side."""
_ATTEMPTS = 100
"""Number of attempts whose failure counts for nothing."""


class InstanceModules:
    """Modules, ``import`` and ``print`` of one instance.

    The model's file, its sibling files and their imports are modules with unique names
    in ``sys.modules``; ``sys.path`` does not change.

    Parameters
    ----------
    instance_name
        Triton's name of the instance.
    model_file
        Path of ``model.py``.
    backend
        The instance's; its log receives the text that the instance prints.
    release
        The followed Triton release.
    """

    def __init__(
        self,
        instance_name: str,
        model_file: Path,
        backend: EngineCalls,
        release: Release,
    ) -> None:
        safe = re.sub(r"\W", "_", instance_name)
        self.package = f"{_PREFIX}{next(_numbers)}_{safe}"
        self.model_file = model_file
        self.folders = [str(model_file.parent), str(model_file.parent.parent)]
        self.pb_utils = pb_module.importing_module()
        self._compiled = pb_module.compiled_module(backend, release)
        self._own_backend = backend
        self.backend: EngineCalls | None = None
        """The instance's, once its file has been imported."""
        self.instance_name = instance_name
        self.execution_on: Callable[[int], Execution | None] = lambda _: None
        """Returns the current execution of the instance on a thread."""
        self._siblings: dict[str, bool] = {}
        self.builtins = {
            **{name: v for name, v in vars(builtins).items() if name not in _IPYTHON},
            "__import__": self._import,
            "print": self._print,
        }
        # In every locale: so it is in the processes of models of Triton 24.10.
        self._ascii_only = release == OLDEST
        """Whether the text of ``print`` and of files without encoding must be ASCII."""
        if self._ascii_only:
            self.builtins["open"] = _open_as_ascii

    def open(self) -> types.ModuleType:
        """Import the model's file and return its module."""
        _look_for_new_files()
        with _registration:
            _install_finders()
            _by_package[self.package] = self
        # As on Triton, the version's folder is a package: relative imports work, and
        # error texts show the parent of the module.
        package = types.ModuleType(self.package)
        package.__spec__ = importlib.machinery.ModuleSpec(
            self.package, None, is_package=True
        )
        package.__path__ = self.folders[:1]
        sys.modules[self.package] = package
        name = f"{self.package}.{self.model_file.stem}"
        builtins.__import__(name)
        return sys.modules[name]

    def complete(self) -> None:
        """Add the compiled names of ``triton_python_backend_utils``."""
        self.backend = self._own_backend
        pb_module.complete(self.pb_utils, self._compiled, self.backend)

    def close(self) -> None:
        """Remove the instance's modules."""
        with _registration:
            _by_package.pop(self.package, None)
            if not _by_package:
                _remove_finders()
        # The cheap check comes first: thousands of models may be closed in a row.
        for name in [n for n in list(sys.modules) if n.startswith(self.package)]:
            if _package_of(name) == self.package:
                del sys.modules[name]
        self._forget_files()

    def _forget_files(self) -> None:
        """Remove the model's folder from Python's caches of files."""
        folder = self.folders[1]
        for seen in (sys.path_importer_cache, linecache.cache):
            for path in [p for p in list(seen) if p.startswith(folder)]:
                if f"{path}{os.sep}".startswith(f"{folder}{os.sep}"):
                    # Another instance of the same model may have removed it.
                    seen.pop(path, None)

    def new_module(self, name: str) -> types.ModuleType:
        """Return an empty module with the instance's ``import`` and ``print``."""
        module = types.ModuleType(name)
        module.__dict__["__builtins__"] = self.builtins
        return module

    def _print(self, *values: Any, **options: Any) -> None:
        if options.get("file") is None:
            end, separator = options.pop("end", None), options.pop("sep", None)
            texts = [*map(str, values)]
            if self._ascii_only:
                for each in (*texts, separator or "", end or ""):
                    each.encode("ascii", "surrogateescape")
            text = (" " if separator is None else separator).join(texts)
            text += "\n" if end is None else end
            self._own_backend.log("PRINT", text)
            values, options["end"] = (text,), ""
        builtins.print(*values, **options)

    def _import(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> types.ModuleType:
        __tracebackhide__ = True
        if level == 0:
            if name == pb_module.NAME:
                pb_module.check_import(self.pb_utils, fromlist or ())
                return self.pb_utils
            if name == pb_module.COMPILED_NAME:
                return self._compiled
            top = name.partition(".")[0]
            if self.has_sibling(top):
                name = f"{self.package}{_SIBLING}{name}"
        return builtins.__import__(name, globals, locals, fromlist or (), level)

    def has_sibling(self, top: str) -> bool:
        """Whether a name is a sibling file of the model, and not an installed module.

        On Triton the model's folders come last in ``sys.path``.
        """
        known = self._siblings.get(top)
        if known is None:
            beside = importlib.machinery.PathFinder.find_spec(top, self.folders)
            known = beside is not None and not _is_installed(top)
            self._siblings[top] = known
        return known


@functools.wraps(builtins.open)
def _open_as_ascii(
    file: Any,
    mode: str = "r",
    buffering: int = -1,
    encoding: str | None = None,
    *more: Any,
    **options: Any,
) -> Any:
    if encoding is None and isinstance(mode, str) and "b" not in mode:
        encoding = "ascii"
    return builtins.open(file, mode, buffering, encoding, *more, **options)


def _is_installed(top: str) -> bool:
    if top in sys.stdlib_module_names:
        return True
    return importlib.machinery.PathFinder.find_spec(top, _site_folders()) is not None


@functools.cache
def _site_folders() -> list[str]:
    # Deferred: few models have a file with the name of an installed module.
    import sysconfig

    folders = [sysconfig.get_path(name) for name in ("purelib", "platlib")]
    folders += [*site.getsitepackages(), site.getusersitepackages()]
    return list(dict.fromkeys(folders))


class _InstanceLoader(importlib.machinery.SourceFileLoader):
    """Loads a file as a module of an instance, from its source.

    No compiled file is kept: one that was written in the same second would be used
    instead of the new source.
    """

    get_source = None  # type: ignore[assignment]
    """None: otherwise tracebacks would keep every model's source in memory.
    Lines are read from the file."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Any:
        """Return the module that the file's code will fill."""
        return _by_package[_package_of(spec.name)].new_module(spec.name)

    def path_stats(self, path: Any) -> Any:
        """Raise an error, so that no compiled file is read or written."""
        raise OSError(f"{path} is always compiled again")


class _InstanceFinder:
    """Finds the modules of instances, and no others."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module of an instance, or None for any other name."""
        modules = modules_with(fullname)
        if modules is None:
            return None
        name = fullname.rpartition(_SIBLING)[2]
        folders = modules.folders if path is None else path
        spec = importlib.machinery.PathFinder.find_spec(name, folders, target)
        return None if spec is None else _renamed(spec, fullname)


def modules_with(module_name: str) -> InstanceModules | None:
    """Return the modules of the instance that a module belongs to, or None."""
    return _by_package.get(_package_of(module_name))


def _package_of(module_name: str) -> str:
    return module_name.partition(".")[0].partition(_SIBLING)[0]


def _renamed(
    spec: importlib.machinery.ModuleSpec, name: str
) -> importlib.machinery.ModuleSpec:
    """Return a spec that loads a found file as a module of an instance."""
    loader = spec.loader
    spec.name = name
    if isinstance(loader, importlib.machinery.SourceFileLoader):
        spec.loader = _InstanceLoader(name, loader.path)
    elif isinstance(loader, importlib.machinery.ExtensionFileLoader):
        spec.loader = importlib.machinery.ExtensionFileLoader(name, loader.path)
    return spec


class _SiblingFinder:
    """Finds a sibling file of a model for ``importlib.import_module``.

    It is the last finder, for names that no other finder knows. Code of an instance
    gets the instance's own module, and the bare name stays free in ``sys.modules``.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return a spec for the instance's own module, or None."""
        modules = (
            _modules_of(sys._getframe(1)) if path is None and _by_package else None
        )
        if modules is None or not modules.has_sibling(fullname):
            return None
        own = f"{modules.package}{_SIBLING}{fullname}"
        # No class of importlib.abc, as in `PbUtilsFinder`.
        loader: Any = self
        return importlib.machinery.ModuleSpec(own, loader)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Any:
        """Return the instance's module; import it first if necessary."""
        builtins.__import__(spec.name)
        return sys.modules[spec.name]

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: the module is complete."""


def model_modules(instance_name: str) -> list[types.ModuleType]:
    """Return the modules of ``model.py``: of instances with a name, or of all."""
    loaded = [
        each
        for each in list(_by_package.values())
        if instance_name in ("", each.instance_name)
    ]
    names = [f"{each.package}.{each.model_file.stem}" for each in loaded]
    return [sys.modules[name] for name in names if name in sys.modules]


def _modules_of(frame: types.FrameType | None) -> InstanceModules | None:
    """Return the modules of the instance whose code runs in the innermost frame."""
    while frame is not None:
        package = _package_of(str(frame.f_globals.get("__name__", "")))
        if package in _by_package:
            return _by_package[package]
        frame = frame.f_back
    return None


def _current_backend() -> EngineCalls | None:
    """Return the backend of the instance that has called an installed package."""
    return backend_of(sys._getframe(1))


def backend_of(frame: types.FrameType) -> EngineCalls | None:
    """Return the backend of the instance whose code a frame or its callers run."""
    modules = _modules_of(frame)
    return None if modules is None else modules.backend


_finder = _InstanceFinder()
_sibling_finder = _SiblingFinder()


def _look_for_new_files() -> None:
    """Let imports find files that were written since Python read their folders.

    Python walks through its finders in steps. It fails if another thread imports
    anything between two of them.
    """
    for _ in range(_ATTEMPTS):
        with contextlib.suppress(RuntimeError):
            importlib.invalidate_caches()
            return
    importlib.invalidate_caches()


def _install_finders() -> None:
    if _finder not in sys.meta_path:
        # First, since the package has a path that the usual finder would follow.
        sys.meta_path.insert(0, _finder)
        sys.meta_path.append(_sibling_finder)
        CurrentBackend.set_lookup(_current_backend)


def _remove_finders() -> None:
    for finder in (_finder, _sibling_finder):
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
    CurrentBackend.set_lookup(None)
