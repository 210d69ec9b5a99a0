"""Specification of %triton stats."""

import pytest

from blsnb.engine.metrics.batching import ModelBatching
from blsnb.errors import InferenceError
from blsnb.magics.commands.stats import batching_tables, statistics_table

from ..models import DOUBLE

BATCHING = DOUBLE.replace(
    "triton_model double", "triton_model double --max-batch-size 4 --dynamic-batching 0"
)
ASK = "%triton infer double X=[[1.0]] * {}"


@pytest.fixture
def batched(notebook):
    notebook.run(BATCHING)
    for size in (1, 3, 3):
        notebook.run(ASK.format(size))
    return notebook


def test_batches_are_a_histogram_with_reasons(batched):
    """The table has batch sizes, requests per execution, and the reasons."""
    [shown] = batched.run("%triton stats double --batching").texts

    title, sizes, requests, reasons = shown.split("\n\n")
    assert (
        "double version 1 (dynamic_batching): 3 requests in 3 executions, 1 in each"
    ) == title
    head, *rows = sizes.splitlines()
    assert ["batch", "size", "executions"] == head.split()
    assert [["1", "1"], ["3", "2"]] == [row.split()[:2] for row in rows]
    assert 2 * rows[0].count("█") == rows[1].count("█")
    assert ["1", "3"] == requests.splitlines()[1].split()[:2]
    assert ["instance", "free", "3"] == reasons.splitlines()[1].split()


def test_batches_of_all_models_are_shown_without_a_name(batched):
    """All models are listed; one without a batcher is marked as such."""
    batched.run(DOUBLE.replace("triton_model double", "triton_model alone"))
    alone, double = batched.run("%triton stats --batching").texts

    assert (
        "alone version 1 (no batcher: each request is executed alone): "
        "0 requests in 0 executions"
    ) == alone
    assert double.startswith("double version 1 (dynamic_batching): 3")


def test_server_batching_displays_the_same(batched):
    """`server.batching()` displays the tables; its text is one line."""
    ran = batched.run("import blsnb\nblsnb.server().batching('double')")

    assert ran.texts == batched.run("%triton stats double --batching").texts
    assert "<table>" in ran.outputs[0]["text/html"]


def test_a_model_that_does_not_serve_is_refused(batched):
    """The error has Triton's text."""
    ran = batched.run("%triton stats nowhere --batching")

    assert isinstance(ran.error, InferenceError)


def test_reasons_for_staying_behind_have_a_table_of_their_own():
    """The most frequent reason is first, and names are escaped."""
    shown = batching_tables(
        ModelBatching("<b>", 1, "dynamic_batching", {2: 8}, {2: 8}, {"a": 8}, {"b": 9})
    )

    title, _, sent, stayed = shown["text/plain"].split("\n\n")
    assert "16 requests in 8 executions, 2 in each" in title
    assert ["why", "a", "batch", "was", "sent", "executions", "a", "8"] == sent.split()
    assert "why a request was left out  times" in stayed
    assert "<b>" not in shown["text/html"]


def test_a_column_counts_the_requests_that_succeeded(notebook):
    """The monitor's column of requests counts the failed ones, too."""
    notebook.run(DOUBLE.replace("x * 2", "x * 2 if x[0] > 0 else None"))
    for number in (1.0, 2.0, -1.0):
        notebook.run(f"%triton infer double X=[{number}]")
    head, row = notebook.run("%triton stats double").texts[0].splitlines()

    counts = dict(zip(head.split(), row.split(), strict=False))
    assert ("2", "1") == (counts["succeeded"], counts["failed"])
    assert "requests" not in counts


def test_a_table_has_counts_and_mean_microseconds():
    """A duration that was never measured is a hyphen."""
    durations = {
        "success": {"count": 2000, "ns": 5_000_000},
        "fail": {"count": 1, "ns": 7},
        "queue": {"count": 2000, "ns": 2_000_000_000},
        "compute_input": {"count": 4, "ns": 1_000},
        "compute_infer": {"count": 3, "ns": 1_000},
        "compute_output": {"count": 0, "ns": 0},
    }
    row = {"name": "m", "version": "3", "execution_count": 1000}
    table = statistics_table({"model_stats": [{**row, "inference_stats": durations}]})

    head, values = table["text/plain"].splitlines()
    assert (
        "model  version  succeeded  failed  executions  mean µs  queue µs  "
        "compute_input µs  compute_infer µs  compute_output µs"
    ) == head
    assert ["m", "3", "2,000", "1", "1,000", "2.5", "1,000.0", "0.2", "0.3", "-"] == (
        values.split()
    )
    assert "<th" in table["text/html"]
