"""Theirs: asks a real Triton server by gRPC, as any of its clients does."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import grpc
from tritonclient.grpc import service_pb2 as wire

from blsnb.backends import remote_messages as messages
from blsnb.errors import TritonServerError
from blsnb.parity.triton.answers import NO_ANSWER, Answer, Answers, Failure
from blsnb.parity.triton.server_process import ServerDiedError
from blsnb.pb_utils.message import RequestMessage

ASK_S = 10.0
"""What the server itself is asked takes no longer."""
_EMPTY_FINAL = "triton_enable_empty_final_response"
_FINAL = "triton_final_response"
_now = time.monotonic_ns


class Theirs:
    """The real server's side of a comparison.

    Parameters
    ----------
    stub
        gRPC's calls of the server.
    where
        Which server it is, in words.
    """

    def __init__(self, stub: Any, where: str) -> None:
        self._stub = stub
        self._where = where

    def __repr__(self) -> str:
        return f"<{self._where}>"

    def version(self) -> str:
        """Return the server's own version, such as ``2.51.0``.

        Raises
        ------
        TritonServerError
            It does not answer.
        """
        request = wire.ServerMetadataRequest()
        return str(self._told(self._stub.ServerMetadata, request).version)

    def is_ready(self, name: str) -> bool:
        """Whether a model serves there.

        Raises
        ------
        TritonServerError
            The server does not answer.
        """
        request = wire.ModelReadyRequest(name=name)
        return bool(self._told(self._stub.ModelReady, request).ready)

    def reasons(self) -> dict[str, str]:
        """Return why models do not serve, by those that were loaded and do not.

        Raises
        ------
        TritonServerError
            The server does not answer.
        """
        index = self._told(self._stub.RepositoryIndex, wire.RepositoryIndexRequest())
        ready = {row.name for row in index.models if row.state == "READY"}
        return {
            row.name: row.reason
            for row in index.models
            if row.state and row.name not in ready
        }

    def _told(self, call: Any, request: Any) -> Any:
        try:
            return call(request, timeout=ASK_S)
        except grpc.RpcError as error:
            # Its own text is twenty lines, of which this is one.
            raise TritonServerError(
                f"{self._where} does not answer: {error.details()}"
            ) from None

    def lives(self) -> bool:
        """Whether the server answers."""
        try:
            return bool(
                self._stub.ServerLive(wire.ServerLiveRequest(), timeout=ASK_S).live
            )
        except grpc.RpcError:
            return False

    def ask(
        self, message: RequestMessage, timeout_s: float, *, stream: bool, patient: bool
    ) -> Answers:
        """Make a request and wait for all of its responses.

        Parameters
        ----------
        stream
            Whether it has any number of them.
        patient
            Whether the time is how long we wait, and not the client's own deadline.

        Raises
        ------
        ServerDiedError
            The server is gone.
        """
        request = _request(message)
        asked = self._streamed if stream else self._inferred
        answers: list[Answer] = []
        began_ns = _now()
        try:
            for answer in asked(request, timeout_s, began_ns):
                answers.append(answer)
        except grpc.RpcError as error:
            failure = self._failure(error, timeout_s, patient)
            answers.append(Answer(failure=failure, at_ns=_now() - began_ns))
        return Answers(tuple(answers), _now() - began_ns, began_ns)

    def _inferred(
        self, request: Any, timeout_s: float, began_ns: int
    ) -> Iterator[Answer]:
        reply = self._stub.ModelInfer(request, timeout=timeout_s)
        at_ns = _now() - began_ns
        response = messages.response_of(reply)
        yield Answer(response.outputs, None, True, at_ns, response.parameters)

    def _streamed(
        self, request: Any, timeout_s: float, began_ns: int
    ) -> Iterator[Answer]:
        request.parameters[_EMPTY_FINAL].bool_param = True
        replies = self._stub.ModelStreamInfer(iter([request]), timeout=timeout_s)
        try:
            for reply in replies:
                yield _answer(reply, _now() - began_ns)
        finally:
            # Does nothing to one that has ended.
            replies.cancel()

    def _failure(self, error: Any, timeout_s: float, patient: bool) -> Failure:
        code = messages.code_of(error)
        if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
            if patient:
                return Failure(NO_ANSWER, f"no answer within {timeout_s:g} s")
            return Failure("DEADLINE_EXCEEDED", "Deadline Exceeded")
        if error.code() is grpc.StatusCode.UNAVAILABLE and not self.lives():
            raise ServerDiedError(
                f"{self._where} went away while it was asked: {error.details()}"
            ) from error
        return Failure(code, error.details() or "")


def _request(message: RequestMessage) -> Any:
    request = messages.request_of(message, message.model_name)
    if message.fields.version >= 0:
        request.model_version = str(message.fields.version)
    return request


def _answer(reply: Any, at_ns: int) -> Answer:
    final = bool(reply.infer_response.parameters[_FINAL].bool_param)
    if reply.error_message:
        # A stream carries the text of an error and no status code.
        failure = Failure("", reply.error_message)
        return Answer(failure=failure, final=final, at_ns=at_ns)
    response = messages.response_of(reply.infer_response)
    return Answer(response.outputs, None, final, at_ns, response.parameters)
