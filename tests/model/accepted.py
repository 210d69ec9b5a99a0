"""Configurations that Triton 2.51 loads, compared by the JSON that it prints."""

from __future__ import annotations

from .refusals import INPUT, OUTPUT, PLAIN

ACCEPTED = {
    "plain": PLAIN,
    "nothing": "",
    "duplicate names": f"{INPUT} {INPUT} {OUTPUT}",
    "unknown type number": "input { name: 'X' data_type: 99 dims: 1 }",
    "variable first dimension": f"{PLAIN} max_batch_size: 8",
    "scalar reshape": f"max_batch_size: 4 {OUTPUT} input {{ name: 'X' "
    "data_type: TYPE_STRING dims: 1 reshape { } optional: true }",
    "reshape": f"{OUTPUT} input {{ name: 'X' data_type: TYPE_BF16 dims: [2, 4, -1, 6] "
    "reshape { shape: [8, -1, 1, 6] } allow_ragged_batch: true }",
    "other platform": f"{PLAIN} platform: 'foo'",
    "dynamic batching": f"{PLAIN} max_batch_size: 8 dynamic_batching {{ "
    "max_queue_delay_microseconds: 18446744073709551615 }",
    "dynamic batching without batches": f"{PLAIN} dynamic_batching {{ }}",
    "priorities": f"{PLAIN} max_batch_size: 8 dynamic_batching {{ "
    "preferred_batch_size: [4, 8] priority_levels: 3 default_priority_level: 2 "
    "default_queue_policy { timeout_action: DELAY default_timeout_microseconds: 5000 "
    "allow_timeout_override: true max_queue_size: 7 } "
    "priority_queue_policy { key: 2 value { max_queue_size: 1 } } }",
    "sequence": f"{PLAIN} max_batch_size: 4 sequence_batching {{ direct {{ "
    "minimum_slot_utilization: 0.1 } control_input { name: 'S' control { "
    "kind: CONTROL_SEQUENCE_START fp32_false_true: [0, 1.5] } } state { "
    "input_name: 'IS' output_name: 'OS' data_type: TYPE_INT32 dims: 1 "
    "initial_state { data_type: TYPE_INT32 dims: 1 zero_data: true name: 'i' } } }",
    "oldest": f"{PLAIN} max_batch_size: 4 sequence_batching {{ oldest {{ "
    "max_candidate_sequences: 4 } }",
    "instance groups": f"{PLAIN} instance_group [ {{ count: 2 }}, {{ name: 'foo' "
    "kind: KIND_MODEL }, { count: -3 kind: KIND_CPU } ]",
    "rate limiter": f"{PLAIN} instance_group {{ rate_limiter {{ resources {{ "
    "name: 'R' global: true count: 2 } priority: 2 } }",
    "secondary device": f"{PLAIN} instance_group {{ secondary_devices {{ "
    "kind: KIND_NVDLA device_id: 3 } }",
    "versions": f"{PLAIN} version_policy {{ specific {{ versions: [1, 0x2, 010] }} }}",
    "all versions": f"{PLAIN} version_policy {{ all {{ }} }}",
    "policies": f"{PLAIN} model_transaction_policy {{ }} response_cache {{ }}",
    "parameters": f"{PLAIN} parameters {{ key: 'a' value {{ string_value: "
    "'\\u00e9 <\\\"\\\\\\n\\001>' } } metric_tags { key: 'k' value: 'v' }",
    "optimization": f"{PLAIN} optimization {{ priority: PRIORITY_MAX cuda {{ "
    "graphs: true graph_spec { batch_size: 1 input { key: 'X' value { dim: 4 } } } } "
    "input_pinned_memory { enable: false } eager_batching: true }",
    "batch input": f"{PLAIN} batch_input {{ kind: BATCH_ITEM_SHAPE target_name: 'T' "
    "data_type: TYPE_INT32 source_input: 'X' } batch_output { target_name: 'Y' "
    "source_input: 'X' }",
}
