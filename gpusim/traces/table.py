"""Tables of memory transactions, one row each: the format that is easiest to write."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from attrs import define

from gpusim.core.code_places import CodePlace
from gpusim.core.errors import UserError
from gpusim.core.untrusted import is_file, untrusted
from gpusim.core.warp_program import NOTHING_ASKED, Asked, Buffer, LaneChunk
from gpusim.traces.application import (
    MOST_EMPTY_BLOCKS,
    TraceApplication,
    TraceFile,
    TraceLaunch,
    check_launch,
)
from gpusim.traces.memory_budget import Room
from gpusim.traces.table_columns import Array
from gpusim.traces.table_facts import KernelFacts, TableFacts, read_facts
from gpusim.traces.table_index import TableIndex
from gpusim.traces.unread import COLUMNS, Unread
from gpusim.traces.warps import WarpTrace, chunks_of

_PAGE_BYTES = 4096


def open_table(path: str | os.PathLike[str], paced: bool = False) -> TraceFile:
    """Open a table, ``NAME.npz`` or ``NAME.parquet``, with its ``NAME.json`` if there is one.

    `gpusim.traces.table_columns` describes the columns, `table_facts` the JSON file.

    Args:
        path: of the table.
        paced: whether warps shall issue no memory instruction before its time in the table,
            counted from the first of its launch.

    Raises:
        UserError: it cannot be read, or contradicts itself; names file, column and row.
    """
    path = Path(path)
    with untrusted(path):
        return _open(path, paced)


def _open(path: Path, paced: bool) -> TraceFile:
    facts = read_facts(path)
    index = TableIndex(path, paced)
    unread = Unread()
    for name in index.unknown:
        unread.note(COLUMNS, name[:40])
    application = TableApplication(
        name=facts.name,
        buffers=_buffers(index.pages),
        names_all_arrays=len(index.pages) > 0,
        warp_size=facts.warp_size,
        index=index,
        kernels=_kernels(path, facts, index),
        unread=unread,
    )
    return TraceFile(
        path=path,
        format="table of transactions",
        name=facts.name,
        applications=(application,),
        files=(path, facts.path) if is_file(facts.path) else (path,),
        warp_size=facts.warp_size,
        by_thread=False,
    )


@define(kw_only=True, eq=False)
class TableApplication(TraceApplication):
    """The application of a table.

    Attributes:
        warp_size: lanes of a wavefront.
        index: the table.
        kernels: its launches, complete.
    """

    warp_size: int
    index: TableIndex
    kernels: tuple[KernelFacts, ...]

    def read_launches(self) -> Iterator[TraceLaunch]:
        for number, kernel in enumerate(self.kernels):
            yield TableLaunch(
                name=kernel.name,
                blocks=kernel.blocks,
                threads_per_block=kernel.threads,
                warp_size=self.warp_size,
                registers_per_thread=kernel.registers,
                shared_bytes=kernel.shared_bytes,
                by_thread=False,
                index=self.index,
                number=number,
            )


@define(kw_only=True, eq=False)
class TableLaunch(TraceLaunch):
    """A launch of a table.

    Attributes:
        index: the table.
        number: of the launch.
    """

    index: TableIndex
    number: int

    def chunks(self, block: int, asked: Asked = NOTHING_ASKED) -> Iterator[LaneChunk]:
        room = Room()
        warps = [WarpTrace(room) for _ in range(self.warps_per_block)]
        self.index.fill(self.number, block, warps, asked)
        return chunks_of(warps, self._number_of if asked.places and self.index.has_pc else None)

    def _number_of(self, place: int) -> int:
        return self.places.number(CodePlace(self.name, pc=place))

    def recorded_sm(self, block: int) -> int | None:
        """The SM on which a block ran; None: the table does not state it."""
        return self.index.sm(self.number, block)


def _kernels(path: Path, facts: TableFacts, index: TableIndex) -> tuple[KernelFacts, ...]:
    """All launches; what the JSON file does not state is taken from the rows."""
    count = index.launches
    launch_facts = facts.kernels or tuple(
        KernelFacts(f"kernel {number}") for number in range(count)
    )
    if not launch_facts:
        raise UserError(
            f"{path}: there are no rows, no wf_ columns, and no kernels in {facts.path}"
        )
    if len(launch_facts) < count:
        raise UserError(
            f"{path}: column 'kernel' goes up to {count - 1}, but {facts.path} has "
            f"{len(launch_facts)} kernels"
        )
    return tuple(
        _complete(path, facts, index, number, one) for number, one in enumerate(launch_facts)
    )


def _complete(
    path: Path, facts: TableFacts, index: TableIndex, number: int, kernel: KernelFacts
) -> KernelFacts:
    blocks = int(index.blocks(number).max(initial=-1)) + 1
    if kernel.blocks and kernel.blocks < blocks:
        raise UserError(
            f"{path}: column 'workgroup' goes up to {blocks - 1} in kernel {number}, which has "
            f"{kernel.blocks} of them in {facts.path}"
        )
    warps = index.warps(number)
    threads = kernel.threads or max(warps, 1) * facts.warp_size
    if warps * facts.warp_size >= threads + facts.warp_size:
        raise UserError(
            f"{path}: a workgroup of kernel {number} has {warps} wavefronts, but {facts.path} "
            f"gives it {threads} threads in wavefronts of warp_size = {facts.warp_size}"
        )
    known = len(np.unique(index.blocks(number)))
    if (kernel.blocks or blocks) > known + MOST_EMPTY_BLOCKS:
        raise UserError(
            f"{path}: kernel {number} has {kernel.blocks or blocks} workgroups, but rows for only "
            f"{known}; at most {MOST_EMPTY_BLOCKS} may have none"
        )
    try:
        check_launch(kernel.blocks or blocks, threads, kernel.registers, kernel.shared_bytes)
    except ValueError as error:
        raise UserError(f"{path}: kernel {number}: {error}") from error
    return KernelFacts(
        kernel.name, kernel.blocks or blocks, threads, kernel.registers, kernel.shared_bytes
    )


def _buffers(pages: Array) -> tuple[Buffer, ...]:
    """Runs of mapped pages."""
    numbers = np.unique(pages.astype(np.int64) // _PAGE_BYTES)
    if not len(numbers):
        return ()
    first = np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 2) != 1)
    counts = np.diff(np.append(first, len(numbers)))
    return tuple(
        Buffer(f"pages {index}", int(numbers[at]) * _PAGE_BYTES, int(count) * _PAGE_BYTES)
        for index, (at, count) in enumerate(zip(first, counts, strict=True))
    )
