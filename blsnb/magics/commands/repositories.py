"""Model repositories on disk: ``%triton import``, ``export``, ``diff``, ``edit``."""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError
from IPython.core.getipython import get_ipython
from IPython.display import display

from blsnb.magics import card
from blsnb.magics import default_server as default
from blsnb.magics.commands.usages import SUMMARIES, only_word, usage_of
from blsnb.magics.flags import Flags
from blsnb.magics.imported import difference
from blsnb.magics.imported.model_cells import cells_of
from blsnb.magics.imported.saved_files import show_followed
from blsnb.magics.line import Line
from blsnb.parts.server_parts import parts_of
from blsnb.printable import counted


def import_flags() -> Flags:
    """Return the parser of ``%triton import``."""
    flags = Flags("%triton import", SUMMARIES["import"])
    add = flags.add_argument
    add("path", metavar="PATH", help="the folder of models")
    _add_names(flags, "models to load; all if none is given")
    add(
        "--no-watch",
        action="store_true",
        help="load the files as they are now; else a saved file is in service before "
        "the next request, and the cell says what was loaded or why not",
    )
    return flags


def import_models(line: Line) -> None:
    """Load the models of a repository on disk and show their table."""
    given = import_flags().parse(line.words)
    statuses = default.server().import_repository(
        given.path, given.names or None, watch=not given.no_watch
    )
    show_followed()
    if statuses:
        display(card.table(statuses), raw=True)
    else:
        print(f"There are no models in {given.path}: each would be a folder in it.")


def export_flags() -> Flags:
    """Return the parser of ``%triton export``."""
    flags = Flags("%triton export", SUMMARIES["export"])
    add = flags.add_argument
    add(
        "path",
        nargs="?",
        metavar="PATH",
        help="the folder to write; created if missing",
    )
    _add_names(flags, "models; all if none is given")
    add(
        "--deploy",
        metavar="IMAGE",
        help="write a Dockerfile that builds this image, such as "
        "registry.example/faces:1, and a kserve.yaml that runs it on Kubernetes",
    )
    add(
        "--force",
        action="store_true",
        help="overwrite files that no export wrote, or that were changed since",
    )
    add(
        "--in-place",
        action="store_true",
        help="write only the files that cells changed, into the folders that their "
        "models were imported from: all of them or none",
    )
    return flags


def export_models(line: Line) -> None:
    """Write a model repository and show what was written."""
    flags = export_flags()
    given = flags.parse(line.words)
    if given.in_place and given.deploy:
        flags.error("--deploy and --in-place exclude each other")
    if given.in_place:
        _export_in_place([*filter(None, [given.path]), *given.names], given.force)
        return
    if given.path is None:
        flags.error("the following arguments are required: PATH")
    exported = default.server().export_repository(
        given.path, given.names or None, force=given.force, deploy=given.deploy
    )
    display(card.exported(exported), raw=True)


def _export_in_place(names: list[str], force: bool) -> None:
    """Write the changes of cells to the folders, and show them."""
    server = default.server()
    models, _ = parts_of(server).folders.changed_models(names or None)
    # Afterwards there is no difference; a refusal shows it itself.
    changes = difference.bundle(models) if models else None
    exported = server.export_repository(names=names or None, in_place=True, force=force)
    if changes is not None:
        display(changes, raw=True)
    display(card.written_back(exported), raw=True)


def diff(line: Line) -> None:
    """Show what cells changed, against the folders of their models."""
    names = line.words
    if len(names) > 1 or any(name.startswith("-") for name in names):
        raise UsageError(f"usage: {usage_of('diff')}")
    models, _ = parts_of(default.server()).folders.changed_models(names or None)
    if models:
        display(difference.bundle(models), raw=True)
    elif names:
        print(f"{names[0]} does not differ from its folder.")
    else:
        print("No cell differs from the folder of an imported model.")


def edit(line: Line) -> None:
    """Set the model's newest source as the next input, and print its other cells."""
    name = only_word(line, "edit")
    repository = parts_of(default.server()).repository
    directory = repository.directory(name)
    if directory is None:
        raise UsageError(" ".join(repository.why_none(name)))
    cells = cells_of(directory)
    if not cells:
        raise UsageError(f"{name} has no text file for a cell")
    sources = [cell for cell in cells if cell.startswith("%%triton_model ")]
    chosen = sources[-1] if sources else cells[0]
    others = [cell for cell in cells if cell != chosen]
    shell: Any = get_ipython()
    shell.set_next_input(chosen)
    if others:
        more = counted(len(others), "more file")
        print(f"{name} has {more}; copy each into its own cell:")
        print("".join(f"\n{cell}\n" for cell in others), end="")


def _add_names(flags: Flags, text: str) -> None:
    # Without a default, argparse would report them as required.
    flags.add_argument("names", nargs="*", default=[], metavar="NAME", help=text)
