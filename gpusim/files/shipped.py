"""Paths of the models, workloads and experiments that come with gpusim."""

from __future__ import annotations

from pathlib import Path

from gpusim.core.errors import UserError, few, nearest
from gpusim.core.untrusted import is_file

_PACKAGE = Path(__file__).parents[1]


def data_folder(kind: str) -> Path:
    """Folder of the shipped ``"models"``, ``"workloads"`` or ``"experiments"``.

    In an installed gpusim it is inside the package, in a checkout beside it.

    Raises:
        UserError: neither is there, so the installation is broken.
    """
    for folder in (_PACKAGE / "data" / kind, _PACKAGE.parent / kind):
        if folder.is_dir():
            return folder
    raise UserError(f"gpusim's own {kind} are missing from {_PACKAGE}: install it again")


def data_names(kind: str) -> tuple[str, ...]:
    """Names of the shipped TOML files of a kind, sorted."""
    return tuple(sorted(path.stem for path in data_folder(kind).glob("*.toml")))


def find_data(kind: str, name_or_path: str) -> Path:
    """The TOML file that a user means: a shipped name, or a path (with a ``/`` or ``.toml``).

    Raises:
        UserError: there is no such file.
    """
    what = kind.removesuffix("s")
    path = Path(name_or_path)
    if path.suffix == ".toml" or len(path.parts) > 1:
        if not is_file(path):
            raise UserError(f"there is no {what} file {name_or_path!r}")
        return path
    names = data_names(kind)
    if name_or_path not in names:
        raise UserError(
            f"there is no {what} named {name_or_path!r}{nearest(name_or_path, names)}; "
            f"allowed: {few(names, name_or_path)}, or the path of a .toml file"
        )
    return data_folder(kind) / f"{name_or_path}.toml"
