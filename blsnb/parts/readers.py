"""Requests with any number of responses; refusals of a closing server."""

from __future__ import annotations

from collections.abc import Callable

from blsnb.engine.engine import Engine
from blsnb.engine.request.inflight import Caller
from blsnb.engine.request.lifetime import RootRequest
from blsnb.engine.request.open_requests import Begun, interruptible, stopping_refusal
from blsnb.engine.request.reader import Reader
from blsnb.engine.request.streaming import Readable, SingleResponse
from blsnb.errors import TraceError
from blsnb.parts.lifetime import ServerLifetime
from blsnb.pb_utils.message import RequestMessage
from blsnb.tensors.memory import HOST


class Readers:
    """Starts client requests whose responses are read one by one."""

    def __init__(self, engine: Engine, lifetime: ServerLifetime) -> None:
        self._engine = engine
        self._lifetime = lifetime
        self._router = engine.router
        self._open_requests = engine.open_requests
        self.before_request: Callable[[], None] | None = None
        """Called before each request while a folder is followed."""

    def prepare(self) -> None:
        """Refuse a request to a closed server; one that is stopping answers it.

        An open one first loads what was saved in followed folders.
        """
        requests = self._open_requests
        if self._lifetime.closed and (requests.is_closed or not requests.is_stopping):
            self._lifetime.check_open()
        if self.before_request is not None:
            self.before_request()

    def refuse_if_stopping(self, message: RequestMessage) -> None:
        """Refuse a request to a server that is closing.

        Raises
        ------
        RequestError
            With Triton's text.
        """
        if self._open_requests.is_stopping:
            catalog = self._engine.catalog
            served = catalog.find(message.model_name, message.fields.version)
            raise stopping_refusal(message, served.config.scheduling)

    def read(
        self, message: RequestMessage, begun: Begun | None = None, deadline_ns: int = 0
    ) -> Reader:
        """Start a network client's request, which may have any number of responses.

        Parameters
        ----------
        begun, deadline_ns
            As of `ClientRequests.answer`.

        Raises
        ------
        RequestError
            The request was refused.
        WouldHang
            Triton would never respond.
        """
        self.prepare()
        root = self._open_requests.open(deadline_ns, None, begun)
        root.record.of_client = True
        return self.reader(message, root)

    def reader(self, message: RequestMessage, root: RootRequest) -> Reader:
        """Start a request and return what reads its responses."""
        __tracebackhide__ = True
        message.memory = HOST
        caller = Caller(root, None, None, 0, is_client=True)
        responses: Readable | None = None
        try:
            with interruptible(root, self._open_requests.close):
                self.refuse_if_stopping(message)
                responses = self._router.route_many(message, caller)
            root.raise_ended(has_response=responses is not None)
        except BaseException:
            self._open_requests.close(root)
            raise
        assert responses is not None
        if isinstance(responses, SingleResponse):
            self._open_requests.close(root)
        check = self._lifetime.check_process
        return Reader(self._open_requests, root, responses, check)

    def check_recorded(self, message: RequestMessage) -> bool:
        """Refuse a request without the inputs of its model; return whether decoupled.

        A recording of a real server has the inputs that a sequence batcher added, too:
        they are left out. A model that does not serve refuses the request later, and
        the run says why.
        """
        catalog, name = self._engine.catalog, message.model_name
        config = catalog.config(name, message.fields.version)
        if config is None:
            return False
        added = config.scheduler_inputs
        given = message.inputs
        message.inputs = tuple(ref for ref in given if ref.name not in added)
        if not message.inputs and not all(spec.optional for spec in config.inputs):
            raise TraceError(
                f"the inputs of this call of {name!r} were not recorded: at "
                "trace_level='tensors' they are"
            )
        return catalog.find(name, message.fields.version).decoupled
