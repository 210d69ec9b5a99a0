"""A model as a value; nothing runs here.

``config``
    `ModelConfig`, `TensorSpec`, `InstanceSpec`; `parse_pbtxt`, `parse_json`.
``normalise``
    `normalise`: what Triton writes into a configuration before it is used.
``validate``
    `validate_poll`, `validate_create`: what Triton refuses, and at which stage.
``complete``
    `complete`: what ``auto_complete_config`` may change.
``spec``
    Options of ``%%triton_model`` as the same configuration.
``model``
    `Model` and `ModelVersion`.
"""
