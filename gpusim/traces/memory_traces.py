"""Memory traces of CPUs and of memory simulators as programs: one thread's accesses on one lane.

Nothing waits for a load: these formats tell no dependences, and their own simulators' front ends
send requests as fast as the memory takes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from attrs import define, frozen
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.core.untrusted import check_unpacked
from gpusim.core.warp_program import NOTHING_ASKED, Asked, LaneChunk, Op
from gpusim.traces.application import TraceApplication, TraceFile, TraceLaunch
from gpusim.traces.blocks import WARP_SIZE
from gpusim.traces.champsim import FORMAT as CHAMPSIM
from gpusim.traces.champsim import MARK, SUFFIX, read_champsim
from gpusim.traces.memory_csv import csv_layout, read_csv
from gpusim.traces.memory_lines import FORMATS, format_of, read_lines_of
from gpusim.traces.options import TraceOptions
from gpusim.traces.text import PACKED, Line, plain_name, plain_stem, read_lines
from gpusim.traces.thread_records import ACCESS_BYTES, ThreadRecords
from gpusim.traces.unread import Unread
from gpusim.traces.warps import WarpTrace, chunks_of

CSV = "CSV of accesses"

MEMORY_FORMATS = (CSV, CHAMPSIM, *(form.name for form in FORMATS))
"""Names of the formats."""

_WARPS_PER_BLOCK = 8
_LOOK_EVERY = 1 << 14
"""Lines of a compressed text between two looks at its size."""

_PIECE = 1024
"""Instructions of a block that are made at a time."""


@frozen(eq=False)
class ReadThread:
    """A file that was read.

    Attributes:
        form: name of its format.
        records: its accesses.
        time: what becomes of the time between them, for people.
        unread: counts what is not read.
    """

    form: str
    records: ThreadRecords
    time: str
    unread: Unread


def open_memory_trace(path: Path, begin: bytes, options: TraceOptions) -> TraceFile | None:
    """A memory trace; None: the file is in none of these formats.

    Args:
        path: of the file.
        begin: its first bytes, unpacked.
        options: how many lanes and warps its accesses are spread over.

    Raises:
        UserError: a line or record is wrong.
    """
    read = _read(path, begin)
    if read is None:
        return None
    if not len(read.records):
        raise UserError(f"{path}: has no access ({read.form})")
    name = plain_stem(path)
    application = ThreadApplication(
        name=name,
        steps=_steps(read.records, options),
        records=read.records,
        unread=read.unread,
        notices=(_notice(read, options),),
    )
    return TraceFile(path, read.form, name, (application,), (path,), by_thread=False)


def _read(path: Path, begin: bytes) -> ReadThread | None:
    unread = Unread()
    name = plain_name(path).lower()
    if b"\0" in begin and (MARK in name or name.endswith(SUFFIX)):
        time = "instructions without accesses take their issue slots"
        return ReadThread(CHAMPSIM, read_champsim(path), time, unread)
    if b"\0" in begin:
        return None
    lines = begin.decode("utf-8-sig", "replace").splitlines()
    if len(lines) > 1 and not begin.endswith(b"\n"):
        lines.pop()  # it may go on
    if form := format_of(name, lines):
        records = read_lines_of(path, form, _lines(path))
        return ReadThread(form.name, records, form.time, unread)
    if layout := csv_layout(lines):
        records, bare = read_csv(path, layout, _lines(path), unread)
        base = "its addresses are hex" if bare else "its addresses are decimal or with 0x"
        return ReadThread(CSV, records, f"it states no times, {base}", unread)
    if name.endswith((".csv", ".tsv")):
        raise UserError(
            f"{path}: no column has addresses: name one of them 'address' in the first line, and "
            "perhaps others 'is_write', 'size' and 'warp'"
        )
    return None


def _lines(path: Path) -> Iterator[Line]:
    """The lines of a text that is no bomb, neither as it stands nor as accesses in memory."""
    size = 0
    for number, text in read_lines(path):
        size += len(text) + ACCESS_BYTES
        if path.suffix in PACKED and number % _LOOK_EVERY == 0:
            check_unpacked(path, size)
        yield number, text


def _notice(read: ReadThread, options: TraceOptions) -> str:
    """How the trace was read, for people."""
    threads = len(set(read.records.warp))
    if options.spreads:
        how = f"spread over {options.warps} warps, {options.lanes} accesses an instruction"
    elif threads > 1:
        how = f"those of {threads} threads, each on one lane of a warp of its own"
    else:
        how = "one thread's, on one lane of one warp"
    return (
        f"{read.form}: its accesses are {how}; no load is waited for, {read.time}; its addresses "
        "are taken for virtual ones; see docs/traces.md#memory-traces"
    )


@frozen(eq=False)
class Steps:
    """Instructions made of accesses.

    Attributes:
        first: (n + 1,) first access of each instruction, and the number of all.
        warp: (n,) its warp.
        warps: number of warps.
    """

    first: NDArray[np.int64]
    warp: NDArray[np.int64]
    warps: int


def _steps(records: ThreadRecords, options: TraceOptions) -> Steps:
    """Accesses in a row of one kind, size and thread become one instruction of `lanes` lanes.

    Warps that a file states keep their instructions; others take turns with them.
    """
    size, store = np.array(records.size), np.array(records.store)
    threads, thread = np.unique(np.array(records.warp, dtype=np.int64), return_inverse=True)
    begins = np.ones(len(size), dtype=bool)
    begins[1:] = (np.diff(size) != 0) | (np.diff(store) != 0) | (np.diff(thread) != 0)
    begins |= np.array(records.before) > 0
    run = np.flatnonzero(begins)
    place = np.arange(len(size)) - np.repeat(run, np.diff(np.append(run, len(size))))
    first = np.flatnonzero(place % options.lanes == 0)
    if len(threads) > 1:
        return Steps(np.append(first, len(size)), thread[first], len(threads))
    warp = np.arange(len(first)) % options.warps
    return Steps(np.append(first, len(size)), warp, min(options.warps, len(first)))


@define(kw_only=True, eq=False)
class ThreadApplication(TraceApplication):
    """The only launch of a memory trace.

    Attributes:
        records: its accesses.
        steps: the instructions that they make.
    """

    records: ThreadRecords
    steps: Steps

    def read_launches(self) -> Iterator[TraceLaunch]:
        warps = min(self.steps.warps, _WARPS_PER_BLOCK)
        yield ThreadLaunch(
            name=self.name,
            blocks=-(-self.steps.warps // warps),
            threads_per_block=warps * WARP_SIZE,
            warp_size=WARP_SIZE,
            by_thread=False,
            records=self.records,
            steps=self.steps,
        )


@define(kw_only=True, eq=False)
class ThreadLaunch(TraceLaunch):
    """The launch; attributes as of `ThreadApplication`."""

    records: ThreadRecords
    steps: Steps

    def chunks(self, block: int, asked: Asked = NOTHING_ASKED) -> Iterator[LaneChunk]:
        mine = np.flatnonzero(self.steps.warp // self.warps_per_block == block)
        for begin in range(0, len(mine), _PIECE):
            yield from self._piece(mine[begin : begin + _PIECE].tolist())
        if self.records.after and len(mine) and mine[-1] == len(self.steps.warp) - 1:
            yield from self._end(int(self.steps.warp[mine[-1]]))

    def _piece(self, steps: Sequence[int]) -> Iterator[LaneChunk]:
        """Some instructions of a block, in order."""
        warps = [WarpTrace() for _ in range(self.warps_per_block)]
        records = self.records
        for step in steps:
            first, last = self.steps.first[step : step + 2].tolist()
            warp = warps[int(self.steps.warp[step]) % self.warps_per_block]
            if records.before[first]:
                warp.add(Op.COMPUTE, records.before[first])
            address = records.address[first:last].tolist()
            op = Op.STORE if records.store[first] else Op.LOAD
            warp.access(step, op, address, records.size[first])
        yield from chunks_of(warps)

    def _end(self, warp: int) -> Iterator[LaneChunk]:
        """What is executed behind the last access."""
        warps = [WarpTrace() for _ in range(self.warps_per_block)]
        warps[warp % self.warps_per_block].add(Op.COMPUTE, self.records.after)
        yield from chunks_of(warps)
