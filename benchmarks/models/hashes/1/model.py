"""Computes without Python's lock: a digest of eight megabytes."""

import hashlib

import numpy as np
import triton_python_backend_utils as pb_utils

BLOCK = bytes(8 << 20)


def work():
    """Do what takes the time."""
    return hashlib.sha256(BLOCK).digest()


class TritonPythonModel:
    """Keeps a core busy for each request."""

    def execute(self, requests):
        """Compute for each request."""
        return [self._answer() for _ in requests]

    def _answer(self):
        digest = np.frombuffer(work(), np.uint8)
        return pb_utils.InferenceResponse([pb_utils.Tensor("Y", digest)])
