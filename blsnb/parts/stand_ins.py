"""The stand-ins of a server: substitutes for models."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from blsnb.arguments import check_callable, check_flags, check_text, check_type, plain
from blsnb.backends.standin_registry import make_standin
from blsnb.errors import ModelLoadError
from blsnb.parts.models import Models
from blsnb.repository.status import ModelStatus
from blsnb.results.run import Run

if TYPE_CHECKING:
    from blsnb.backends.standin import StandIn


class ModelStandIns:
    """Replaces models by stand-ins, and reloads the models afterwards."""

    def __init__(self, models: Models) -> None:
        self._models = models

    def load(
        self,
        name: str,
        *,
        zeros: bool = False,
        random: int | None = None,
        replay: Run | Sequence[Run] | None = None,
        call: Callable[[dict[str, Any]], Any] | None = None,
        remote: str | None = None,
    ) -> ModelStatus:
        """Load a stand-in for a model; see `Server.standin`."""
        __tracebackhide__ = True
        self._models.lifetime.check_open()
        check_text(name=name)
        check_flags(zeros=zeros)
        random = plain(random)
        check_type("random", random, int | None, "a seed, such as 7")
        check_type(
            "remote", remote, str | None, 'an address such as "grpc://host:8001"'
        )
        check_callable(call=call)
        expected = "a blsnb.Run, or a list of them"
        check_type("replay", plain(replay), Run | Iterable | None, expected)
        runs = [replay] if isinstance(replay, Run) else replay
        for run in () if runs is None else runs:
            check_type("replay", run, Run, expected)
        chosen = make_standin(
            name,
            zeros=zeros,
            random=random,
            replay=None if runs is None else [run.trace for run in runs],
            call=call,
            remote=remote,
        )
        self._refuse_ensemble(name)
        try:
            with self._models.control.standins.changing(name, chosen):
                self._models.control.bring_up(name, always=True)
        except ModelLoadError as error:
            if self._models.repository.directory(name) is None:
                error.advice += (
                    f" A stand-in takes inputs and outputs from the configuration of "
                    f"{name!r}: write it (%%triton_config {name}), or import it."
                )
            raise
        return self._models.reports.status(name)

    @contextlib.contextmanager
    def loaded(self, name: str, **how: Any) -> Iterator[ModelStatus]:
        """Load a stand-in while a block runs; see `Server.standing_in`."""
        restore = self.restorer(name)
        status = self.load(name, **how)
        try:
            yield status
        finally:
            restore()

    def restorer(self, name: str) -> Callable[[], None]:
        """Return a function that restores what serves a model now."""
        control = self._models.control
        before, served = control.standins.get(name), name in control.serving()
        return partial(self._restore, name, before, served)

    def _restore(self, name: str, before: StandIn | None, served: bool) -> None:
        # A model that was defined or unloaded within the block is left unchanged.
        control = self._models.control
        if self._models.lifetime.closed or control.standins.get(name) is None:
            return
        with control.standins.changing(name, before):
            if served:
                control.bring_up(name, always=True)
            else:
                control.unload(name)

    def _refuse_ensemble(self, name: str) -> None:
        __tracebackhide__ = True
        directory = self._models.repository.directory(name)
        if directory is not None and directory.is_ensemble():
            raise ModelLoadError(
                f"an ensemble has no backend: '{name}' consists of models, and a "
                "stand-in can replace each of them"
            )
