"""The sentences with which lines are refused; ``BLSNB_WRITE_GOLDEN=1`` writes them."""

from __future__ import annotations

from pathlib import Path

from asserting import every
from IPython.core.error import UsageError
from reviewed import reviewed

from blsnb.errors import BlsnbError

from ..models import DOUBLE

LINES = [
    *("%triton models extra", "%triton graph --as", "%triton graph --as model m"),
    *("%triton export", "%triton export out --in-place", "%triton export --in-place x"),
    *("%triton export out --deploy 25.01 --in-place", "%triton diff a b"),
    *("%triton edit", "%triton edit none", "%triton load", "%triton stats a b"),
    *("%triton serve --grpc x", "%triton serve --http 65536", "%triton serve x"),
    *("%triton trace --output a.json", "%triton trace none"),
    *("%triton infer", "%triton infer double X"),
    *("%triton infer double --requests 3", "%triton bench", "%triton plan double"),
    *("%triton plan double X=[1.0] --rate 5 --p99 x", "%triton nothing"),
    *("%triton evaluate double none.npz", "%triton evaluate double [] --metrics no"),
    *("%triton verify", "%triton standin double", "%triton runtime none"),
    *("%triton_model m", "%%triton_model\nx = 1", "%%triton_model m --versoin 1\nx"),
    *("%%triton_model m --input X: FP32[1]\nx", "%%triton_model m --input X\nx"),
    *("%%triton_file m\nx", "%%triton_file m/config.pbtxt\nx", "%%triton_file m/x\nx"),
    *("%%triton_config\nx", "%%triton_config a b\nx"),
]


def test_lines_are_refused_with_the_reviewed_sentences(notebook, tmp_path, monkeypatch):
    """Each text says what was expected; the usage below it is Python's to format."""
    monkeypatch.chdir(tmp_path)
    notebook.run(DOUBLE)
    errors = [(line, notebook.run(line).error) for line in LINES]
    said = [(line, str(error).partition("\n\nusage: ")[0]) for line, error in errors]
    texts = "".join(f"{line!r}\n    {text}\n" for line, text in said)

    golden = Path(__file__).with_name("refused_lines.txt")
    assert reviewed(golden, texts) == texts
    assert every(isinstance(error, UsageError | BlsnbError) for _, error in errors)
