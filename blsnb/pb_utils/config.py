"""The configuration that ``auto_complete_config`` completes."""

from __future__ import annotations

import functools
import json
import operator
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
            raise _refused(
                f"configuration specified max_batch_size {current}, but in "
                "auto-complete-config function for model '",
                self._model_config["name"],
                f"' specified max_batch_size {max_batch_size}",
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
                raise _refused(
                    f"Configuration specified scheduling_choice as '{scheduler}', "
                    "but auto-complete-config function for model '",
                    self._model_config["name"],
                    "' tries to set scheduling_choice as 'dynamic_batching'",
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
        _add(self._model_config, "input", input, _INPUT_PROPERTIES)

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
        _add(self._model_config, "output", output, _OUTPUT_PROPERTIES)

    def set_model_transaction_policy(
        self, transaction_policy_dict: dict[str, Any]
    ) -> None:
        """Set whether the model is decoupled.

        Raises
        ------
        ValueError
            A property is unknown, or contradicts the configuration.
        """
        name = self._model_config["name"]
        if transaction_policy_dict.keys() - {"decoupled"}:
            raise _refused(
                "model transaction property in auto-complete-config function for "
                "model '",
                name,
                "' contains property other than 'decoupled'.",
            )
        policy = self._model_config.setdefault("model_transaction_policy", {})
        if "decoupled" not in transaction_policy_dict:
            return
        wanted = transaction_policy_dict["decoupled"]
        if policy.get("decoupled", wanted) != wanted:
            raise _refused(
                "trying to change decoupled property in auto-complete-config for "
                "model '",
                name,
                f"', which is already set to '{policy['decoupled']}'.",
            )
        policy["decoupled"] = wanted


def _refused(*parts: Any) -> ValueError:
    """Return an error whose text Triton concatenates: other values raise TypeError."""
    return ValueError(functools.reduce(operator.add, parts))


def _add(
    config: dict[str, Any],
    direction: str,
    tensor: dict[str, Any],
    properties: Collection[str],
) -> None:
    _check_properties(config["name"], direction, tensor, properties)
    for declared in config[direction]:
        if declared["name"] == tensor["name"]:
            _check_agreement(config["name"], direction, declared, tensor)
            declared.update(tensor)
            return
    config[direction].append(tensor)


def _check_properties(
    model: Any, direction: str, tensor: dict[str, Any], properties: Collection[str]
) -> None:
    where = " in auto-complete-config function for model '"
    if any(key not in properties for key in tensor):
        *most, last = (f"'{key}'" for key in properties)
        raise _refused(
            f"{direction} '",
            tensor["name"],
            f"'{where}",
            model,
            f"' contains property other than {', '.join(most)} and {last}.",
        )
    if "name" not in tensor:
        raise _refused(f"{direction}{where}", model, "' is missing 'name' property.")
    for key in ("data_type", "dims"):
        if key not in tensor:
            missing = f"' is missing '{key}' property."
            raise _refused(
                f"{direction} '", tensor["name"], f"'{where}", model, missing
            )


def _check_agreement(
    model: Any, direction: str, declared: dict[str, Any], tensor: dict[str, Any]
) -> None:
    data_type, dims = declared["data_type"], declared["dims"]
    if data_type not in ("TYPE_INVALID", tensor["data_type"]):
        raise _refused(
            "unable to load model '",
            model,
            "', configuration expects datatype ",
            data_type,
            f" for {direction} '",
            tensor["name"],
            "', model provides ",
            tensor["data_type"],
        )
    if dims and dims != tensor["dims"]:
        raise _mismatch(model, "dims", dims, tensor)
    optional = declared.get("optional")
    if optional is not None and tensor.get("optional", optional) != optional:
        raise _mismatch(model, "optional", optional, tensor)


def _mismatch(
    model: Any, key: str, declared: Any, tensor: dict[str, Any]
) -> ValueError:
    return _refused(
        "model '",
        model,
        "', tensor '",
        tensor["name"],
        f"': the model expects {key} {tensor[key]} but the model configuration "
        f"specifies {key} {declared}",
    )
