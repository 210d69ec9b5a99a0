"""Loader: from a model's folder to versions that serve, or Triton's text why not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from blsnb.engine.bls import InstanceBackend, Router
from blsnb.engine.instance import HookFailed, ModelInstance
from blsnb.engine.pool import InstancePool
from blsnb.engine.version import ServedVersion
from blsnb.errors import ModelConfigError, ModelLoadError
from blsnb.model.complete import check_returned, complete
from blsnb.model.config import InstanceSpec, ModelConfig
from blsnb.model.normalise import normalise
from blsnb.model.validate import (
    validate_create,
    validate_instances,
    validate_poll,
)
from blsnb.pb_utils import config as pb_config
from blsnb.pb_utils.backend import Backend, not_yet
from blsnb.repository.directory import ModelDirectory
from blsnb.trace.events import ModelInfo, Origin

_CODE_TEXTS = {
    "INTERNAL": "Internal",
    "INVALID_ARG": "Invalid argument",
    "NOT_FOUND": "Not found",
    "UNAVAILABLE": "Unavailable",
    "UNSUPPORTED": "Unsupported",
    "ALREADY_EXISTS": "Already exists",
    "UNKNOWN": "Unknown",
}
_OWN_THREAD = ("BLSNB_THREAD", "instance")


class Loader:
    """Makes instances of models.

    Parameters
    ----------
    router
        Runs the requests that instances make.
    pool_lock
        One lock for the waits of all models.
    log
        Takes model, level, text, file and line of a model's log.
    """

    def __init__(
        self,
        router: Router,
        pool_lock: threading.Lock,
        log: Callable[[str, str, str, str, int], None],
    ) -> None:
        self._router = router
        self._pool_lock = pool_lock
        self._log = log
        self.origins: dict[str, Origin] = {}
        """The cell that a source came from, by its text."""

    def load(self, directory: ModelDirectory) -> dict[int, ServedVersion]:
        """Make every version of a model that its policy asks for.

        Raises
        ------
        ModelLoadError
            With the text of Triton's load call; nothing of the model is left.
        """
        config = self._poll(directory)
        numbers = directory.chosen_versions(config)
        if not numbers:
            reason = (
                "at least one version must be available under the version policy of "
                f"model '{directory.name}'"
            )
            raise _load_failed(directory.name, f"{reason}\n", reason)
        loaded: dict[int, ServedVersion] = {}
        try:
            for number in numbers:
                loaded[number] = self._load_version(directory, config, number)
        except ModelLoadError:
            for version in loaded.values():
                version.retire()
            raise
        return loaded

    def _poll(self, directory: ModelDirectory) -> ModelConfig:
        """Read and check the configuration, as Triton does before it loads."""
        try:
            config = normalise(
                directory.config(),
                model_name=directory.name,
                has_model_py=directory.has_model_file(),
            )
            validate_poll(config)
        except ModelConfigError as error:
            raise ModelLoadError(
                f"failed to load '{directory.name}', failed to poll from model "
                "repository",
                code="INTERNAL",
                reason=error.message,
                advice=error.advice,
                stage="poll",
            ) from error
        if config.scheduling == "sequence_batching":
            raise not_yet("sequence_batching")
        return config

    def _load_version(
        self, directory: ModelDirectory, config: ModelConfig, number: int
    ) -> ServedVersion:
        model_file = directory.version_dir(number) / config.default_model_filename
        made: list[ModelInstance] = []
        try:
            validate_instances(config)
            spare = self._first(model_file, config, made)
            config = self._complete(spare, config)
            validate_create(config, model_dir=directory.path)
            if config.decoupled:
                raise not_yet("a decoupled model")
            instances = self._instances(
                directory, config, number, spare, model_file, made
            )
        except (HookFailed, ModelConfigError) as error:
            for instance in made:
                instance.discard()
            raise _create_failed(directory.name, number, error) from error
        except BaseException:
            for instance in made:
                instance.discard()
            raise
        return self._serve(directory, config, number, instances)

    def _first(
        self, model_file: Path, config: ModelConfig, made: list[ModelInstance]
    ) -> ModelInstance:
        """Import the model once, to see what it is and let it complete its config."""
        if not model_file.is_file():
            raise HookFailed(f"Python model file not found in '{model_file}'")
        if model_file.suffix != ".py":
            raise HookFailed(
                f"Model name must end with '.py'. Model name is \"{model_file.name}\"."
            )
        instance = self._make(config, config.instance_names()[0], model_file)
        made.append(instance)
        instance.load()
        return instance

    def _make(
        self, config: ModelConfig, spec: InstanceSpec, model_file: Path
    ) -> ModelInstance:
        def bind(instance: ModelInstance) -> Backend:
            return InstanceBackend(self._router, instance, write)

        def write(level: str, text: str, filename: str, line: int) -> None:
            self._log(config.name, level, text, filename, line)

        name, value = _OWN_THREAD
        own_thread = config.parameters.get(name) == value
        return ModelInstance(spec.name, model_file, bind, own_thread)

    def _complete(self, spare: ModelInstance, config: ModelConfig) -> ModelConfig:
        if not spare.completes_config:
            return config
        returned = spare.auto_complete(pb_config.ModelConfig(config.to_json()))
        completed = check_returned(config.name, returned)
        return normalise(complete(config, completed), model_name=config.name)

    def _instances(
        self,
        directory: ModelDirectory,
        config: ModelConfig,
        number: int,
        spare: ModelInstance,
        model_file: Path,
        made: list[ModelInstance],
    ) -> list[ModelInstance]:
        """Make and initialize the instances.

        The first import serves as the first instance, unless the model completed
        its configuration in it: on Triton that happens in a process of its own.
        """
        instances = []
        for spec in config.instance_names():
            if spare.name == spec.name and not spare.completes_config:
                instance = spare
            else:
                instance = self._make(config, spec, model_file)
                made.append(instance)
                instance.load()
            instance.initialize(_args(directory, config, number, spec))
            instances.append(instance)
        if spare not in instances:
            spare.discard()
        return instances

    def _serve(
        self,
        directory: ModelDirectory,
        config: ModelConfig,
        number: int,
        instances: list[ModelInstance],
    ) -> ServedVersion:
        specs = {spec.name: spec for spec in config.instance_names()}
        model_file = directory.version_dir(number) / config.default_model_filename

        def renew(old: ModelInstance) -> ModelInstance:
            fresh = self._make(config, specs[old.name], model_file)
            try:
                fresh.load()
                fresh.initialize(_args(directory, config, number, specs[old.name]))
            except BaseException:
                fresh.discard()
                raise
            return fresh

        kind = config.instance_names()[0].kind
        source = model_file.read_text(encoding="utf-8")
        info = ModelInfo(
            directory.name,
            number,
            config.backend,
            "gpu:0" if kind == "GPU" else "cpu",
            "model",
            source,
            self.origins.get(source),
        )
        pool = InstancePool(instances, self._pool_lock, renew)
        return ServedVersion(config, info, pool)


def _args(
    directory: ModelDirectory, config: ModelConfig, number: int, spec: InstanceSpec
) -> dict[str, str]:
    """Return what ``initialize`` receives: strings only."""
    return {
        "model_config": config.to_json(),
        "model_instance_kind": spec.kind,
        "model_instance_name": spec.name,
        "model_instance_device_id": str(spec.device_id),
        "model_repository": str(directory.path),
        "model_version": str(number),
        "model_name": directory.name,
    }


def _load_failed(
    name: str, answer: str, reason: str, advice: str = ""
) -> ModelLoadError:
    return ModelLoadError(
        f"load failed for model '{name}': {answer}", reason=reason, advice=advice
    )


def _create_failed(
    name: str, number: int, error: HookFailed | ModelConfigError
) -> ModelLoadError:
    if isinstance(error, HookFailed):
        notes = getattr(error.cause, "__notes__", ())
        reason, advice = f"Internal: {error.text}", "\n".join(notes)
    else:
        reason, advice = f"{_CODE_TEXTS[error.code]}: {error.message}", error.advice
    answer = f"version {number} is at UNAVAILABLE state: {reason};\n"
    return _load_failed(name, answer, reason, advice)
