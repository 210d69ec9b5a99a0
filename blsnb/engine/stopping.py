"""What a server that is being closed says to those who ask it then."""

from __future__ import annotations

from blsnb.engine.catalog import Catalog
from blsnb.engine.validation import RequestError
from blsnb.pb_utils.message import RequestMessage

_TEXT = (
    "Server is stopping, scheduler for model has stopped accepting new inference "
    "requests"
)


def refusal(message: RequestMessage, catalog: Catalog) -> RequestError:
    """Return why a request is refused that comes while others are finished.

    References
    ----------
    core: src/dynamic_batch_scheduler.cc, src/sequence_batch_scheduler.cc, Enqueue
    """
    try:
        config = catalog.find(message.model_name, message.model_version).config
    except RequestError as error:
        return error
    prefix = f"[request id: {message.request_id or '<id_unknown>'}] "
    if config.scheduling == "sequence_batching":
        prefix = ""
    advice = "Ask before server.close() is called, or make a new blsnb.Server()."
    return RequestError(f"{prefix}{_TEXT}", "UNAVAILABLE", advice)
