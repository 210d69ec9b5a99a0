"""The configuration that ``auto_complete_config`` completes."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

_INPUT_PROPERTIES = ("name", "data_type", "dims", "optional")
_OUTPUT_PROPERTIES = ("name", "data_type", "dims")


class ModelConfig:
    """A model configuration during auto-completion.

    Parameters
    ----------
    model_config
        The JSON text of the configuration.

    References
    ----------
    python_backend: src/resources/triton_python_backend_utils.py, ModelConfig
    """

    def __init__(self, model_config: str) -> None:
        self._model_config: dict[str, Any] = json.loads(model_config)

    def as_dict(self) -> dict[str, Any]:
        """Return the configuration itself; changes to it take effect."""
        return self._model_config

    def set_max_batch_size(self, max_batch_size: int) -> None:
        """Set the maximum batch size.

        Raises
        ------
        ValueError
            The configuration has a larger one.
        """
        current = self._model_config["max_batch_size"]
        if current > max_batch_size:
            raise ValueError(
                f"configuration specified max_batch_size {current}, but in "
                f"auto-complete-config function for model '{self._name}' specified "
                f"max_batch_size {max_batch_size}"
            )
        self._model_config["max_batch_size"] = max_batch_size

    def set_dynamic_batching(self) -> None:
        """Enable the dynamic batcher.

        Raises
        ------
        ValueError
            Another scheduler is configured.
        """
        for scheduler in ("sequence_batching", "ensemble_scheduling"):
            if scheduler in self._model_config:
                raise ValueError(
                    f"Configuration specified scheduling_choice as '{scheduler}', "
                    f"but auto-complete-config function for model '{self._name}' "
                    "tries to set scheduling_choice as 'dynamic_batching'"
                )
        self._model_config.setdefault("dynamic_batching", {})

    def add_input(self, input: dict[str, Any]) -> None:
        """Declare an input, or complete a configured one.

        Parameters
        ----------
        input
            Its ``name``, ``data_type``, ``dims`` and, optionally, ``optional``.

        Raises
        ------
        ValueError
            A property is missing or unknown, or contradicts the configuration.
        """
        self._add("input", input, _INPUT_PROPERTIES)

    def add_output(self, output: dict[str, Any]) -> None:
        """Declare an output, or complete a configured one.

        Parameters
        ----------
        output
            Its ``name``, ``data_type`` and ``dims``.

        Raises
        ------
        ValueError
            A property is missing or unknown, or contradicts the configuration.
        """
        self._add("output", output, _OUTPUT_PROPERTIES)

    def set_model_transaction_policy(
        self, transaction_policy_dict: dict[str, Any]
    ) -> None:
        """Set whether the model is decoupled.

        Raises
        ------
        ValueError
            A property is unknown, or contradicts the configuration.
        """
        if any(name != "decoupled" for name in transaction_policy_dict):
            raise ValueError(
                "model transaction property in auto-complete-config function for "
                f"model '{self._name}' contains property other than 'decoupled'."
            )
        policy = self._model_config.setdefault("model_transaction_policy", {})
        if "decoupled" not in transaction_policy_dict:
            return
        wanted = transaction_policy_dict["decoupled"]
        if policy.get("decoupled", wanted) != wanted:
            raise ValueError(
                "trying to change decoupled property in auto-complete-config for "
                f"model '{self._name}', which is already set to "
                f"'{policy['decoupled']}'."
            )
        policy["decoupled"] = wanted

    @property
    def _name(self) -> str:
        return str(self._model_config["name"])

    def _add(
        self, direction: str, tensor: dict[str, Any], properties: Collection[str]
    ) -> None:
        self._check_properties(direction, tensor, properties)
        for declared in self._model_config[direction]:
            if declared["name"] == tensor["name"]:
                self._check_agreement(direction, declared, tensor)
                declared.update(tensor)
                return
        self._model_config[direction].append(tensor)

    def _check_properties(
        self, direction: str, tensor: dict[str, Any], properties: Collection[str]
    ) -> None:
        where = f"in auto-complete-config function for model '{self._name}'"
        if any(key not in properties for key in tensor):
            *most, last = (f"'{key}'" for key in properties)
            raise ValueError(
                f"{direction} '{tensor['name']}' {where} contains property other "
                f"than {', '.join(most)} and {last}."
            )
        if "name" not in tensor:
            raise ValueError(f"{direction} {where} is missing 'name' property.")
        for key in ("data_type", "dims"):
            if key not in tensor:
                raise ValueError(
                    f"{direction} '{tensor['name']}' {where} is missing "
                    f"'{key}' property."
                )

    def _check_agreement(
        self, direction: str, declared: dict[str, Any], tensor: dict[str, Any]
    ) -> None:
        data_type, dims = declared["data_type"], declared["dims"]
        if data_type not in ("TYPE_INVALID", tensor["data_type"]):
            raise ValueError(
                f"unable to load model '{self._name}', configuration expects "
                f"datatype {data_type} for {direction} '{tensor['name']}', "
                f"model provides {tensor['data_type']}"
            )
        if dims and dims != tensor["dims"]:
            raise ValueError(self._mismatch("dims", dims, tensor))
        optional = declared.get("optional")
        if optional is not None and tensor.get("optional", optional) != optional:
            raise ValueError(self._mismatch("optional", optional, tensor))

    def _mismatch(self, key: str, declared: Any, tensor: dict[str, Any]) -> str:
        return (
            f"model '{self._name}', tensor '{tensor['name']}': the model expects "
            f"{key} {tensor[key]} but the model configuration specifies "
            f"{key} {declared}"
        )
