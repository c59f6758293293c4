"""The guide and pages on single subjects: their commands and examples run, in order.

In a page, a block marked ``<!-- file: NAME -->`` is that file of `docs/examples`, and all
``bash`` and ``python`` blocks run, in one folder, with the examples that the page links to; a
``text`` block is the output of the block before it, but for numbers.
Blocks marked ``<!-- long -->`` take minutes and run by themselves, among the long tests.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"(?:<!-- (?:(long)|file: (\S+)) -->\n)?```(\w+)\n(.*?)```", re.DOTALL)
PAGES = ("guide.md", "models.md", "extend.md", "timelines.md", "sweeps.md")

# As the installed script does, without the folder that `python -m` puts first into the path.
SHELL = f"""
set -euo pipefail
gpusim() {{ "{sys.executable}" -P -c "from gpusim.cli.main import main; main()" "$@"; }}
python() {{ "{sys.executable}" "$@"; }}
"""


def blocks(page: str, long: bool) -> Iterator[tuple[str, str, str]]:
    """Of the long blocks or all others: name of a file, language, text."""
    for match in BLOCK.finditer((DOCS / page).read_text(encoding="utf-8")):
        marked_long, name, language, text = match.groups(default="")
        if bool(marked_long) == long:
            yield name, language, text


def without_numbers(text: str) -> str:
    return re.sub(r"\s*[\d.,]+", " 0", text)


def run_block(language: str, text: str, folder: Path) -> str:
    command = ["bash", "-c", SHELL + text]
    if language == "python":
        command = [sys.executable, "-c", text]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"},
    )  # fmt: skip
    assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs(page: str, tmp_path: Path) -> None:
    output, ran = "", 0
    for name in re.findall(r"\(examples/(\w+\.py)\)", (DOCS / page).read_text(encoding="utf-8")):
        shutil.copy(DOCS / "examples" / name, tmp_path)
    for name, language, text in blocks(page, long=False):
        if name:
            assert text == (DOCS / "examples" / name).read_text(), f"{name} in {page}"
            (tmp_path / name).write_text(text)
        elif language == "text":
            assert without_numbers(text) == without_numbers(output)
        elif language in ("bash", "python"):
            output = run_block(language, text, tmp_path)
            ran += 1
    assert ran >= 4


@pytest.mark.long
def test_the_long_blocks_of_pages_run(tmp_path: Path) -> None:
    found = [(language, text) for page in PAGES for _, language, text in blocks(page, long=True)]
    assert found
    for language, text in found:
        run_block(language, text, tmp_path)


def test_the_example_is_short() -> None:
    assert len((DOCS / "examples" / "fifo_tlb.py").read_text().splitlines()) < 40
