"""Notebooks as they are committed: cells, and nothing of the run that they went through.

After you have edited one: ``python docs/notebooks/clean.py [NOTEBOOK.ipynb …]``; without one, all
of this folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def cleaned(notebook: NotebookNode) -> NotebookNode:
    """The notebook without outputs, execution counts and metadata of editors; cells keep their ids.

    Raises:
        nbformat.ValidationError: it is no valid notebook.
    """
    cells = []
    for cell in notebook.cells:
        kept = NotebookNode(
            {"id": cell.id, "cell_type": cell.cell_type, "metadata": {}, "source": cell.source}
        )
        if cell.cell_type == "code":
            kept.update(outputs=[], execution_count=None)
        cells.append(kept)
    clean = nbformat.from_dict(
        {"metadata": METADATA, "nbformat": 4, "nbformat_minor": 5, "cells": cells}
    )
    nbformat.validate(clean)
    return clean


def main(paths: list[Path]) -> None:
    """Clean notebooks in place."""
    for path in paths:
        nbformat.write(cleaned(nbformat.read(path, as_version=4)), path)


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]] or sorted(Path(__file__).parent.glob("*.ipynb")))
