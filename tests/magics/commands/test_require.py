"""Specification of %triton require."""

import pytest


def test_installed_packages_print_nothing(notebook):
    """The version is not compared."""
    ran = notebook.run("%triton require numpy IPython==0.1 --no-deps")

    assert ("", "", None) == (ran.stdout, ran.stderr, ran.error)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "numpy no-such-package==1.0.2 --no-deps",
            "no-such-package is not installed; run: "
            "%pip install --no-deps no-such-package==1.0.2",
        ),
        (
            "no-such-package another.none>=2",
            "no-such-package, another.none are not installed; run: "
            "%pip install no-such-package 'another.none>=2'",
        ),
        ("=1", "'=1' is not the name of a package"),
    ],
)
def test_a_missing_package_is_one_line_with_the_install_command(
    notebook, line, expected
):
    """No traceback is shown, and Run All stops at the cell."""
    ran = notebook.run(f"%triton require {line}")

    assert f"UsageError: {expected}\n" == ran.stderr
