"""The studies among the shipped experiments: modules with a function ``main``."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from gpusim.core.errors import UserError, few, nearest
from gpusim.core.module_folders import import_from_folder
from gpusim.files.shipped import data_folder

PACKAGE = "experiments"
"""What the folder of studies is called as a package, by them and by processes that they start."""

FOLDER = Path("gpusim-studies")
"""The default folder of studies' output, with a folder for each."""

_MAIN = re.compile(r"^def main\(", re.MULTILINE)
_MAINTAINS = re.compile(r"^MAINTENANCE = True$", re.MULTILINE)


@frozen
class Study:
    """A module of the shipped experiments that can be run.

    Attributes:
        name: such as ``workload-table`` or ``mask.story``.
        module: in the folder of experiments, such as ``workload_table`` or ``mask.story``.
        title: the first line of its docstring.
        maintains: whether it is of use only to who changes gpusim: it measures the simulator, or
            makes a page of its documentation.
    """

    name: str
    module: str
    title: str
    maintains: bool = False


def studies() -> tuple[Study, ...]:
    """All of them, by name."""
    return tuple(sorted(_found(), key=lambda study: study.name))


def find_study(name: str) -> Study:
    """The study of that name; an underscore is as good as a dash.

    Raises:
        UserError: there is none.
    """
    known = {study.name: study for study in studies()}
    wanted = name.replace("_", "-")
    if wanted not in known:
        raise UserError(
            f"there is no study named {name!r}{nearest(wanted, known)}; "
            f"allowed: {few(known, wanted)} (gpusim list studies)"
        )
    return known[wanted]


def run_study(study: Study, arguments: Sequence[str]) -> int:
    """Run its ``main``, as ``python -m`` does from a checkout; returns the exit status.

    The folder of the experiments is importable meanwhile, also in processes that the study starts,
    and the study reads its arguments from ``sys.argv``.

    Raises:
        UserError: it needs something that only other systems have.
    """
    with _as_program([f"gpusim study {study.name}", *arguments]):
        try:
            module = import_from_folder(data_folder("experiments"), PACKAGE, study.module)
            main: Callable[[], int | None] = module.main
        except ModuleNotFoundError as error:
            if error.name not in sys.stdlib_module_names:
                raise
            raise UserError(
                f"the study {study.name} needs Python's module {error.name!r}, which this system "
                "has not got"
            ) from error
        return main() or 0


def _found() -> Iterator[Study]:
    folder = data_folder("experiments")
    for path in folder.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if _MAIN.search(source):
            parts = path.relative_to(folder).with_suffix("").parts
            name = ".".join(part for part in parts if part != "__main__").replace("_", "-")
            title = (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]
            yield Study(name, ".".join(parts), title, _MAINTAINS.search(source) is not None)


@contextmanager
def _as_program(argv: list[str]) -> Iterator[None]:
    before = sys.argv, sys.path
    sys.argv = argv
    sys.path = [str(data_folder("experiments").parent), *sys.path]
    try:
        yield
    finally:
        sys.argv, sys.path = before
