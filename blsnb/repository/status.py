"""ModelStatus: one line about a model, for a card, a table or a log."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """State of a model, as a user sees it.

    Parameters
    ----------
    versions
        Numbers of the versions that serve.
    state, reason
        In the words of Triton's repository index.
    inputs, outputs
        As in ``--input``: ``"IMAGE:UINT8[224,224,3]"``.
    max_batch_size
        0 for a model that does not batch.
    instance_count
        Number of instances of each version.
    load_s
        Seconds that the last load took; 0 if it was not loaded.
    """

    name: str
    versions: tuple[int, ...]
    state: str
    reason: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    max_batch_size: int
    instance_count: int
    load_s: float

    def __repr__(self) -> str:
        versions = ",".join(map(str, self.versions)) or "-"
        flow = f"{', '.join(self.inputs)} -> {', '.join(self.outputs)}"
        took = f", loaded in {self.load_s * 1e3:.1f} ms" if self.load_s else ""
        return f"<{self.name} version {versions} {self.state}: {flow}{took}>"
