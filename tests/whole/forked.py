"""Commands and Python in processes of their own, in which gpusim is imported already."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

from tests.forked_pool import FORKS


def forked_command(*arguments: str) -> str:
    """`gpusim …` in the current folder; what it prints."""
    return _forked(_command, *arguments)


def forked_python(text: str) -> str:
    """What ``python -c text`` prints in the current folder."""
    return _forked(_python, text)


def forked_script(path: Path) -> str:
    """What ``python path`` prints in the current folder."""
    return _forked(_script, str(path))


def _forked(target: object, *arguments: str) -> str:
    printed = Path("printed.txt")
    process = FORKS.Process(target=_printing, args=(target, printed, arguments))
    process.start()
    process.join()
    text = printed.read_text(encoding="utf-8")
    printed.unlink()
    assert process.exitcode == 0, f"{arguments}\n{text}"
    return text


def _printing(target: object, path: Path, arguments: tuple[str, ...]) -> None:
    with path.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    assert callable(target)
    target(*arguments)


def _command(*arguments: str) -> None:
    from gpusim.cli.main import main

    sys.argv = ["gpusim", *arguments]
    main()


def _python(text: str) -> None:
    sys.path.insert(0, "")
    exec(compile(text, "block", "exec"), {"__name__": "__main__"})


def _script(path: str) -> None:
    runpy.run_path(path, run_name="__main__")
