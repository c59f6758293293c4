"""Code that a file names as ``"package.module:Class"``: imported where the user allows it, only.

Importing a module runs it.  In Python, the caller that loads a file runs code of its own already,
so what the file names is imported.  The command line asks (`Imports.TRUSTED`): a file must lie in
a folder that the user has marked once with ``gpusim trust``, or the command must say
``--allow-code``; commands that only look at files import nothing.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import runpy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

from gpusim.core.errors import UserError, nearest
from gpusim.core.untrusted import small_text

_NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


class Imports(Enum):
    """What may be imported because a file names it."""

    ALL = "all"
    TRUSTED = "what files in trusted folders name"
    NOTHING = "nothing"


_allowed = Imports.ALL


@contextmanager
def importing(allowed: Imports) -> Iterator[None]:
    """Inside, this is imported because a file names it, unless `permit` says otherwise."""
    before = _allowed
    permit(allowed)
    try:
        yield
    finally:
        permit(before)


def permit(allowed: Imports) -> None:
    """From here to the end of the `importing` around it, this is imported."""
    global _allowed  # noqa: PLW0603  (a process does one thing)
    _allowed = allowed


def is_own_code(name: object) -> bool:
    """Whether a name is that of code to be imported, ``"package.module:Class"``."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def is_unknown(name: str) -> bool:
    """Whether a name is that of code which may not be imported now, and was not before."""
    if _allowed is not Imports.NOTHING or ":" not in name:
        return False
    return name.partition(":")[0] not in sys.modules


def refusal(name: object, file: str | Path) -> str:
    """Why a file may not name this code; empty if it may, or is no such name.

    What was imported already, because the user typed its name, runs nothing when it is named again.
    """
    module = str(name).partition(":")[0]
    if _allowed is not Imports.TRUSTED or not is_own_code(name) or module in sys.modules:
        return ""
    if is_trusted(Path(file)):
        return ""
    return (
        f"names code, which loading it would run: give --allow-code if you trust {module!r} and "
        "this file, or mark its folder once with gpusim trust FOLDER"
    )


def load_own(name: str, what: str) -> Any:
    """The class that a file names.

    Args:
        name: ``"package.module:Class"``; modules in the current folder are found, too.
        what: is looked for, for messages.

    Raises:
        UserError: it may not be imported, cannot be, or ends the process when it is.
    """
    module, _, attribute = name.partition(":")
    if is_unknown(name):
        raise UserError(
            f"the {what} {name!r} is code: this command imports none; give --allow-code if you "
            "trust it"
        )
    if module not in sys.modules and (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)
    try:
        found = importlib.import_module(module)
        return getattr(found, attribute)
    except (Exception, SystemExit) as error:  # a module may do anything while it is imported
        raise UserError(f"cannot load the {what} {name!r}: {_why_not(name, error)}") from error


def _why_not(name: str, error: BaseException) -> str:
    """What is wrong: with the name where that is all, else the error of the module."""
    module, _, attribute = name.partition(":")
    if isinstance(error, ModuleNotFoundError) and error.name == module.partition(".")[0]:
        return f"there is no {error.name}.py in {Path.cwd()}, and no installed package of that name"
    if isinstance(error, AttributeError) and module in sys.modules:
        names = [one for one in vars(sys.modules[module]) if not one.startswith("_")]
        if attribute not in names and error.obj is sys.modules[module]:
            return f"{module} has no {attribute}{nearest(attribute, names)}"
    return f"{type(error).__name__}: {error}"


def run_file(path: Path) -> dict[str, Any]:
    """The names that a Python file defines, which the user gives to a command to be run.

    Raises:
        UserError: there is no such file, or it fails or ends the process.
    """
    if not path.is_file():
        raise UserError(f"cannot open {path}: there is no such file")
    try:
        return runpy.run_path(str(path))
    except (Exception, SystemExit) as error:  # a user's own code may do anything
        raise UserError(f"{path}: {type(error).__name__}: {error}") from error


# -- folders that the user has marked --------------------------------------------------------------


def trusted_folders() -> list[Path]:
    """The folders whose files may name code.

    Raises:
        UserError: the list of them is damaged.
    """
    path = list_of_trusted()
    try:
        listed = json.loads(small_text(path))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} is damaged: {error}; remove it, and mark folders anew") from error
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise UserError(f"{path} is damaged: no list of folders; remove it, and mark folders anew")
    return [Path(one) for one in listed]


def is_trusted(file: Path) -> bool:
    """Whether a file lies in a folder that the user has marked; links are followed."""
    real = Path(os.path.realpath(file))
    return any(real.is_relative_to(folder) for folder in trusted_folders())


def list_of_trusted() -> Path:
    """Where the list is kept: with the user's settings, not in a folder that others may write."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.environ.get("APPDATA")
    return (Path(base) if base else Path.home() / ".config") / "gpusim" / "trusted.json"
