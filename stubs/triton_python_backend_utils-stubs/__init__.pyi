"""What a ``model.py`` imports as ``pb_utils``, of Triton's newest release.

While ``model.py`` itself is imported only what is defined below is there; the
names that come from ``c_python_backend_utils`` are added afterwards.
"""

import json as json
import struct as struct
from collections.abc import Buffer
from typing import Any, Final

import numpy
from c_python_backend_utils import (
    TRITONSERVER_MEMORY_CPU as TRITONSERVER_MEMORY_CPU,
    TRITONSERVER_MEMORY_GPU as TRITONSERVER_MEMORY_GPU,
    InferenceRequest as InferenceRequest,
    InferenceResponse as InferenceResponse,
    Logger as Logger,
    MetricFamily as MetricFamily,
    PreferredMemory as PreferredMemory,
    Tensor as Tensor,
    TritonError as TritonError,
    TritonModelException as TritonModelException,
    is_model_ready as is_model_ready,
    load_model as load_model,
    unload_model as unload_model,
)
from numpy.typing import NDArray

np = numpy
