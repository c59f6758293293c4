"""Memory traces of NVBit's tool mem_trace: the text that it prints, a line a warp instruction.

Nothing is known of what warps do between two memory instructions.  Our choice: a warp waits for a
load before its next memory instruction, and arithmetic takes no time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from attrs import define
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.core.streams import StreamUse
from gpusim.core.warp_program import INACTIVE, NOTHING_ASKED, Asked, LaneChunk, Op
from gpusim.traces.application import (
    ADDRESS_BITS,
    TraceApplication,
    TraceFile,
    TraceLaunch,
)
from gpusim.traces.blocks import WARP_SIZE, BlockTrace
from gpusim.traces.cache_operators import CacheOperator, cache_operator, load_op
from gpusim.traces.lanes import WINDOW_BYTES
from gpusim.traces.launch_needs import LaunchNeeds
from gpusim.traces.nvbit_index import NvbitIndex, NvbitKernel, Record, build_index
from gpusim.traces.sass import (
    BULK_OPCODES,
    MEMORY_OPCODES,
    Space,
    access_bytes,
    base_opcode,
    bulk_op,
    moves_data,
    width_conflict,
)
from gpusim.traces.sass_unmodelled import (
    NO_THREADS,
    NOT_IN_FILE,
    TAKEN_FOR_GLOBAL,
    WIDTHS,
    unhonoured,
)
from gpusim.traces.text import plain_stem
from gpusim.traces.unread import Unread

FORMAT = "NVBit mem_trace"

LANES = (
    "'0x<data>,0x<address>' alone, taken for loads of a lane of 4 bytes, 32 in a row of one warp"
)

_ACCESS = re.compile(r" - warp \d+ - (?P<opcode>[\w.]+) - (?:Size (?P<size>\d+) - )?(?P<lanes>.*)")
_THREAD = re.compile(r"Thread(\d+),0x[0-9a-fA-F]+,0x([0-9a-fA-F]+)")


def open_nvbit(path: Path, needs: LaunchNeeds) -> TraceFile:
    """Find all records of a file, in one pass.

    Args:
        path: of the file.
        needs: what stands in place of the registers and shared memory of its launches.

    Raises:
        UserError: the file cannot be read, or a line is wrong.
    """
    index = build_index(path, needs)
    name = plain_stem(path)
    unread = Unread()
    if index.lanes:
        unread.note(LANES, "lines", index.lanes)
    application = NvbitApplication(
        name=name, buffers=tuple(index.buffers), index=index, unread=unread
    )
    return TraceFile(path, FORMAT, name, (application,), (path,))


@define(kw_only=True, eq=False)
class NvbitApplication(TraceApplication):
    """The launches of a file, in their streams.

    Attributes:
        index: of the file.
    """

    index: NvbitIndex

    def read_launches(self) -> Iterator[TraceLaunch]:
        for kernel in self.index.kernels.values():
            yield NvbitLaunch(
                name=kernel.name,
                blocks=kernel.blocks,
                threads_per_block=kernel.threads_per_block,
                warp_size=WARP_SIZE,
                registers_per_thread=kernel.registers,
                shared_bytes=kernel.shared_bytes,
                stream_use=StreamUse(kernel.stream),
                index=self.index,
                kernel=kernel,
            )


@define(kw_only=True, eq=False)
class NvbitLaunch(TraceLaunch):
    """A launch of which any block can be read on its own.

    Attributes:
        index: of the file.
        kernel: its part of it.
    """

    index: NvbitIndex
    kernel: NvbitKernel

    def chunks(self, block: int, asked: Asked = NOTHING_ASKED) -> Iterator[LaneChunk]:
        trace = BlockTrace(self, block)
        if block not in self.kernel.records:
            self.unread.note(NOT_IN_FILE, "thread blocks")
        for record in self.index.records(self.kernel, block):
            try:
                self._instruction(trace, record)
            except (ValueError, OverflowError) as error:
                large = isinstance(error, OverflowError)
                reason = f"an address has more than {ADDRESS_BITS} bits" if large else error
                raise UserError(f"{self.index.path}:{record.line}: {reason}") from error
        yield from trace.chunks()

    def _instruction(self, trace: BlockTrace, record: Record) -> None:
        if not record.text.startswith("MEMTRACE"):
            self._access(trace, record, "LDG", _listed(record.text), 4)
            return
        found = _ACCESS.search(record.text)
        if found is None:
            raise ValueError("must be '- warp W - OPCODE - addresses'")
        opcode, stated = found["opcode"], int(found["size"] or 0)
        executed = _is_executed(opcode)
        for reason in unhonoured(opcode, executed):
            self.unread.note(reason, opcode)
        if width_conflict(opcode, stated):
            self.unread.note(WIDTHS, opcode)
        if cache_operator(opcode) == CacheOperator.INVALIDATE_L1:
            trace.warps[record.warp].add(Op.INVALIDATE, 0)
        if executed:
            size = access_bytes(opcode, stated)
            self._access(trace, record, opcode, _addresses(found["lanes"]), size)
            if MEMORY_OPCODES.get(base_opcode(opcode), (None,))[0] == Space.GENERIC:
                self.unread.note(TAKEN_FOR_GLOBAL, opcode)

    def _access(
        self, trace: BlockTrace, record: Record, opcode: str, address: NDArray[np.int64], size: int
    ) -> None:
        space, op = _what(opcode, int(address.max()))
        if space != Space.SHARED:
            address = np.where(address == 0, INACTIVE, address)
            threads = self.threads_per_block - WARP_SIZE * record.warp
            if (address[threads:] != INACTIVE).any():
                self.unread.note(NO_THREADS, opcode)
        warp = trace.warps[record.warp]
        if (address == INACTIVE).all():
            trace.idle_access(record.warp, space)
            return
        before = warp.loads
        trace.access(record.warp, len(warp.steps), space, op, address.tolist(), size)
        if warp.loads > before:
            warp.add(Op.WAIT, 0)


def _is_executed(opcode: str) -> bool:
    """Whether an instruction with an address is an access; raises ValueError: it is not known."""
    base = base_opcode(opcode)
    return bulk_op(opcode) != Op.COMPUTE if base in BULK_OPCODES else moves_data(base)


def _what(opcode: str, highest: int) -> tuple[Space, Op]:
    """What an access does where.

    The tool makes a record for each operand in memory, so an LDGSTS has two: what it stores to
    shared memory, whose addresses count from the begin of it, and what it loads from global memory.
    """
    base = base_opcode(opcode)
    if base in BULK_OPCODES:
        return Space.GLOBAL, bulk_op(opcode)
    if base == "LDGSTS" and highest < WINDOW_BYTES:
        return Space.SHARED, Op.STORE
    space, op = MEMORY_OPCODES[base]
    return space, op if space == Space.SHARED else load_op(opcode, op)


def _addresses(lanes: str) -> NDArray[np.int64]:
    """The (32,) addresses of a line, `INACTIVE` for lanes that it leaves out.

    Either all of them, as mem_trace prints them, or ``Thread<lane>,<data>,<address>``.
    """
    if lanes.startswith("MREF"):
        pairs = [(int(lane), int(address, 16)) for lane, address in _THREAD.findall(lanes)]
        if not pairs or len(pairs) != lanes.count("Thread"):
            raise ValueError("each lane must be 'Thread<lane>,0x<data>,0x<address>'")
    else:
        fields = lanes.split()
        if len(fields) != WARP_SIZE:
            raise ValueError(f"{len(fields)} addresses; must be {WARP_SIZE}")
        pairs = [(lane, int(field, 16)) for lane, field in enumerate(fields)]
    address = np.full(WARP_SIZE, INACTIVE)
    for lane, value in pairs:
        if lane >= WARP_SIZE:
            raise ValueError(f"there is no lane {lane}")
        if value < 0:
            raise ValueError("an address is negative")
        address[lane] = value
    return address


def _listed(text: str) -> NDArray[np.int64]:
    """(32,) addresses of lines ``<data>,<address>``; the last ones may be missing."""
    address = np.full(WARP_SIZE, INACTIVE)
    for lane, pair in enumerate(text.split()):
        address[lane] = int(pair.partition(",")[2], 16)
    return address
