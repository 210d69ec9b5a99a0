"""The graph of models and their possible calls, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from blsnb.model_graph.finding import Finding
from blsnb.printable import counted, printable


@dataclass(frozen=True, slots=True)
class GraphModel:
    """A model, or a call's target that is missing or unknown.

    Parameters
    ----------
    name
        Its name; for an undecided target the expression in the source.
    kind
        ``"python"``, ``"ensemble"``, another backend, ``"missing"`` for a target not in
        the repository, or ``"undecided"`` for a target that is not a literal.
    instance_count
        Number of instances of each version.
    origin
        The cell or folder that defines it.
    file
        Path of its model file, relative to the working folder; empty outside of it.
    """

    name: str
    kind: str
    instance_count: int = 1
    origin: str = ""
    file: str = ""

    @property
    def is_known(self) -> bool:
        """Whether the repository has the model."""
        return self.kind not in ("missing", "undecided")


@dataclass(frozen=True, slots=True)
class GraphCall:
    """All calls of one model by another.

    Parameters
    ----------
    source, target
        Indices in ``ModelGraph.models``.
    places
        Their lines, such as ``"model.py:12"``, or steps of an ensemble, ``"step 1"``.
    is_async, is_stream
        Whether any uses ``async_exec``, and ``decoupled=True``.
    """

    source: int
    target: int
    places: tuple[str, ...]
    is_async: bool = False
    is_stream: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """Number of calls and own time of each model and edge in a run."""

    calls: Mapping[str, int]
    own_us: Mapping[str, float]
    edges: Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class ModelGraph:
    """The models of a repository and their possible calls.

    Notebooks display it as a drawing with the findings below; ``print`` writes text.

    Parameters
    ----------
    models
        The models in order of names, then missing and undecided targets.
    calls
        The calls, at most one for each pair of models.
    findings
        Faults, then remarks.
    measured
        Calls and times of the last run; None without one.
    """

    models: tuple[GraphModel, ...]
    calls: tuple[GraphCall, ...]
    findings: tuple[Finding, ...] = ()
    measured: Measured | None = field(default=None, repr=False)

    def calls_from(self, name: str) -> list[str]:
        """Return the names of the models that a model may call, sorted."""
        return sorted(
            self.models[call.target].name
            for call in self.calls
            if self.models[call.source].name == name
        )

    def __repr__(self) -> str:
        known = sum(model.is_known for model in self.models)
        models, calls = counted(known, "model"), counted(len(self.calls), "call")
        findings = counted(len(self.findings), "finding")
        return f"<ModelGraph: {models}, {calls}, {findings}>"

    def __str__(self) -> str:
        lines = [counted(len(self.models), "model")]
        for number, model in enumerate(self.models):
            calls = [call for call in self.calls if call.source == number]
            lines += [f"{printable(model.name)} -> {self._called(c)}" for c in calls]
        lines += [f"! {printable(str(finding))}" for finding in self.findings]
        return "\n".join(lines)

    def _called(self, call: GraphCall) -> str:
        target = self.models[call.target]
        kind = "" if target.is_known else f" [{target.kind}]"
        return f"{printable(target.name)}{kind} ({', '.join(call.places)})"
