"""Fails in the way it is asked for: every method of `Ways` is one way."""

import asyncio
import contextlib
import json
import struct
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import triton_python_backend_utils as pb_utils


class Outer:
    class InnerError(Exception):
        pass


class TritonPythonModel:
    def execute(self, requests):
        how = pb_utils.get_input_tensor_by_name(requests[0], "HOW").as_numpy()[0].decode()
        return getattr(Ways, how)(requests)


def fine(text="fine"):
    tensor = pb_utils.Tensor("OUT", np.array([text], dtype=object))
    return pb_utils.InferenceResponse([tensor])


def deeper(error):
    raise error


def keep(error):
    try:
        deeper(error)
    except ValueError as caught:
        return caught


class Ways:
    """What execute raises or returns."""

    def nothing_wrong(requests):
        return [fine()]

    # Exceptions
    def value_error(requests):
        raise ValueError("boom")

    def key_error(requests):
        return {}["k"]

    def zero_division(requests):
        return 1 / 0

    def empty_message(requests):
        assert requests == []

    def class_only(requests):
        raise RuntimeError

    def nested_class(requests):
        raise Outer.InnerError("inside")

    def deeper_frames(requests):
        deeper(ValueError("from below"))

    def lambda_frame(requests):
        (lambda: deeper(ValueError("in a lambda")))()

    def cause(requests):
        try:
            deeper(ValueError("first"))
        except ValueError as first:
            raise RuntimeError("second") from first

    def context(requests):
        try:
            deeper(ValueError("first"))
        except ValueError:
            raise RuntimeError("second")

    def raised_again(requests):
        try:
            deeper(ValueError("raised again"))
        except ValueError:
            requests.clear
            raise

    def through_finally(requests):
        try:
            deeper(ValueError("on the way out"))
        finally:
            requests.clear

    def through_with(requests):
        with contextlib.nullcontext():
            deeper(ValueError("in a block"))

    def kept_and_raised(requests):
        kept = keep(ValueError("kept"))
        raise kept

    def from_a_generator(requests):
        for _ in (deeper(each) for each in [ValueError("in a generator")]):
            pass

    def in_a_thread(requests):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(deeper, ValueError("in a thread")).result()

    def non_ascii(requests):
        raise ValueError("größer → 大")

    def newlines(requests):
        raise ValueError("one\ntwo\n")

    def two_arguments(requests):
        raise ValueError("one", 2)

    def not_a_text(requests):
        raise ValueError(42)

    def with_note(requests):
        error = ValueError("noted")
        error.add_note("a note")
        raise error

    def json_error(requests):
        raise json.JSONDecodeError("not JSON", "{", 1)

    def struct_error(requests):
        struct.unpack("<I", b"a")

    def os_error(requests):
        raise OSError(2, "nothing there", "f.txt")

    def exception_group(requests):
        raise ExceptionGroup("several", [ValueError("a"), KeyError("b")])

    def stop_iteration(requests):
        next(iter(()))

    def system_exit(requests):
        sys.exit(3)

    def system_exit_text(requests):
        sys.exit("leaving")

    def keyboard_interrupt(requests):
        raise KeyboardInterrupt

    def model_exception(requests):
        raise pb_utils.TritonModelException("model says no")

    def triton_error_raised(requests):
        raise pb_utils.TritonError("not an exception")

    def bad_str(requests):
        class Unspeakable(Exception):
            def __str__(self):
                raise ValueError("no text")

        raise Unspeakable("x")

    def name_error(requests):
        return undefined_name  # noqa: F821

    def attribute_error(requests):
        return requests[0].model_name()

    def type_error_signature(requests):
        return pb_utils.Tensor("OUT", ["not an array"])

    # Wrong returns
    def too_many(requests):
        return [fine(), fine()]

    def too_few(requests):
        return []

    def a_tuple(requests):
        return (fine(),)

    def a_response(requests):
        return fine()

    def a_text(requests):
        return "fine"

    def a_number(requests):
        return 3

    def a_dict(requests):
        return {"OUT": 1}

    def an_array(requests):
        return np.zeros(1)

    def true(requests):
        return True

    def list_of_numbers(requests):
        return [1]

    def list_of_tensors(requests):
        return [pb_utils.Tensor("OUT", np.zeros(1, dtype=np.float32))]

    def list_of_errors(requests):
        return [pb_utils.TritonError("bare error")]

    def list_of_requests(requests):
        return requests

    def a_subclass_of_list(requests):
        return type("Responses", (list,), {})([fine()])

    def a_coroutine(requests):
        async def later():
            return [fine("from a coroutine")]

        return later()

    def a_coroutine_that_raises(requests):
        async def later():
            deeper(ValueError("in a coroutine"))

        return later()

    def a_coroutine_that_returns_a_tuple(requests):
        async def later():
            return (fine(),)

        return later()

    def a_future(requests):
        loop = asyncio.new_event_loop()
        future = loop.create_future()
        loop.close()
        return future

    def an_async_generator(requests):
        async def later():
            yield fine()

        return later()

    # Responses that are no success, or not a whole one
    def error_default(requests):
        return [pb_utils.InferenceResponse(error=pb_utils.TritonError("te msg"))]

    def error_empty(requests):
        return [pb_utils.InferenceResponse(error=pb_utils.TritonError(""))]

    def error_and_output(requests):
        error = pb_utils.TritonError("both", pb_utils.TritonError.NOT_FOUND)
        return [pb_utils.InferenceResponse(fine().output_tensors(), error)]

    def no_outputs(requests):
        return [pb_utils.InferenceResponse()]

    def other_output(requests):
        tensor = pb_utils.Tensor("UNKNOWN", np.zeros(2, dtype=np.float32))
        return [pb_utils.InferenceResponse([tensor])]

    def one_output_more(requests):
        tensor = pb_utils.Tensor("UNKNOWN", np.zeros(2, dtype=np.float32))
        return [pb_utils.InferenceResponse([tensor, *fine().output_tensors()])]

    def other_dtype(requests):
        tensor = pb_utils.Tensor("OUT", np.arange(3, dtype=np.int16))
        return [pb_utils.InferenceResponse([tensor])]

    def other_shape(requests):
        tensor = pb_utils.Tensor("OUT", np.array([["a", "b"], ["c", "d"]], dtype=object))
        return [pb_utils.InferenceResponse([tensor])]


for code in "UNKNOWN INTERNAL NOT_FOUND INVALID_ARG UNAVAILABLE UNSUPPORTED ALREADY_EXISTS CANCELLED".split():

    def error_of_code(requests, code=code):
        error = pb_utils.TritonError(f"as {code}", getattr(pb_utils.TritonError, code))
        return [pb_utils.InferenceResponse(error=error)]

    setattr(Ways, f"error_{code}", error_of_code)
