"""StandingIn: what a server does with models whose backend is not here."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from blsnb.backends.standin import StandIn
from blsnb.backends.standin_registry import choose_standin
from blsnb.errors import ModelLoadError
from blsnb.parts.models import Models
from blsnb.repository.status import ModelStatus
from blsnb.run import Run


class StandingIn(Models):
    """The part of a server that lets others answer for a model."""

    def standin(
        self,
        name: str,
        *,
        zeros: bool = False,
        random: int | None = None,
        replay: Run | Sequence[Run] | None = None,
        call: Callable[[dict[str, Any]], Any] | None = None,
        remote: str | None = None,
    ) -> ModelStatus:
        """Let a stand-in answer for a model whose backend is not here.

        The model's configuration counts as it does for the model: requests are
        checked, queued and batched. Cards and graphs mark it, and an export leaves it
        out. It answers until the model is unloaded or defined.

        Parameters
        ----------
        zeros
            With zeros, false and empty texts. What varies in a shape is as in an input
            of the same rank.
        random
            With numbers by chance, from this seed; equal requests get equal answers.
        replay
            As the model did in a recorded run, or in several, where a request had the
            same inputs to the byte.
        call
            With what a function returns: it gets a dict of arrays by input, and gives
            one by output.
        remote
            As the model of this name on a Triton server, such as
            ``"grpc://localhost:8001"``.

        Raises
        ------
        ModelLoadError
            The configuration is wrong, or does not say enough; what served before
            still does.
        ValueError
            Not one way to answer was given, but none or several.
        """
        self._check_open()
        runs = [replay] if isinstance(replay, Run) else replay
        chosen = choose_standin(
            name,
            zeros=zeros,
            random=random,
            replay=None if runs is None else [run.trace for run in runs],
            call=call,
            remote=remote,
        )
        self._refuse_ensemble(name)
        try:
            with self._standins.changing(name, chosen):
                self._control.bring_up(name, always=True)
        except ModelLoadError as error:
            if self.repository.directory(name) is None and not error.advice:
                error.advice = (
                    f"A stand-in takes inputs and outputs from the configuration of "
                    f"{name!r}: write it (%%triton_config {name}), or import it."
                )
            raise
        return self.model(name)

    @contextlib.contextmanager
    def standing_in(self, name: str, **how: Any) -> Iterator[ModelStatus]:
        """Let a stand-in answer while a block runs; takes what `standin` takes.

        After it the model of the folder serves as before, or what stood in for it;
        nothing does, if nothing did.

        Raises
        ------
        ModelLoadError
            The stand-in cannot answer; or the model does not load afterwards.
        ValueError
            Not one way to answer was given, but none or several.
        """
        before = self._standins.get(name)
        served = self._engine.catalog.config(name) is not None
        status = self.standin(name, **how)
        try:
            yield status
        finally:
            self._put_back(name, before, served)

    def _put_back(self, name: str, before: StandIn | None, served: bool) -> None:
        # Whoever defined or unloaded the model meanwhile wants it to stay so.
        if self._closed or self._standins.get(name) is None:
            return
        with self._standins.changing(name, before):
            if served:
                self._control.bring_up(name, always=True)
            else:
                self._control.unload(name)

    def _refuse_ensemble(self, name: str) -> None:
        directory = self.repository.directory(name)
        if directory is not None and directory.is_ensemble():
            raise ModelLoadError(
                f"an ensemble has no backend: '{name}' is made of models, and a "
                "stand-in can answer for each of them"
            )
