"""`open_trace`: any trace file, by its name and content."""

from __future__ import annotations

import os
from pathlib import Path

from gpusim.core.errors import UserError
from gpusim.core.untrusted import file_bytes, is_file, is_folder, untrusted
from gpusim.traces.application import TraceFile
from gpusim.traces.macsim import KERNEL_CONFIG, MARKS, open_macsim
from gpusim.traces.nvbit import open_nvbit
from gpusim.traces.nvbit_index import MARK
from gpusim.traces.recorded import open_recorded
from gpusim.traces.text import DAMAGES, damage, open_binary
from gpusim.traces.traceg import KERNELS_LIST, is_kernel, open_kernel, open_kernels_list

TABLE_SUFFIXES = (".npz", ".parquet")
"""Endings of columnar tables."""

LISTS = (KERNELS_LIST, KERNEL_CONFIG)
"""Names of the lists of kernels that make a folder a trace."""

_HDF5 = b"\x89HDF\r\n\x1a\n"
_TAR = b"ustar"
_TAR_AT = 257
_LOOKED_AT = 1 << 16
"""Bytes in which the first line of NVBit's mem_trace must lie."""

FORMATS = (
    "a trace of gpusim (HDF5), kernelslist.g, KERNEL.traceg[.xz, .gz] or KERNEL.tracez of "
    "Accel-Sim, kernel_config.txt of MacSim, text of NVBit's mem_trace [.gz, .xz], or a table "
    "(.npz, .parquet)"
)
"""What can be opened."""


def open_trace(path: str | os.PathLike[str], paced: bool = False) -> TraceFile:
    """Open a trace file, or a folder with a list of kernels.

    Args:
        path: of the file, or folder.
        paced: whether warps shall keep to recorded times, which only tables have.

    Raises:
        UserError: there is no such file, its format is not known, its header is wrong, or it has
            no times.
    """
    with untrusted(path):
        return _open(Path(path), paced)


def _open(path: Path, paced: bool) -> TraceFile:
    if paced and path.suffix not in TABLE_SUFFIXES:
        raise UserError(
            f"{path}: has no times to keep to; a table ({', '.join(TABLE_SUFFIXES)}) may"
        )
    if is_folder(path):
        path = _list_in(path)
    file_bytes(path)
    if path.name == KERNELS_LIST:
        return open_kernels_list(path)
    if is_kernel(path):
        return open_kernel(path)
    if path.suffix in TABLE_SUFFIXES:
        from gpusim.traces.table import open_table

        return open_table(path, paced)
    begin = _begin(path)
    if begin.startswith(_HDF5):
        return open_recorded(path)
    if begin.startswith(MARKS):
        return open_macsim(path)
    if MARK in begin:
        return open_nvbit(path)
    if begin[_TAR_AT:].startswith(_TAR):
        raise UserError(f"{path} is an archive: unpack it, and give the folder with the trace")
    raise UserError(f"{path} is no trace that gpusim knows; it reads {FORMATS}")


def _list_in(folder: Path) -> Path:
    for name in LISTS:
        if is_file(folder / name):
            return folder / name
    raise UserError(f"cannot open {folder}: there is no {' or '.join(LISTS)} in it")


def _begin(path: Path) -> bytes:
    try:
        with open_binary(path) as stream:
            return stream.read(_LOOKED_AT)
    except DAMAGES as error:
        raise UserError(damage(path, 0, error)) from error
