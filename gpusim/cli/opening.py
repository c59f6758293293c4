"""Opening the result files that a command shows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gpusim.core.errors import UserError
from gpusim.core.untrusted import file_bytes

if TYPE_CHECKING:
    from gpusim.results import Result


@contextmanager
def opened(*files: Path) -> Iterator[list[Result]]:
    """The results in some files; inside, errors in their content say that the file is damaged.

    Raises:
        UserError: one is not there, is no result, or damaged.
    """
    from gpusim.results import open_result
    from gpusim.results.inconsistent_file import misread

    with ExitStack() as stack:
        results = [stack.enter_context(open_result(file)) for file in files]
        stack.enter_context(misread(*results))
        yield results


def page_beside(output: Path | None, ending: str, *files: Path) -> Path:
    """Where the page of some results goes: `output`, or beside the first of them.

    Args:
        output: as the user gave it, if so.
        ending: of its name, otherwise.
        files: the results.

    Raises:
        UserError: a result is not there, or the page would replace one.
    """
    for file in files:
        file_bytes(file)
    path = output or files[0].with_suffix(ending)
    if os.path.realpath(path) in map(os.path.realpath, files):
        raise UserError(f"the page would replace the result {path}: give another name with -o")
    return path
