"""Specification of the recorder's settings: what is recorded, and what is left out."""

from __future__ import annotations

import numpy as np
import pytest
from asserting import every

import blsnb
from blsnb.recorder.stub.settings import (
    InvalidSetting,
    RecorderSettings,
    matches,
    read_settings,
)
from blsnb.recorder.stub.tensor_rows import tensor_rows

from ..stub_runs import run_stub, write_recorder

RUNS = 35
"""Number of requests that the imitated stub executes."""


@pytest.fixture(scope="module")
def recorder(tmp_path_factory):
    """The one file."""
    return write_recorder(tmp_path_factory.mktemp("recorder"))


@pytest.fixture
def recorded(recorder, tmp_path):
    """Record the imitated stub with settings; return the recording and the log."""

    def record(**settings):
        folder = tmp_path / "recording"
        _, log = run_stub(recorder, folder=folder, settings=settings)
        return blsnb.load_recording(folder), log

    return record


def test_nothing_is_recorded_without_a_folder():
    """Other variables alone do not start a recording."""
    assert [None, None] == [
        read_settings({}),
        read_settings({"BLSNB_RECORD": "", "BLSNB_RECORDER_RATE": "1"}),
    ]


def test_settings_are_read_from_the_environment():
    """Their names are those of the fields, in capitals."""
    environ = {
        "BLSNB_RECORD": "/recording",
        "BLSNB_RECORDER_RATE": "0.01",
        "BLSNB_RECORDER_ERRORS_ONLY": "1",
        "BLSNB_RECORDER_SLOWER_THAN_MS": "2.5",
        "BLSNB_RECORDER_MODELS": "pipeline, pre*",
        "BLSNB_RECORDER_FILE_BYTES": "1000",
        "BLSNB_RECORDER_REDACT_IDS": "request_id",
        "BLSNB_RECORDER_TRACE": "0",
    }

    assert RecorderSettings(
        "/recording",
        0.01,
        True,
        2.5,
        ("pipeline", "pre*"),
        1000,
        redact_ids=("request_id",),
        trace=False,
    ) == read_settings(environ)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("RATE", "1.5", "a number from 0 to 1"),
        ("RATE", "nan", "a number from 0 to 1"),
        ("ERRORS_ONLY", "yes", "0 or 1"),
        ("SLOWER_THAN_MS", "-1", "a number of milliseconds"),
        ("SLOWER_THAN_MS", "inf", "a number of milliseconds"),
        ("FILE_BYTES", "1 GB", "a number of bytes"),
        ("TOTAL_BYTES", "-1", "a number of bytes"),
        (
            "REDACT_IDS",
            "requestid",
            "request_id, correlation_id, or both with a comma",
        ),
    ],
)
def test_an_invalid_setting_is_refused(name, value, expected):
    """The error says what was expected."""
    environ = {"BLSNB_RECORD": "/recording", f"BLSNB_RECORDER_{name}": value}

    with pytest.raises(InvalidSetting) as error:
        read_settings(environ)

    told = f"BLSNB_RECORDER_{name}={value!r} is not valid; expected {expected}"
    assert told == str(error.value)


def test_an_unknown_setting_is_refused():
    """A misspelt redaction must not record what it should leave out."""
    environ = {"BLSNB_RECORD": "folder", "BLSNB_RECORDER_REDACT_TENSOR": "TOKEN"}

    with pytest.raises(InvalidSetting, match="TENSOR is unknown; there"):
        read_settings(environ)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("RATE", "0", 0.0),
        ("RATE", "1", 1.0),
        ("SLOWER_THAN_MS", "0", 0.0),
        ("TENSOR_BYTES", "0", 0),
        ("REDACT_TENSORS", "A,,B ,", ("A", "B")),
        ("REDACT_IDS", "request_id,correlation_id", ("request_id", "correlation_id")),
        ("TRACE", "1", True),
    ],
)
def test_a_setting_may_have_its_least_and_its_largest_value(name, text, value):
    """Empty names between commas do not count."""
    environ = {"BLSNB_RECORD": "folder", f"BLSNB_RECORDER_{name}": text}
    expected = RecorderSettings("folder")._replace(**{name.lower(): value})

    assert expected == read_settings(environ)


def test_the_defaults_are_those_of_the_guide():
    """Everything is recorded, in files of 256 MiB up to 1 GiB."""
    assert RecorderSettings(
        folder="folder",
        rate=1.0,
        errors_only=False,
        slower_than_ms=0.0,
        models=("*",),
        file_bytes=268_435_456,
        total_bytes=1_073_741_824,
        tensor_bytes=1_048_576,
        redact_tensors=(),
        redact_parameters=(),
        redact_ids=(),
        redact_errors=(),
        trace=True,
    ) == read_settings({"BLSNB_RECORD": "folder"})


def test_names_match_patterns_with_their_case():
    """As file names do."""
    assert [True, True, False] == [
        matches(name, ("TOKEN", "SECRET_*"))
        for name in ("TOKEN", "SECRET_KEY", "token")
    ]


def test_a_rate_of_zero_records_nothing(recorder, tmp_path):
    """Not even a file is made."""
    run_stub(recorder, folder=tmp_path / "recording", settings={"RATE": "0"})

    assert not (tmp_path / "recording").exists()


def test_only_failed_requests_are_recorded(recorded):
    """Also those that handled the error of a BLS call."""
    recording, _ = recorded(ERRORS_ONLY="1")

    assert 0 < len(recording) == len(recording.filter(failed=True)) < RUNS


def test_an_execution_begins_with_its_request(recorded):
    """A plan takes the durations of executions from a recording."""
    recording, _ = recorded()
    roots = [run.trace.spans[0] for run in recording]
    executed = [root for root in roots if root.compute_end_ns]

    assert RUNS - 1 == len(executed)
    assert [root.request_start_ns for root in executed] == [
        root.compute_start_ns for root in executed
    ]


def test_a_stream_with_an_error_is_a_failed_request(recorded):
    """The error is also one of its responses."""
    recording, _ = recorded()
    roots = [run.trace.spans[0] for run in recording]
    sent = [root for root in roots if any(each.error for each in root.responses)]

    assert [("negative", ["negative", "", ""])] == [
        (root.error, [each.error for each in root.responses]) for root in sent
    ]


def test_only_slow_requests_are_recorded(recorder, tmp_path):
    """None of them takes ten minutes."""
    settings = {"SLOWER_THAN_MS": "600000"}
    run_stub(recorder, folder=tmp_path / "recording", settings=settings)

    assert not (tmp_path / "recording").exists()


def test_other_models_are_not_recorded(recorder, tmp_path):
    """Patterns name the models of the server."""
    settings = {"MODELS": "other,pipe"}
    run_stub(recorder, folder=tmp_path / "recording", settings=settings)

    assert not (tmp_path / "recording").exists()


def test_redacted_text_is_in_no_file(recorded, tmp_path):
    """The recording says what was redacted."""
    recording, _ = recorded(
        REDACT_TENSORS="X",
        REDACT_PARAMETERS="token",
        REDACT_IDS="request_id,correlation_id",
        REDACT_ERRORS="*",
    )
    spans = [span for run in recording for span in run.trace.spans]
    written = b"".join(path.read_bytes() for path in tmp_path.glob("recording/*"))

    assert {"<redacted>", ""} == {span.request_id for span in spans}
    assert {"<redacted>", ""} == {span.error for span in spans}
    assert {"<redacted>"} == {
        value
        for span in spans
        for name, value in span.request_fields.parameters
        if name == "token"
    }
    assert {(True, None)} == {
        (ref.redacted, ref.data) for span in spans for ref in span.inputs
    }
    assert every(ref.data for span in spans for ref in span.outputs)
    assert b"wrong value" not in written
    assert [
        "The recorder left out values of tensors: X.",
        "The recorder left out values of parameters: token.",
        "The recorder left out ids: request_id, correlation_id.",
        "The recorder left out error texts of models: *.",
    ] == list(recording.remarks)


def test_a_request_with_a_summarised_value_cannot_be_replayed(recorded):
    """The error names the setting."""
    recording, _ = recorded(TENSOR_BYTES="2")

    with pytest.raises(blsnb.TraceError, match="than BLSNB_RECORDER_TENSOR_BYTES"):
        recording[0].replay()


def test_a_file_that_is_full_is_followed_by_another_one(recorded, tmp_path):
    """No execution is divided between two."""
    recording, _ = recorded(FILE_BYTES="1")

    assert RUNS == len(recording)
    assert () == recording.remarks


def test_a_full_folder_ends_the_recording(recorded, tmp_path):
    """The log of the server and the last file say so."""
    recording, log = recorded(TOTAL_BYTES="1")

    assert "the recording ended at BLSNB_RECORDER_TOTAL_BYTES=1" in log
    assert "the recording ended at BLSNB_RECORDER_TOTAL_BYTES=1" in recording.remarks[0]


def test_a_folder_that_others_may_enter_is_refused(recorder, tmp_path):
    """Nothing is written into it."""
    (tmp_path / "recording").mkdir(mode=0o755)
    _, log = run_stub(recorder, folder=tmp_path / "recording")

    assert "must belong to the user of the server and have the mode 0700" in log
    assert [] == list((tmp_path / "recording").iterdir())


def test_only_the_owner_may_read_a_recording(recorder, tmp_path):
    """Folder and files."""
    run_stub(recorder, folder=tmp_path / "recording")
    (file,) = (tmp_path / "recording").iterdir()

    assert [0o700, 0o600] == [
        path.stat().st_mode & 0o777 for path in (tmp_path / "recording", file)
    ]


class Given:
    """A tensor of the Python backend."""

    def __init__(self, array, device=None):
        self.array = array
        self.device = device

    def name(self):
        return "T"

    def shape(self):
        return list(self.array.shape)

    def is_cpu(self):
        return self.device is None

    def as_numpy(self):
        return self.array

    def to_dlpack(self):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return (2, self.device)


def _row(array, device=None, **settings):
    (row,) = tensor_rows([Given(array, device)], RecorderSettings("f", **settings))
    return row


@pytest.mark.parametrize(
    ("dtype", "datatype"),
    [("?", "BOOL"), ("u1", "UINT8"), ("i8", "INT64"), ("f2", "FP16"), ("f8", "FP64")],
)
def test_values_are_copied(dtype, datatype):
    """A later change of the array does not change what is recorded."""
    array = np.ones((2, 3), dtype)
    row = _row(array.T)
    before = array.T.tobytes()
    array[:] = 0

    assert (datatype, [3, 2], before) == (row.datatype, row.shape, row.data)


def test_strings_are_recorded_as_on_the_wire():
    """Each with its length before it."""
    array = np.array([b"ab", "ä", b""], object)

    assert b"\x02\0\0\0ab\x02\0\0\0\xc3\xa4\0\0\0\0" == _row(array).data


def test_a_large_value_is_summarised():
    """The statistics say from how many elements they are."""
    array = np.arange(1 << 18, dtype=np.float32)
    row = _row(array, tensor_bytes=1000)

    assert (None, array.nbytes) == (row.data, row.byte_size)
    assert (1 << 18, True) == (
        row.statistics["elements"],
        row.statistics["sampled"] <= 1 << 16,
    )
    assert 0 == row.statistics["min"]
    assert row.statistics["mean"] == pytest.approx(array.mean(), rel=0.01)


def test_large_strings_are_summarised_by_their_number():
    """Their size is that on the wire."""
    row = _row(np.array(["ab", "c" * 100], object), tensor_bytes=100)

    assert ("BYTES", [2], None, 110, {"elements": 2}) == (
        row.datatype,
        row.shape,
        row.data,
        row.byte_size,
        row.statistics,
    )


def test_a_large_value_with_nan_is_summarised():
    """JSON has no number for NaN."""
    row = _row(np.full(1000, np.nan, np.float32), tensor_bytes=1000)

    assert ["nan"] == row.statistics["max"]


@pytest.mark.parametrize(
    "dtype", ["?", *(f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8))]
)
def test_the_data_type_on_a_device_is_the_one_in_host_memory(dtype):
    """DLPack's code and number of bits give the same name as NumPy's type."""
    array = np.zeros(1, dtype)

    assert _row(array).datatype == _row(array, device=0).datatype


def test_a_tensor_on_a_device_is_recorded_without_its_value():
    """Shape, data type and device are known."""
    row = _row(np.zeros((2, 3), np.float16), device=1)

    assert ("FP16", [2, 3], "gpu:1", None) == (
        row.datatype,
        row.shape,
        row.device,
        row.data,
    )
