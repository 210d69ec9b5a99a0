"""The inputs of a model as a client sends them, and a form of them as a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from blsnb.model.config import ModelConfig
from blsnb.printable import printable
from blsnb.tensors.dtypes import Shape

_HEAD = ("input", "datatype", "shape")


@dataclass(frozen=True, slots=True)
class InputSpec:
    """An input as a client sends it.

    Parameters
    ----------
    datatype
        Such as ``"FP32"``; empty for an unknown type.
    dims
        Shape without the batch axis; -1 is any size.
    is_batched
        Whether a batch axis precedes `dims`.
    """

    name: str
    datatype: str
    dims: Shape
    is_batched: bool = False
    optional: bool = False

    @property
    def shape(self) -> Shape:
        """Shape with the batch axis."""
        return (-1, *self.dims) if self.is_batched else self.dims

    def takes(self, shape: Shape) -> bool:
        """Whether an array of a shape fits."""
        return len(shape) == len(self.shape) and all(
            wanted in (-1, size) for wanted, size in zip(self.shape, shape, strict=True)
        )

    def __str__(self) -> str:
        return printable(f"{self.datatype} {list(self.shape)}")


def input_specs(config: ModelConfig) -> dict[str, InputSpec]:
    """Return the inputs of a model by name."""
    is_batched = config.max_batch_size > 0
    return {
        spec.name: InputSpec(
            spec.name, spec.datatype, spec.dims, is_batched, spec.optional
        )
        for spec in config.inputs
    }


def still(name: str, specs: Mapping[str, InputSpec]) -> dict[str, str]:
    """Return the inputs of a model as HTML and as text."""
    title = f"Form to try {printable(name)}"
    advice = "Run this cell in a notebook with a kernel to fill in the form."
    rows = [_row(spec) for spec in specs.values()]
    head = "".join([f'<th scope="col">{cell}</th>' for cell in _HEAD])
    body = "".join(
        [
            f"<tr>{''.join([f'<td>{escape(cell)}</td>' for cell in row])}</tr>"
            for row in rows
        ]
    )
    page = (
        f"<table><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table><p>{advice}</p>"
    )
    lines = [f"{title}: " + "; ".join([" ".join(row) for row in rows]), advice]
    return {"text/html": page, "text/plain": "\n".join(lines)}


def _row(spec: InputSpec) -> tuple[str, str, str]:
    optional = " (optional)" if spec.optional else ""
    return f"{printable(spec.name)}{optional}", spec.datatype, str(list(spec.shape))
