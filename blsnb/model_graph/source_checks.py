"""Check a model's sources without a run: names, tensors, streams, BLS calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from blsnb.arguments import did_you_mean
from blsnb.model.backend_fields import MODEL_FILENAME
from blsnb.model.config import ModelConfig
from blsnb.model_graph.finding import Finding
from blsnb.model_graph.findings import call_findings
from blsnb.model_graph.hooks import hook_findings
from blsnb.model_graph.sources.bls_calls import bls_calls
from blsnb.model_graph.sources.possible import Evaluator
from blsnb.model_graph.sources.scopes import Scope
from blsnb.model_graph.sources.sent_tensors import method, sent_tensor
from blsnb.model_graph.sources.source import Source
from blsnb.model_graph.sources.source_files import SourceFiles, version_folder
from blsnb.parts.server_parts import ServerParts

_FINAL = b"TRITONSERVER_RESPONSE_COMPLETE_FINAL"


class _Configs(Mapping[str, ModelConfig]):
    """Configurations of a server's models; empty for a model that is not loaded.

    The model may complete the configuration in its folder when it is loaded.
    """

    def __init__(self, parts: ServerParts) -> None:
        self._parts = parts

    def __getitem__(self, name: str) -> ModelConfig:
        config = self._parts.engine.catalog.config(name)
        if config is not None:
            return config
        if self._parts.repository.directory(name) is None:
            raise KeyError(name)
        return ModelConfig()

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts.repository.names())

    def __len__(self) -> int:
        return len(self._parts.repository.names())


def check_model(parts: ServerParts, name: str) -> list[Finding]:
    """Return the probable faults in a model's sources, in order of lines."""
    config = parts.engine.catalog.config(name)
    folder = source_folder(parts, name)
    if config is None or folder is None:
        return []
    files = SourceFiles(folder)
    sources = [found for found in map(files.valid_source, files.paths()) if found]
    found = [
        *(each for source in sources for each in name_findings(name, source)),
        *(each for source in sources for each in _tensors(name, source, config)),
        *_hooks(name, config, files),
        *_stream(name, config, sources),
        *_calls(name, config, sources, _Configs(parts)),
    ]
    return sorted(dict.fromkeys(found), key=lambda finding: _line(finding.place))


def source_folder(parts: ServerParts, name: str) -> Path | None:
    """Return the folder of a loaded model's sources; None if it has none."""
    directory = parts.repository.directory(name)
    config = parts.engine.catalog.config(name)
    if directory is None or config is None:
        return None
    return version_folder(directory, config)


def _line(place: str) -> int:
    number = place.rpartition(":")[2]
    return int(number) if number.isdecimal() else 0


def _hooks(name: str, config: ModelConfig, files: SourceFiles) -> Iterator[Finding]:
    source = files.valid_source(config.default_model_filename or MODEL_FILENAME)
    if config.backend == "python" and source is not None:
        yield from hook_findings(name, source)


def name_findings(name: str, source: Source) -> Iterator[Finding]:
    """Yield undefined names and unused imports, as pyflakes finds them."""
    # Deferred: loading the extension must not import it.
    from pyflakes import checker, messages

    kinds = messages.UndefinedName, messages.UndefinedLocal, messages.UnusedImport
    for found in checker.Checker(source.tree, source.path).messages:
        if isinstance(found, kinds):
            text = str(found.message % found.message_args)
            yield Finding(name, text, f"{source.path}:{found.lineno}", is_fault=False)


def _tensors(name: str, source: Source, config: ModelConfig) -> Iterator[Finding]:
    """Yield tensors that contradict the configuration."""
    evaluator = Evaluator(config.parameters)
    for call, function in source.calls:
        scope = Scope(source, function)
        if method(call) == "get_input_tensor_by_name":
            text = _input_text(call, scope, evaluator, config)
        elif method(call) == "InferenceResponse":
            for line, text in _output_texts(call, scope, evaluator, config):
                yield Finding(name, text, f"{source.path}:{line}")
            continue
        else:
            continue
        if text:
            yield Finding(name, text, f"{source.path}:{call.lineno}")


def _input_text(
    call: ast.Call, scope: Scope, evaluator: Evaluator, config: ModelConfig
) -> str:
    words = [*call.args, *(word.value for word in call.keywords)]
    name = evaluator.possible(words[1], scope).only if len(words) == 2 else None
    declared = [tensor.name for tensor in config.inputs]
    known = [*declared, *config.scheduler_inputs]
    if not isinstance(name, str) or not declared or name in known:
        return ""
    text = f"reads input '{name}', which the configuration does not declare"
    return f"{text}. {did_you_mean(name, declared)}".rstrip(" .")


def _output_texts(
    call: ast.Call, scope: Scope, evaluator: Evaluator, config: ModelConfig
) -> Iterator[tuple[int, str]]:
    declared = {tensor.name: tensor for tensor in config.outputs}
    given = [*call.args, *(w.value for w in call.keywords if w.arg == "output_tensors")]
    held, where = evaluator.followed(given[0], scope) if given else (None, scope)
    states = {state.output_name for state in config.message.sequence_batching.state}
    if not declared or not isinstance(held, ast.List | ast.Tuple):
        return
    for item in held.elts:
        sent = sent_tensor(item, where, evaluator)
        if sent is None or sent.own_input or sent.name in states:
            continue
        expected = declared.get(sent.name)
        if expected is None:
            text = f"sends output '{sent.name}', which the configuration does not"
            advice = did_you_mean(sent.name, list(declared))
            yield item.lineno, f"{text} declare. {advice}".rstrip(" .")
        elif sent.datatype not in ("", expected.datatype) and expected.datatype:
            yield (
                item.lineno,
                f"sends output '{sent.name}' as {sent.datatype}; the configuration "
                f"declares {expected.datatype}",
            )


def _stream(name: str, config: ModelConfig, sources: list[Source]) -> Iterator[Finding]:
    """Yield a finding if a decoupled model never sends the final flag."""
    if not config.decoupled or config.is_ensemble or not sources:
        return
    if any(_FINAL.decode() in ast.dump(source.tree) for source in sources):
        return
    sends = [
        (source, call)
        for source in sources
        for call, _ in source.calls
        if method(call) == "send"
    ]
    if sends and not any(call.keywords or len(call.args) > 1 for _, call in sends):
        source, call = sends[-1]
        text = (
            "never sends the final flag: its requests do not end. After the last "
            "response call sender.send(flags="
            "pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)"
        )
        yield Finding(name, text, f"{source.path}:{call.lineno}")


def _calls(
    name: str, config: ModelConfig, sources: list[Source], configs: _Configs
) -> Iterator[Finding]:
    evaluator = Evaluator(config.parameters)
    for source in sources:
        for call in bls_calls(source, evaluator):
            yield from call_findings(name, call, f"{call.file}:{call.line}", configs)
