"""Configurations that Triton 2.51 refuses, with the texts of a real server.

``m`` stands for the model's name in the texts; a configuration of a row is added
to a plain Python model with input ``X`` and output ``Y``, unless it declares its own.
"""

from __future__ import annotations

from typing import NamedTuple


class Refusal(NamedTuple):
    """One row of the specification: a configuration, and Triton's error."""

    row: str
    pbtxt: str
    reason: str


INPUT = "input { name: 'X' data_type: TYPE_FP32 dims: -1 }"
OUTPUT = "output { name: 'Y' data_type: TYPE_FP32 dims: -1 }"
PLAIN = f"backend: 'python' {INPUT} {OUTPUT} "


_THREE = "int32_false_true: [0, 1, 2]"
_NOT_TWO = (
    "sequence batching control 'int32_false_true' must have exactly 2 entries for "
    "CONTROL_SEQUENCE_START for m"
)


def _sequence(controls: str) -> str:
    return f"{PLAIN} sequence_batching {{ {controls} }}"


def _start(values: str) -> str:
    return _sequence(
        "control_input { name: 'S' control { kind: CONTROL_SEQUENCE_START "
        f"{values} }} }}"
    )


def _input(fields: str, more: str = "") -> str:
    return f"backend: 'python' {OUTPUT} {more} input {{ {fields} }}"


def _reshape(dims: str, shape: str, more: str = "") -> str:
    fields = f"name: 'X' data_type: TYPE_FP32 dims: [{dims}]"
    return _input(f"{fields} reshape {{ shape: [{shape}] }}", more)


_FALSE_TRUE = "'int32_false_true', 'fp32_false_true' or 'bool_false_true'"
_DIMENSION = "must be integer >= 1, or -1 to indicate a variable-size dimension for m"
_CACHE = "Response Cache does not currently support model m with"

POLL = (
    Refusal(
        "1",
        f"{PLAIN} max_batch_size: -1",
        "'max_batch_size' must be non-negative value for m",
    ),
    Refusal(
        "agent",
        f"{PLAIN} model_repository_agents {{ agents {{ name: 'a' }} "
        "agents { name: 'b' } }",
        "unable to find 'libtritonrepoagent_a.so' for repo agent 'a', searched: "
        "/opt/tritonserver/repoagents",
    ),
    Refusal("2", "platform: 'foo'", "unexpected platform type 'foo' for m"),
    Refusal(
        "3",
        f"{PLAIN} platform: 'ensemble'",
        "Ensemble model 'm' must have platform type 'ensemble' and empty backend type",
    ),
    Refusal(
        "29",
        f"{PLAIN} max_batch_size: 4 dynamic_batching {{ preferred_batch_size: 0 }}",
        "dynamic batching preferred size must be positive for m",
    ),
    Refusal(
        "30",
        f"{PLAIN} max_batch_size: 4 dynamic_batching {{ preferred_batch_size: 8 }}",
        "dynamic batching preferred size must be <= max batch size for m",
    ),
    Refusal(
        "30, not batching",
        f"{PLAIN} dynamic_batching {{ preferred_batch_size: 1 }}",
        "dynamic batching preferred size must be <= max batch size for m",
    ),
    Refusal(
        "31",
        f"{PLAIN} dynamic_batching {{ priority_levels: 3 }}",
        "default priority level must be in range [1, 3] for m",
    ),
    Refusal(
        "31, too high",
        f"{PLAIN} dynamic_batching {{ priority_levels: 3 default_priority_level: 4 }}",
        "default priority level must be in range [1, 3] for m",
    ),
    Refusal(
        "32",
        f"{PLAIN} dynamic_batching {{ priority_levels: 2 default_priority_level: 1 "
        "priority_queue_policy { key: 3 value {} } }",
        "priority queue policy must have priority level in range [1, 2] for m",
    ),
    Refusal(
        "33",
        f"{PLAIN} dynamic_batching {{ preserve_ordering: true priority_levels: 2 "
        "default_priority_level: 1 }",
        "Only one priority level is allowed when 'preserve_ordering' is true for m",
    ),
    Refusal(
        "34",
        f"{PLAIN} dynamic_batching {{ preserve_ordering: true default_queue_policy "
        "{ timeout_action: DELAY default_timeout_microseconds: 5 } }",
        "Queue policy can not have DELAY as timeout action when 'preserve_ordering' "
        "is true for m",
    ),
    Refusal(
        "37",
        f"{PLAIN} model_transaction_policy {{ decoupled: true }} "
        "response_cache { enable: true }",
        f"{_CACHE} 'decoupled' transaction policy. Please disable the response cache.",
    ),
    Refusal(
        "38",
        f"{PLAIN} sequence_batching {{}} response_cache {{ enable: true }}",
        f"{_CACHE} sequence batching scheduler. Please disable the response cache.",
    ),
    Refusal(
        "40",
        _sequence("control_input { }"),
        "sequence batching control tensor must have a name for m",
    ),
    Refusal(
        "41",
        _sequence("control_input { name: 'START' } control_input { name: 'START' }"),
        "sequence batching control tensor 'START' is specified for multiple control "
        "kinds for m",
    ),
    Refusal(
        "42",
        _sequence(
            "control_input { name: 'S' control { kind: CONTROL_SEQUENCE_START "
            "int32_false_true: [0, 1] } } control_input { name: 'T' control { "
            "kind: CONTROL_SEQUENCE_START int32_false_true: [0, 1] } }"
        ),
        "sequence batching specifies multiple CONTROL_SEQUENCE_START tensors for m",
    ),
    Refusal(
        "43",
        _start(""),
        f"sequence batching must specify either {_FALSE_TRUE} for "
        "CONTROL_SEQUENCE_START for m",
    ),
    Refusal(
        "44",
        _start("int32_false_true: [0, 1] bool_false_true: [false, true]"),
        "sequence batching specifies more than one from 'int32_false_true', "
        "'fp32_false_true' and 'bool_false_true' for CONTROL_SEQUENCE_START for m",
    ),
    Refusal(
        "45",
        _start(_THREE),
        _NOT_TWO,
    ),
    Refusal(
        "45 before 42",
        _start(f"{_THREE} }} control {{ kind: CONTROL_SEQUENCE_START {_THREE}"),
        _NOT_TWO,
    ),
    Refusal(
        "45 before 41",
        _sequence(
            f"control_input {{ name: 'S' control {{ {_THREE} }} }} "
            f"control_input {{ name: 'S' control {{ {_THREE} }} }}"
        ),
        _NOT_TWO,
    ),
    Refusal(
        "45 before 40",
        _sequence(
            f"control_input {{ name: 'S' control {{ {_THREE} }} }} control_input {{ }}"
        ),
        _NOT_TWO,
    ),
    Refusal(
        "46",
        _sequence(
            "control_input { name: 'C' control { kind: CONTROL_SEQUENCE_CORRID "
            "int32_false_true: [0, 1] data_type: TYPE_UINT64 } }"
        ),
        f"sequence batching must not specify either {_FALSE_TRUE} for "
        "CONTROL_SEQUENCE_CORRID for m",
    ),
    Refusal(
        "47",
        _sequence(
            "control_input { name: 'C' control { kind: CONTROL_SEQUENCE_CORRID } }"
        ),
        "unexpected data type for control CONTROL_SEQUENCE_CORRID for m. Allowed data "
        "types are TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING",
    ),
    Refusal(
        "49",
        f"max_batch_size: 4 {_sequence('oldest { preferred_batch_size: 0 }')}",
        "sequence batching preferred batch size must be positive for m",
    ),
    Refusal(
        "49, too large",
        f"max_batch_size: 4 {_sequence('oldest { preferred_batch_size: 8 }')}",
        "sequence batching preferred batch size must be <= max batch size for m",
    ),
    Refusal(
        "50",
        _sequence("direct { minimum_slot_utilization: 1.5 }"),
        "sequence batching minimum slot utilization must be in range (0.0, 1.0] for m",
    ),
    Refusal(
        "ensemble scheduling on a Python model",
        f"{PLAIN} ensemble_scheduling {{}}",
        "ensemble scheduling cannot be set for model 'm' whose platform is not "
        "ensemble",
    ),
)

CREATE = (
    Refusal(
        "4",
        "backend: 'foo'",
        "unable to find backend library for backend 'foo', try specifying runtime on "
        "the model configuration.",
    ),
    Refusal(
        "6",
        _input("data_type: TYPE_FP32 dims: 1"),
        "model input must specify 'name' for m",
    ),
    Refusal(
        "6, output",
        f"backend: 'python' {INPUT} output {{ data_type: TYPE_FP32 dims: 1 }}",
        "model output must specify 'name' for m",
    ),
    Refusal(
        "7",
        _input("name: 'X' dims: 1"),
        "model input 'X' must specify 'data_type' for m",
    ),
    Refusal(
        "8",
        _input("name: 'X' data_type: TYPE_FP32"),
        "model input 'X' must specify 'dims' for m",
    ),
    Refusal(
        "9",
        _input("name: 'X' data_type: TYPE_FP32 dims: 0"),
        f"model input 'X' dimension {_DIMENSION}",
    ),
    Refusal(
        "9, negative",
        _input("name: 'X' data_type: TYPE_FP32 dims: -2"),
        f"model input 'X' dimension {_DIMENSION}",
    ),
    Refusal(
        "12",
        _reshape("4", "2"),
        "model input 'X' has different size for dims and reshape for m",
    ),
    Refusal(
        "12, one varies",
        _reshape("-1", "2"),
        "model input 'X' has different size for dims and reshape for m",
    ),
    Refusal(
        "13",
        _reshape("-1, -1", "-1"),
        "model input 'X' has different number of variable-size dimensions for dims "
        "and reshape for m",
    ),
    Refusal(
        "14",
        _reshape("-1, 4", "2, -1, 2"),
        "model input 'X' has different size for dims and reshape for m",
    ),
    Refusal(
        "15", _reshape("4", "4, 0"), f"model input 'X' reshape dimensions {_DIMENSION}"
    ),
    Refusal(
        "16",
        _reshape("1", ""),
        "model input 'X' cannot have empty reshape for non-batching model as scalar "
        "tensors are not supported for m",
    ),
    Refusal(
        "16, of several elements",
        _reshape("2", "", "max_batch_size: 4"),
        "model input 'X' has different size for dims and reshape for m",
    ),
    Refusal(
        "17",
        _input("name: 'X' data_type: TYPE_FP32 dims: 1 format: FORMAT_NHWC"),
        "model input NHWC/NCHW require 3 dims for m",
    ),
    Refusal(
        "18",
        _input("name: 'X' data_type: TYPE_FP32 dims: 1 is_shape_tensor: true"),
        "shape tensors are only supported for TensorRT platform for m",
    ),
    Refusal(
        "19",
        _input("name: 'X' data_type: TYPE_FP32 dims: 1 is_non_linear_format_io: true"),
        "Non-linear IO format is only supported for the TensorRT platform for m",
    ),
    Refusal(
        "20",
        f"{PLAIN} batch_input {{ kind: BATCH_ELEMENT_COUNT target_name: 'T' "
        "data_type: TYPE_FP32 source_input: 'NOPE' }",
        "unknown source input name 'NOPE' for m",
    ),
    Refusal(
        "21",
        f"{PLAIN} batch_input {{ kind: BATCH_ELEMENT_COUNT target_name: 'T' "
        "data_type: TYPE_FP64 source_input: 'X' }",
        "batch input data type must be TYPE_INT32 or TYPE_FP32 for m",
    ),
    Refusal(
        "22",
        f"{PLAIN} batch_input {{ kind: BATCH_ELEMENT_COUNT target_name: 'T' "
        "data_type: TYPE_FP32 }",
        "batch input kind 'BATCH_ELEMENT_COUNT' expects 1 source input, got 0 for m",
    ),
    Refusal(
        "22, without type",
        f"{_input('name: ' + repr('X'))} batch_input {{ target_name: 'T' }}",
        "unexpected batch input data type 'TYPE_INVALID'",
    ),
    Refusal(
        "23",
        f"{PLAIN} batch_output {{ target_name: 'T' source_input: 'X' }}",
        "unknown target output name 'T' for m",
    ),
    Refusal(
        "23, output source",
        f"{PLAIN} batch_output {{ target_name: 'Y' }}",
        "batch output kind 'BATCH_SCATTER_WITH_INPUT_SHAPE' expects 1 source input, "
        "got 0 for m",
    ),
    Refusal(
        "23, twice",
        f"{PLAIN} batch_output {{ target_name: ['Y', 'Y'] source_input: 'X' }}",
        "target output name 'Y' can only be specified once for m",
    ),
    Refusal(
        "25",
        f"{PLAIN} instance_group {{ kind: KIND_GPU }}",
        "instance group m_0 of model m has kind KIND_GPU but no GPUs are available",
    ),
    Refusal(
        "26",
        f"{PLAIN} instance_group {{ kind: KIND_GPU gpus: 0 }}",
        "instance group m_0 of model m specifies invalid or unsupported gpu id 0. "
        "GPUs with at least the minimum required CUDA compute compatibility of "
        "6.000000 are: ",
    ),
    Refusal(
        "27",
        f"{PLAIN} instance_group {{ kind: KIND_CPU gpus: 0 }}",
        "instance group m_0 of model m has kind KIND_CPU but specifies one or more "
        "GPUs",
    ),
    Refusal(
        "27, model",
        f"{PLAIN} instance_group {{ kind: KIND_MODEL gpus: 0 }}",
        "instance group m_0 of model m has kind KIND_MODEL but specifies one or more "
        "GPUs",
    ),
    Refusal(
        "28",
        f"{PLAIN} instance_group {{ profile: '1' }}",
        "instance group m_0 of model m and platform specifies profile field which is "
        "only supported for TensorRT models",
    ),
    Refusal(
        "28 before 8",
        _input("name: 'X'", "instance_group { profile: '1' }"),
        "instance group m_0 of model m and platform specifies profile field which is "
        "only supported for TensorRT models",
    ),
)
