"""What a server that is being closed says to those who ask it then."""

from __future__ import annotations

from blsnb.engine.request.validation import RequestError
from blsnb.pb_utils.message import RequestMessage

_TEXT = (
    "Server is stopping, scheduler for model has stopped accepting new inference "
    "requests"
)


def refusal(message: RequestMessage, scheduling: str) -> RequestError:
    """Return the refusal of a request that arrives while others are finished.

    Parameters
    ----------
    scheduling
        How its model is scheduled, as `ModelConfig.scheduling` has it.

    References
    ----------
    core: src/dynamic_batch_scheduler.cc, src/sequence_batch_scheduler.cc, Enqueue
    """
    prefix = f"[request id: {message.request_id or '<id_unknown>'}] "
    if scheduling == "sequence_batching":
        prefix = ""
    advice = "Ask before server.close() is called, or make a new blsnb.Server()."
    return RequestError(f"{prefix}{_TEXT}", "UNAVAILABLE", advice)
