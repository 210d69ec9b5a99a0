"""gRPC requests of conformance tests to Triton and to blsnb."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import grpc
from tritonclient.grpc import service_pb2 as pb

from .targets import Answer, Failure, Request, Value


class OverGrpc:
    """Sends requests to a server, and reads its responses."""

    stub: Any

    def normalised(self, text: str) -> str:
        """Replace the server's own paths."""
        raise NotImplementedError

    def infer(self, request: Request) -> Answer:
        """Send one request and wait for its response."""
        return self.infer_together([request])[0]

    def infer_together(self, requests: Sequence[Request]) -> list[Answer]:
        """Send all requests before waiting for the first response."""
        call = self.stub.ModelInfer.future
        futures = [
            call(message(request), timeout=request.deadline_s) for request in requests
        ]
        return [self.outcome(future) for future in futures]

    def stream(self, request: Request, cancel_after: int = 0) -> list[Answer]:
        """Send one request on a stream of its own and collect every response."""
        answers: list[Answer] = []
        replies = self.stub.ModelStreamInfer(
            iter([message(request)]), timeout=request.deadline_s
        )
        try:
            for reply in replies:
                answers.append(self.streamed(reply))
                if len(answers) == cancel_after:
                    replies.cancel()
        except grpc.RpcError as error:
            answers.append(Answer(error=self.failure(error)))
        return answers

    def stream_together(self, requests: Sequence[Request]) -> list[list[Answer]]:
        """Send all requests, each on a stream of its own."""
        with ThreadPoolExecutor(len(requests)) as pool:
            return list(pool.map(self.stream, requests))

    def streamed(self, reply: pb.ModelStreamInferResponse) -> Answer:
        """Return the content of a response on a stream."""
        said = reply.infer_response.parameters.get("triton_final_response")
        final = None if said is None else said.bool_param
        if reply.error_message:
            # A stream carries the text of an error and no status code.
            failure = Failure("", self.normalised(reply.error_message))
            return Answer(error=failure, final=final)
        return replace(self.answer_of(reply.infer_response), final=final)

    def outcome(self, future: Any) -> Answer:
        """Wait for a call, and return its response or error."""
        try:
            return self.answer_of(future.result())
        except grpc.RpcError as error:
            return Answer(error=self.failure(error))

    def answer_of(self, reply: pb.ModelInferResponse) -> Answer:
        """Return the content of a response."""
        pairs = zip(reply.outputs, reply.raw_output_contents, strict=True)
        outputs = {
            output.name: Value(output.datatype, tuple(output.shape), data)
            for output, data in pairs
        }
        return Answer(outputs)

    def failure(self, error: Any) -> Failure:
        """Return the status and the details of an error."""
        text = self.normalised(error.details() or "")
        # gRPC's own words for one thing.
        text = text.replace("Stream removed (Deadline Exceeded)", "Deadline Exceeded")
        return Failure(error.code().name, text)


def message(request: Request) -> pb.ModelInferRequest:
    """Return a request message, unchecked."""
    built = pb.ModelInferRequest(
        model_name=request.model, model_version=request.version, id=request.id
    )
    for name, value in request.inputs:
        tensor = built.inputs.add(name=name, datatype=value.datatype)
        tensor.shape.extend(value.shape)
        built.raw_input_contents.append(value.data)
    for name in request.outputs:
        built.outputs.add(name=name)
    for key, given in request.parameters.items():
        put(built.parameters[key], given)
    return built


def put(parameter: pb.InferParameter, given: bool | int | str) -> None:
    """Store a request parameter in the field of its Python type."""
    if isinstance(given, bool):
        parameter.bool_param = given
    elif isinstance(given, int):
        parameter.int64_param = given
    else:
        parameter.string_param = given
