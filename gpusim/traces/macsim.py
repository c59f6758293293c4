"""Traces of MacSim, version 14: a list of kernels or one kernel, and a file for each warp.

`macsim_records` has the layout of the warps' files, `docs/traces.md` what is read and what is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from attrs import define, frozen
from numpy.typing import NDArray

from gpusim.core.errors import UserError, nearest
from gpusim.core.untrusted import is_file
from gpusim.core.warp_program import NOTHING_ASKED, Asked, LaneChunk, Op
from gpusim.traces.application import (
    TraceApplication,
    TraceFile,
    TraceLaunch,
)
from gpusim.traces.blocks import WARP_SIZE, BlockTrace
from gpusim.traces.code_lines import CODE_BASE, CodePlaces
from gpusim.traces.cuda_launch import check_stated_launch
from gpusim.traces.launch_needs import LaunchNeeds
from gpusim.traces.macsim_records import KINDS, Instruction, Kind, read_warp
from gpusim.traces.sass import MEMORY_OPCODES, Space, moves_data
from gpusim.traces.sass_unmodelled import (
    EVICTION_HINTS,
    NO_ADDRESSES,
    NO_THREADS,
    NOT_IN_FILE,
    TAKEN_FOR_GLOBAL,
    UNKNOWN,
    unhonoured,
)
from gpusim.traces.scoreboard import Scoreboard
from gpusim.traces.table_facts import KernelFacts
from gpusim.traces.text import Line, read_lines
from gpusim.traces.unread import Unread

FORMAT = "MacSim"

MARKS = tuple(f"{kind}{end}".encode() for kind in KINDS for end in ("\n", "\r\n"))
"""Begins of a list of kernels, and of a kernel."""

VERSION = 14

_LIST = -1
"""The third line of a list; that of a kernel is the most thread blocks of an SM."""

_NAMES = "kernel_names.txt"
NO_SIZES = (
    f"kernels whose registers and shared memory no {_NAMES} tells, taken for 0; "
    "see docs/traces.md#numbers-in-place-of-a-headers"
)
OTHER_LINES = f"lines of {_NAMES}, not read"

_BLOCK_SHIFT = 16
_NAME = re.compile(r"(?P<folder>\S+) name: (?P<name>.*)")
_SIZES = re.compile(
    r"\s*Grid size: .*, Block size: \((?P<x>\d+), (?P<y>\d+), (?P<z>\d+)\), .*"
    r"# of regs: (?P<registers>\d+), static shared mem: (?P<static>\d+), "
    r"dynamic shared mem: (?P<dynamic>\d+)"
)


def open_macsim(path: Path, needs: LaunchNeeds) -> TraceFile:
    """A list of kernels, which run one after the other, or a single kernel.

    Args:
        path: of the list, or the kernel.
        needs: what stands in place of the registers and shared memory of its kernels.

    Raises:
        UserError: a text file is missing or wrong; names file and line.
    """
    _, most_blocks, lines = _header(path)
    unread = Unread()
    if most_blocks == _LIST:
        facts = _facts(path.with_name(_NAMES), unread)
        kernels = [_read_kernel(_listed(path, line), facts, needs) for line in lines]
        files: tuple[Path, ...] = (path.parent,)
    else:
        kernels = [_read_kernel(path, {}, needs)]
        files = (path, *kernels[0].all_files())
    if not kernels:
        raise UserError(f"{path}: names no kernel")
    for kernel in kernels:
        if not kernel.facts.registers and needs == LaunchNeeds():
            unread.note(NO_SIZES, kernel.facts.name)
        for what, absent in kernel.absent().items():
            unread.note(NOT_IN_FILE, what, absent)
    name = path.resolve().parent.name
    application = MacsimApplication(name=name, kernels=kernels, unread=unread)
    return TraceFile(path, FORMAT, name, (application,), files)


@frozen(eq=False)
class MacsimKernel:
    """A kernel, as its text file describes it.

    Attributes:
        path: of the text file; the warps' files lie beside it.
        kind: of the records.
        facts: its name, and its sizes if the list of names has them.
        warps: (n,) ids of all warps, sorted: the block's number, and 16 bits within the block.
        begins: (blocks + 1,) where each block's warps begin among them.
    """

    path: Path
    kind: Kind
    facts: KernelFacts
    warps: NDArray[np.int64]
    begins: NDArray[np.int64]

    @property
    def threads_per_block(self) -> int:
        """Threads of a block; if the trace does not state them, of as many warps as it has most."""
        return self.facts.threads or max(self.most_warps, 1) * WARP_SIZE

    @property
    def most_warps(self) -> int:
        """The most warps of a block; 0 if the kernel has no block."""
        return int(np.diff(self.begins).max(initial=0))

    def absent(self) -> dict[str, int]:
        """How many blocks, and warps of the others, ids below the highest ones leave out."""
        if not len(self.warps):
            return {"whole kernels": 1}
        block, warp = self.warps >> _BLOCK_SHIFT, self.warps & (1 << _BLOCK_SHIFT) - 1
        highest = warp[self.begins[1:] - 1] + 1
        gaps = {
            "thread blocks": int(block[-1]) + 2 - len(self.begins),
            "warps": int((highest - np.diff(self.begins)).sum()),
        }
        return {what: count for what, count in gaps.items() if count}

    def files(self, block: int) -> Iterator[Path]:
        """The files of a block's warps, in order."""
        for warp in self.warps[self.begins[block] : self.begins[block + 1]].tolist():
            yield self.path.with_name(f"{self.path.stem}_{warp}.raw")

    def all_files(self) -> Iterator[Path]:
        """The files of all warps that are there."""
        for block in range(len(self.begins) - 1):
            yield from filter(is_file, self.files(block))


@define(kw_only=True, eq=False)
class MacsimApplication(TraceApplication):
    """All kernels of a list, one after the other.

    Attributes:
        kernels: in order.
    """

    kernels: Sequence[MacsimKernel]

    def read_launches(self) -> Iterator[TraceLaunch]:
        code = CodePlaces()
        for kernel in self.kernels:
            yield MacsimLaunch(
                code=code.of(kernel.facts.name),
                name=kernel.facts.name,
                blocks=len(kernel.begins) - 1,
                threads_per_block=kernel.threads_per_block,
                warp_size=WARP_SIZE,
                registers_per_thread=kernel.facts.registers,
                shared_bytes=kernel.facts.shared_bytes,
                kernel=kernel,
            )


@define(kw_only=True, eq=False)
class MacsimLaunch(TraceLaunch):
    """A kernel of which any block can be read on its own.

    Attributes:
        kernel: its files.
        code: where its code lies.
    """

    kernel: MacsimKernel
    code: int = CODE_BASE

    def chunks(self, block: int, asked: Asked = NOTHING_ASKED) -> Iterator[LaneChunk]:
        trace = BlockTrace(self, block, asked, self.code)
        for warp, path in enumerate(self.kernel.files(block)):
            scoreboard = Scoreboard(trace.warps[warp], asked)
            threads = min(self.threads_per_block - WARP_SIZE * warp, WARP_SIZE)
            for instruction in read_warp(path, self.kernel.kind):
                try:
                    _note(trace, self.kernel.kind, instruction, threads)
                    _add(trace, warp, scoreboard, instruction)
                except ValueError as error:
                    raise UserError(
                        f"{path}: record {instruction.record.number}: {error}"
                    ) from error
        yield from trace.chunks()


def _note(trace: BlockTrace, kind: Kind, one: Instruction, threads: int) -> None:
    """Count what of an instruction is not honoured; `threads` are those of its warp."""
    record = one.record
    known = kind.opcodes.get(record.code) or kind.unmodelled.get(record.code)
    if not record.mask:
        return
    if one.address is not None and record.mask >> threads:
        trace.unread.note(NO_THREADS, known or f"opcode {record.code}")
    if known is None:
        if record.code > kind.last:
            trace.unread.note(UNKNOWN, f"opcode {record.code}")
    elif one.address is not None:
        constant = known == "LDC" and Op.CONSTANT in trace.asked
        for reason in () if constant else unhonoured(known, known in MEMORY_OPCODES):
            trace.unread.note(reason, known)
        if known in MEMORY_OPCODES and MEMORY_OPCODES[known][0] == Space.GENERIC:
            trace.unread.note(TAKEN_FOR_GLOBAL, known)
        if known in MEMORY_OPCODES and record.is_streaming:
            trace.unread.note(EVICTION_HINTS, known)
    elif known in MEMORY_OPCODES:
        trace.unread.note(NO_ADDRESSES, known)
    else:
        for reason in unhonoured(known, accesses=False):
            trace.unread.note(reason, known)


def _add(trace: BlockTrace, warp: int, scoreboard: Scoreboard, one: Instruction) -> None:
    record = one.record
    if trace.follows_code:
        trace.reach(warp, record.place)
    scoreboard.touch((*record.sources, *record.destinations))
    if one.address is not None and moves_data(one.opcode):
        if not one.size:
            raise ValueError("an access of 0 bytes")
        if one.size & one.size - 1:
            raise ValueError(f"a lane accesses {one.size} bytes; must be a power of two")
        space, op = MEMORY_OPCODES[one.opcode]
        if op == Op.LOAD and space == Space.GLOBAL and record.passes_l1:
            op = Op.COHERENT_LOAD
        trace.access(warp, record.place, space, op, one.address.tolist(), one.size)
        scoreboard.access(one.opcode, space, record.destinations, one.filled_bytes)
    elif one.opcode == "LDC" and one.address is not None and Op.CONSTANT in trace.asked:
        trace.constant(warp, record.place, one.address.tolist(), max(one.size, 1))
        scoreboard.load(record.destinations, one.filled_bytes)
    elif one.opcode in MEMORY_OPCODES:
        trace.idle_access(warp, MEMORY_OPCODES[one.opcode][0])
    elif one.opcode == "BAR" and record.mask:
        trace.warps[warp].add(Op.BARRIER, 0)
    else:
        trace.warps[warp].add(Op.COMPUTE, 1)
        if one.opcode == "LDGDEPBAR":
            scoreboard.commit()
        elif one.opcode == "DEPBAR":
            scoreboard.wait_groups(0)


def _header(path: Path) -> tuple[Kind, int, list[Line]]:
    """The kind, the number of the third line, and the lines after it; no empty ones."""
    lines = [(number, text.strip()) for number, text in read_lines(path) if text.strip()]
    if len(lines) < 3:
        raise UserError(f"{path}: must begin with a kind, a version and a number, a line each")
    (at, kind), version, most_blocks = lines[:3]
    if kind not in KINDS:
        raise UserError(f"{path}:{at}: {kind!r}{nearest(kind, KINDS)}; allowed: {', '.join(KINDS)}")
    if _number(path, version) != VERSION:
        raise UserError(
            f"{path}:{version[0]}: version {version[1]} of MacSim's traces; only {VERSION} is known"
        )
    return KINDS[kind], _number(path, most_blocks), lines[3:]


def _number(path: Path, line: Line) -> int:
    try:
        return int(line[1])
    except ValueError as error:
        raise UserError(f"{path}:{line[0]}: {line[1]!r} must be a whole number") from error


def _listed(path: Path, line: Line) -> Path:
    """The text file of a kernel: its last folder beside the list, wherever it was written."""
    listed = Path(line[1])
    kernel = path.parent / listed.parent.name / listed.name
    if not is_file(kernel):
        raise UserError(f"{path}:{line[0]}: there is no file {kernel}")
    return kernel


def _read_kernel(path: Path, facts: dict[str, KernelFacts], needs: LaunchNeeds) -> MacsimKernel:
    kind, most_blocks, lines = _header(path)
    if most_blocks == _LIST or not lines:
        raise UserError(f"{path}: must be a kernel: its fourth line is the number of its warps")
    count = _number(path, lines[0])
    ids = sorted(_warp_id(path, line) for line in lines[1:])
    if len(ids) != count:
        raise UserError(f"{path}: lists {len(ids)} warps; line {lines[0][0]} says {count}")
    for one, other in pairwise(ids):
        if one == other:
            raise UserError(f"{path}: warp {one} comes twice")
    warps = np.array(ids, dtype=np.int64)
    _, first = np.unique(warps >> _BLOCK_SHIFT, return_index=True)
    folder = path.resolve().parent.name
    kernel = MacsimKernel(
        path, kind, facts.get(folder, KernelFacts(folder)), warps, np.append(first, len(warps))
    )
    try:
        own = kernel.facts
        grid = len(kernel.begins) - 1, 1, 1
        check_stated_launch(
            grid, kernel.threads_per_block, (own.registers, own.shared_bytes), needs
        )
    except ValueError as error:
        raise UserError(f"{path}: {error}") from error
    if kernel.most_warps * WARP_SIZE >= kernel.threads_per_block + WARP_SIZE:
        raise UserError(
            f"{path}: a block has {kernel.most_warps} warps, but {_NAMES} gives it "
            f"{kernel.threads_per_block} threads"
        )
    return kernel


def _warp_id(path: Path, line: Line) -> int:
    found = re.fullmatch(r"(\d{1,18})\s+0", line[1])
    if not found:
        raise UserError(f"{path}:{line[0]}: {line[1]!r} must be the id of a warp, and 0")
    return int(found[1])


def _facts(path: Path, unread: Unread) -> dict[str, KernelFacts]:
    """By the folder of a kernel, what the list of names tells; nothing if there is none.

    Lines that tell nothing of this kind are counted.
    """
    facts: dict[str, KernelFacts] = {}
    folder = ""
    for _, text in read_lines(path) if is_file(path) else ():
        if name := _NAME.fullmatch(text):
            folder = name["folder"]
            facts[folder] = KernelFacts(name["name"])
        elif (sizes := _SIZES.match(text)) and folder in facts:
            facts[folder] = KernelFacts(
                facts[folder].name,
                threads=int(sizes["x"]) * int(sizes["y"]) * int(sizes["z"]),
                registers=int(sizes["registers"]),
                shared_bytes=int(sizes["static"]) + int(sizes["dynamic"]),
            )
        elif text.strip():
            unread.note(OTHER_LINES, text.strip()[:40])
    return facts
