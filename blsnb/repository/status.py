"""The status of a model for cards, tables and logs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from blsnb.model.config import ModelConfig
from blsnb.model.rules.lint import findings
from blsnb.model.tensor_spec import format_tensor_spec
from blsnb.printable import printable

if TYPE_CHECKING:
    from blsnb.model.implied import Implied

AMBIGUOUS = "model appears in two or more repositories"
"""Triton's reason for not serving a model of this kind."""


def ambiguous_row(name: str) -> dict[str, str]:
    """Return the index row of a model that two repositories have."""
    return {"name": name, "state": "UNAVAILABLE", "reason": AMBIGUOUS}


@dataclass(frozen=True, slots=True, repr=False)
class ModelStatus:
    """State of a model.

    Parameters
    ----------
    versions
        Numbers of the versions that serve.
    state, reason
        In the words of Triton's repository index; ``"REMOVED"`` while a model without
        a folder still runs.
    inputs, outputs
        Tensors as in ``--input``: ``"IMAGE:UINT8[224,224,3]"``.
    max_batch_size
        0 for a model that does not batch.
    instance_count
        Number of instances of each version.
    load_s
        Duration of the last load in seconds; 0 if it was not loaded.
    findings
        Oddities of the configuration.
    standin
        Description of the model's stand-in; empty without one.
    steps
        Steps of an ensemble: ``"double: EX -> MIDDLE"``.
    advice
        What to do about the reason, after a failed load.
    origin
        Its source: ``"cell In[3]"``, a folder, or an override.
    trouble
        Newer text that did not load, or files that changed since the load.
    running
        A line for each instance that Ctrl-C could not end.
    differs
        The user's folder of a model that cells changed; empty if they agree.
    imply
        Derives its configuration from recorded runs; see `implied_config`.
    advise
        Returns what a model without a version needs before it can be loaded.
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
    findings: tuple[str, ...] = ()
    standin: str = ""
    steps: tuple[str, ...] = ()
    advice: str = ""
    origin: str = ""
    trouble: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    differs: str = ""
    imply: Callable[[str, Sequence[Any]], Implied] | None = field(
        default=None, compare=False
    )
    advise: Callable[[str], str] | None = field(default=None, compare=False)

    def what_helps(self) -> str:
        """Return the advice, or what a model without a version needs.

        For the latter its folder is read.
        """
        if self.advice or self.versions or self.advise is None:
            return self.advice
        return self.advise(self.name)

    def implied_config(self, *runs: Any) -> Implied:
        """Return a configuration that fits the tensors of the model in recorded runs.

        An axis whose size differs between calls becomes -1. With ``max_batch_size``
        above 0 the first axis is the batch and left out. Unseen inputs and outputs stay
        as configured.

        Parameters
        ----------
        *runs
            Runs of type `blsnb.Run`; without any, the newest run of the server that
            called the model.

        Returns
        -------
        Implied
            The configuration, and its text.

        Raises
        ------
        ModelConfigError
            No configuration fits, or no tensor was recorded.
        RepositoryError
            There is no such model.
        """
        assert self.imply is not None  # As in each status of `Server.model`.
        return self.imply(self.name, runs)

    def __repr__(self) -> str:
        versions = ",".join(map(str, self.versions)) or "-"
        flow = f": {', '.join(self.inputs)} -> {', '.join(self.outputs)}"
        shown = flow if self.inputs or self.outputs else ""
        took = f", loaded in {self.load_s * 1e3:.1f} ms" if self.load_s else ""
        state = self.state
        if self.standin:
            state += f" (stand-in: {self.standin})"
        return printable(f"<{self.name} version {versions} {state}{shown}{took}>")


def status_of(
    name: str,
    states: Mapping[int, tuple[str, str]],
    config: ModelConfig | None,
    load_s: float,
    standin: str = "",
    notes: tuple[str, ...] = (),
    gpu_count: int = 0,
    origin: str = "",
    trouble: tuple[str, ...] = (),
) -> ModelStatus:
    """Return the status of a model.

    Parameters
    ----------
    states
        State and reason of each version, in the words of Triton's index.
    config
        The configuration with which it serves; None if it does not serve.
    load_s, standin
        As in `ModelStatus`.
    notes
        Further findings, such as ensembles that were unloaded together with the model.
    gpu_count
        Number of usable GPUs.
    origin, trouble
        As in `ModelStatus`.
    """
    ready = tuple(n for n, (state, _) in sorted(states.items()) if state == "READY")
    others = [known for known in states.values() if known[0] != "READY"]
    state, reason = others[0] if others else ("not loaded", "")
    return ModelStatus(
        name,
        ready,
        "READY" if ready else state,
        "" if ready else reason,
        tuple(map(format_tensor_spec, config.inputs)) if config else (),
        tuple(map(format_tensor_spec, config.outputs)) if config else (),
        config.max_batch_size if config else 0,
        len(config.instance_names()) if config else 0,
        load_s if ready else 0.0,
        (*(_findings(config, gpu_count) if config else ()), *notes),
        standin if ready else "",
        tuple(_steps(config)) if config else (),
        origin=origin if ready else "",
        trouble=trouble,
    )


def _findings(config: ModelConfig, gpu_count: int) -> Iterator[str]:
    """Yield warnings about a configuration, and what a Python model lacks."""
    yield from findings(config, gpu_count=gpu_count)
    if config.backend != "python":
        return
    if not config.inputs:
        yield "it has no inputs: declare them with --input or in config.pbtxt"
    if not config.outputs:
        yield "it has no outputs: declare them with --output or in config.pbtxt"


def _steps(config: ModelConfig) -> Iterator[str]:
    """Yield the inputs and outputs of each step of an ensemble."""
    for step in config.message.ensemble_scheduling.step:
        taken, made = (
            ", ".join(names[key] for key in sorted(names))
            for names in (step.input_map, step.output_map)
        )
        version = "" if step.model_version == -1 else f" version {step.model_version}"
        yield f"{step.model_name}{version}: {taken} -> {made}"
