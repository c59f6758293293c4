"""The guide and pages on single subjects: their commands and examples run, in order.

In a page, a block marked ``<!-- file: NAME -->`` is that file of `docs/examples`, and all
``bash`` and ``python`` blocks run, in one folder, with the examples that the page links to; a
``text`` block is the output of the block before it, but for numbers.
Blocks marked ``<!-- long -->`` take long and run by themselves, among the long tests; runs without
a scale are then those of scale smoke.

On the page of which processes are the subject, every block runs in one of its own, the first as a
user starts it. On the others, commands of gpusim alone and Python run here.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from tests import ROOT
from tests.whole.forked import forked_command, forked_python
from tests.whole.running import command

DOCS = ROOT / "docs"
BLOCK = re.compile(r"(?:<!-- (?:(long)|file: (\S+)) -->\n)?```(\w+)\n(.*?)```", re.DOTALL)
COMMANDS = re.compile(r"(gpusim [^|>&;$`\\]*\n)+")
"""Of gpusim, with nothing that only a shell understands."""
AT_SCALE = re.compile(r"(gpusim run \S+ \S+)(?! --scale)")
"""A run at the scale that is the default, quick, which takes minutes."""
OWN_PROCESSES = "extend.md"
PAGES = ("guide.md", "models.md", OWN_PROCESSES, "timelines.md", "sweeps.md")

LONG = ("timelines.md", "sweeps.md")
HOW_TO = "how-to.md"
"""Pages with long blocks; the last has tests of its own."""

# As the installed script does, without the folder that `python -m` puts first into the path.
SHELL = f"""
set -euo pipefail
gpusim() {{ "{sys.executable}" -P -c "from gpusim.cli.main import main; main()" "$@"; }}
python() {{ "{sys.executable}" "$@"; }}
"""


def blocks(page: str, long: bool) -> Iterator[tuple[str, str, str]]:
    """Files, and of the other blocks the long ones or the rest: name of a file, language, text."""
    for match in BLOCK.finditer((DOCS / page).read_text(encoding="utf-8")):
        marked_long, name, language, text = match.groups(default="")
        if name or bool(marked_long) == long:
            yield name, language, AT_SCALE.sub(r"\1 --scale smoke", text) if long else text


def without_numbers(text: str) -> str:
    return re.sub(r"\s*[\d.,]+", " 0", text)


def run_block(language: str, text: str, folder: Path) -> str:
    started = ["bash", "-c", SHELL + text]
    if language == "python":
        started = [sys.executable, "-c", text]
    done = subprocess.run(
        started,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"},
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def run_here(language: str, text: str, folder: Path) -> str:
    """In `folder`, where this process is; a block that needs a shell gets one."""
    if language == "python":
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(text, "block", "exec"), {"__name__": "__main__"})
        return printed.getvalue()
    if not COMMANDS.fullmatch(text):
        return run_block(language, text, folder)
    return "".join(command(*words[1:]).stdout for words in commands(text))


def run_forked(language: str, text: str, folder: Path) -> str:
    """As `run_here`, each command and program in a process of its own."""
    if language == "python":
        return forked_python(text)
    if not COMMANDS.fullmatch(text):
        return run_block(language, text, folder)
    return "".join(forked_command(*words[1:]) for words in commands(text))


def commands(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        yield shlex.split(line, comments=True)


def run_page(page: str, long: bool, folder: Path) -> int:
    """Run the blocks of a page in `folder`; how many there were."""
    run = run_block if page == OWN_PROCESSES else run_here
    output, ran = "", 0
    own = re.findall(r"\(examples/(\w+)\.py\)", (DOCS / page).read_text(encoding="utf-8"))
    for name in own:
        shutil.copy(DOCS / "examples" / f"{name}.py", folder)
    for name, language, text in blocks(page, long):
        if name:
            assert text == (DOCS / "examples" / name).read_text(), f"{name} in {page}"
            (folder / name).write_text(text)
        elif language == "text":
            assert without_numbers(text) == without_numbers(output)
        elif language in ("bash", "python"):
            if run is run_here and any(f"={name}:" in text for name in own):
                output = run_forked(language, text, folder)  # classes in it are known by name here
            else:
                output = run(language, text, folder)
            run = run_forked if page == OWN_PROCESSES else run_here
            ran += 1
    return ran


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_page(page, False, tmp_path) >= 3, f"{page} has no more examples"


@pytest.mark.long
@pytest.mark.parametrize("page", LONG)
def test_the_long_blocks_of_a_page_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_page(page, True, tmp_path) >= 1


def test_no_long_block_is_forgotten() -> None:
    """A mark on a page that no test runs would take its block out of all tests."""
    marked = {path.name for path in DOCS.rglob("*.md") if "<!-- long -->" in path.read_text()}
    assert marked == {*LONG, HOW_TO}


def test_files_that_pages_show_are_the_examples() -> None:
    shown = {
        (path.name, name): text
        for path in DOCS.rglob("*.md")
        for _, name, _, text in BLOCK.findall(path.read_text(encoding="utf-8"))
        if name
    }
    assert ("kernels.md", "gather.cu") in shown
    for (page, name), text in shown.items():
        assert text == (DOCS / "examples" / name).read_text(encoding="utf-8"), f"{name} in {page}"


def test_the_example_is_short() -> None:
    assert len((DOCS / "examples" / "fifo_tlb.py").read_text().splitlines()) < 40
