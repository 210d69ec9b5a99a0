"""``blsnb lab``: the tutorial notebooks in JupyterLab."""

from __future__ import annotations

import os
from collections.abc import Sequence

from blsnb.command.arguments import become, check_installed, first, shows_help
from blsnb.magics.commands.tutorial import FOLDER, copy_notebooks, notebooks

_HELP = f"""\
usage: blsnb lab [FOLDER] [OPTION OF JUPYTERLAB ...]

Copy the tutorial notebooks into a folder, unless they are there, and open the first
one in JupyterLab. Notebooks that were changed stay as they are.

  FOLDER  folder of the copies, created if missing ({FOLDER})

Options after it are JupyterLab's, such as --no-browser or --port 8889.
"""


def run(words: Sequence[str]) -> int:
    """Copy the notebooks and replace this process by JupyterLab."""
    if shows_help(words, _HELP):
        return 0
    check_installed("jupyterlab", "blsnb[lab]")
    folder, options = first(words)
    copied = copy_notebooks(folder or FOLDER)
    print("\n".join(copied.lines()))
    if os.geteuid() == 0 and "--allow-root" not in options:
        # JupyterLab refuses to run as root, which is usual in containers.
        options = ["--allow-root", *options]
    opened = copied.folder / notebooks()[0].name
    become("jupyterlab", [str(opened), *options])
