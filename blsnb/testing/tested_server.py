"""TestedServer: the server of a test, restored at the end of the test."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blsnb.inference_server import Server
from blsnb.run import Run
from blsnb.tensors.tolerance import Tolerance

if TYPE_CHECKING:
    from blsnb.comparison import Comparison
    from blsnb.repository.status import ModelStatus


class TestedServer(Server):
    """The server of the fixture ``triton_server``: a `blsnb.Server` for tests."""

    # pytest must not collect it as a class of tests.
    __test__ = False

    _folder = Path()
    _earlier: frozenset[str] = frozenset()

    @functools.cached_property
    def _of_test(self) -> contextlib.ExitStack:
        """Restores the models of the current test."""
        return contextlib.ExitStack()

    def begin_test(self, folder: Path) -> None:
        """Begin a test.

        Parameters
        ----------
        folder
            Folder of the test's file and its recorded runs.
        """
        self._folder = folder
        self._earlier = frozenset(run.id for run in self.runs)

    def end_test(self) -> None:
        """Replace the stand-ins of the test by the models."""
        self._of_test.close()

    @property
    def runs_of_test(self) -> list[Run]:
        """The test's runs that are kept and have calls, oldest first."""
        new = (run for run in self.runs if run.id not in self._earlier)
        return [run for run in new if run.trace.spans]

    def stand_in(
        self,
        name: str,
        *,
        zeros: bool = False,
        random: int | None = None,
        replay: Run | Sequence[Run] | None = None,
        call: Callable[[dict[str, Any]], Any] | None = None,
        remote: str | None = None,
    ) -> ModelStatus:
        """Replace a model by a stand-in until the test ends.

        Parameters
        ----------
        name
            Name of the model.
        zeros, random, replay, call, remote
            Exactly one of them, as `Server.standin` takes them.

        Returns
        -------
        ModelStatus
            State, versions, inputs and outputs.

        Raises
        ------
        ModelLoadError
            The model's configuration is incomplete.
        ValueError
            Not exactly one of these arguments was passed.
        """
        standing_in = self.standing_in(
            name, zeros=zeros, random=random, replay=replay, call=call, remote=remote
        )
        return self._of_test.enter_context(standing_in)

    def assert_replays(
        self,
        recorded: str | Path | Run,
        *,
        atol: float = 0.0,
        rtol: float = 0.0,
        call: int = 0,
        client_timeout_s: float | None = None,
    ) -> Comparison:
        """Execute a recorded request again; compare outputs, errors and responses.

        Parameters
        ----------
        recorded
            Path of a ``.blsrun`` that ``run.save`` wrote, relative to the test's file
            or the working folder; or a run.
        atol, rtol
            Numbers may differ by ``atol + rtol * abs(recorded)``; by default not.
        call
            Id of the call to execute, as the view shows it; 0 for the client request
            and so the whole run.
        client_timeout_s
            Maximum seconds to wait for an answer; None to wait indefinitely.

        Returns
        -------
        Comparison
            The new run beside the recorded one.

        Raises
        ------
        AssertionError
            The responses differ; the message names call, output, and the largest
            deviation with its index.
        OSError
            The file is missing.
        TraceError
            There is no such call, or the call or the value of an input was not
            recorded or is no longer kept.
        TraceFileError
            The file is not a recorded run.
        """
        __tracebackhide__ = True
        from blsnb.testing.replays import check_replay

        tolerance = Tolerance(atol, rtol)
        run, name = self._recorded(recorded)
        comparison = run.replay(call, server=self, client_timeout_s=client_timeout_s)
        title = f"{name}: call {call} ({comparison.baseline.trace.title})"
        check_replay(comparison, tolerance, title)
        return comparison

    def _recorded(self, recorded: str | Path | Run) -> tuple[Run, str]:
        __tracebackhide__ = True
        from blsnb.loaded_run import load_run

        if isinstance(recorded, Run):
            return recorded, f"run {recorded.id}"
        beside = self._folder / recorded
        path = beside if beside.exists() else Path(recorded)
        try:
            return load_run(path), path.name
        except FileNotFoundError:
            raise FileNotFoundError(
                f"there is no recorded run {beside}, nor {path.absolute()}; "
                "run.save() writes one"
            ) from None
