"""Compare a BLS pipeline with an equivalent ensemble."""

from __future__ import annotations

import copy
from dataclasses import dataclass

from blsnb.errors import BlsnbError
from blsnb.model.backend_fields import MODEL_FILENAME
from blsnb.model.config import ModelConfig
from blsnb.model_graph.ensemble_proposal import NotAnEnsembleError, ensemble_config
from blsnb.model_graph.sources.source_files import SourceFiles, version_folder
from blsnb.parts.server_parts import ServerParts
from blsnb.printable import printable_lines
from blsnb.results.replay import request_of
from blsnb.results.run import Run
from blsnb.results.traced import take_trace
from blsnb.tensors.difference import difference
from blsnb.tensors.ref import TensorRef


@dataclass(frozen=True, slots=True)
class EnsembleTrial:
    """A proposed ensemble and its comparison with the BLS pipeline.

    Parameters
    ----------
    pipeline
        Name of the BLS model.
    config
        The proposed configuration.
    summary
        Result of the comparison, or the reason why both were not compared.
    differences
        A sentence for each output that differs.
    """

    pipeline: str
    config: ModelConfig
    summary: str
    differences: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [self.config.to_pbtxt().rstrip("\n"), f"# {self.summary}"]
        lines += [f"# {each}" for each in self.differences]
        return printable_lines("\n".join(lines))


def try_as_ensemble(parts: ServerParts, name: str) -> EnsembleTrial:
    """Propose an ensemble in place of a BLS pipeline, and run both once.

    Both receive the inputs of the newest recorded run of the pipeline. The ensemble is
    removed afterwards.

    Raises
    ------
    NotAnEnsembleError
        The pipeline has no equivalent ensemble.
    ModelLoadError
        The ensemble does not load.
    """
    directory = parts.repository.directory(name)
    if directory is None:
        raise NotAnEnsembleError(" ".join(parts.repository.why_none(name)))
    config = parts.engine.catalog.config(name) or directory.config()
    folder = version_folder(directory, config)
    source = None if folder is None else SourceFiles(folder).source(MODEL_FILENAME)
    if source is None:
        raise NotAnEnsembleError(f"model '{name}' has no {MODEL_FILENAME}")
    proposed = ensemble_config(_free_name(parts, name), config, source)
    parts.models.define(proposed.name, None, config=proposed)
    try:
        return _compared(parts, name, proposed)
    finally:
        parts.models.remove(proposed.name)


def _free_name(parts: ServerParts, name: str) -> str:
    found, number = f"{name}_ensemble", 2
    while parts.reports.exists(found):
        found, number = f"{name}_ensemble_{number}", number + 1
    return found


def _compared(parts: ServerParts, name: str, config: ModelConfig) -> EnsembleTrial:
    kept = [run for run in parts.recorder.runs if run.calls and not run.of_client]
    runs = [run for run in kept if run.calls[0].model.name == name]
    if not runs:
        words = f"Run {name} once and repeat the command to compare both."
        return EnsembleTrial(name, config, words)
    trace = take_trace(runs[-1])
    try:
        message = request_of(trace, trace.spans[trace.roots[0]])
        here = parts.requests.replay(copy.copy(message))
        message.model_name = config.name
        there = parts.requests.replay(message)
    except BlsnbError as error:
        return EnsembleTrial(name, config, f"They could not be compared: {error}")
    return _outcome(name, config, here, there)


def _outcome(name: str, config: ModelConfig, here: Run, there: Run) -> EnsembleTrial:
    for run, model in ((here, name), (there, config.name)):
        if run.error is not None:
            return EnsembleTrial(name, config, f"{model} failed: {run.error}")
    outputs = _outputs(here), _outputs(there)
    found = [
        difference(outputs[1].get(each), outputs[0].get(each), each)
        for each in dict.fromkeys((*outputs[0], *outputs[1]))
    ]
    differing = tuple(f"{each.name}: {each.words}" for each in found if each)
    verdict = "differ" if differing else "agree in all outputs"
    words = (
        f"On the inputs of the last run both {verdict}; {name} took "
        f"{here.duration_ms:,.3f} ms, the ensemble {there.duration_ms:,.3f} ms."
    )
    return EnsembleTrial(name, config, words, differing)


def _outputs(run: Run) -> dict[str, TensorRef]:
    [root, *_] = run.trace.roots
    return {ref.name: ref for ref in run.trace.spans[root].outputs}
