"""Specification of Server.evaluate: rows of a data set, and what became of them."""

from __future__ import annotations

import math
import signal
import tracemalloc

import numpy as np
import pytest
import stage
from cells import CONFIG, cell
from whole_text import whole

from blsnb.errors import InferenceError, InputError, ServerClosedError
from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of

from . import models

ASLEEP = cell("stage.events['asleep'].set(); time.sleep(60)")


def x(*values: float) -> np.ndarray:
    """Return an input."""
    return np.array(values, np.float32)


def rows_of(count: int) -> list[dict]:
    """Return rows whose label is the expected first output."""
    return [{"X": x(number, 1), "label": 2 * number} for number in range(count)]


@pytest.fixture
def double(server):
    """A server with a model that doubles X, and fails for NaN."""
    server.define("double", models.DOUBLE, config=models.TENSORS)
    return server


def test_each_row_has_a_result_in_order(double):
    """Outputs stand in the order of the rows."""
    evaluation = double.evaluate("double", rows_of(300))

    assert 300 == len(evaluation)
    assert list(range(300)) == evaluation.numbers.tolist()
    firsts = [output[0] for output in evaluation.outputs["Y"]]
    assert [2.0 * number for number in range(300)] == firsts
    assert {"double": 300} == evaluation.calls


def test_rows_are_read_as_they_are_executed(double):
    """A generator is asked for a row when the one before it has a result."""
    read, seen = [], []

    def rows():
        for row in rows_of(5):
            read.append(row["label"])
            yield row

    def note(row, outputs):
        seen.append(len(read))
        return 0.0

    double.evaluate("double", rows(), metrics={"note": note})

    assert [1, 2, 3, 4, 5] == seen


def test_a_failing_row_keeps_its_error_and_the_others_go_on(double):
    """Failures are data: code and text of Triton for the row that failed."""
    rows = rows_of(4)
    rows[2]["X"] = x(math.nan, 0)

    evaluation = double.evaluate("double", rows)

    assert [2] == list(evaluation.errors)
    code, text = evaluation.errors[2]
    assert ("INTERNAL", True) == (code, "X is not a number" in text)
    assert [True, True, False, True] == [
        output is not None for output in evaluation.outputs["Y"]
    ]
    assert {(code, text): 1} == evaluation.error_counts
    assert "4 rows, 1 failed" in repr(evaluation)


def test_a_failing_row_is_executed_once(server):
    """Only rows of a failed batch are executed again, each alone."""
    failing = cell("stage.seen.append(1)\nraise ValueError('no')")
    server.define("failing", failing, config=CONFIG)

    assert [0] == list(server.evaluate("failing", rows_of(1)).errors)
    assert [1] == stage.seen


def test_a_row_without_an_input_fails_with_tritons_text(double):
    """A missing input and a wrong type are failures of their rows, too."""
    rows = [{"X": x(1, 1)}, {"label": 3}, {"X": object()}]

    evaluation = double.evaluate("double", rows)

    assert [1, 2] == list(evaluation.errors)
    assert "expected 1 inputs but got 0" in evaluation.errors[1][1]
    assert "INVALID_ARG" == evaluation.errors[2][0]


def test_labels_reach_metrics_but_not_the_model(double):
    """A metric receives the whole row and the outputs of its run."""

    def error(row, outputs):
        return abs(float(outputs["Y"][0]) - row["label"])

    evaluation = double.evaluate("double", rows_of(10), metrics={"error": error})

    assert [0.0] * 10 == evaluation.metrics["error"].values.tolist()
    [call] = evaluation.run(evaluation.slowest[0]).trace.spans
    assert ["X"] == [tensor.name for tensor in call.inputs]


def test_a_metric_that_fails_is_missing_for_its_row(double):
    """Its row succeeded; the text of the failure is kept for the metric."""

    def ratio(row, outputs):
        return 1 / row["label"]

    evaluation = double.evaluate("double", rows_of(3), metrics={"ratio": ratio})
    column = evaluation.metrics["ratio"]

    assert {} == evaluation.errors
    assert {0: "ZeroDivisionError: division by zero"} == column.errors
    assert [True, False, False] == np.isnan(column.values).tolist()
    assert math.isclose(0.375, column.interval.mean)


def test_ctrl_c_returns_what_is_done(double):
    """The evaluation has the rows before the interrupt, and says so."""

    def interrupt(row, outputs):
        if row["label"] == 10:
            raise KeyboardInterrupt
        return 1.0

    evaluation = double.evaluate("double", rows_of(9), metrics={"one": interrupt})

    assert (5, True) == (len(evaluation), evaluation.interrupted)
    assert [1.0] * 5 == evaluation.metrics["one"].values.tolist()
    assert "interrupted" in repr(evaluation)


def test_a_second_ctrl_c_does_not_discard_what_is_done(double):
    """It has no effect until the evaluation returns, and then the usual one."""
    before = signal.getsignal(signal.SIGINT)

    def interrupt(*given):
        if len(given) == 1 or given[0]["label"] == 10:
            signal.raise_signal(signal.SIGINT)
        return 1.0

    evaluation = double.evaluate(
        "double", rows_of(9), metrics={"one": interrupt}, progress=interrupt
    )

    assert (5, True) == (len(evaluation), evaluation.interrupted)
    assert before is signal.getsignal(signal.SIGINT)


def test_ctrl_c_in_a_model_ends_the_evaluation(double, ctrl_c):
    """The row in flight is not among the results."""
    double.define("asleep", ASLEEP, config=models.TENSORS)
    ctrl_c.press()
    evaluation = double.evaluate("asleep", rows_of(3))

    assert (0, True) == (len(evaluation), evaluation.interrupted)


def test_counts_and_times_of_each_model_are_exact(double):
    """Own time of a caller excludes the models that it calls."""
    double.define("caller", models.CALLER, config=models.TENSORS)

    evaluation = double.evaluate("caller", rows_of(20))

    assert {"caller": 20, "double": 20} == evaluation.calls
    pairs = [evaluation.run(number).trace.spans for number in range(20)]
    own_ns = [caller.duration_ns - called.duration_ns for caller, called in pairs]
    waits_ns = [
        sum(each.compute_start_ns - each.queue_start_ns for each in pair)
        for pair in pairs
    ]
    assert [ns / 1e3 for ns in own_ns] == evaluation.model_us["caller"].tolist()
    assert [ns / 1e3 for ns in waits_ns] == evaluation.queue_us.tolist()
    assert [pair[1].duration_ns / 1e3 for pair in pairs] == (
        evaluation.model_us["double"].tolist()
    )


def test_calls_of_a_long_run_that_are_only_counted_have_times(double):
    """Their caller's own time excludes them, too."""
    looping = models.CALLER.replace("called =", "for _ in range(100): called =")
    double.define("looping", looping, config=models.TENSORS)
    parts_of(double).recorder.keep_calls = 40

    evaluation = double.evaluate("looping", rows_of(1))

    trace = evaluation.run(0).trace
    looped, *kept = trace.spans
    [folded] = trace.folded
    called_ns = folded.duration_ns + sum(each.duration_ns for each in kept)
    assert len(kept) < 40
    assert {"looping": 1, "double": 100} == evaluation.calls
    assert called_ns / 1e3 == pytest.approx(evaluation.model_us["double"][0])
    own_us = (looped.duration_ns - called_ns) / 1e3
    assert own_us == pytest.approx(evaluation.model_us["looping"][0])


def test_a_row_without_the_batch_axis_gets_it(server):
    """Its outputs lack the axis, too; a row with it keeps it."""
    server.define("double", models.DOUBLE, config=models.BATCHING)
    values = [x(1, 2), x(3, 4)[None], [5.0, 6.0], (7.0, 8.0), range(2)]

    outputs = server.evaluate("double", [{"X": each} for each in values]).outputs["Y"]

    assert [(2,), (1, 2), (2,), (2,), (2,)] == [output.shape for output in outputs]


def test_a_ragged_list_fails_its_row_only(server):
    """The error names the input."""
    server.define("double", models.DOUBLE, config=models.BATCHING)
    rows = [{"X": [1.0, 2.0]}, {"X": [[1.0], [2.0, 3.0]]}, {"X": [3.0, 4.0]}]

    evaluation = server.evaluate("double", rows)

    ((number, (code, text)),) = evaluation.errors.items()
    assert (1, "INVALID_ARG") == (number, code)
    assert text.startswith("input 'X' is FP32, and list '[[1.0], [2.0, 3.0]]'")


@pytest.mark.parametrize("form", [np.asarray, np.ndarray.tolist], ids=["array", "list"])
def test_rows_are_stacked_on_request(server, form):
    """Batches change no answer, and fewer requests are executed."""
    server.define("double", models.DOUBLE, config=models.BATCHING)
    rows = [row | {"X": form(row["X"])} for row in rows_of(10)]
    single = server.evaluate("double", rows)
    stacked = server.evaluate("double", rows, batch=4)

    pairs = zip(single.outputs["Y"], stacked.outputs["Y"], strict=True)
    assert [True] * 10 == [np.array_equal(one, other) for one, other in pairs]
    assert ({"double": 10}, {"double": 3}) == (single.calls, stacked.calls)


def test_lists_of_other_shapes_are_not_stacked(server):
    """Neither with each other nor with arrays."""
    config = models.BATCHING.replace("[ 2 ]", "[ -1 ]")
    server.define("double", models.DOUBLE, config=config)
    rows = [{"X": [1.0]}, {"X": [2.0, 3.0]}, {"X": x(4, 5)}, {"X": [[6.0, 7.0]]}]

    evaluation = server.evaluate("double", rows, batch=4)

    assert {"double": 4} == evaluation.calls
    assert [[2.0], [4.0, 6.0], [8.0, 10.0], [[12.0, 14.0]]] == [
        each.tolist() for each in evaluation.outputs["Y"]
    ]


def test_a_failed_batch_is_executed_row_by_row(server):
    """An error belongs to its row."""
    server.define("double", models.DOUBLE, config=models.BATCHING)
    rows = rows_of(6)
    rows[4]["X"] = x(math.nan, 0)

    evaluation = server.evaluate("double", rows, batch=3)

    assert [4] == list(evaluation.errors)


def test_each_output_of_a_decoupled_model_is_a_list(server):
    """It has an item for each response, none for a row without responses."""
    server.define("countdown", models.COUNTDOWN, config=models.DECOUPLED)

    def responses(row, outputs):
        return len(outputs.get("Y", ()))

    evaluation = server.evaluate(
        "countdown",
        [{"X": x(count, 0)} for count in (2, 0, 3)],
        metrics={"responses": responses},
    )

    assert [2.0, 0.0, 3.0] == evaluation.metrics["responses"].values.tolist()
    assert [3.0, 2.0, 1.0] == [each[0] for each in evaluation.outputs["Y"][2]]


def test_an_error_in_a_stream_fails_its_row(server):
    """Its responses before the error are dropped; the run has them."""
    sends = "sender.send(pb_utils.InferenceResponse([y]))"
    error = "sender.send(pb_utils.InferenceResponse(error=pb_utils.TritonError('no')))"
    failing = models.COUNTDOWN.replace(sends, f"{sends}; {error}")
    server.define("countdown", failing, config=models.DECOUPLED)

    evaluation = server.evaluate("countdown", [{"X": x(1, 0)}])

    assert {0: ("", "no")} == evaluation.errors
    assert {} == evaluation.outputs
    assert 2 == len(evaluation.run(0).responses)


def test_rows_of_a_sequence_keep_their_order_and_have_its_flags(server):
    """The first row starts the sequence, the last one ends it."""
    server.define("summing", models.SUMMING, config=models.SEQUENCES)
    rows = [{"X": x(n, 0), "clip": clip} for clip in (7, 8) for n in (1, 2, 3)]

    evaluation = server.evaluate("summing", rows, sequence="clip")

    assert {} == evaluation.errors
    sums = [output[0] for output in evaluation.outputs["Y"]]
    assert [1.0, 3.0, 6.0] * 2 == sums


def test_outputs_are_kept_if_they_are_small_or_named(server):
    """Large outputs are kept only where `outputs` names them; others are listed."""
    dims = models.TENSORS.replace("dims: [ 2 ]", "dims: [ -1 ]")
    server.define("double", models.DOUBLE, config=dims)
    rows = [{"X": np.zeros(1000, np.float32)}]

    assert ("Y",) == server.evaluate("double", rows).left_out
    named = server.evaluate("double", rows, outputs=["Y"])
    assert [(1000,)] == [output.shape for output in named.outputs["Y"]]


def test_a_run_is_kept_of_slowest_failed_and_worst_rows(double):
    """At most `keep` for each reason; other rows say why they have none."""
    rows = rows_of(60)
    for number in (50, 51, 52):
        rows[number]["X"] = x(math.nan, 0)

    evaluation = double.evaluate(
        "double", rows, metrics={"first": lambda row, out: out["Y"][0]}, keep=2
    )

    assert [[50, 51]] == list(evaluation.failures.values())
    assert [0, 1] == evaluation.worst["first"]
    assert 2 == len(evaluation.slowest)
    kept = {50, 51, 0, 1, *evaluation.slowest}
    assert kept == set(evaluation.runs)
    assert "X is not a number" in str(evaluation.run(50).error)
    (missing,) = [number for number in (30, 31, 32) if number not in kept][:1]
    with pytest.raises(KeyError) as refused:
        evaluation.run(missing)
    assert (
        f"the run of row {missing} was not kept; kept are the runs of failed, slowest "
        f"and worst rows: {', '.join(map(str, sorted(kept)))}",
    ) == refused.value.args


def test_high_values_are_worst_where_lower_is_better(double):
    """The direction of a metric is stated by its caller."""
    evaluation = double.evaluate(
        "double",
        rows_of(30),
        metrics={"first": lambda row, outputs: outputs["Y"][0]},
        lower_is_better=["first"],
        keep=3,
    )

    assert [29, 28, 27] == evaluation.worst["first"]


def test_the_server_keeps_no_runs(double):
    """Runs of an evaluation do not push other runs out of `server.runs`."""
    double.evaluate("double", rows_of(3))

    assert [] == double.runs


def test_a_data_frame_has_a_row_for_each_row(double):
    """Labels, outputs, metrics, times and errors are its columns."""
    rows = rows_of(3)
    rows[1]["X"] = x(math.nan, 0)
    metrics = {"first": lambda row, outputs: outputs["Y"][0]}

    frame = double.evaluate("double", rows, metrics=metrics).to_pandas()

    assert [
        *("label", "Y", "first", "latency_ms", "queue_ms", "double_ms"),
        *("error_code", "error"),
    ] == list(frame.columns)
    assert [0, 1, 2] == list(frame.index)
    assert [0, 2, 4] == list(frame["label"])
    assert [False, True, False] == list(frame["error"].notna())
    assert [0.0, 4.0] == [values[0] for values in frame["Y"].dropna()]


def test_another_model_is_evaluated_on_the_same_rows(double):
    """Its evaluation is the earlier one of the comparison."""
    double.define(
        "before", models.DOUBLE.replace("x * 2", "x * 3"), config=models.TENSORS
    )
    evaluation = double.evaluate("double", rows_of(3), against="before")

    assert "before" == evaluation.earlier.model_name
    assert [(2, 2.0), (0, 1.0), (1, 1.0)] == [
        (each.row, each.largest) for each in evaluation.comparison.changed
    ]


def test_another_version_is_evaluated_on_the_same_rows(double):
    """A number is a version of the same model."""
    config = f"{models.TENSORS}\nversion_policy {{ all {{}} }}"
    double.define("double", models.DOUBLE, config=config)
    double.define("double", models.DOUBLE.replace("x * 2", "x * 3"), version=2)
    evaluation = double.evaluate("double", rows_of(3), against=1)

    assert 3 == len(evaluation.comparison.changed)


def test_an_iterator_cannot_be_compared_and_an_unknown_model_is_refused(double):
    """Both are refused before anything runs."""
    with pytest.raises(
        ValueError,
        match=r"against= reads the rows twice, and an iterator can be "
        r"read only once; pass a list, a table or a file$",
    ):
        double.evaluate("double", iter(rows_of(3)), against="double")
    with pytest.raises(InferenceError, match="unknown model: 'nowhere'"):
        double.evaluate("double", rows_of(3), against="nowhere")


AGAINST = "is not valid; expected the name of a model, or a version"


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"batch": 0}, ValueError, "batch=0 is not valid; expected 1 or more"),
        ({"batch": -1}, ValueError, "batch=-1 is not valid; expected 1 or more"),
        ({"workers": -1}, ValueError, "workers=-1 is not valid; expected 1 or more"),
        ({"workers": 0}, ValueError, "workers=0 is not valid; expected 1 or more"),
        (
            {"workers": 1.5},
            TypeError,
            "workers=1.5 is not valid; expected a whole number of 1 or more",
        ),
        ({"keep": -1}, ValueError, "keep=-1 is not valid; expected 0 or more"),
        (
            {"metrics": {"a": 5}},
            TypeError,
            "metrics['a']=5 is not valid; expected a function",
        ),
        (
            {"metrics": 5},
            TypeError,
            "metrics=5 is not valid; expected a dict of names and functions",
        ),
        (
            {"metrics": {5: str}},
            TypeError,
            "metrics=5 is not valid; expected a dict whose keys are strings",
        ),
        (
            {"lower_is_better": ["b"], "metrics": {"a": str}},
            ValueError,
            "lower_is_better=['b'] is not valid; expected names among those of "
            "metrics, ['a']",
        ),
        (
            {"lower_is_better": "m"},
            TypeError,
            "lower_is_better='m' is not valid; expected a list of names",
        ),
        *(
            (
                {name: value},
                ValueError,
                f"evaluate() sets {name} itself, from the rows; name the key of their "
                "sequences: sequence='KEY'",
            )
            for name, value in {
                "correlation_id": 3,
                "sequence_start": True,
                "sequence_end": True,
            }.items()
        ),
        (
            {"oops": 1},
            InputError,
            "evaluate() has no option 'oops'; its options for a request are outputs, "
            "version, parameters, request_id, correlation_id, sequence_start, "
            "sequence_end, priority, timeout_us, client_timeout_s, show.",
        ),
        ({"progress": 5}, TypeError, "progress=5 is not valid; expected a function"),
        (
            {"sequence": 5},
            TypeError,
            "sequence=5 is not valid; expected a key of the rows",
        ),
        ({"against": 5.0}, TypeError, f"against=5.0 {AGAINST}"),
        ({"against": True}, TypeError, f"against=True {AGAINST}"),
    ],
)
def test_invalid_arguments_are_refused_before_anything_runs(
    double, options, error, text
):
    """The text names the value found and the value expected."""

    def rows():
        raise AssertionError("a row was read")
        yield

    with pytest.raises(error, match=whole(text)):
        double.evaluate("double", rows(), **options)


def test_an_unknown_model_is_refused_with_tritons_text(server):
    """Nothing is read of the data set."""
    with pytest.raises(InferenceError, match="unknown model: 'nowhere'"):
        server.evaluate("nowhere", [{}])


def test_a_server_that_was_closed_is_refused(double):
    """Also when it is closed between two rows."""

    def rows():
        yield from rows_of(2)
        double.close()
        yield from rows_of(2)

    with pytest.raises(ServerClosedError):
        double.evaluate("double", rows())
    with pytest.raises(ServerClosedError):
        double.evaluate("double", rows_of(1))


def test_progress_is_reported(double):
    """The last report has all rows, with their failures."""
    reports = []
    rows = rows_of(3)
    rows[0]["X"] = x(math.nan, 0)

    double.evaluate("double", rows, progress=reports.append)

    assert (3, 1, 3) == (reports[-1].done, reports[-1].failed, reports[-1].total)


def test_an_empty_data_set_has_an_empty_evaluation(double):
    """No quantile is invented for it."""
    evaluation = double.evaluate("double", [])

    assert (0, {}, "<Evaluation double: 0 rows>") == (
        len(evaluation),
        evaluation.errors,
        repr(evaluation),
    )
    assert math.isnan(evaluation.latency.p50_us)
    assert 0 == len(evaluation.to_pandas())


@pytest.mark.slow
@pytest.mark.timeout(600)  # Memory is traced for 100,000 requests.
def test_a_row_takes_at_most_a_kilobyte(double):
    """100,000 rows of a cheap model, with their outputs, times and a metric."""
    value = x(1, 2)
    rows = ({"X": value, "label": number} for number in range(100_000))
    tracemalloc.start()
    try:
        evaluation = double.evaluate("double", rows, metrics={"one": lambda *_: 1.0})
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert 100_000 == len(evaluation)
    assert taken / 100_000 <= 1024


def test_a_model_is_compared_with_that_of_another_server(double):
    """An address names the other side of the comparison: parity over a data set."""
    with Server() as other:
        tripling = models.DOUBLE.replace("x * 2", "x * 3")
        other.define("double", tripling, config=models.TENSORS)
        with other.serve(http=None, grpc=0, metrics=None) as endpoints:
            url = f"grpc://{endpoints.addresses['gRPC']}"
            evaluation = double.evaluate("double", rows_of(3), against=url)

    assert [2, 0, 1] == [each.row for each in evaluation.comparison.changed]
