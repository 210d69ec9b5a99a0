"""TestedServer: the server of a test, and what is put back at the test's end."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blsnb.inference_server import Server
from blsnb.run import Run
from blsnb.tensors.tolerance import Tolerance

if TYPE_CHECKING:
    from blsnb.comparison import Comparison
    from blsnb.repository.status import ModelStatus


class TestedServer(Server):
    """A server that tests ask: what the fixture ``triton_server`` gives.

    It takes what `blsnb.Server` takes, and does what that does.
    """

    # pytest would take it for a class of tests where it is imported.
    __test__ = False

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._folder = Path()
        self._of_test = contextlib.ExitStack()
        self._earlier: set[str] = set()

    def begin_test(self, folder: Path) -> None:
        """Let a test begin: its files are in a folder."""
        self._folder = folder
        self._earlier = {run.id for run in self.runs}

    def end_test(self) -> None:
        """Put back the models for which something stood in."""
        self._of_test.close()

    @property
    def runs_of_test(self) -> list[Run]:
        """The test's runs that are kept and have calls, oldest first."""
        new = (run for run in self.runs if run.id not in self._earlier)
        return [run for run in new if run.trace.spans]

    def stand_in(self, name: str, **how: Any) -> ModelStatus:
        """Let something else answer for a model until the test ends.

        Takes what `Server.standin` takes, such as ``call=function``, which gets a dict
        of arrays and returns one; ``zeros=True``; or ``replay=run``.

        Raises
        ------
        ModelLoadError
            The model's configuration does not say enough.
        ValueError
            Not one way to answer was given, but none or several.
        """
        return self._of_test.enter_context(self.standing_in(name, **how))

    def assert_replays(
        self,
        recorded: str | Path | Run,
        *,
        atol: float = 0.0,
        rtol: float = 0.0,
        call: int = 0,
        client_timeout_s: float | None = None,
    ) -> Comparison:
        """Make a recorded request again and compare: all outputs, errors, responses.

        Parameters
        ----------
        recorded
            A ``.blsrun`` that ``run.save`` wrote, beside the test's file or in the
            working folder; or a run.
        atol, rtol
            How far a number may be from its recorded value:
            ``atol + rtol * abs(recorded)``. Nothing, if neither is given.
        call
            Id of the call that is made again, as the view shows it; the client
            request, and so the whole run, if 0.
        client_timeout_s
            How long to wait for an answer; for ever if None.

        Returns
        -------
        Comparison
            The new run beside the recorded one.

        Raises
        ------
        AssertionError
            It is answered otherwise; the message names call, output, and the largest
            deviation with its index.
        OSError, TraceFileError
            The file is missing, or no recorded run.
        TraceError
            There is no such call; it, or the value of an input, is no longer kept or
            was never recorded.
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
