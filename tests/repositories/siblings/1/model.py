"""Imports what lies beside it, in the folder above, and its own package's parts."""

import beside
import numpy as np
import package.inner
import shadowed
import top
import triton_python_backend_utils as pb_utils

from . import beside as relative


class TritonPythonModel:
    def execute(self, requests):
        import late

        texts = [
            beside.WHERE,
            package.inner.WHERE,
            shadowed.WHERE,
            top.WHERE,
            late.WHERE,
            relative.WHERE,
            str(relative is beside),
        ]
        tensor = pb_utils.Tensor("OUT", np.array(texts, dtype=object))
        return [pb_utils.InferenceResponse([tensor])]
