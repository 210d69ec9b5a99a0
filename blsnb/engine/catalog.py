"""Which model versions serve, and in which state the others are."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator, Mapping, Set
from typing import Any, NamedTuple

from blsnb.arguments import did_you_mean
from blsnb.engine.metrics.batching import ModelBatching
from blsnb.engine.metrics.version_counts import VersionCounts
from blsnb.engine.refusals import parse_version
from blsnb.engine.request.inflight import Execution
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.validation import RequestError
from blsnb.engine.served import Served
from blsnb.model.config import ModelConfig
from blsnb.pb_utils.backend import Refusal

_BATCHERS = ("dynamic_batching", "sequence_batching")
_READY = "READY"
_UNAVAILABLE = "UNAVAILABLE"


class VersionState(NamedTuple):
    """State of a model version, as Triton's repository index has it."""

    state: str
    reason: str = ""


_UNLOADED = VersionState(_UNAVAILABLE, "unloaded")


class Catalog:
    """The versions in service, by model and number."""

    def __init__(self) -> None:
        self._served: dict[str, dict[int, Served]] = {}
        self._newest: dict[str, Served] = {}
        """The default version, by model."""
        self._states: dict[str, dict[int, VersionState]] = {}
        # Not a WeakSet: only a dictionary can be copied in one step.
        self._ever_served = weakref.WeakValueDictionary[int, Served]()
        """Versions that serve, and withdrawn ones that still run."""

    def names(self) -> list[str]:
        """Return the names of the models that serve."""
        return sorted(self._served)

    def known_names(self) -> list[str]:
        """Return the names of all models that were loaded or failed to load."""
        return sorted(self._states.copy())

    def versions(self, name: str) -> dict[int, Served]:
        """Return the versions of a model that serve, by number."""
        return dict(self._served.get(name, {}))

    def all_versions(self) -> list[Served]:
        """Return every version that serves."""
        return [
            version
            for versions in list(self._served.values())
            for version in list(versions.values())
        ]

    def replace_abandoned(self, root: RootRequest) -> list[Execution]:
        """Replace the instances that are busy with an ended request; return these."""
        return [
            execution
            for version in self._ever()
            for execution in version.replace_abandoned(root)
        ]

    def states(self, name: str) -> dict[int, VersionState]:
        """Return the state of each version of a model."""
        return dict(self._states.get(name, {}))

    def is_unloaded(self, name: str) -> bool:
        """Whether a model has served and was unloaded."""
        states = self._states.get(name, {}).values()
        return bool(states) and all(each.reason == "unloaded" for each in states)

    def put(self, name: str, versions: dict[int, Served]) -> list[Served]:
        """Start serving versions; return those that they replace."""
        old = self._served.get(name, {})
        for version in versions.values():
            self._continue_counts(version)
        self._ever_served.update({id(each): each for each in versions.values()})
        self._served[name] = versions
        self._newest[name] = versions[max(versions)]
        gone = dict.fromkeys(old, _UNLOADED)
        ready = dict.fromkeys(versions, VersionState(_READY))
        # Triton lists every version that it ever tried to load.
        self._states[name] = self.states(name) | gone | ready
        return [each for n, each in old.items() if versions.get(n) is not each]

    def _continue_counts(self, version: Served) -> None:
        """Let a load continue the counts of an earlier one that is not gone yet."""
        alive = self.alive()
        if version in alive:
            return
        for each in alive:
            if each.counts.labels == version.counts.labels:
                version.counts = each.counts
        version.counts.add(version)

    def alive(self) -> list[Served]:
        """Return the versions that serve, and withdrawn ones that still run."""
        return [
            each
            for each in self._ever()
            if each.is_running
            or self.versions(each.info.name).get(each.info.version) is each
        ]

    def _ever(self) -> list[Served]:
        """Return the versions that serve, and withdrawn ones that are referenced."""
        known = (reference() for reference in self._ever_served.valuerefs())
        return [each for each in known if each is not None]

    def counts(self) -> list[VersionCounts]:
        """Return the counts of these versions, by name and number."""
        counts = {id(each.counts): each.counts for each in self.alive()}
        return sorted(counts.values(), key=lambda each: (each.name, each.number))

    @contextlib.contextmanager
    def loading(self, name: str, numbers: Set[int]) -> Iterator[None]:
        """List versions as ``LOADING`` in the block, except for those that serve."""
        before, serving = self._states.get(name), self.versions(name)
        loading = dict.fromkeys(numbers - serving.keys(), VersionState("LOADING"))
        self._states[name] = self.states(name) | loading
        try:
            yield
        finally:
            if before is None:
                del self._states[name]
            else:
                self._states[name] = before

    def put_failures(
        self, name: str, before: Mapping[int, VersionState], reasons: Mapping[int, str]
    ) -> None:
        """Record the states of the versions after a failed load.

        Parameters
        ----------
        before
            The states of the versions before it.
        reasons
            Why it failed, by version; ``"unloaded"`` for those that did not fail.
        """
        serving = self._served.get(name, {})
        failed = {
            number: VersionState(_UNAVAILABLE, reason)
            for number, reason in reasons.items()
            if number not in serving
        }
        troubled = {
            number: VersionState(_READY, served.trouble)
            for number, served in serving.items()
            if served.trouble
        }
        self._states[name] = {**before, **failed, **troubled}

    def remove(self, name: str) -> list[Served]:
        """Stop serving a model and return its versions."""
        versions = self._served.pop(name, {})
        self._newest.pop(name, None)
        for number in versions:
            self._states[name][number] = _UNLOADED
        return list(versions.values())

    def forget(self, name: str) -> None:
        """Forget the failed load of a model that was removed."""
        if name not in self._served:
            self._states.pop(name, None)

    def config(self, name: str, version: int = -1) -> ModelConfig | None:
        """Return the configuration of a model that serves, else None."""
        try:
            return self.find(name, version).config
        except RequestError:
            return None

    def find(self, name: str, version: int = -1) -> Served:
        """Return the version of a model that serves a request.

        Raises
        ------
        RequestError
            No version can serve; the text is Triton's.

        References
        ----------
        core: src/model_repository_manager.cc, ModelRepositoryManager::GetModel
        """
        if version == -1:
            served = self._newest.get(name)
        else:
            served = self._served.get(name, {}).get(version)
        if served is not None:
            return served
        raise self._refusal(name, version)

    def _refusal(self, name: str, version: int) -> RequestError:
        known = f"Request for unknown model: '{name}'"
        states = self._states.get(name)
        if states is None:
            return RequestError(
                f"{known} is not found", "NOT_FOUND", self.advice_on_names(name)
            )
        if version != -1 and version in states:
            text = f"{known} version {version} is not at ready state"
            return RequestError(text, "UNAVAILABLE", self._serving(name))
        if version != -1:
            text = f"{known} version {version} is not found"
            return RequestError(text, "NOT_FOUND", self._serving(name))
        advice = f"It is not loaded: %triton load {name}, or server.load({name!r})."
        return RequestError(f"{known} has no available versions", "NOT_FOUND", advice)

    def advice_on_names(self, name: str) -> str:
        """Return advice for an unknown name: a similar one, and the loaded models."""
        known = self.names()
        loaded = f"Models that are loaded: {', '.join(known) or 'none'}."
        return " ".join(filter(None, (did_you_mean(name, known), loaded)))

    def _serving(self, name: str) -> str:
        numbers = ", ".join(map(str, sorted(self._served.get(name, {})))) or "none"
        return (
            f"Versions of '{name}' that serve: {numbers}. Without a version_policy in "
            "the configuration only the newest does."
        )

    def is_ready(self, name: str, version: str) -> bool:
        """Whether a model, or a version of it, can serve.

        Raises
        ------
        Refusal
            The version is not a number; the text is Triton's.
        """
        try:
            return self.is_model_ready(name, parse_version(version))
        except RequestError as error:
            raise Refusal(error.message) from None

    def is_model_ready(self, name: str, number: int = -1) -> bool:
        """Whether a model, or a version of it, can serve; an unknown one cannot."""
        try:
            served = self.find(name, number)
        except RequestError:
            return False
        return not served.has_ready_hook or not served.not_ready_reason()

    def index(self, name: str) -> list[dict[str, str]]:
        """Return the rows of a model in Triton's repository index.

        A model that was never loaded has one row; a model none of whose versions could
        be loaded has no rows.
        """
        if name not in self._states:
            return [{"name": name}]
        return [
            {"name": name, "version": str(number), "state": state}
            | ({"reason": reason} if reason else {})
            for number, (state, reason) in sorted(self.current_states(name).items())
        ]

    def current_states(self, name: str) -> dict[int, VersionState]:
        """Return the states, with unloaded versions whose instances still run."""
        states = self.states(name)
        if _UNLOADED not in states.values():
            return states
        for version in self._ever():
            number = version.info.version
            unloaded = version.info.name == name and states.get(number) == _UNLOADED
            if unloaded and version.is_running:
                states[number] = VersionState("UNLOADING")
        return states

    def statistics(
        self, name: str | None = None, version: int = -1
    ) -> list[dict[str, Any]]:
        """Return Triton's statistics rows of one model, or of all that serve.

        Raises
        ------
        RequestError
            The model does not serve; the text is Triton's.
        """
        if name is None:
            return [row for each in self.names() for row in self.statistics(each)]
        return [each.statistics.as_dict() for each in self._counted(name, version)]

    def batching(self, name: str, version: int = -1) -> ModelBatching:
        """Return how a version's requests were batched; by default the newest's.

        Raises
        ------
        RequestError
            The model does not serve; the text is Triton's.
        """
        served = self._counted(name, version)[-1]
        batcher = served.config.scheduling
        return served.statistics.batched(batcher if batcher in _BATCHERS else "")

    def _counted(self, name: str, version: int) -> list[Served]:
        served = self.versions(name)
        if not served:
            text = f"requested model '{name}' is not available"
            raise RequestError(text, advice=self.advice_on_names(name))
        if version not in (-1, *served):
            raise RequestError(
                f"requested model version is not available for model '{name}'"
            )
        return [served[n] for n in sorted(served) if version in (-1, n)]
