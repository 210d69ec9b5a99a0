"""The file of ``resume=``: what it keeps, what it survives, what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from cells import CONFIG, DOUBLE, TRIPLE
from faults import printed_by
from killed_journals import HEADER, ROWS, evaluate, stored
from whole_text import whole

from blsnb import Server
from blsnb.evaluation.identity import difference, digest_of_inputs, header_of
from blsnb.evaluation.journal import MAGIC, Journal
from blsnb.evaluation.plain import EvaluationSettings, Row, RowResult
from blsnb.parts.server_parts import parts_of

PROGRAM = Path(__file__).parents[1] / "killed_journals.py"


@pytest.fixture
def path(tmp_path):
    """The path of a journal that does not exist yet."""
    return tmp_path / "rows.blseval"


def results_of(path, *results):
    """Store results, and return them as another process would read them."""
    with Journal(path, HEADER) as journal:
        journal.append(results)
    with Journal(path, HEADER) as journal:
        return dict(journal.done)


def test_a_finished_row_is_executed_no_more(path):
    """Neither in the same process nor in the next one."""
    assert [0, 1, 2, 3, 4, 5] == evaluate(path)
    assert [] == evaluate(path)


def test_results_are_stored_as_they_are(path):
    """Values of each type, failures, and the times of all models."""
    outputs = {
        "FLAGS": np.array([[True, False]]),
        "TEXT": np.array([[b"a", b"\xff"]], dtype=object),
        "EMPTY": np.zeros((0, 3), np.float16),
        "SCALAR": np.float32(1.5),
        "WORD": b"word",
        "STREAM": [np.arange(2), np.arange(0)],
    }
    given = RowResult(0, outputs, "", "", 1.5, 0.5, {"m": 1.0, "n": 0.25}, {"m": 2})
    failed = RowResult(1, {}, "no such 'X'\n", "INVALID_ARG", 3.0)

    found = results_of(path, given, failed)

    assert failed == found[1]
    assert [given.latency_us, given.queue_us, given.model_us, given.model_calls] == [
        found[0].latency_us,
        found[0].queue_us,
        found[0].model_us,
        found[0].model_calls,
    ]
    stream = found[0].outputs.pop("STREAM")
    assert [[0, 1], []] == [each.tolist() for each in stream]
    assert [described(outputs[name]) for name in found[0].outputs] == [
        described(value) for value in found[0].outputs.values()
    ]


def described(value):
    """Return the class, the type and the elements of an output."""
    array = np.asarray(value)
    return type(value), array.dtype, array.tolist()


def test_each_beginning_of_the_file_is_a_journal(path, tmp_path):
    """A process may be killed after any byte, and the next one continues."""
    evaluate(path)
    whole, data = stored(path), path.read_bytes()
    counts = set()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        before = stored(path)
        counts.add(len(before))
        assert before == {number: whole[number] for number in before}
        assert list(range(len(before), len(ROWS))) == evaluate(path)
        assert data == path.read_bytes()
    assert {*range(len(ROWS))} == counts


@pytest.mark.timeout(300)
@pytest.mark.parametrize("step", [31, pytest.param(1, marks=pytest.mark.slow)])
def test_a_killed_evaluation_is_continued(path, step, figures):
    """Kill -9 at any line: whole results are kept, no row is executed twice."""
    printed = printed_by(PROGRAM, path, step, timeout_s=280)

    figures(kills=len(printed.splitlines()) - 1)


def test_results_after_damage_are_executed_again(path):
    """A checksum finds it."""
    evaluate(path)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)

    assert [5] == evaluate(path)


@pytest.mark.parametrize("content", [b"\x89BLSRUN\n", b"text", MAGIC[::-1]])
def test_another_file_is_refused_and_unchanged(path, content):
    """A user may have named a wrong file."""
    path.write_bytes(content)

    with pytest.raises(
        ValueError, match=r"is not a file that evaluate\(resume=\.\.\.\) wrote$"
    ):
        evaluate(path)
    assert content == path.read_bytes()


def test_a_journal_is_used_by_one_evaluation(path):
    """Two of them would mix their results."""
    text = (
        f"{str(path)!r} is in use by another evaluation; wait for it, or resume with "
        "another file"
    )
    with Journal(path, HEADER), pytest.raises(ValueError, match=whole(text)):
        Journal(path, HEADER)
    assert [] != evaluate(path)


def test_a_failed_write_leaves_whole_results(path, monkeypatch):
    """Later results follow the last whole ones."""
    with Journal(path, HEADER) as journal:
        journal.append([RowResult(0)])
        file, before = journal._file, path.read_bytes()

        class Full:
            def __getattr__(self, name):
                return getattr(file, name)

            def write(self, data):
                file.write(data[:10])
                raise OSError(28, "No space left on device")

        monkeypatch.setattr(journal, "_file", Full())
        with pytest.raises(OSError, match=f"No space left on device: '{path}'"):
            journal.append([RowResult(1)])
        assert before == path.read_bytes()
        monkeypatch.undo()
        journal.append([RowResult(2)])

    with Journal(path, HEADER) as journal:
        assert [0, 2] == list(journal.done)


def test_rows_with_other_inputs_are_refused(path):
    """A result would belong to another row."""
    evaluate(path)
    others = [ROWS[0], Row(1, {"X": np.full(2, 7)})]

    text = (
        f"{str(path)!r} has a result of row 1 with other inputs: the rows, or their "
        "order, have changed. Resume with another file, or delete this one"
    )
    with Journal(path, HEADER) as journal, pytest.raises(ValueError, match=whole(text)):
        list(journal.to_execute(others, lambda row, result: None))


def test_labels_may_change(path):
    """The same results are measured against better labels."""
    evaluate(path)
    found = []
    labelled = [row._replace(rest={"label": 1}) for row in ROWS]

    with Journal(path, HEADER) as journal:
        left = list(journal.to_execute(labelled, lambda *both: found.append(both)))

    assert [] == left
    assert [n * 2 for n in range(6)] == [each.outputs["Y"][0] for _, each in found]
    assert [{"label": 1}] * 6 == [row.rest for row, _ in found]


def test_an_incomplete_sequence_starts_again(path):
    """Its state has ended with the process."""
    rows = [
        Row(0, {}, {}, 1, True, False),
        Row(1, {}, {}, 1, False, True),
        Row(2, {}, {}, 2, True, True),
    ]
    with Journal(path, HEADER) as journal:
        assert rows == list(journal.to_execute(rows, lambda *both: None))
        journal.append([RowResult(0), RowResult(2)])

    with Journal(path, HEADER) as journal:
        left = [row.number for row in journal.to_execute(rows, lambda *both: None)]

    assert [0, 1] == left


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], [2, 1]),
        (np.float32([1, 2]), np.float64([1, 2])),
        (np.zeros((2, 1)), np.zeros((1, 2))),
        (["ab", "c"], ["a", "bc"]),
        (np.array(["ab", "c"], object), np.array(["a", "bc"], object)),
        (1, True),
    ],
)
def test_the_digest_of_inputs_tells_values_apart(one, other):
    """Types and shapes count as well."""
    assert digest_of_inputs({"X": one}) == digest_of_inputs({"X": one})
    assert digest_of_inputs({"X": one}) != digest_of_inputs({"X": other})


@pytest.fixture
def header(tmp_path):
    """Return the identity of an evaluation of a model."""
    with Server() as server:
        server.define("m", DOUBLE, config=CONFIG)

        def header(**options):
            settings = EvaluationSettings("m", options)
            return header_of(parts_of(server), settings, ["m"], options.pop("rows", ""))

        header.server = server
        yield header


def test_an_evaluation_of_another_model_is_refused(path, header):
    """The sentence names the model whose files differ."""
    Journal(path, header()).close()
    Journal(path, header()).close()
    header.server.define("m", TRIPLE, config=CONFIG)

    text = (
        f"{str(path)!r} has results of another evaluation: the model 'm' differed. "
        "Resume with another file, or delete this one"
    )
    with pytest.raises(ValueError, match=whole(text)):
        Journal(path, header())


def test_a_model_that_is_loaded_with_another_configuration_is_another_one(header):
    """Its files are the same."""
    before = header()
    header.server.load("m", config={"max_batch_size": 2})

    assert "the model 'm' differed" == difference(before, header())


NOW = {
    "model": "m",
    "models": {"m": "a", "n": "b"},
    "options": {"priority": 1},
    "rows": "r",
    "triton_release": "25.1",
}


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ({}, ""),
        ({"model": "n"}, "they are of the model 'n', not 'm'"),
        ({"models": {"m": "b", "n": "b"}}, "the model 'm' differed"),
        ({"models": {"n": "c", "o": "d"}}, "the models 'm' and 'n' and 'o' differed"),
        ({"models": None}, "the models 'm' and 'n' differed"),
        (
            {"options": {"priority": 2, "batch": 4}},
            "batch was 4 and is None; priority was 2 and is 1",
        ),
        ({"options": None}, "priority was None and is 1"),
        ({"rows": "s"}, "the data set has other contents"),
        ({"server_url": "grpc://a:1"}, "they were executed on grpc://a:1"),
        ({"triton_release": "24.10"}, "Triton's release was 24.10"),
    ],
)
def test_what_differs_is_named(before, text):
    """It is the first difference, of which the others may be consequences."""
    assert text == difference(NOW | before, NOW)
    after = {**NOW, "server_url": "grpc://a:1"}
    assert "they were executed on models of this process" == difference(NOW, after)


def test_an_evaluation_with_other_options_is_refused(path, header):
    """The sentence has both values."""
    Journal(path, header(priority=1)).close()

    with pytest.raises(ValueError, match="priority was 1 and is None"):
        Journal(path, header())


def test_an_evaluation_of_another_version_is_refused(path, header):
    """Zero is a version, too."""
    Journal(path, header(version=0)).close()

    with pytest.raises(ValueError, match="version was 0 and is None"):
        Journal(path, header())


def test_an_evaluation_of_another_file_is_refused(path, header):
    """Before any row is executed."""
    Journal(path, header(rows="a")).close()

    with pytest.raises(ValueError, match="the data set has other contents"):
        Journal(path, header(rows="b"))


def test_an_evaluation_on_a_server_is_refused_elsewhere(path, header):
    """Its models may be others."""
    Journal(path, {**header(), "server_url": "grpc://a:1"}).close()

    with pytest.raises(ValueError, match="they were executed on grpc://a:1"):
        Journal(path, {**header(), "server_url": ""})
