"""The server of a test, restored at the end of the test."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blsnb.inference_server import Server
from blsnb.results.run import Run
from blsnb.tensors.tolerance import Tolerance

if TYPE_CHECKING:
    from blsnb.evaluation.result.evaluation import Evaluation
    from blsnb.evaluation.result.metrics import Metric
    from blsnb.repository.status import ModelStatus
    from blsnb.results.comparison import Comparison


class EvaluationError(AssertionError):
    """An evaluation does not reach what a test requires.

    Parameters
    ----------
    message
        What it does not reach, the first failures, and the worst rows.
    evaluation
        The evaluation.
    """

    def __init__(self, message: str, evaluation: Evaluation) -> None:
        super().__init__(message)
        self.evaluation = evaluation


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

    @property
    def keeps_all_runs(self) -> bool:
        """Whether the server has dropped no run of the test; the oldest go first."""
        kept = self.runs
        is_full = len(kept) >= self._parts.recorder.keep_runs
        return not is_full or any(run.id in self._earlier for run in kept)

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
        __tracebackhide__ = True
        restore = self._parts.stand_ins.restorer(name)
        status = self.standin(
            name, zeros=zeros, random=random, replay=replay, call=call, remote=remote
        )
        self._of_test.callback(restore)
        return status

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

    def assert_evaluates(
        self,
        model_name: str,
        rows: Any,
        metrics: Mapping[str, Metric] | None = None,
        *,
        at_least: Mapping[str, float] | None = None,
        at_most: Mapping[str, float] | None = None,
        max_failed: int = 0,
        **options: Any,
    ) -> Evaluation:
        """Evaluate a model on a data set, and require the means of its metrics.

        Parameters
        ----------
        model_name
            The evaluated model.
        rows
            The data set, as `Server.evaluate` takes it; a path is relative to the
            test's file or the working folder.
        metrics
            Functions by name, as `Server.evaluate` takes them.
        at_least, at_most
            Limits of the metrics' means, by name. Low values of a metric in
            ``at_most`` are the good ones.
        max_failed
            Maximum number of failed rows.
        **options
            Further arguments of `Server.evaluate`.

        Returns
        -------
        Evaluation
            The results of the rows.

        Raises
        ------
        AssertionError
            A limit is not reached, a metric or too many rows failed, or there are no
            rows; the message lists the first failures and the worst rows.
        ValueError
            A limit names no metric.
        """
        __tracebackhide__ = True
        from blsnb.evaluation.verdict import Requirements, report

        required = Requirements(at_least or {}, at_most or {}, max_failed)
        required.check(metrics or {})
        options.setdefault("lower_is_better", [*required.at_most])
        evaluation = self.evaluate(
            model_name, self._beside(rows), metrics=metrics, **options
        )
        if shortfalls := required.shortfalls(evaluation):
            raise EvaluationError(report(evaluation, shortfalls), evaluation)
        return evaluation

    def _beside(self, given: Any) -> Any:
        """Return a path beside the test's file, if it is there."""
        if isinstance(given, str | Path) and (self._folder / given).exists():
            return self._folder / given
        return given

    def _recorded(self, recorded: str | Path | Run) -> tuple[Run, str]:
        __tracebackhide__ = True
        from blsnb.results.loaded_run import load_run

        if isinstance(recorded, Run):
            return recorded, f"run {recorded.id}"
        path = Path(self._beside(recorded))
        try:
            return load_run(path), path.name
        except FileNotFoundError:
            raise FileNotFoundError(
                f"there is no recorded run {self._folder / recorded}, nor "
                f"{path.absolute()}; "
                "run.save() writes one"
            ) from None
