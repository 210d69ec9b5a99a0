"""What a ``model.py`` imports as ``pb_utils``, of Triton's newest release.

While ``model.py`` itself is imported only what is defined below is there; the
names that come from ``c_python_backend_utils`` are added afterwards.
"""

import json as json
import struct as struct
from typing import Any, Final

import numpy
from c_python_backend_utils import TRITONSERVER_MEMORY_CPU as TRITONSERVER_MEMORY_CPU
from c_python_backend_utils import TRITONSERVER_MEMORY_GPU as TRITONSERVER_MEMORY_GPU
from c_python_backend_utils import InferenceRequest as InferenceRequest
from c_python_backend_utils import InferenceResponse as InferenceResponse
from c_python_backend_utils import Logger as Logger
from c_python_backend_utils import MetricFamily as MetricFamily
from c_python_backend_utils import PreferredMemory as PreferredMemory
from c_python_backend_utils import Tensor as Tensor
from c_python_backend_utils import TritonError as TritonError
from c_python_backend_utils import TritonModelException as TritonModelException
from c_python_backend_utils import is_model_ready as is_model_ready
from c_python_backend_utils import load_model as load_model
from c_python_backend_utils import unload_model as unload_model
from numpy.typing import NDArray

np = numpy

TRITONSERVER_REQUEST_FLAG_SEQUENCE_START: Final = 1
TRITONSERVER_REQUEST_FLAG_SEQUENCE_END: Final = 2
TRITONSERVER_RESPONSE_COMPLETE_FINAL: Final = 1
TRITONSERVER_REQUEST_RELEASE_ALL: Final = 1
TRITONSERVER_REQUEST_RELEASE_RESCHEDULE: Final = 2
TRITON_STRING_TO_NUMPY: dict[str, type]

# Tensors and configurations are annotated as if they were always found; only an
# optional input needs a look at whether it is None.
def get_input_tensor_by_name(
    inference_request: InferenceRequest, name: str
) -> Tensor | Any:
    """Return the request's input of that name, or None."""

def get_output_tensor_by_name(
    inference_response: InferenceResponse, name: str
) -> Tensor | Any:
    """Return the response's output of that name, or None."""

def get_input_config_by_name(
    model_config: dict[str, Any], name: str
) -> dict[str, Any] | Any:
    """Return the configuration of that input, or None."""

def get_output_config_by_name(
    model_config: dict[str, Any], name: str
) -> dict[str, Any] | Any:
    """Return the configuration of that output, or None."""

def using_decoupled_model_transaction_policy(model_config: dict[str, Any]) -> bool:
    """Whether the configuration makes the model decoupled."""

def triton_string_to_numpy(triton_type_string: str) -> type:
    """Return the NumPy type of ``"TYPE_FP32"``; KeyError if it has none."""

def triton_to_numpy_type(data_type: int) -> type | None:
    """Return the NumPy type of a backend's number, or None."""

def numpy_to_triton_type(data_type: type | numpy.dtype[Any]) -> int | None:
    """Return the backend's number of a NumPy type, or None."""

def serialize_byte_tensor(input_tensor: NDArray[Any]) -> bytes | tuple[()] | None:
    """Return elements in wire form; an empty tuple for no elements."""

def deserialize_bytes_tensor(
    encoded_tensor: bytes | bytearray | memoryview,
) -> NDArray[numpy.object_]:
    """Return the elements of the wire form, a flat array of ``bytes``."""

def get_model_dir() -> str:
    """Return the folder of the model's version; there once it was imported."""

class ModelConfig:
    """Configuration that ``auto_complete_config`` receives, edits and returns."""

    def __init__(self, model_config: str) -> None: ...
    def as_dict(self) -> dict[str, Any]:
        """Return the live configuration; changes to it take effect."""

    def set_max_batch_size(self, max_batch_size: int) -> None:
        """Raise the largest batch."""

    def set_dynamic_batching(self) -> None:
        """Choose the dynamic batcher."""

    def add_input(self, input: dict[str, Any]) -> None:
        """Declare ``name``, ``data_type``, ``dims``, if wanted ``optional``."""

    def add_output(self, output: dict[str, Any]) -> None:
        """Declare ``name``, ``data_type`` and ``dims``."""

    def set_model_transaction_policy(
        self, transaction_policy_dict: dict[str, Any]
    ) -> None:
        """Say whether the model is ``decoupled``."""
