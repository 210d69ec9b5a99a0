"""A model as a value: its name, its configuration, its versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from blsnb.model.config import ModelConfig


@dataclass(frozen=True, slots=True)
class ModelVersion:
    """One version of a model.

    Parameters
    ----------
    source
        The text of ``model.py``, to the letter.
    files
        What lies beside it: path relative to the version's folder, contents.
    """

    source: str
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Model:
    """A model of a repository.

    Parameters
    ----------
    config
        The configuration as written, or None for none.
    config_text
        The text of ``config.pbtxt``, to the letter; ``""`` for none.
    versions
        By number.
    """

    name: str
    config: ModelConfig | None = None
    config_text: str = ""
    versions: Mapping[int, ModelVersion] = field(default_factory=dict)
