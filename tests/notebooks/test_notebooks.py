"""The notebooks of `docs/notebooks` run, and are committed without outputs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from tests import ROOT

FOLDER = ROOT / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
CLEAN = runpy.run_path(str(FOLDER / "clean.py"))

HANGS = 900
"""Seconds after which a cell is given up."""

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def execute(notebook: NotebookNode, folder: Path) -> None:
    """Run all cells in `folder`, by the Python of the tests, whatever kernels are installed.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell raised an error.
    """
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    only_this_python = KernelSpecManager(kernel_dirs=[])
    manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=only_this_python)
    client = NotebookClient(
        notebook, km=manager, timeout=HANGS, resources={"metadata": {"path": str(folder)}}
    )
    client.execute(cleanup_kc=True)


def outputs(notebook: NotebookNode) -> list[NotebookNode]:
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


@pytest.fixture
def own_jupyter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither read nor write what the user has set up."""
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")  # older versions warn of their old folders
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))


@pytest.mark.usefixtures("own_jupyter")
@pytest.mark.long
@each_notebook
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    notebook, folder = read(path), tmp_path / "work"
    folder.mkdir()
    execute(notebook, folder)
    shown = outputs(notebook)
    warnings = [output.text for output in shown if output.get("name") == "stderr"]
    assert warnings == []
    assert any("image/png" in output.get("data", {}) for output in shown)
    assert not any("<Axes" in str(output.get("data", "")) for output in shown)
    assert list(folder.iterdir()) == []  # nothing is left behind


@pytest.mark.long
@pytest.mark.usefixtures("own_jupyter")
def test_a_claim_that_does_not_hold_fails(tmp_path: Path) -> None:
    from nbclient.exceptions import CellExecutionError

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("assert 1 + 1 == 3")])
    with pytest.raises(CellExecutionError, match="1 \\+ 1 == 3"):
        execute(notebook, tmp_path)


@each_notebook
def test_a_notebook_is_committed_clean(path: Path) -> None:
    as_it_should_be = nbformat.writes(CLEAN["cleaned"](read(path))) + "\n"
    assert path.read_text(encoding="utf-8") == as_it_should_be, "run docs/notebooks/clean.py"


@each_notebook
def test_a_notebook_begins_with_a_title_and_ends_with_what_to_try(path: Path) -> None:
    first, last = (read(path).cells[place] for place in (0, -1))
    assert first.source.startswith("# ")
    assert last.source.startswith("## Try next\n")


def test_cleaning_takes_away_all_of_a_run_and_keeps_the_cells(tmp_path: Path) -> None:
    path = tmp_path / "dirty.ipynb"
    notebook = read(NOTEBOOKS[0])
    notebook.metadata.language_info.version = "3.11.0"
    for number, cell in enumerate(notebook.cells):
        cell.metadata.collapsed = True
        if cell.cell_type == "code":
            cell.execution_count = number
            cell.outputs = [nbformat.v4.new_output("stream", text="noise")]
    nbformat.write(notebook, path)
    CLEAN["main"]([path])
    assert path.read_text(encoding="utf-8") == NOTEBOOKS[0].read_text(encoding="utf-8")


def test_all_notebooks_are_told_of_and_no_others() -> None:
    told = set(re.findall(r"\]\((\S+\.ipynb)\)", (FOLDER / "README.md").read_text()))
    assert told == {path.name for path in NOTEBOOKS}
    for path in NOTEBOOKS:
        texts = "\n".join(cell.source for cell in read(path).cells)
        for link in re.findall(r"\]\(([^)]+)\)", texts):
            assert (FOLDER / link).is_file(), f"{path.name}: {link}"
