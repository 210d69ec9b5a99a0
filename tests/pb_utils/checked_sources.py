"""Sources for type checkers: correct models, and wrong lines."""

from pathlib import Path

from notebooks.model_cells import model_cells

ROOT = Path(__file__).parents[2]
STUBS = ROOT / "stubs"
NAMES = ("c_python_backend_utils", "triton_python_backend_utils")
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

PLANTED = """
import numpy as np
import triton_python_backend_utils as pb_utils


def execute(request: pb_utils.InferenceRequest, flag: bool) -> None:
    x = pb_utils.get_input_tensor_by_name(request, "X")
    array = np.zeros(3, np.float32)
"""
RIGHT = [
    "x.as_numpy().sum()",
    "pb_utils.InferenceResponse([pb_utils.Tensor('Y', array)])",
    "pb_utils.InferenceResponse((x,), None, {'a': 1, 'b': True, 'c': 'x'})",
    "pb_utils.InferenceResponse(error=pb_utils.TritonError('no'))",
    "pb_utils.TritonError('no', code=pb_utils.TritonError.NOT_FOUND).code().name",
    "request.get_response_sender().send(flags=1)",
    "pb_utils.InferenceRequest(model_name='m', inputs=[x], "
    "requested_output_names=('Y',), trace=request.trace(), parameters={'a': 1}, "
    "preferred_memory=pb_utils.PreferredMemory(pb_utils.TRITONSERVER_MEMORY_CPU))",
    "pb_utils.InferenceRequest('id', 7, [x], ['Y'], 'm', 1)",
    "request.exec().error().message()",
    "[each.output_tensors() for each in request.exec(decoupled=True)]",
    "request.exec(True).cancel()",
    "request.async_exec().add_done_callback(lambda done: done.result().has_error())",
    "request.async_exec(decoupled=flag)",
    "pb_utils.Logger.log('text', pb_utils.Logger.WARNING)",
    "pb_utils.Tensor.from_dlpack('Y', array).shape().count(3)",
    "np.from_dlpack(x)",
    "pb_utils.MetricFamily('n', 'd', pb_utils.MetricFamily.GAUGE)"
    ".Metric(labels={'a': 'b'}).set(1)",
    "pb_utils.load_model('m', config='{}', files={'file:1/model.py': b''})",
    "array.astype(pb_utils.triton_string_to_numpy('TYPE_FP32'))",
    "pb_utils.np.zeros(3)",
]
WRONG = [
    ("x.as_nump()", "no attribute"),
    ("x.name.upper()", "no attribute"),
    ("request.model_name()", "no attribute"),
    ("request.request_id().decode()", "no attribute"),
    ("request.parameters()['a']", "index"),
    ("request.exec(decoupled=True).has_error()", "no attribute"),
    ("request.exec().cancel()", "no attribute"),
    ("request.async_exec().has_error()", "no attribute"),
    ("pb_utils.Logger.log_warning('text')", "no attribute"),
    ("pb_utils.Logger.log('text', 2)", 'Argument 2 to "log"'),
    ("pb_utils.Logger()", "Too few arguments"),
    ("pb_utils.Tensor('Y', [1.0])", 'Argument 2 to "Tensor"'),
    ("pb_utils.Tensor('Y', np.float32(1))", 'Argument 2 to "Tensor"'),
    ("pb_utils.Tensor(name='Y', array=array)", "Unexpected keyword"),
    ("pb_utils.InferenceResponse(x)", "Argument 1"),
    ("pb_utils.InferenceResponse(output_tensors=None)", "Argument"),
    ("pb_utils.InferenceResponse(error='no')", "Argument"),
    ("pb_utils.TritonError('no', 3)", "Argument 2"),
    ("pb_utils.TritonError.UNKNOWN = 3", "final"),
    ("pb_utils.PreferredMemory(1)", "Argument 1"),
    ("pb_utils.InferenceRequest(model_name='m', inputs=[x])", "No overload"),
    ("pb_utils.InferenceRequest([x], ['Y'], 'm')", "No overload"),
    (
        "pb_utils.InferenceRequest(model_name='m', inputs=[x], "
        "requested_output_names='Y')",
        "No overload",
    ),
    ("request.get_response_sender().send(request)", "Argument 1"),
    ("pb_utils.MetricFamily('n', 'd', 0)", "Argument 3"),
    ("pb_utils.InferenceResponseSender", "no attribute"),
    ("pb_utils.is_model_ready('m', 1)", "Argument 2"),
]


def sample_models():
    """Return the sources of all correct models, by name."""
    files = (ROOT / "tests" / "repositories").glob("*/1/model.py")
    named = {file.parents[1].name: file for file in sorted(files)}
    samples = {
        name: file.read_text(encoding="utf-8")
        for name, file in named.items()
        # The first two are wrong on purpose; a checker has no parent for the third.
        if not name.startswith("broken_") and name not in ("failing", "siblings")
    }
    for notebook in NOTEBOOKS:
        if notebook.stem == "03_errors":  # what these are there for
            continue
        for name, cell in model_cells(notebook).items():
            samples[f"{notebook.stem}_{name}"] = cell.source
    return samples


def planted():
    """Return a source with correct lines, followed by wrong ones."""
    lines = [*RIGHT, *(statement for statement, _ in WRONG)]
    return PLANTED + "".join(f"    {line}\n" for line in lines)
