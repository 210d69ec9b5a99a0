"""Specification of %triton infer --profile."""

MODEL = """%%triton_model spins --input X:FP32[1] --output Y:FP32[1] --quiet
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def execute(self, requests):
        for _ in range(5_000_000):
            pass
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y",
            r.inputs()[0].as_numpy())]) for r in requests]
"""


def test_the_lines_that_take_most_time_are_printed_by_cell(notebook):
    """A line is named as the user sees it: by its cell."""
    notebook.run(MODEL)

    ran = notebook.run("run = %triton infer spins X=[1.0] --profile")

    cell = f"spins  {notebook.cell(ago=1)} line "
    assert "samples, one every" in ran.stdout
    hottest = ran.stdout.splitlines()[1]
    assert [True, True] == [cell in hottest, hottest.endswith(("pass", "000):"))]
    assert notebook.shell.user_ns["run"].profile is not None
