"""The JSON form has Triton's order, names and numbers."""

import json
from pathlib import Path
from typing import Any

import pytest

from blsnb.errors import ModelConfigError
from blsnb.model.config import parse_json, parse_pbtxt
from blsnb.model.normalization import normalise
from blsnb.model.rules.dependencies import Composing, validate_ensemble
from blsnb.model.text.json_form import _is_map
from blsnb.model.text.schema import schema
from blsnb.pb_utils.compiled.json_text import text_of
from blsnb.release import OLDEST

from ..accepted import ACCEPTED
from ..ensembles import IO, ensemble, step

GOLDEN = json.loads(Path(__file__, "../../golden/accepted.json").resolve().read_text())


@pytest.mark.parametrize("case", ACCEPTED)
def test_json_equals_that_of_a_real_server(case: str) -> None:
    """The text of a normalised configuration is equal byte for byte."""
    config = normalise(parse_pbtxt(ACCEPTED[case]), model_name="m")

    assert GOLDEN["json"][case] == config.to_json()


@pytest.mark.parametrize("case", ACCEPTED)
def test_printed_json_can_be_parsed(case: str) -> None:
    """It is valid in a load request."""
    config = normalise(parse_pbtxt(ACCEPTED[case]), model_name="m")

    assert config == parse_json(config.to_json())


def messages(descriptor: Any) -> set[Any]:
    """Return a message of the schema, and all that its fields contain."""
    found, left = set(), [descriptor]
    while left:
        each = left.pop()
        if each not in found:
            found.add(each)
            left += [f.message_type for f in each.fields if f.message_type]
    return found


def test_a_map_is_told_without_its_options() -> None:
    """The schema's own option says the same of each field."""
    fields = [
        field
        for message in messages(schema().ModelConfig.DESCRIPTOR)
        for field in message.fields
        if field.message_type is not None
    ]
    of_option = [field.message_type.GetOptions().map_entry for field in fields]

    assert {False, True} == set(of_option)
    assert of_option == list(map(_is_map, fields))


def test_integers_may_be_text_and_enumerators_lower_case() -> None:
    """A load override is ProtoJSON with case-insensitive enumerators."""
    document = {"input": [{"name": "X", "dataType": "type_fp32", "dims": ["-1", 3]}]}

    assert (
        parse_pbtxt("input { name: 'X' data_type: TYPE_FP32 dims: [-1, 3] }")
    ) == parse_json(document)


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("0.1", "0.1"),
        ("1", "1"),
        ("1e-3", "0.001"),
        ("1e17", "100000000000000000.0"),
        ("-inf", '"-Infinity"'),
    ],
)
def test_floats_are_as_short_as_they_can_be(written: str, printed: str) -> None:
    """Single precision adds no digits; infinities are text."""
    config = parse_pbtxt(
        f"sequence_batching {{ direct {{ minimum_slot_utilization: {written} }} }}"
    )

    assert f'"minimum_slot_utilization":{printed}}}' in config.to_json()


def test_doubles_are_as_short_as_they_can_be() -> None:
    """Whole numbers have no point; what is no number in JSON is text."""
    written = "0.1, 1, -3, 9007199254740991, 1e300, inf, -inf, nan"
    config = parse_pbtxt(
        "model_metrics { metric_control { metric_identifier { family: 'f' } "
        f"histogram_options {{ buckets: [{written}] }} }} }}"
    )

    printed = '0.1,1,-3,9007199254740991,1e300,"Infinity","-Infinity","NaN"'
    assert f'"buckets":[{printed}]' in config.to_json()


def test_a_single_value_is_a_list_of_one() -> None:
    """Triton's parser needs no brackets, and ignores null."""
    document = '{"input": {"name": "X", "dims": "4"}, "output": null}'

    assert parse_pbtxt("input { name: 'X' dims: 4 }") == parse_json(document)


LENIENT = {
    "joined lists": (
        '{"input": {"dims": [1, [2, [3]], []]}}',
        "input { dims: [1,2,3] }",
    ),
    "skipped nulls": ('{"input": [{"dims": [null, 4]}, null]}', "input { dims: 4 }"),
    "a sign": ('{"max_batch_size": "+5"}', "max_batch_size: 5"),
    "a text as a bool": (
        '{"response_cache": {"enable": "Yes"}}',
        "response_cache { enable: true }",
    ),
    "a number in a text": (
        '{"input": {"data_type": "11"}}',
        "input { data_type: TYPE_FP32 }",
    ),
    "null in a map": (
        '{"parameters": {"a": null}}',
        "parameters { key: 'a' value { } }",
    ),
    "no value in a map": (
        '{"metric_tags": {"a": null, "b": "c"}}',
        "metric_tags { key: 'b' value: 'c' }",
    ),
}


@pytest.mark.parametrize(("document", "text"), LENIENT.values(), ids=LENIENT)
def test_other_forms_of_a_value_are_read(document: str, text: str) -> None:
    """A text may be a bool or a number, and a list may contain lists and nulls."""
    assert parse_pbtxt(text) == parse_json(document)


STRICT = {
    "a fraction in a text": '{"max_batch_size": "1.0"}',
    "a bool as an enumerator": '{"input": [{"data_type": true}]}',
    "a fraction as an enumerator": '{"input": [{"data_type": 1.5}]}',
    "an unknown number in a text": '{"input": [{"data_type": "99"}]}',
    "another word as a bool": '{"response_cache": {"enable": "on"}}',
    "a list as a message": '{"dynamic_batching": []}',
    "a text as a message": '{"parameters": {"a": ""}}',
    "a bool as a float": (
        '{"sequence_batching": {"direct": {"minimum_slot_utilization": true}}}'
    ),
}


@pytest.mark.parametrize("document", STRICT.values(), ids=STRICT)
def test_values_of_another_type_are_refused(document: str) -> None:
    """Python's protobuf would accept most of them."""
    with pytest.raises(ModelConfigError, match="invalid value"):
        parse_json(document)


def test_names_are_corrected_inside_maps() -> None:
    """Enumerators in the values of a map are case-insensitive, too."""
    policy = {"timeout_action": "delay"}
    document = {"dynamic_batching": {"priority_queue_policy": {"1": policy}}}

    assert (
        parse_pbtxt(
            "dynamic_batching { priority_queue_policy { key: 1 value { "
            "timeout_action: DELAY } } }"
        )
    ) == parse_json(document)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ('{"bogus": 1}', "bogus: Cannot find field."),
        ('{"n\u00e4me": 1}', "n\u00e4me: Cannot find field."),
        ({1: 1}, "1: Cannot find field."),
        ('{"input": [{"bogus": 1}]}', "(input[0]) bogus: Cannot find field."),
        (
            '{"parameters": {"a": {"foo": "b"}}}',
            "(parameters[0].value) foo: Cannot find field.",
        ),
        (
            '{"max_batch_size": "abc"}',
            '(max_batch_size): invalid value "abc" for type TYPE_INT32',
        ),
        (
            '{"max_batch_size": 1.5}',
            "(max_batch_size): invalid value 1.5 for type TYPE_INT32",
        ),
        (
            '{"input": [{"dims": [1.5]}]}',
            "(input[0].dims[0]): invalid value 1.5 for type TYPE_INT64",
        ),
        (
            '{"dynamic_batching": {"max_queue_delay_microseconds": 1.5}}',
            "(dynamic_batching.max_queue_delay_microseconds): invalid value 1.5 for "
            "type TYPE_UINT64",
        ),
        (
            '{"sequence_batching": {"oldest": {"max_candidate_sequences": 1.5}}}',
            "(sequence_batching.oldest.max_candidate_sequences): invalid value 1.5 "
            "for type TYPE_INT32",
        ),
        (
            '{"instance_group": [{"rate_limiter": {"priority": "x"}}]}',
            '(instance_group[0].rate_limiter.priority): invalid value "x" for type '
            "TYPE_UINT32",
        ),
        (
            '{"input": [{"data_type": "TYPE_FLOAT"}]}',
            '(input[0].data_type): invalid value "TYPE_FLOAT" '
            "for type type.googleapis.com/inference.DataType",
        ),
    ],
)
def test_refused_documents_have_tritons_text(document: str, message: str) -> None:
    """An unknown field or enumerator is refused before anything is loaded."""
    with pytest.raises(ModelConfigError) as caught:
        parse_json(document)

    assert f"Invalid config override: {message}" == caught.value.message
    assert "poll" == caught.value.stage
    assert (
        "Write the fields of config.pbtxt as JSON, in the form that %triton config "
        "prints." == caught.value.advice
    )


@pytest.mark.parametrize("document", ["{", "[]", '{"max_batch_size": 3000000000}'])
def test_invalid_documents_are_refused(document: str) -> None:
    """Invalid JSON, other JSON and wrong values are the same kind of error."""
    with pytest.raises(ModelConfigError, match="Invalid config override: "):
        parse_json(document)


ENSEMBLE = (
    '{"name":"m","platform":"ensemble","backend":"","runtime":"","version_policy":'
    '{"latest":{"num_versions":1}},"max_batch_size":0,"input":[{"name":"X","data_type":'
    '"TYPE_FP32","format":"FORMAT_NONE","dims":[-1],"is_shape_tensor":false,'
    '"allow_ragged_batch":false,"optional":false,"is_non_linear_format_io":false}],'
    '"output":[{"name":"Y","data_type":"TYPE_FP32","dims":[-1],"label_filename":"",'
    '"is_shape_tensor":false,"is_non_linear_format_io":false}],"batch_input":[],'
    '"batch_output":[],"ensemble_scheduling":{"step":[{"model_name":"c",'
    '"model_version":-1,"input_map":{"X":"X"},"output_map":{"Y":"Y"},'
    '"model_namespace":""}]},"instance_group":[],"default_model_filename":"",'
    '"cc_model_filenames":{},"metric_tags":{},"parameters":{},"model_warmup":[],'
    '"model_transaction_policy":{"decoupled":false}}'
)
"""An ensemble of one step, as printed by a real server 2.51."""


def test_an_ensemble_is_printed_as_by_a_real_server() -> None:
    """It contains the deduced ``decoupled``."""
    config = normalise(parse_pbtxt(ensemble(step())), model_name="m")
    loaded = validate_ensemble(config, {"c": Composing({1: parse_pbtxt(IO)})})

    assert ENSEMBLE == text_of(loaded.to_dict(OLDEST))


def test_a_newer_release_has_newer_fields() -> None:
    """Newer releases have the maximum number of requests in flight."""
    config = parse_pbtxt(ensemble(step()))

    assert 0 == config.to_dict()["ensemble_scheduling"]["max_inflight_requests"]
    assert ["step"] == list(config.to_dict(OLDEST)["ensemble_scheduling"])


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("100000", "100000"),
        ("1000000", "1000000.0"),
        ("1234567", "1234567"),
        ("123456789", "123456792"),
        ("123456.7", "123456.703"),
        ("0.1", "0.1"),
        ("1e-5", "0.00001"),
        ("1e-7", "1e-7"),
        ("1e10", "10000000000.0"),
        ("1e20", "100000000000000000000.0"),
        ("1e21", "1e21"),
    ],
)
def test_a_32_bit_number_has_the_digits_of_a_real_server(value, text):
    """Seen on release 2.51: six digits or nine, and a point after an exponent."""
    config = parse_pbtxt(
        "sequence_batching { control_input { name: 'S' control { kind: "
        f"CONTROL_SEQUENCE_START fp32_false_true: [ 0, {value} ] }} }} }}"
    )

    assert f'"fp32_false_true":[0,{text}]' in config.to_json()
