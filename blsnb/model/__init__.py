"""A model as a value; nothing runs here.

``config``
    `ModelConfig`, `TensorSpec`, `InstanceSpec`; `parse_pbtxt`, `parse_json`.
``normalise``
    `normalise`: what Triton writes into a configuration before it is used.
``validate``
    `validate_poll`, `validate_instances` (before ``auto_complete_config``),
    `validate_create` (after it): what Triton refuses, and at which stage.
``dependency_rules``
    `find_faults`, `validate_ensemble`: what Triton refuses in an ensemble for its
    composing models; `composing_models`, `Composing`.
``complete``
    `check_returned`, `complete`: what ``auto_complete_config`` may change.
``spec``
    `parse_tensor_spec`, `config_from_options`, `merge_options`: options of
    ``%%triton_model`` as the same configuration.
``model``
    `Model` and `ModelVersion`.
"""
