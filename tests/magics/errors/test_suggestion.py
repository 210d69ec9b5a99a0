"""Specification of the names that are suggested where one is not there."""

import pytest

from blsnb.magics.errors.hints import suggestion

from ..models import DOUBLE, infer


class Hostile:
    def __dir__(self):
        raise RuntimeError("no")


def error_of(action):
    """Return what an action raises."""
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
            "InferenceResponseSender is in c_python_backend_utils, which",
        ),
    ],
)
def test_a_slip_of_the_pen_is_answered_with_the_right_name(
    notebook, wrong, right, said
):
    """Of the module, of its classes, of the model's own variables."""
    notebook.run(DOUBLE.replace(wrong, right))

    assert said in notebook.run(infer("double")).report


def test_a_slip_at_import_is_answered_too(notebook):
    """When the model is loaded."""
    ran = notebook.run(f"{DOUBLE}\nN = pb_utils.numpy_to_triton_typ(float)\n")

    assert "Did you mean 'numpy_to_triton_type'?" in ran.report


def test_a_notebook_variable_is_not_answered_with_another_name(notebook):
    """That it cannot be seen is what is wrong."""
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
def test_no_idea_is_no_suggestion(action):
    """No hint is better than a wrong one."""
    assert "" == suggestion(error_of(action))


def test_other_errors_have_none():
    """They are of no name."""
    assert "" == suggestion(ValueError("as_nump"))


def test_a_list_in_place_of_an_array_is_said(notebook):
    """Triton's text names the signature; the hint says what to do."""
    notebook.run(DOUBLE.replace("x * 2", "[1.0]"))

    assert "Make one with np.array(value" in notebook.run(infer("double")).report
