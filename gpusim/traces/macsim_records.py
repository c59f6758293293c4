"""The instructions of one warp of a MacSim trace: a gzip file of records of one size.

Both kinds of GPU traces have records of the same fields, and tell lane addresses differently:

* ``nvbit`` (64 bytes): one address, that of the first active lane.  Our choice: the others follow
  it, lane by lane, at the distance of the access size, as in an array that threads index.  Some
  versions of the tracer repeat the record for each further 128 bytes that the warp touches; then
  the active lanes are dealt evenly to these addresses, in order.  The threads of a warp use one
  address of local memory, each in its own.
* ``newptx`` (72 bytes): after each memory instruction, 4 records hold the addresses of lanes 1 to
  31, 8 bytes each, 0 if inactive; that of lane 0 is its own.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from struct import Struct

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from gpusim.core.errors import UserError
from gpusim.core.warp_program import INACTIVE
from gpusim.traces.blocks import WARP_SIZE
from gpusim.traces.sass import REGISTER_BYTES
from gpusim.traces.text import DAMAGES, damage

_ADDRESS_BYTES = 8
_PTX_REGISTERS = 256
"""Added to PTX's register numbers, so that none of them is R255, the zero of SASS."""


@frozen
class Kind:
    """A kind of traces.

    Attributes:
        layout: opcode, whether it loads, how many registers it reads and writes, the numbers of
            all that it has room for, mask, program counter, address, access size, cache operator.
        sources: how many of those registers it has room for are read.
        opcodes: SASS base opcode of those that are more than arithmetic.
        unmodelled: SASS base opcode of those that are not honoured; see `sass_unmodelled`.
        last: the highest number of an opcode whose name is known.
    """

    layout: Struct
    sources: int
    opcodes: Mapping[int, str]
    unmodelled: Mapping[int, str]
    last: int


# fmt: off
_NVBIT_OPCODES = {
    71: "LD", 72: "LDC", 73: "LDG", 74: "LDL", 75: "LDS", 76: "LDSM",
    77: "ST", 78: "STG", 79: "STL", 80: "STS",
    83: "ATOM", 84: "ATOMS", 85: "ATOMG", 86: "RED",
    151: "BAR", 153: "DEPBAR", 173: "LDGDEPBAR", 175: "LDGSTS", 176: "STSM", 179: "REDG",
}
_PTX_OPCODES = {
    8: "ATOMG", 9: "ATOMS", 10: "ATOMG", 11: "ATOMS", 13: "BAR", 14: "BAR",
    80: "RED", 81: "ATOMS", 82: "RED", 83: "ATOMS",
    140: "LDG", 141: "LDL", 142: "LDS", 146: "LDG", 147: "STG", 148: "STL", 149: "STS",
    143: "LDC", 144: "TEX", 145: "LDC",  # constants, textures, parameters
}
# fmt: on
_NVBIT_UNMODELLED = {
    87: "CCTL",
    88: "CCTLL",
    90: "MEMBAR",
    91: "CCTLT",
    102: "ULDC",
    144: "NANOSLEEP",
    120: "TEX",
    121: "TLD",
    122: "TLD4",
    124: "TXD",
    126: "SUATOM",
    127: "SULD",
    128: "SURED",
    129: "SUST",
}
_PTX_UNMODELLED = {
    56: "MEMBAR",
    57: "MEMBAR",
    58: "MEMBAR",
    75: "PREFETCH",
    76: "PREFETCH",
    113: "SULD",
    114: "SULD",
    115: "SURED",
    116: "SURED",
    117: "SUST",
    118: "SUST",
    12: "BAR.ARV",
    122: "TEX",
    123: "TLD4",
}
_NVBIT_LAST, _PTX_LAST = 162, 149
"""VOTE and a store to shared memory: the last that MacSim's own lists name."""

_PAST_L1 = frozenset({2, 3})
"""Numbers of ``.cv`` and ``.cg``; 0, 1, 5 and 6 are none, ``.ca``, ``.wb`` and ``.wt``."""
_STREAMING = 4
"""Number of ``.cs``."""

_PTX_STORES = frozenset({147, 148, 149})
_FROM_ZERO = frozenset({"LDL", "LDS", "LDSM", "STL", "STS", "STSM"})
"""Opcodes of the memories in which 0 is an address; elsewhere it stands for none."""

NVBIT = Kind(Struct("<BxBxBB4H4H2xI4xQ8xQB5xBx"), 4, _NVBIT_OPCODES, _NVBIT_UNMODELLED, _NVBIT_LAST)
PTX = Kind(Struct("<BxBxBB5H4H4xI8xQ8xQB5xBx"), 5, _PTX_OPCODES, _PTX_UNMODELLED, _PTX_LAST)

KINDS = {"nvbit": NVBIT, "newptx": PTX}
"""By the word with which the text files of a trace begin."""


@frozen
class Record:
    """The fields of a record.

    Attributes:
        number: of the record in the file, from 1.
        code: the tracer's number of the opcode.
        is_load: whether it is a load.
        sources, destinations: numbers of registers.
        mask: active lanes.
        place: program counter.
        address: of a memory instruction; else 0.
        size: bytes a lane.
        operator: number of its cache operator.
    """

    number: int
    code: int
    is_load: bool
    sources: tuple[int, ...]
    destinations: tuple[int, ...]
    mask: int
    place: int
    address: int
    size: int
    operator: int

    @property
    def passes_l1(self) -> bool:
        """Whether it is an access that the L2 cache answers, whatever the L1 cache holds."""
        return self.operator in _PAST_L1

    @property
    def is_streaming(self) -> bool:
        """Whether its line is hardly used again."""
        return self.operator == _STREAMING

    @property
    def nvbit_instruction(self) -> tuple[int, ...]:
        """What consecutive records of one instruction have in common."""
        repeated = self.code in NVBIT.opcodes
        return (self.place, self.code, self.mask) if repeated else (self.number,)


@frozen
class Instruction:
    """One instruction of a warp.

    Attributes:
        record: the first of it.
        opcode: SASS base opcode; the tracer's number where it is arithmetic or not known.
        address: (32,) byte addresses, `INACTIVE` where a lane takes no part; None if the trace
            has none, as of nvbit's atomics.
        size: bytes a lane, if there are addresses.
        filled_bytes: of these, bytes of a load's destination and of the registers after it.
    """

    record: Record
    opcode: str
    address: NDArray[np.int64] | None
    size: int
    filled_bytes: int


def read_warp(path: Path, kind: Kind) -> Iterator[Instruction]:
    """The instructions of a warp, in order.

    Raises:
        UserError: the file is missing, cut short or damaged; names it and the record.
    """
    yield from _read_ptx(path) if kind is PTX else _read_nvbit(path)


def _read_nvbit(path: Path) -> Iterator[Instruction]:
    records = (_record(NVBIT, number, data) for number, data in _pieces(path, NVBIT))
    for _, group in groupby(records, key=lambda record: record.nvbit_instruction):
        first, *others = group
        size = others[-1].size if others else first.size  # the first's is multiplied then
        opcode = NVBIT.opcodes.get(first.code, str(first.code))
        address = None
        if first.mask and (first.address or opcode in _FROM_ZERO):
            starts = [_valid(path, one, one.address) for one in (first, *others)]
            if opcode in {"LDL", "STL"}:
                address = _dealt(first.mask, starts[:1], 0)
            else:
                address = _dealt(first.mask, starts, size)
        yield Instruction(first, opcode, address, size, size)


def _read_ptx(path: Path) -> Iterator[Instruction]:
    pieces = _pieces(path, PTX)
    for number, data in pieces:
        record = _record(PTX, number, data)
        opcode = PTX.opcodes.get(record.code, str(record.code))
        address = None
        if record.is_load or record.code in _PTX_STORES:
            address = _listed(path, record, opcode, pieces)
        yield Instruction(record, opcode, address, record.size, REGISTER_BYTES)


def _pieces(path: Path, kind: Kind) -> Iterator[tuple[int, bytes]]:
    """The records: number, from 1, and bytes."""
    size = kind.layout.size
    number = 0
    try:
        with gzip.open(path) as stream:
            while data := stream.read(size):
                number += 1
                if len(data) < size:
                    raise UserError(
                        f"{path}: record {number} has {len(data)} of {size} bytes; the file is "
                        "cut short, or its records are of another kind"
                    )
                yield number, data
    except DAMAGES as error:
        raise UserError(damage(path, number, error, "record")) from error


def _record(kind: Kind, number: int, data: bytes) -> Record:
    code, is_load, sources, destinations, *fields = kind.layout.unpack(data)
    registers, numbers = fields[:-5], fields[-5:]
    mask, place, address, size, operator = numbers
    first = _PTX_REGISTERS if kind is PTX else 0
    read, written = registers[: kind.sources], registers[kind.sources :]
    return Record(
        number,
        code,
        bool(is_load),
        tuple(first + register for register in read[:sources]),
        tuple(first + register for register in written[:destinations]),
        mask,
        place,
        address,
        size,
        operator,
    )


def _valid(path: Path, record: Record, address: int) -> int:
    if address >> 63:
        raise UserError(f"{path}: record {record.number}: address {address:#x} has 64 bits")
    return address


def _dealt(mask: int, starts: Sequence[int], distance: int) -> NDArray[np.int64]:
    """(32,): the active lanes dealt evenly to some addresses, from which they lie in a row."""
    active, start, after = _shares(mask, len(starts))
    address = np.full(WARP_SIZE, INACTIVE)
    address[active] = np.array(starts)[start] + after * distance
    return address


@lru_cache(maxsize=4096)
def _shares(
    mask: int, starts: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of active lanes, their addresses, and lanes from the first that has each address."""
    active = np.flatnonzero(mask >> np.arange(WARP_SIZE) & 1)
    start = np.arange(len(active)) * starts // len(active)
    return active, start, active - active[np.searchsorted(start, start)]


def _listed(
    path: Path, record: Record, opcode: str, pieces: Iterator[tuple[int, bytes]]
) -> NDArray[np.int64] | None:
    """(32,) addresses: lane 0's of the record, others' of the records after it; None: none."""
    count = -(-(WARP_SIZE - 1) * _ADDRESS_BYTES // PTX.layout.size)
    packed = b"".join(data for _, (_, data) in zip(range(count), pieces, strict=False))
    if len(packed) < count * PTX.layout.size:
        raise UserError(
            f"{path}: ends inside the addresses of record {record.number}; the file is cut short"
        )
    lane_addresses = [record.address, *np.frombuffer(packed, "<u8", WARP_SIZE - 1).tolist()]
    address = [
        _valid(path, record, one)
        if record.mask >> lane & 1 and (one or opcode in _FROM_ZERO)
        else INACTIVE
        for lane, one in enumerate(lane_addresses)
    ]
    return np.array(address) if max(address) != INACTIVE else None
