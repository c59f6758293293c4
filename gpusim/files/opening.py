"""Opening untrusted HDF5 files: nothing but the file itself is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusim.core.errors import UserError
from gpusim.core.untrusted import file_bytes

if TYPE_CHECKING:
    import h5py


def open_hdf5(path: Path, **options: Any) -> h5py.File:
    """Open a file for reading, unless it shows what lies in other files of the machine.

    Args:
        path: of the file.
        options: for `h5py.File`.

    Raises:
        UserError: there is no such file, or parts of it lie elsewhere.
        OSError: it is no HDF5 file, or damaged.
    """
    import h5py

    file_bytes(path)
    file = h5py.File(path, "r", **options)
    try:
        elsewhere = _elsewhere(file)
    except RuntimeError as error:  # what h5py makes of damage that it meets on the way
        file.close()
        raise OSError(f"{error}") from error
    except BaseException:
        file.close()
        raise
    if elsewhere:
        file.close()
        raise UserError(f"{path}: {elsewhere}: refused, since it may be any file of yours")
    return file


def _elsewhere(file: h5py.File) -> str:
    """The first part that lies in another file, and how; empty if there is none."""
    import h5py

    def link(name: bytes, info: Any) -> str | None:
        outside = info.type not in {h5py.h5l.TYPE_HARD, h5py.h5l.TYPE_SOFT}
        return f"{_text(name)!r} is a link to another file" if outside else None

    def object_(name: bytes, info: Any) -> str | None:
        if info.type != h5py.h5o.TYPE_DATASET:
            return None
        dataset = h5py.h5d.open(file.id, name)
        made = dataset.get_create_plist()
        if made.get_external_count() or made.get_layout() == h5py.h5d.VIRTUAL:
            return f"the values of {_text(name)!r} lie in another file"
        return None

    links: str | None = file.id.links.visit(link, info=True)
    return links or h5py.h5o.visit(file.id, object_, info=True) or ""


def _text(name: bytes | str) -> str:
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else name
