"""`open_trace`: any trace file, by its name and content."""

from __future__ import annotations

import codecs
import os
import re
from pathlib import Path

from attrs import evolve

from gpusim.core.errors import UserError
from gpusim.core.untrusted import file_bytes, is_file, is_folder, untrusted
from gpusim.traces.application import TraceFile
from gpusim.traces.options import RECORDED, TraceOptions
from gpusim.traces.table_columns import is_csv_table
from gpusim.traces.text import DAMAGES, damage, open_binary
from gpusim.traces.traceg import KERNELS_LIST, is_kernel, open_kernel, open_kernels_list

TABLE_SUFFIXES = (".npz", ".parquet")
"""Endings of columnar tables."""

LISTS = (KERNELS_LIST, "kernel_config.txt")
"""Names of the lists of kernels that make a folder a trace."""

_UNREADABLE = {
    b"\x1f\x8b": "is compressed by gzip: its name must end in .gz",
    b"\xfd7zXZ\0": "is compressed by xz: its name must end in .xz",
    b"\x28\xb5\x2f\xfd": "is compressed by zstd: its name must end in .zst",
    b"BZh": "is compressed by bzip2: unpack it, or compress it by gzip, xz or zstd",
    b"PK\3\4": "is an archive: unpack it",
    codecs.BOM_UTF16_LE: "is text in UTF-16: write it as UTF-8",
    codecs.BOM_UTF16_BE: "is text in UTF-16: write it as UTF-8",
}
"""By the first bytes of a file that is no trace as it stands, what to do."""

_RAW_TRACE = re.compile(rb"^#traces format|^kernel-[^\n]*\.trace\r?$", re.MULTILINE)
"""A kernel, or a list of kernels, as they are before Accel-Sim's post-processing."""

_HDF5 = b"\x89HDF\r\n\x1a\n"
_TAR = b"ustar"
_TAR_AT = 257
_MOST_NAME = 4096
"""Letters of a path."""

_LOOKED_AT = 1 << 16
"""Bytes in which the first line of NVBit's mem_trace must lie."""

FORMATS = (
    "a trace of gpusim (HDF5), a list of kernels (kernelslist.g), KERNEL.traceg[.xz, .gz, .zst] or "
    "KERNEL.tracez of Accel-Sim, kernel_config.txt of MacSim, text of NVBit's mem_trace [.gz, .xz, "
    ".zst], a table (.npz, .parquet), or the memory trace of one thread (CSV, Ramulator, DRAMsim3, "
    "ChampSim, lackey, din)"
)
"""What can be opened."""


def open_trace(
    path: str | os.PathLike[str],
    paced: bool = False,
    options: TraceOptions | None = None,
) -> TraceFile:
    """Open a trace file, or a folder with a list of kernels.

    Args:
        path: of the file, or folder.
        paced: whether warps shall keep to recorded times, which only tables have.
        options: what a user says beside the file; default: nothing.

    Raises:
        UserError: there is no such file, its format is not known, its header is wrong, or an option
            does not fit it.
    """
    options = options or TraceOptions()
    with untrusted(path):
        trace = _open(Path(path), options, paced or options.pace == RECORDED)
    if options.spreads and not _is_of_one_thread(trace):
        raise UserError(
            f"{path}: --set workload.lanes and --set workload.warps are for traces of one thread; "
            f"this is one of a GPU ({trace.format})"
        )
    return evolve(trace, applications=tuple(map(options.applied, trace.applications)))


def _open(path: Path, options: TraceOptions, paced: bool) -> TraceFile:
    if is_folder(path):
        path = _list_in(path)
    file_bytes(path)
    table = path.suffix in TABLE_SUFFIXES or is_csv_table(path)
    if paced and not table:
        raise UserError(
            f"{path}: has no times to keep to; a table ({', '.join(TABLE_SUFFIXES)}) may"
        )
    if is_kernel(path):
        return open_kernel(path, options.needs)
    if table:
        from gpusim.traces.table import open_table

        return open_table(path, paced)
    return _by_content(path, options)


def _is_of_one_thread(trace: TraceFile) -> bool:
    from gpusim.traces.memory_traces import MEMORY_FORMATS

    return trace.format in MEMORY_FORMATS


def _by_content(path: Path, options: TraceOptions) -> TraceFile:
    begin = _begin(path)
    for mark, what in _UNREADABLE.items():
        if begin.startswith(mark):
            raise UserError(f"{path} {what}")
    if path.name == KERNELS_LIST or _lists_kernels(begin):
        return open_kernels_list(path, options.needs)
    return _by_mark(path, begin, options)


def _by_mark(path: Path, begin: bytes, options: TraceOptions) -> TraceFile:
    """A file that is no list of Accel-Sim; its readers are imported now."""
    from gpusim.traces.macsim import MARKS, open_macsim
    from gpusim.traces.memory_traces import open_memory_trace
    from gpusim.traces.nvbit import open_nvbit
    from gpusim.traces.nvbit_index import MARK
    from gpusim.traces.recorded import open_recorded

    if begin.startswith(_HDF5):
        return open_recorded(path)
    if begin.startswith(MARKS):
        return open_macsim(path, options.needs)
    if MARK in begin:
        return open_nvbit(path, options.needs)
    if begin[_TAR_AT:].startswith(_TAR):
        raise UserError(f"{path} is an archive: unpack it, and give the folder with the trace")
    if trace := open_memory_trace(path, begin, options):
        return trace
    if _RAW_TRACE.search(begin):
        raise UserError(
            f"{path} is what Accel-Sim's tracer writes first: its post-traces-processing makes a "
            "kernelslist.g and .traceg files of it"
        )
    raise UserError(f"{path} is no trace that gpusim knows; it reads {FORMATS}")


def _lists_kernels(begin: bytes) -> bool:
    """Whether a text begins as a list of kernels does: with a kernel's file, or a copy."""
    for line in begin.decode("utf-8-sig", "replace").splitlines():
        if line.strip() and not line.startswith("#"):
            return line.startswith("Memcpy") or is_kernel(Path(line.strip()[:_MOST_NAME]))
    return False


def list_in(folder: Path) -> Path | None:
    """The list of kernels in a folder: by its usual name, or the only one that has another.

    Raises:
        UserError: there are several.
    """
    for name in LISTS:
        if is_file(folder / name):
            return folder / name
    found = sorted(one for one in folder.glob("kernelslist*.g") if is_file(one))
    if len(found) > 1:
        names = ", ".join(one.name for one in found)
        raise UserError(f"{folder} has several lists of kernels: name one of {names}")
    return found[0] if found else None


def _list_in(folder: Path) -> Path:
    if found := list_in(folder):
        return found
    raise UserError(f"cannot open {folder}: there is no {' or '.join(LISTS)} in it")


def _begin(path: Path) -> bytes:
    try:
        with open_binary(path) as stream:
            return stream.read(_LOOKED_AT)
    except DAMAGES as error:
        raise UserError(damage(path, 0, error)) from error
