"""Specification of the magics in a real kernel, as JupyterLab runs them."""

import queue
import time

import nbclient
import nbformat
import pytest

from .models import DOUBLE, OUTER, infer

pytestmark = [
    pytest.mark.notebook,
    pytest.mark.filterwarnings("default"),
]
TIMED = """\
import time
begun = time.process_time()
%load_ext blsnb
print(round((time.process_time() - begun) * 1e3))
"""
SLOW_LOOP = OUTER.replace(
    "        answer = inner.exec()\n",
    "        import time\n"
    "        ends = time.monotonic() + 0.7\n"
    "        while time.monotonic() < ends:\n"
    "            answer = inner.exec()\n",
)

TALKING = """%%triton_model talking --input X:FP32[1] --output Y:FP32[1]
import time
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        x = requests[0].inputs()[0].as_numpy()
        for number in range(3):
            print("line", number)
            time.sleep(float(x[0]) / 3)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", x)])]
"""
PATIENCE_S = 180
ASKING = """import blsnb
print("before")
run = blsnb.infer("talking", {{"X": [{seconds}]}})
print("after")
run"""


@pytest.fixture(scope="module")
def outputs_of_cells():
    """The outputs of one cell: short, long, without display, and cleared."""
    cleared = (
        "from IPython.display import clear_output\n"
        + ASKING.format(seconds=0.001).removesuffix("run")
        + "clear_output(wait=True)\n"
        + ASKING.format(seconds=0.001)
    )
    sources = [
        "%load_ext blsnb",
        TALKING,
        ASKING.format(seconds=0.001),
        ASKING.format(seconds=5),
        cleared,
        "import ipywidgets\ntaken = ipywidgets.Output()\nwith taken:\n    "
        + ASKING.format(seconds=0.7).replace("\n", "\n    "),
        "print([each.get('text') or sorted(each['data']) for each in taken.outputs])",
        "blsnb.options.show = False",
        ASKING.format(seconds=0.001),
    ]
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in sources]
    )
    execute(book)
    return [joined(cell.outputs) for cell in book.cells[2:]]


def execute(book):
    """Execute a notebook in short waits.

    nbclient misses a reply that arrives while it updates an Output widget (its issue
    312), and finds it when the wait ends.
    """
    client = nbclient.NotebookClient(book)
    with client.setup_kernel():
        channel = client.kc.shell_channel
        receive = channel.get_msg

        async def receive_in_short_waits(**_):
            deadline = time.monotonic() + PATIENCE_S
            while time.monotonic() < deadline:
                try:
                    return await receive(timeout=0.2)
                except queue.Empty:
                    continue
            raise TimeoutError(f"no reply of the kernel in {PATIENCE_S} s")

        channel.get_msg = receive_in_short_waits
        for index, cell in enumerate(book.cells):
            client.execute_cell(cell, index)


def joined(outputs):
    """Return outputs with adjacent texts as one, as a page shows them."""
    found = []
    for output in outputs:
        if found and output.get("text") and found[-1].get("text"):
            found[-1].text += output.text
        else:
            found.append(output)
    return found


def kinds(outputs):
    return [each.get("text") or sorted(each["data"]) for each in outputs]


def test_the_same_cell_has_the_same_outputs_however_long_it_takes(outputs_of_cells):
    """The view is placed where the run starts, and text is not split."""
    short, long, *_ = outputs_of_cells

    assert ["before\n", None, "line 0\nline 1\nline 2\nafter\n"] == [
        each.get("text") for each in short
    ]
    assert kinds(short) == kinds(long)
    for _, shown, _ in (short, long):
        assert 'const own = "+,^C' in shown.data["text/html"]
        assert shown.data["text/plain"].startswith("talking: ")


def test_a_cleared_output_has_the_view_of_the_next_run_only(outputs_of_cells):
    """That view contains the code of the cleared one."""
    *_, cleared, _, _, _, _ = outputs_of_cells
    [shown] = [each for each in cleared if "data" in each]

    assert 'const own = "+,^C' in shown.data["text/html"]


def test_a_view_in_an_output_widget_is_whole(outputs_of_cells):
    """It is shown when its run ends, since nothing updates what a widget has taken."""
    *_, cell, [taken], _, _ = outputs_of_cells

    shown = ["text/html", "text/latex", "text/markdown", "text/plain"]
    assert [] == kinds(cell)
    assert repr(["before\nline 0\nline 1\nline 2\n", shown, "after\n"]) == (
        taken.text.strip()
    )


def test_without_display_there_is_text_only(outputs_of_cells):
    """There is neither an empty output nor the run's name."""
    assert ["before\nline 0\nline 1\nline 2\nafter\n"] == kinds(outputs_of_cells[-1])


@pytest.fixture(scope="module")
def cells():
    """The cells of a notebook that a kernel has run."""
    sources = [
        "import numpy",
        TIMED,
        DOUBLE,
        infer("double"),
        OUTER.replace("requested_output_names", "requested_outputs"),
        infer("outer"),
        SLOW_LOOP,
        infer("outer"),
        "1 + 1",
    ]
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in sources]
    )
    nbclient.NotebookClient(book, allow_errors=True, timeout=180).execute()
    return book.cells


def test_loading_the_extension_is_fast(cells):
    """The limit is 150 ms of own work in a kernel that has NumPy."""
    assert int(cells[1].outputs[0].text) < 600


def test_a_model_shows_its_card(cells):
    """The card is the only output."""
    [card] = cells[2].outputs
    assert "double version 1 READY" in card.data["text/plain"]


def test_a_run_shows_its_document(cells):
    """It is display data, since the cell has no value."""
    [shown] = cells[3].outputs
    assert "display_data" == shown.output_type
    assert "blsnb-run" in shown.data["text/html"]


def test_an_error_is_reported_with_the_cells_lines(cells):
    """The notebook stores it with class and text."""
    error = next(out for out in cells[5].outputs if out.output_type == "error")
    text = "\n".join(error.traceback)

    assert "InferenceError" == error.ename
    assert "cell In[5] line 8 (model.py:7)" in text
    assert "/blsnb/engine/" not in text


def test_a_long_run_was_live_and_is_a_document(cells):
    """The document replaces the widget at the end of the run."""
    [shown] = cells[7].outputs
    assert {"text/html", "text/latex", "text/markdown", "text/plain"} == set(shown.data)
    assert "blsnb-run" in shown.data["text/html"]


def test_other_cells_are_as_before(cells):
    """Cells without blsnb are not affected."""
    [value] = cells[8].outputs
    assert "2" == value.data["text/plain"]
