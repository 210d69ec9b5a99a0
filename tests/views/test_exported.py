"""Specification of texts for exporters of notebooks."""

from blsnb.views.exported import exported


def test_a_text_is_a_block_of_each_language():
    """Its columns stay in line."""
    shown = exported("a\n  b")

    assert "```text\na\n  b\n```" == shown["text/markdown"]
    assert "\\begin{verbatim}\na\n  b\n\\end{verbatim}" == shown["text/latex"]
    assert "a\n  b" == shown["text/plain"]


def test_a_text_cannot_end_its_block():
    """Names of models and error texts may be anything."""
    shown = exported("````\n\\end{verbatim}\\input{x}")

    assert shown["text/markdown"].startswith("`````text\n")
    assert shown["text/markdown"].endswith("\n`````")
    assert 1 == shown["text/latex"].count("\\end{verbatim}")
    assert shown["text/latex"].endswith("\n\\end{verbatim}")
