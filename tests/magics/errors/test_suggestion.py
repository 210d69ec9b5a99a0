"""Specification of the names that are suggested where one is not there."""

import pytest

from blsnb.magics.errors.hints import suggestion

from ..models import DOUBLE, infer


class Hostile:
    def __dir__(self):
        raise RuntimeError("no")


def error_of(action):
    """Return the exception that an action raises."""
    with pytest.raises((AttributeError, NameError)) as raised:
        action()
    return raised.value


@pytest.mark.parametrize(
    ("wrong", "right", "said"),
    [
        ("get_input_tensor_by_name", "get_input_tensor_by_nam", "by_name'?"),
        (".as_numpy()", ".as_nump()", "Did you mean 'as_numpy'?"),
        (
            "InferenceResponse(",
            "InferenceRespons(",
            "Did you mean 'InferenceResponse'?",
        ),
        ("append(pb_utils", "append(pb_util", "Did you mean 'pb_utils'?"),
        (
            "pb_utils.InferenceResponse(",
            "pb_utils.InferenceResponseSender(",
            "\nInferenceResponseSender is in c_python_backend_utils, which a model can "
            "import as well.\n",
        ),
    ],
)
def test_a_misspelled_name_gets_a_suggestion(notebook, wrong, right, said):
    """Names of the module, its classes and the model's variables are known."""
    notebook.run(DOUBLE.replace(wrong, right))

    assert said in notebook.run(infer("double")).report


def test_a_misspelled_name_at_import_gets_a_suggestion(notebook):
    """Suggestions also work while the model is loaded."""
    ran = notebook.run(f"{DOUBLE}\nN = pb_utils.numpy_to_triton_typ(float)\n")

    assert "Did you mean 'numpy_to_triton_type'?" in ran.report


def test_a_notebook_variable_gets_no_suggestion(notebook):
    """The report explains that notebook variables are not visible."""
    notebook.run("reques = 1")
    notebook.run(DOUBLE.replace("x * 2", "x * reques"))
    report = notebook.run(infer("double")).report

    assert "The notebook has a variable 'reques'" in report
    assert "Did you mean" not in report


@pytest.mark.parametrize(
    "action",
    [
        lambda: [].nothing_like_it,
        lambda: nothing_like_it,  # noqa: F821
        lambda: Hostile().anything,
    ],
)
def test_an_unknown_name_gets_no_suggestion(action):
    """No suggestion is better than a wrong one."""
    assert "" == suggestion(error_of(action))


def test_other_errors_get_no_suggestion():
    """Only errors about names get suggestions."""
    assert "" == suggestion(ValueError("as_nump"))


def test_a_list_instead_of_an_array_gets_advice(notebook):
    """Triton's text only has the signature."""
    notebook.run(DOUBLE.replace("x * 2", "[1.0]"))

    assert "Make one with np.array(value" in notebook.run(infer("double")).report
